// The page of `dsokr serve`: the form, the address that holds the query, the model, keys. Texts of answers are put in as
// texts, never as HTML.
"use strict";

const PAGE = 20;
const at = (id) => document.getElementById(id);
const state = { models: [], model: null, limits: null, groups: [], skip: 0, taken: null, abort: null, best: null, spectra: [],
  answered: null, address: null, isAsked: false };

/** An element with attributes and children; null children are left out. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice("on".length), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const percent = (share) => `${(100 * share).toFixed(0)}\u00a0%`;
/** A probability that was chosen, with all of its digits. */
const exactPercent = (share) => `${Number((100 * Number(share)).toFixed(4))}\u00a0%`;
const number = (value) => {
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) return value.toExponential(2);
  return value.toFixed(4);
};
/** A number with four digits, for people. */
const rounded = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 12 });

/** The response to a request; an error where no server answers. */
async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    const message = "The server does not answer: is dsokr serve still running?";
    throw Object.assign(new Error(message), { unreached: true });
  }
}

/** The answer to a request; an error with what the server says otherwise. */
async function ask(path, body, signal) {
  const options = body === undefined ? { signal } : {
    method: "POST", signal, headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  };
  let response = await reach(path, options);
  // The server still reads its data, or too many other requests wait.
  for (let tries = 0; response.status === 503 && tries < 20; tries++) {
    const seconds = Number(response.headers.get("retry-after")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    response = await reach(path, options);
  }
  if (response.ok) return response;
  const text = await response.text();
  let message = text;
  try { message = JSON.parse(text).error ?? text; } catch { /* no JSON: shown as it is */ }
  throw serverError(message || `the server answered ${response.status}`);
}

/** The fields of filters, by their keys in a request. */
const FILTER_KEYS = { filter: "condition", "filter.formula": "formula", "filter.min_mass": "min-mass", "filter.max_mass": "max-mass",
  "filter.groups": "group", "filter.similar_to": "similar", "filter.min_similarity": "similarity" };

/** The error that a server's message is. One about a filter has the words of the form in the place of keys, and the field. */
function serverError(message) {
  const named = (text) => text.replace(/^filter(?= = )|\bfilter\.\w+/g, (key) => (FILTER_KEYS[key] ? labelWords(FILTER_KEYS[key]) : key));
  const field = FILTER_KEYS[/^(filter(?:\.\w+)?) = /.exec(message)?.[1]];
  return field ? Object.assign(new Error(named(message)), { field }) : new Error(message);
}

/** Shows an error, or hides the last one. An error that a field causes opens the panel of the field. */
function fail(error) {
  at("error").textContent = error ? `${error.message ?? error}` : "";
  at("error").hidden = !error;
  const field = error?.field;
  const panel = field && at(field).closest("details");
  if (panel && !panel.hidden) {
    panel.open = true;
    at(field).focus();
  }
}

function notice(text) {
  at("notice").textContent = text ?? "";
  at("notice").hidden = !text;
}

/** Gives a browser a file to save. */
function saveFile(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The form and the address

const FIELDS = { coverage: "coverage", condition: "condition", formula: "formula", min: "min-mass", max: "max-mass", similar: "similar",
  similarity: "similarity", mz: "precursor", adduct: "adduct", ion: "ion-formula", among: "among", ppm: "ppm" };
/** The values of fields that are not empty at first. */
const FIRST = { similarity: "0.5", ppm: "10", among: "mass" };
/** The probabilities of lists that the page offers; an address may hold any other. */
const COVERAGES = ["0.8", "0.9", "0.95", "0.99"];

function showCoverages(value) {
  const offered = !value || COVERAGES.includes(value) ? COVERAGES : [...COVERAGES, value];
  const says = (coverage) => `a list that contains the answer with ${exactPercent(coverage)} confidence`;
  at("coverage").replaceChildren(make("option", { value: "" }, "the best candidates"),
    ...offered.map((coverage) => make("option", { value: coverage }, says(coverage))));
  at("coverage").value = value;
}

/** The longest search that an address sends to the server, in characters; a longer one stands behind `#`, which browsers keep. */
const LONGEST = 8000;

/** The part of the address that holds the search. */
const addressed = () => (location.hash.startsWith("#?") ? location.hash : location.search);

/** The search in a part of an address. */
const searchOf = (text) => new URLSearchParams(text.replace("#", ""));

function readAddress() {
  state.address = addressed();
  const given = searchOf(state.address);
  const name = given.get("model");
  state.model = state.models.find((model) => model.name === name) ?? state.models[0];
  at("model").value = state.model.name;
  at("query").value = given.get("q") ?? "";
  showCoverages(given.get("coverage") ?? "");
  for (const [key, id] of Object.entries(FIELDS)) at(id).value = given.get(key) ?? FIRST[key] ?? "";
  state.groups = given.getAll("group");
  state.skip = Math.max(0, Number.parseInt(given.get("skip") ?? "0", 10) || 0);
  at("beyond").checked = (given.get("beyond") ?? `${state.model.beyond}`) === "true";
  filter();
  showGroups();
  describe();
  const isServed = name === null || name === state.model.name;
  state.taken = isServed ? null : `The address names the model ${name}, which this server does not have: answers are those of ${state.model.name}`;
  if (!isServed) notice(state.taken);
}

function writeAddress() {
  const address = new URLSearchParams();
  if (at("query").value.trim()) address.set("q", at("query").value.trim());
  if (state.models.length > 1) address.set("model", state.model.name);
  const wanted = filter();
  for (const [key, id] of Object.entries(FIELDS)) {
    const value = at(id).value.trim();
    if (value && value !== FIRST[key] && (key !== "similarity" || wanted?.similar_to)) address.set(key, value);
  }
  state.groups.forEach((group) => address.append("group", group));
  const { beyond } = state.model;
  if (beyond !== undefined && at("beyond").checked !== beyond) address.set("beyond", !beyond);
  if (state.skip > 0) address.set("skip", state.skip);
  pushAddress(address);
}

/** Makes a search the page's address, unless it is already. */
function pushAddress(address) {
  const text = address.toString();
  const next = text ? `${text.length > LONGEST ? "#" : ""}?${text}` : "";
  if (next !== addressed()) history.pushState(null, "", next.startsWith("?") ? next : location.pathname + next);
  state.address = addressed();
}

/** What the filter fields say; null for nothing. */
function filter() {
  const text = (id) => at(id).value.trim() || undefined;
  const { outputs, columns } = state.model;
  if (outputs !== "molecules" && !columns.length) return null;
  const wanted = { expression: text("condition") };
  if (outputs === "molecules") readMoleculeFields(wanted, text);
  const count = ["expression", "formula", "similar_to", "min_mass", "max_mass"].filter((key) => wanted[key] !== undefined).length
    + (wanted.groups?.length ?? 0);
  at("filter-count").textContent = count ? `(${count})` : "";
  return count || wanted.error ? wanted : null;
}

/** Adds what the fields about molecules say. */
function readMoleculeFields(wanted, text) {
  wanted.formula = text("formula");
  wanted.similar_to = text("similar");
  for (const [key, id] of [["min_mass", "min-mass"], ["max_mass", "max-mass"]]) {
    try { wanted[key] = decimal(id); } catch (error) { wanted.error = error; }
  }
  if (state.groups.length) wanted.groups = state.groups;
  if (wanted.similar_to) {
    try { wanted.min_similarity = decimal("similarity"); } catch (error) { wanted.error = error; }
  }
}

function showGroups() {
  at("chosen-groups").replaceChildren(...state.groups.map((group) => make("button", {
    type: "button", class: "chip", "aria-label": `without ${group}`,
    onclick: () => { state.groups = state.groups.filter((chosen) => chosen !== group); showGroups(); begin(); },
  }, group)));
}

/** The numbers of a query: all of them, or COLUMN:NUMBER for those that are not 0. */
function vector(text) {
  const parts = text.replace(/[[\]]/g, " ").split(/[\s,;]+/).filter(Boolean);
  const numbers = (texts) => texts.map((part) => {
    const value = part.trim() ? Number(part) : NaN;
    if (!Number.isFinite(value)) throw new Error(`The query must be numbers; ${JSON.stringify(part)} is none`);
    return value;
  });
  if (!parts.some((part) => part.includes(":"))) return numbers(parts);
  const { width } = state.model;
  if (width === undefined) throw new Error("Type all numbers of the vector: its length is not known without the validation queries");
  const row = new Array(width).fill(0);
  const given = new Set();
  for (const part of parts) {
    const pair = part.split(":");
    if (pair.length !== 2) throw new Error(`${part}: beside column:number all must be such pairs; the label of a line of libsvm is left out`);
    const [column, value] = numbers(pair);
    if (!Number.isInteger(column) || column < 0 || column >= width) {
      throw new Error(`${part}: columns are numbers from 0 to ${width - 1}`);
    }
    if (given.has(column)) throw new Error(`${part}: column ${column} has a number already`);
    given.add(column);
    row[column] = value;
  }
  return row;
}

/** A vector as it is typed. */
function typed(row) {
  const entries = row.map((value, column) => [column, value]).filter(([, value]) => value !== 0);
  const sparse = 0 < entries.length && 2 * entries.length < row.length;
  return sparse ? entries.map((entry) => entry.join(":")).join(" ") : row.join(" ");
}

// The model

const OUTPUTS = { molecules: ["molecule", "molecules"], labels: ["set of labels", "sets of labels"], graphs: ["graph", "graphs"],
  rankings: ["ranking", "rankings"], numbers: ["number", "numbers"], classes: ["class", "classes"], other: ["candidate", "candidates"] };

/** Whether queries are sent as the texts that are typed. */
const readsTexts = ({ inputs }) => ["texts", "molecules"].includes(inputs);

/** How many candidates there are, in words. */
const candidateCount = (model) => plural(model.candidates, ...(OUTPUTS[model.outputs] ?? OUTPUTS.other));

/** What the query's label says. */
function queryLabel(model) {
  if (model.inputs === "spectra") {
    return "Paste or drop a spectrum: an MGF, MSP, MassBank or JSON entry, or a list of m/z and intensity";
  }
  if (model.inputs === "molecules") return "A molecule, as a SMILES";
  if (model.inputs === "texts") {
    return model.outputs === "molecules" ? "Describe the molecule you look for" : "Describe what you look for";
  }
  const width = model.width === undefined ? "the" : model.width.toLocaleString("en");
  return `The query: ${width} numbers of its vector, or column:number for those that are not 0 (columns from 0)`;
}

/** What the field of a condition may compare. */
function conditionHint({ columns, outputs }) {
  const molecules = outputs === "molecules" ? ["mass", "formula", "group", "similarity(\"SMILES\")"] : [];
  const names = ["id", "label", ...columns, ...molecules].join(", ");
  return `A comparison of ${names} by <, <=, =, !=, >=, >, or several with and, or, not and brackets.`;
}

function describe() {
  const model = state.model;
  const molecules = model.outputs === "molecules";
  const spectra = model.inputs === "spectra";
  at("filters").hidden = !molecules && !model.columns.length;
  document.querySelectorAll("#filters .molecules, #chosen-groups").forEach((fields) => { fields.hidden = !molecules; });
  at("condition-says").textContent = conditionHint(model);
  at("beyond-choice").hidden = model.beyond === undefined;
  at("coverage").labels[0].hidden = !offersLists(model);
  at("precursor-fields").hidden = !spectra;
  for (const id of ["among", "ppm"]) at(id).labels[0].hidden = !choosesCandidates(model);
  at("table").hidden = !readsTexts(model) && !spectra;
  showTableHint();
  at("why-title").textContent = `Nearest training ${["molecules", "spectra"].includes(model.inputs) ? model.inputs : "texts"}`;
  at("why-says").textContent = spectra ? "Compared by their peaks, whatever the model computes: square roots of intensities, 0.005 Da."
    : "Compared by the TF-IDF weights of their words, whatever the model computes.";
  at("query-label").textContent = queryLabel(model);
  at("model-line").textContent = `${model.name} · ${candidateCount(model)}` + (model.data ? ` · trained on ${model.data}` : "");
  notice(model.notice);
  const examples = model.examples.map((example) => example.text ?? typed(example.vector));
  at("more").hidden = !examples.length;
  at("examples").replaceChildren(...examples.map((text) => make("button", {
    type: "button", title: text.slice(0, 500), onclick: () => { showSeveral([]); takeQuery(text); },
  }, text.slice(0, 200))));
  const facts = [
    ["Model", model.encoder.join(", ") + (model.members.length ? ` (${plural(model.members.length, "member", "members")})` : "")],
    ["Reads", model.width === undefined ? model.inputs : `${model.inputs} of ${plural(model.width, "number", "numbers")}`],
    ["Candidates", candidateCount(model)],
    ["Data", model.data || "drawn"], ["Coordinates", model.coordinates.join(", ")],
    ...(model.split ? [["Evaluated on",
      `${model.split}, ${plural(model.queries, "query", "queries")}${model.groups ? ` in ${plural(model.groups, "group", "groups")}` : ""} among ${model.pool}, ${model.date}`]] : []),
  ];
  at("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const rows = model.metrics.map((metric) => make("tr", {}, make("td", {}, metric.title),
    make("td", { class: "number" }, number(metric.value)),
    make("td", {}, metric.low === undefined ? "" : `${number(metric.low)} to ${number(metric.high)}`)));
  at("metrics").replaceChildren(...(rows.length ? [make("tr", {}, make("th", {}, "metric"),
    make("th", { class: "number" }, "value"), make("th", {}, "95 % interval")), ...rows] : []));
  at("missing").hidden = !model.missing.length;
  at("missing").replaceChildren(...model.missing.map((text) => make("li", { class: "small" }, text)));
}

// Keys and the start

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || at("large").open) return;
  if (event.target === at("query") && event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    begin();
  }
  if (event.key === "Escape") event.target.blur?.();
  if (event.target.matches?.("input, textarea, select")) return;
  const cards = [...document.querySelectorAll(".card")];
  const here = cards.findIndex((card) => card.contains(document.activeElement));
  const focus = (place) => { cards[place]?.focus(); cards[place]?.scrollIntoView({ block: "nearest" }); };
  const actions = {
    "/": () => { at("query").focus(); at("query").select(); },
    j: () => focus(Math.min(here + 1, cards.length - 1)),
    k: () => focus(Math.max(here - 1, 0)),
    o: () => { if (here >= 0) cards[here].querySelector(".picture")?.click(); },
    c: () => { if (here >= 0) copy(cards[here].dataset.copy, cards[here].querySelector(".label button")); },
    n: () => at("pages").hidden || at("next").click(),
    p: () => at("pages").hidden || at("previous").click(),
  };
  const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action();
}

