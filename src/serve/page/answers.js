// Answers on the page: cards, candidate sets, quantiles and exact predictions.
"use strict";

function show(response) {
  const [answer] = response.answers;
  notice(response.notice ?? state.taken);
  document.title = `${state.answered.query.slice(0, 60)} – dsokr`;
  at("summary").textContent = summary(response, answer);
  at("sure").replaceChildren(...sure(answer, !response.calibration));
  at("why").hidden = !answer.nearest?.length;
  showSpectrum(answer, answer.hits[0], 0);
  at("nearest").replaceChildren(...(answer.nearest ?? []).map((near, place) => make("li", {},
    answer.spectrum ? make("button", { type: "button", onclick: () => showSpectrum(answer, answer.hits[0], place) }, "Draw")
      : make("div", {}, near.text),
    make("div", { class: "small" }, `similarity ${near.similarity.toFixed(2)} · output ${near.id}`,
      near.label ? make("code", {}, ` ${near.label}`) : null))));
  showScale(answer);
  const cards = answer.hits.map((hit) => card(hit, answer));
  if (state.skip === 0) cards.unshift(...(answer.beyond ?? []).map(proposedCard));
  if (answer.exact && state.skip === 0) cards.unshift(exactCard(answer.exact));
  at("cards").replaceChildren(...cards);
  at("export").hidden = !answer.hits.length;
  at("export-says").hidden = !answer.beyond?.length;
  // A list with a stated confidence is saved as it is.
  at("export-first").hidden = Boolean(response.calibration);
  // The answer belongs on the first screen.
  at("more").open = false;
  document.querySelectorAll("#export .molecules").forEach((button) => {
    button.hidden = state.model.outputs !== "molecules";
  });
  const page = Math.floor(state.skip / PAGE) + 1;
  at("pages").hidden = response.calibration || state.skip === 0 && answer.hits.length < PAGE;
  at("page").textContent = `Page ${page}`;
  at("previous").disabled = state.skip === 0;
  at("next").disabled = answer.hits.length < PAGE;
}

/** Whether the form chooses which candidates a spectrum has. */
const choosesCandidates = ({ inputs, outputs }) => inputs === "spectra" && outputs === "molecules";

/** What the spectrum's candidates have in common, in words; empty where all candidates compete, as they do whatever the form says where the adduct is not known. */
function amongWords({ competing }, candidates) {
  if (!choosesCandidates(state.model) || !(competing < candidates)) return "";
  const words = { mass: "match the precursor mass", formula: "have the formula" }[at("among").value] ?? "";
  return competing > 1 ? words : words.replace("match", "matches").replace("have", "has");
}

/** How many candidates the answer is drawn from, in words. */
function summary(response, answer) {
  if (response.calibration) return holding(response.calibration, answer);
  const all = response.candidates.toLocaleString("en");
  const names = (OUTPUTS[state.model.outputs] ?? OUTPUTS.other)[1];
  const among = amongWords(answer, response.candidates);
  const filtered = response.wanted !== response.candidates;
  if (!answer.hits.length) {
    if (state.skip) return "No more candidates";
    if (!among) return `None of ${all} ${names} passes the filters`;
    const one = answer.competing > 1 ? among.replace("match", "matches").replace("have", "has") : among;
    return `None of ${all} ${names} ${one}${filtered ? " and passes the filters" : ""}`;
  }
  if (among) {
    return `${answer.competing.toLocaleString("en")} of ${all} ${names} ${among}${filtered ? "; shown are those of them that pass the filters" : ""}`;
  }
  return filtered ? `${response.wanted.toLocaleString("en")} of ${all} ${names} pass the filters` : `${all} ${names}`;
}

