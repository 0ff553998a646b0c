// Numbers in fields of the page.
"use strict";

/** The words of a field's label. */
const labelWords = (id) => at(id).labels[0].firstChild.textContent.trim();

/** Refuses the text of a field, by the words of its label. */
function refuseField(id, text, what) {
  throw Object.assign(new Error(`${labelWords(id)}: ${text} ${what}`), { field: id });
}

/** The number of a field, with a decimal point or comma; undefined where it is empty. */
function decimal(id) {
  const text = at(id).value.trim();
  if (!text) return undefined;
  const refuse = (what) => refuseField(id, text, what);
  if (/^[+-]?[1-9]\d{0,2}(,\d{3})+$/.test(text)) refuse("may have a comma for thousands or for decimals: write it without one, or with a point");
  const value = Number(text.replace(",", "."));
  if (!Number.isFinite(value)) refuse("is not a number");
  return value;
}

/** The number of a field, which is refused outside of a range; undefined where it is empty. */
function decimalWithin(id, least, most) {
  const value = decimal(id);
  if (value !== undefined && !(value >= least && value <= most)) refuseField(id, at(id).value.trim(), `is not from ${least} to ${most}`);
  return value;
}

/** The whole number of a field that needs one, of at most `most`. */
function wholeNumber(id, most) {
  const text = at(id).value.trim();
  if (!/^\d+$/.test(text) || Number(text) < 1) refuseField(id, text || "nothing", "is not a whole number from 1");
  if (Number(text) > most) refuseField(id, text, `is more than ${most.toLocaleString("en")}, the most of an answer`);
  return Number(text);
}