function clearForm() {
  at("query").value = "";
  state.isAsked = false;
  if (!state.model) return;
  for (const [name, id] of Object.entries(FIELDS)) at(id).value = FIRST[name] ?? "";
  at("beyond").checked = state.model.beyond === true;
  state.groups = [];
  showGroups();
  showSeveral([]);
  notice(state.model.notice);
  filter();
  begin();
  at("query").focus();
}

function chooseGroup() {
  const group = at("group").value.trim().toLowerCase();
  const listed = [...at("groups").options].some((option) => option.value === group);
  if (group && !listed) fail(`${group} is not a functional group of the list`);
  if (!listed || state.groups.includes(group)) return;
  state.groups.push(group);
  at("group").value = "";
  showGroups();
  begin();
}

function listen() {
  at("form").addEventListener("submit", (event) => { event.preventDefault(); begin(); });
  at("clear").addEventListener("click", clearForm);
  at("cancel").addEventListener("click", () => state.abort?.abort());
  takesSpectra(at("query"));
  at("query").addEventListener("input", () => { state.taken = null; });
  for (const id of ["among", "beyond", "coverage"]) at(id).addEventListener("change", begin);
  at("model").addEventListener("change", () => {
    state.model = state.models.find((model) => model.name === at("model").value);
    describe();
    at("beyond").checked = state.model.beyond === true;
    clearResults();
    showSeveral([]);
    at("query").value = "";
    begin();
  });
  for (const id of Object.values(FIELDS)) {
    at(id).addEventListener("input", filter);
    at(id).addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); begin(); }
    });
  }
  at("group").addEventListener("change", chooseGroup);
  at("group").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); chooseGroup(); }
  });
  document.querySelectorAll("#export button").forEach((button) => {
    button.addEventListener("click", () => exportAnswer(button.dataset.format));
  });
  at("previous").addEventListener("click", () => turn(-1));
  at("next").addEventListener("click", () => turn(1));
  at("large-close").addEventListener("click", () => at("large").close());
  listenToTable();
  listenToSpectrum();
  document.addEventListener("keydown", key);
  // The address would lose a long query to the link's own place.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    at("results").focus();
  });
  window.addEventListener("popstate", () => {
    // Links to a part of the page leave the search as it is.
    if (addressed() === state.address) return;
    readAddress();
    search();
  });
}

/** Reads the models, and answers the search of the address, or what the user has typed and sent meanwhile. */
async function start() {
  listen();
  const end = progress("Reading the models", false);
  try {
    const served = await (await ask("api/models")).json();
    end();
    state.models = served.models;
    state.limits = { queries: served.most_queries, hits: served.most_hits, allHits: served.most_hits_of_all,
      text: served.longest_text, bytes: served.largest_body };
    at("version").textContent = `dsokr ${served.version}`;
    at("groups").append(...served.groups.map((group) => make("option", { value: group })));
    at("model").append(...served.models.map((model) => make("option", { value: model.name }, model.name)));
    at("model-choice").hidden = served.models.length < 2;
    const typed = at("query").value;
    readAddress();
    if (searchOf(state.address).has("q") || !typed.trim()) {
      search();
      return;
    }
    at("query").value = typed;
    if (state.isAsked) begin();
  } catch (error) {
    end();
    fail(error);
  }
}

start();