/** What a set of candidates holds; of a query in doubt the confidence is not said as its own. */
function holding({ coverage, on, queries, groups, caution }, { hits, whole, cautions }) {
  const set = whole ? plural(hits.length, "candidate", "candidates") : `The first ${hits.length} of a list of more than ${hits.length} candidates`;
  const measured = `measured on ${plural(queries, "query", "queries")}${groups ? ` in ${groups} groups` : ""} (${on}${caution ? `; ${caution}` : ""})`;
  if (cautions?.length) return `${set}; the ${exactPercent(coverage)} confidence of lists, ${measured}, says little of this query`;
  const verb = whole && hits.length === 1 ? "is the answer" : "contain the answer";
  return `${set} that ${verb} with ${exactPercent(coverage)} confidence, ${measured}`;
}

/** A message of the server as a sentence. */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;

/** Predicted numbers or quantiles, doubts, and how sure the first candidate is, which a list with a stated confidence does not ask. */
function sure(answer, ofFirst) {
  const lines = [];
  if (answer.quantiles?.length) lines.push(...quantiles(answer.quantiles));
  else if (answer.exact && state.model.outputs === "numbers") {
    lines.push(make("p", { class: "predicted" }, `Predicted: ${predictedNumbers(answer.exact.label)}.`));
  }
  lines.push(...(answer.cautions ?? []).map((caution) => make("p", { class: "doubt" }, sentence(caution))));
  const doubts = doubt(answer);
  // What is doubtful says it already of a text of which the model knows nothing.
  if (doubts && !(doubts.nothing && answer.cautions?.length)) lines.push(doubts.line);
  // It is of the first candidate of all, which a filter may leave out.
  const first = state.skip === 0 && answer.hits[0]?.rank === 1;
  const tied = first ? tiedOf(answer.hits[0]) : 0;
  if (tied && !doubts?.nothing) {
    lines.push(make("p", { class: "doubt" }, `${(tied + 1).toLocaleString("en")} candidates share the first score: their order means nothing.`));
  } else if (ofFirst && first && !doubts?.nothing) {
    if (answer.confidence) lines.push(confidence(answer.confidence));
    else if (answer.pending?.includes("confidence")) lines.push(make("p", { class: "small" }, "Confidence: still computed after the start of the server …"));
  }
  return lines;
}

/** How many other candidates have the score of a hit; its duplicates do not count. */
const tiedOf = (hit) => Math.max(0, hit.tied - hit.duplicates.length);

/** What the model does not know of the query, where words are missing from all training texts, or the query has none: that is all of it where words alone are read. */
function doubt({ words, nearest }) {
  if (words?.alone && !words.known) {
    const says = words.unknown.length ? "No training text has any of these words" : "The query has no word of a training text";
    return { nothing: true, line: make("p", { class: "doubt" }, `${says}: the order below means nothing.`) };
  }
  if (!words?.unknown.length) return null;
  const near = nearest?.length ? ` The nearest training text has a similarity of ${nearest[0].similarity.toFixed(2)}.` : "";
  const unknown = words.unknown.slice(0, 12).map((word) => `“${word}”`).join(", ") + (words.unknown.length > 12 ? ", …" : "");
  const line = make("p", { class: "small" }, `${words.known} of ${plural(words.known + words.unknown.length, "word", "words")} occur in training texts; not `
    + `${unknown}.${near}`);
  return { nothing: false, line };
}

/** How often first candidates with such a lead were right. */
function confidence({ gap, right, low, high, queries, groups, from, to }) {
  const level = right >= 0.8 ? "high" : right >= 0.5 ? "medium" : "low";
  const range = from === to ? number(from) : `${number(from)} to ${number(to)}`;
  const exact = `The first score is ${number(gap)} above the next. Of ${queries} validation queries${groups ? ` in ${groups} groups` : ""} with a gap of ${range}, the first candidate was `
    + `right for ${percent(right)} (95 % interval ${percent(low)} to ${percent(high)}).`;
  // a share of groups is no number of queries
  const cases = groups ? `${percent(right)} of ${groups} groups of similar cases` : `${Math.round(right * queries)} of ${queries} similar cases`;
  return make("p", { class: "confidence", title: exact }, "Confidence: ", make("strong", { class: level }, level),
    ` (first candidate right in ${cases})`);
}

