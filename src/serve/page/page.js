// The page of `dsokr serve`: a form, the API's answers as cards, and the query in the address. Texts of answers
// are put in as texts, never as HTML.
"use strict";

const PAGE = 20;
const at = (id) => document.getElementById(id);
const state = { models: [], model: null, groups: [], skip: 0, taken: null, abort: null };

/** An element with attributes and children; null children are left out. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const percent = (share) => `${(100 * share).toFixed(0)}\u00a0%`;
const number = (value) => {
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) return value.toExponential(2);
  return value.toFixed(4);
};
/** A number with four digits, for people. */
const rounded = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 12 });

/** The answer to a request; an error with what the server says otherwise. */
async function ask(path, body, signal) {
  const options = body === undefined ? { signal } : {
    method: "POST", signal, headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  };
  let response = await fetch(path, options);
  // what is still read after the start of the server, or too many others that wait
  for (let tries = 0; response.status === 503 && tries < 20; tries++) {
    const seconds = Number(response.headers.get("retry-after")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    response = await fetch(path, options);
  }
  if (response.ok) return response;
  const text = await response.text();
  let message = text;
  try { message = JSON.parse(text).error ?? text; } catch { /* no JSON: shown as it is */ }
  throw new Error(message || `the server answered ${response.status}`);
}

function fail(error) {
  at("error").textContent = error ? `${error.message ?? error}` : "";
  at("error").hidden = !error;
}

// The form and the address

const FIELDS = { coverage: "coverage", formula: "formula", min: "min-mass", max: "max-mass", similar: "similar", similarity: "similarity",
  mz: "precursor", adduct: "adduct", ion: "ion-formula", among: "among", ppm: "ppm" };
/** The values of fields that are not empty at first. */
const FIRST = { similarity: "0.5", ppm: "10" };

function readAddress() {
  const given = new URLSearchParams(location.search);
  const name = given.get("model");
  state.model = state.models.find((model) => model.name === name) ?? state.models[0];
  at("model").value = state.model.name;
  at("query").value = given.get("q") ?? "";
  for (const [key, id] of Object.entries(FIELDS)) at(id).value = given.get(key) ?? FIRST[key] ?? "";
  state.groups = given.getAll("group");
  state.skip = Math.max(0, Number.parseInt(given.get("skip") ?? "0", 10) || 0);
  at("beyond").checked = (given.get("beyond") ?? `${state.model.beyond}`) === "true";
  filter();
  showGroups();
  describe();
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
  const text = address.toString();
  const next = text ? `?${text}` : "";
  if (next !== location.search) history.pushState(null, "", next || location.pathname);
}

function decimal(id) {
  const text = at(id).value.trim().replace(",", ".");
  if (!text) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${at(id).labels[0].firstChild.textContent.trim()}: ${text} is no number`);
  return value;
}

/** What the filter fields say; null for nothing. */
function filter() {
  const text = (id) => at(id).value.trim() || undefined;
  const wanted = { formula: text("formula"), similar_to: text("similar") };
  for (const [key, id] of [["min_mass", "min-mass"], ["max_mass", "max-mass"]]) {
    try { wanted[key] = decimal(id); } catch (error) { wanted.error = error; }
  }
  if (state.groups.length) wanted.groups = state.groups;
  if (wanted.similar_to) {
    try { wanted.min_similarity = decimal("similarity"); } catch (error) { wanted.error = error; }
  }
  const count = ["formula", "similar_to", "min_mass", "max_mass"].filter((key) => wanted[key] !== undefined).length
    + state.groups.length;
  at("filter-count").textContent = count ? `(${count})` : "";
  return count || wanted.error ? wanted : null;
}

function showGroups() {
  at("chosen-groups").replaceChildren(...state.groups.map((group) => make("button", {
    type: "button", class: "chip", "aria-label": `without ${group}`,
    onclick: () => { state.groups = state.groups.filter((own) => own !== group); showGroups(); begin(); },
  }, group)));
}

/** The body of a search for the query in the form. */
function request(top, skip) {
  const text = at("query").value.trim();
  const body = { model: state.model.name, top, skip, explain: true };
  if (state.model.inputs === "texts") {
    body.texts = [text];
  } else if (state.model.inputs === "spectra") {
    body.texts = [spectrumQuery(text)];
    body.tolerance = decimal("ppm");
    const among = at("among").value;
    if (among) body.candidates = among;
    else if (state.model.outputs === "molecules") body.candidates = `mass:${body.tolerance ?? 10}`;
  } else {
    body.vectors = [vector(text)];
  }
  if (state.model.beyond !== undefined) body.beyond = at("beyond").checked && skip === 0;
  const wanted = state.model.outputs === "molecules" ? filter() : null;
  if (wanted?.error) throw wanted.error;
  if (wanted) body.filter = wanted;
  return body;
}

/** The numbers of a query: all of them, or COLUMN:NUMBER for those that are not 0. */
function vector(text) {
  const parts = text.replace(/[[\]]/g, " ").split(/[\s,;]+/).filter(Boolean);
  const numbers = (texts) => texts.map((own) => {
    const value = own.trim() ? Number(own) : NaN;
    if (!Number.isFinite(value)) throw new Error(`The query must be numbers; ${JSON.stringify(own)} is none`);
    return value;
  });
  if (!parts.some((part) => part.includes(":"))) return numbers(parts);
  const { width } = state.model;
  if (width === undefined) throw new Error("Type all numbers of the vector: its length is not known without the validation queries");
  const row = new Array(width).fill(0);
  for (const part of parts) {
    const [column, value] = numbers(part.split(":", 2));
    if (!Number.isInteger(column) || column < 0 || column >= width) {
      throw new Error(`${part}: columns are numbers from 0 to ${width - 1}`);
    }
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

// Searching

function begin() { state.skip = 0; go(); }

function go() { writeAddress(); search(); }

async function search() {
  fail(null);
  state.abort?.abort();
  if (!at("query").value.trim()) { clearResults(); return; }
  const abort = state.abort = new AbortController();
  at("results").setAttribute("aria-busy", "true");
  try {
    const body = request(PAGE, state.skip);
    const coverage = decimal("coverage");
    if (coverage !== undefined) Object.assign(body, { coverage, skip: 0, beyond: undefined });
    const response = await ask("api/search", body, abort.signal);
    show(await response.json());
  } catch (error) {
    if (abort.signal.aborted) return;
    clearResults();
    fail(error);
  }
  at("results").setAttribute("aria-busy", "false");
}

function clearResults() {
  for (const id of ["summary", "sure", "cards", "nearest"]) at(id).replaceChildren();
  for (const id of ["why", "export", "pages", "spectrum"]) at(id).hidden = true;
  at("more").open = true;
  at("results").setAttribute("aria-busy", "false");
  document.title = "dsokr search";
}

function notice(text) {
  at("notice").textContent = text ?? "";
  at("notice").hidden = !text;
}

async function save(format) {
  fail(null);
  try {
    const count = Number.parseInt(at("export-count").value, 10);
    const response = await ask("api/export", { format, search: { ...request(count, 0), explain: false, beyond: false } });
    const link = make("a", { href: URL.createObjectURL(await response.blob()),
      download: `dsokr.${{ csv: "csv", sdf: "sdf", smiles: "smi" }[format]}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (error) { fail(error); }
}

// The model

function describe() {
  const model = state.model;
  const molecules = model.outputs === "molecules";
  const spectra = model.inputs === "spectra";
  at("filters").hidden = !molecules;
  at("beyond-choice").hidden = model.beyond === undefined;
  at("precursor-fields").hidden = !spectra;
  at("why-title").textContent = `Nearest training ${spectra ? "spectra" : "texts"}`;
  at("why-says").textContent = spectra ? "By their peaks, whatever the model computes: square roots of intensities, 0.005 Da."
    : "By the TF-IDF weights of their words, whatever the model computes.";
  at("query-label").textContent = spectra ? "Paste or drop a spectrum: an entry of an MGF, MSP or MassBank file, or a list of m/z and intensity"
    : model.inputs === "texts"
    ? (molecules ? "Describe the molecule you look for" : "Describe what you look for")
    : `The query: ${model.width === undefined ? "the" : model.width.toLocaleString("en")} numbers of its vector, or column:number for those `
      + "that are not 0 (columns from 0)";
  at("model-line").textContent = `${model.name} · ${plural(model.candidates, "candidate", "candidates")}`
    + (model.data ? ` · trained on ${model.data}` : "");
  notice(model.notice);
  const examples = model.examples.map((example) => example.text ?? typed(example.vector));
  at("examples").replaceChildren(...examples.map((text) => make("button", {
    type: "button", title: text.slice(0, 500), onclick: () => { at("query").value = text; begin(); },
  }, text.slice(0, 200))));
  const facts = [
    ["Model", model.encoder.join(", ") + (model.members.length ? ` (${plural(model.members.length, "member", "members")})` : "")],
    ["Reads", model.width === undefined ? model.inputs : `${model.inputs} of ${plural(model.width, "number", "numbers")}`],
    ["Candidates", `${model.candidates.toLocaleString("en")} ${{ labels: "sets of labels", other: "" }[model.outputs] ?? model.outputs}`],
    ["Data", model.data || "drawn"], ["Coordinates", model.coordinates.join(", ")],
    ...(model.split ? [["Evaluated on", `${model.split}, ${plural(model.queries, "query", "queries")}, ${model.date}`]] : []),
  ];
  at("facts").replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  const rows = model.metrics.map((metric) => make("tr", {}, make("td", {}, metric.title),
    make("td", { class: "number" }, number(metric.value)),
    make("td", {}, metric.low === undefined ? "" : `${number(metric.low)} to ${number(metric.high)}`)));
  at("metrics").replaceChildren(...(rows.length ? [make("tr", {}, make("th", {}, "metric"),
    make("th", { class: "number" }, "value"), make("th", {}, "95 % interval")), ...rows] : []));
  at("missing").replaceChildren(...model.missing.map((text) => make("li", { class: "small" }, text)));
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === at("query") && event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    begin();
  }
  if (event.key === "Escape") event.target.blur?.();
  if (event.target.matches?.("input, textarea, select")) return;
  const cards = [...document.querySelectorAll(".card")];
  const here = cards.findIndex((own) => own.contains(document.activeElement));
  const focus = (place) => { cards[place]?.focus(); cards[place]?.scrollIntoView({ block: "nearest" }); };
  const actions = {
    "/": () => { at("query").focus(); at("query").select(); },
    j: () => focus(Math.min(here + 1, cards.length - 1)),
    k: () => focus(Math.max(here - 1, 0)),
    c: () => { if (here >= 0) copy(cards[here].dataset.copy, cards[here].querySelector(".label button")); },
    n: () => at("pages").hidden || at("next").click(),
    p: () => at("pages").hidden || at("previous").click(),
  };
  const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action();
}