/** Predicted numbers with four digits; one that is written otherwise, as with a decimal comma, is shown as it is. */
function predictedNumbers(label) {
  const isNumber = (text) => text !== "" && Number.isFinite(Number(text));
  return label.split(" ").map((text) => (isNumber(text) ? rounded(Number(text)) : text)).join("; ");
}

/** Predicted quantiles in words, drawn, and as a table. */
function quantiles(all) {
  const value = (level) => all.find((quantile) => Math.abs(quantile.level - level) < 1e-9)?.value;
  const low = Math.min(...all.map((quantile) => quantile.value));
  const high = Math.max(...all.map((quantile) => quantile.value));
  const place = (point) => (high > low ? (point - low) / (high - low) : 0.5);
  const bars = make("div", { class: "quantiles", "aria-hidden": "true" });
  const middles = [];
  for (const { level, value: start } of all) {
    const end = level < 0.5 ? value(1 - level) : undefined;
    if (end !== undefined && end >= start) {
      const bar = make("span", { class: "between" });
      bar.style.left = `${100 * place(start)}%`;
      bar.style.width = `${100 * (place(end) - place(start))}%`;
      bars.append(bar);
      middles.push(`between ${rounded(start)} and ${rounded(end)} with a probability of ${percent(1 - 2 * level)}`);
    }
  }
  const median = value(0.5);
  for (const quantile of all) {
    const mark = make("span", { class: quantile.value === median ? "median" : "mark" });
    mark.style.left = `${100 * place(quantile.value)}%`;
    bars.append(mark);
  }
  const said = [...(median === undefined ? [] : [`median ${rounded(median)}`]), ...middles];
  return [
    make("p", { class: "predicted" }, `Predicted: ${said.length ? said.join("; ") : "quantiles"}.`),
    bars,
    make("div", { class: "wide" }, make("table", { "aria-label": "predicted quantiles" },
      make("tr", {}, make("th", {}, "quantile"), all.map(({ level }) => make("td", { class: "number" }, `${level}`))),
      make("tr", {}, make("th", {}, "value"), all.map((quantile) => make("td", { class: "number" }, rounded(quantile.value)))))),
  ];
}

// Parts of cards

/** Says where bars of scores begin and end, above cards that have bars. */
function showScale({ hits }) {
  at("scale").hidden = !(hits.length && state.best > 0);
  at("scale").textContent = `Bars show scores from 0 to that of the first candidate, ${number(state.best ?? 0)}.`;
}

/** A score as a number and as a bar from 0 to the score of the first candidate. */
function scored(score, title) {
  if (!(state.best > 0)) return scoreAlone(score, title);
  const share = Math.min(1, Math.max(0, score / state.best));
  const filled = make("span");
  filled.style.width = `${100 * share}%`;
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, filled);
  return make("span", { class: "score", title: `${title}; the bar ends at the score of the first candidate` }, bar, number(score));
}

/** A score as a number, without a bar: as of what is no candidate, whose score may be above that of the first one. */
const scoreAlone = (score, title) => make("span", { class: "score", title }, number(score));

/** A formula with the numbers of atoms as subscripts and the charge as a superscript. */
function formula(text) {
  const [, atoms, sign, count] = /^(.*?)(?:([+-])(\d*))?$/.exec(text);
  const parts = atoms.split(/(\d+)/).map((part) => (/^\d/.test(part) ? make("sub", {}, part) : part));
  const charge = sign ? make("sup", {}, `${count ?? ""}${sign.replace("-", "−")}`) : null;
  return make("strong", { class: "formula" }, parts, charge);
}

/** A picture that opens large. */
function picture(source, name, text) {
  const alt = `drawing of ${text.slice(0, 200)}`;
  const image = make("img", { src: source, alt, loading: "lazy" });
  const button = make("button", { type: "button", class: "picture", title: "Open large", onclick: () => {
    at("large-title").textContent = name;
    at("large-image").src = source;
    at("large-image").alt = alt;
    at("large-label").textContent = text;
    at("large").showModal();
  } }, image);
  image.addEventListener("error", () => button.remove());
  return button;
}

/** The items of a ranking from the best one, equal ones with a sign between; null of a label that is no list of ranks. */
function orderOf(text) {
  const ranks = text.split(/[\s,[\]]+/).filter(Boolean);
  if (!ranks.every((rank) => rank === "-" || /^0*[1-9]\d*$/.test(rank))) return null;
  const items = new Map();
  ranks.forEach((rank, place) => {
    if (rank !== "-") items.set(Number(rank), [...(items.get(Number(rank)) ?? []), place + 1]);
  });
  const best = [...items.keys()].sort((a, b) => a - b);
  return best.map((rank) => items.get(rank).join(" = ")).join(", ") || null;
}

/** The labels of a set. They are a list of JSON where one of them has the separator. */
function labelsOf(text) {
  let parts = null;
  try { parts = JSON.parse(text); } catch { /* most cells are no JSON */ }
  if (!Array.isArray(parts)) parts = text.split(state.model.separator ?? " ");
  return parts.map((part) => String(part).trim()).filter(Boolean);
}

/** What a label says: labels of a set, a ranking with its items in order, a number, or the label itself. */
function said(text) {
  const chips = (parts) => make("div", { class: "chips said" }, parts.map((part) => make("span", { class: "chip" }, part)));
  switch (state.model.outputs) {
    case "labels": {
      const labels = labelsOf(text);
      return labels.length ? chips(labels) : make("div", { class: "small said" }, "the empty set");
    }
    case "rankings": {
      const items = orderOf(text);
      return make("div", { class: "said" }, make("code", {}, text),
        items ? make("div", { class: "small" }, `items, the best first: ${items}`) : null);
    }
    case "numbers": return make("strong", { class: "said" }, text);
    default: return make("code", { class: "said", title: text }, text);
  }
}