function turn(by) {
  state.skip = Math.max(0, state.skip + by * PAGE);
  go();
  at("results").scrollIntoView();
}

async function start() {
  at("form").addEventListener("submit", (event) => { event.preventDefault(); begin(); });
  at("clear").addEventListener("click", () => {
    at("query").value = "";
    for (const [name, id] of Object.entries(FIELDS)) at(id).value = FIRST[name] ?? "";
    at("beyond").checked = state.model.beyond === true;
    state.groups = [];
    showGroups();
    filter();
    begin();
    at("query").focus();
  });
  takesFiles(at("query"), (says) => { state.taken = says; begin(); });
  at("query").addEventListener("input", () => { state.taken = null; });
  at("among").addEventListener("change", begin);
  at("beyond").addEventListener("change", begin);
  at("model").addEventListener("change", () => {
    state.model = state.models.find((model) => model.name === at("model").value);
    describe();
    at("beyond").checked = state.model.beyond === true;
    clearResults();
    at("query").value = "";
    begin();
  });
  for (const id of Object.values(FIELDS)) {
    at(id).addEventListener("input", filter);
    at(id).addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); begin(); }
    });
  }
  const choose = () => {
    const group = at("group").value.trim().toLowerCase();
    const known = [...at("groups").options].some((option) => option.value === group);
    if (group && !known) fail(`${group} is not a functional group of the list`);
    if (!known || state.groups.includes(group)) return;
    state.groups.push(group);
    at("group").value = "";
    showGroups();
    begin();
  };
  at("group").addEventListener("change", choose);
  at("group").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); choose(); }
  });
  document.querySelectorAll("#export button").forEach((button) => {
    button.addEventListener("click", () => save(button.dataset.format));
  });
  at("previous").addEventListener("click", () => turn(-1));
  at("next").addEventListener("click", () => turn(1));
  document.addEventListener("keydown", key);
  window.addEventListener("popstate", () => { readAddress(); search(); });
  try {
    const known = await (await ask("api/models")).json();
    state.models = known.models;
    at("version").textContent = `dsokr ${known.version}`;
    at("groups").append(...known.groups.map((group) => make("option", { value: group })));
    at("model").append(...known.models.map((model) => make("option", { value: model.name }, model.name)));
    at("model-choice").hidden = known.models.length < 2;
    readAddress();
    search();
  } catch (error) { fail(error); }
}

start();