/** A label with a button that copies it. */
function label(text) {
  const shown = said(text);
  const button = make("button", { type: "button", "aria-label": `copy ${text.slice(0, 80)}`,
    onclick: () => copy(text, button) }, "Copy");
  return make("div", { class: "label" }, shown, button);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers give the clipboard to secure pages alone.
    const area = make("textarea", {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  if (!button) return;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// Cards

/** The best of all outputs, where it need not be a candidate. */
function exactCard(best) {
  return make("li", { class: "card exact", tabindex: "0", "data-copy": best.label },
    make("div", { class: "top" }, make("span", { class: "rank" }, "Best of all outputs"), scoreAlone(best.score, `score ${best.score}`)),
    label(best.label));
}

/** A molecule that a search proposes, drawn with what differs from the nearest candidate. */
function proposedCard(proposed) {
  const { drawing, in_table: listed, nearest, nearest_label: other, difference, kept } = proposed;
  const ended = { neighbours: "no neighbour is better", rounds: "its rounds ended", evaluations: "its evaluations ended" };
  const title = listed ? `Candidate ${nearest}` : "Outside the library";
  const differs = difference ? `, from which it differs by ${difference}; marked in the drawing. ` : ". ";
  return make("li", { class: "card exact", tabindex: "0", "data-copy": proposed.label },
    make("div", { class: "top" }, make("span", { class: "rank" }, title), scoreAlone(proposed.score, `score ${proposed.score}`)),
    drawing ? picture(`data:image/svg+xml,${encodeURIComponent(drawing)}`, title, proposed.label) : null,
    make("div", { class: "small" },
      listed ? "The search ended at this candidate. " : ["The nearest candidate is ", `${nearest}, `, make("code", {}, other), differs],
      kept ? null : "Nothing that the search met keeps what the query asks for. ",
      `${plural(proposed.evaluated, "molecule was", "molecules were")} scored until ${ended[proposed.ended]}.`),
    label(proposed.label));
}

/** Masses of a molecule: of its ion where the query is a spectrum. */
function masses({ mass, monoisotopic }, ion) {
  if (!ion) return make("span", { class: "small" }, `${mass.toFixed(2)} g/mol`);
  return make("span", { class: "small" }, `${monoisotopic.toFixed(4)} Da · ${ion.adduct} m/z ${ion.mz.toFixed(4)} `
    + `(${ion.ppm >= 0 ? "+" : "−"}${Math.abs(ion.ppm).toFixed(1)} ppm)`);
}

/** The id of a hit, as a link where a public database describes it. */
function idOf(hit) {
  if (!hit.link) return make("span", { class: hit.label ? "id small" : "id" }, hit.id);
  const name = hit.link.includes("pubchem") && /^\d+$/.test(hit.id) ? `CID ${hit.id}` : hit.id;
  return make("a", { class: "id", href: hit.link, target: "_blank", rel: "noreferrer" }, name);
}

/** What a hit shares with the outputs of the nearest training inputs. */
function sharedParts(hit, answer) {
  // Several of the nearest may be of one molecule, in the same order.
  const places = new Map();
  (answer.nearest ?? []).forEach(({ id }, place) => places.set(id, [...(places.get(id) ?? []), place + 1]));
  const input = answer.spectrum ? "spectrum" : { molecules: "molecule" }[state.model.inputs] ?? "text";
  const lines = (hit.shared ?? []).map((shared) => {
    const parts = [...shared.groups, ...shared.rings];
    return make("li", {}, `with training ${input} ${places.get(shared.id)?.shift() ?? shared.id}: `
      + `${parts.length ? parts.join(", ") : "no group or ring"} (Tanimoto ${shared.similarity.toFixed(2)})`);
  });
  return lines.length ? make("details", {}, make("summary", {}, "Shared with training molecules"), make("ul", { class: "shared" }, lines)) : null;
}

/** The further columns of a candidate, such as a price; those without a value are left out. */
function furtherColumns({ columns }) {
  const known = Object.entries(columns ?? {}).filter(([, value]) => value.trim());
  return known.length ? make("dl", { class: "columns" }, known.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])) : null;
}

function card(hit, answer) {
  const { molecule } = hit;
  const drawn = ["molecules", "graphs"].includes(state.model.outputs);
  const address = new URLSearchParams({ model: state.model.name, id: hit.id });
  const gap = hit.gap === undefined ? "" : `, ${number(hit.gap)} above the next`;
  return make("li", { class: "card", tabindex: "0", "data-copy": hit.label, "data-id": hit.id },
    make("div", { class: "top" }, make("span", { class: "rank" }, `${hit.rank}`), idOf(hit), scored(hit.score, `score ${hit.score}${gap}`)),
    drawn ? picture(`api/drawing?${address}`, `${hit.rank}: ${hit.id}`, hit.label) : null,
    molecule ? make("div", { class: "facts" }, formula(molecule.formula), masses(molecule, hit.ion)) : null,
    molecule?.groups.length ? make("div", { class: "groups" }, molecule.groups.join(" · ")) : null,
    furtherColumns(hit),
    explains(hit, answer),
    tiedOf(hit) ? make("div", { class: "small" }, `${plural(tiedOf(hit), "other candidate has", "other candidates have")} the same score`) : null,
    hit.duplicates.length ? make("details", {}, make("summary", {}, `+ ${plural(hit.duplicates.length, "duplicate", "duplicates")}`),
      hit.duplicates.join(", ")) : null,
    sharedParts(hit, answer),
    hit.label ? label(hit.label) : null);
}
