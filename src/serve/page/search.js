// Searches of the page: the request for the query in the form, progress, and pages of an answer.
"use strict";

/** Searches from the first page of the answer: at once, or when the models are known. */
function begin() {
  state.skip = 0;
  if (state.model) go();
  else state.isAsked = true;
}

function go() { writeAddress(); search(); }

/** Whether a list may contain the answer: the number of a new query is seldom a candidate. */
const offersLists = ({ outputs }) => outputs !== "numbers";

/** Adds to a request which candidates spectra have, and the tolerance, as the form says. */
function chooseCandidates(body) {
  if (!choosesCandidates(state.model)) return;
  body.tolerance = decimalWithin("ppm", 0.001, 1000);
  const among = at("among").value;
  body.candidates = among === "mass" ? `mass:${body.tolerance ?? 10}` : among;
}

/** The body of a search for the query in the form. */
function request(top, skip) {
  const text = at("query").value.trim();
  const body = { model: state.model.name, top, skip, explain: true };
  if (readsTexts(state.model)) {
    body.texts = [text];
  } else if (state.model.inputs === "spectra") {
    body.texts = [spectrumQuery(text, PRECURSOR)];
    chooseCandidates(body);
  } else {
    body.vectors = [vector(text)];
  }
  const wanted = filter();
  if (wanted?.error) throw wanted.error;
  if (wanted) body.filter = wanted;
  const coverage = offersLists(state.model) ? decimal("coverage") : undefined;
  if (coverage === undefined) {
    if (state.model.beyond !== undefined) body.beyond = false;
    return body;
  }
  if (wanted) {
    const message = "The confidence of a list is measured among all candidates, so a list cannot be filtered. "
      + "Clear the filters, or show the best candidates.";
    throw Object.assign(new Error(message), { field: "condition" });
  }
  return { ...body, coverage, skip: 0 };
}

/** Whether the search is to go on beyond the candidates. */
function goesBeyond(body) {
  return state.model.beyond !== undefined && at("beyond").checked && state.skip === 0 && body.coverage === undefined;
}

/** Shows what goes on, with the seconds that it takes, until the function that it returns is called. */
function progress(says, canCancel = true) {
  const begun = Date.now();
  at("cancel").hidden = !canCancel;
  const tick = () => {
    const seconds = Math.round((Date.now() - begun) / 1000);
    at("progress").hidden = Date.now() - begun < 400;
    at("progress-says").textContent = `${says} … ${seconds} s`;
  };
  tick();
  const timer = setInterval(tick, 250);
  return () => { clearInterval(timer); at("progress").hidden = true; };
}

/** The error of a search with one query, which needs no place in the request. */
function withoutName(error) {
  const says = error.message.replace(/^query "(?:texts|vectors)\[0\]": /, "")
    .replace(/^(?:(?:texts|vectors)\[0\]|the body)(?= = )/, "The query");
  return says === error.message ? error : new Error(says);
}

/** The answer to a search, with progress while it goes on. */
async function answer(body, says, signal) {
  const end = progress(says);
  try {
    return await (await ask("api/search", body, signal)).json();
  } catch (error) {
    throw withoutName(error);
  } finally { end(); }
}

/** The score of the first candidate of all pages of an answer, at which bars end. It is known from another page that is shown, or asked for. */
async function firstScore(body, { answers }, signal) {
  const first = { ...body, skip: 0 };
  if (body.skip === 0) return answers[0].hits[0]?.score ?? null;
  const shown = state.answered && { ...state.answered.body, skip: 0 };
  if (JSON.stringify(shown) === JSON.stringify(first)) return state.best;
  const response = await (await ask("api/search", { ...first, explain: false, top: 1 }, signal)).json();
  return response.answers[0].hits[0]?.score ?? null;
}

/** Adds the confidence of an answer that the server still computes after its start. */
async function awaitConfidence(response, body, signal) {
  const [shown] = response.answers;
  if (!shown.pending?.includes("confidence")) return;
  for (let tries = 0; shown.pending?.includes("confidence") && tries < 60; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    if (signal.aborted) return;
    const [again] = (await (await ask("api/search", { ...body, explain: false, top: 1 }, signal)).json()).answers;
    shown.pending = again.pending;
    shown.confidence = again.confidence;
  }
  at("sure").replaceChildren(...sure(shown, !response.calibration));
}

/** Adds what a search beyond the candidates finds. Where it fails, the candidates stay. */
async function searchBeyond(body, signal) {
  try {
    const response = await answer({ ...body, beyond: true }, "Proposing molecules outside the library", signal);
    show(response);
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
}

async function search() {
  fail(null);
  state.abort?.abort();
  const query = at("query").value.trim();
  if (!query) { clearResults(); return; }
  try {
    await searchFor({ body: request(PAGE, state.skip), query, address: addressed() });
  } catch (error) {
    clearResults();
    fail(error);
  }
}

/** Shows the answer to a search: the body of the request, and the query and the address that it came from. `turned` is the address of another page of an answer, which is the page's once it is shown. */
async function searchFor(asked, turned = null) {
  const { body } = asked;
  const abort = state.abort = new AbortController();
  at("results").setAttribute("aria-busy", "true");
  try {
    const first = await answer(body, `Searching ${candidateCount(state.model)}`, abort.signal);
    state.best = await firstScore(body, first, abort.signal);
    if (turned) pushAddress(turned);
    state.answered = turned ? { ...asked, address: addressed() } : asked;
    show(first);
    // Without it the answer stays as it is.
    awaitConfidence(first, body, abort.signal).catch(() => {});
    // Candidates are shown while the longer search goes on.
    at("results").setAttribute("aria-busy", "false");
    if (goesBeyond(body)) await searchBeyond(body, abort.signal);
  } catch (error) {
    // A later search has begun, or the user has cancelled this one: what is shown stays.
    if (!abort.signal.aborted) {
      // What is shown stays also where no server answers.
      if (!error.unreached) clearResults();
      fail(error);
    }
  }
  if (state.abort !== abort) return;
  // Of a search that the user has cancelled, the page that is shown counts.
  if (abort.signal.aborted && state.answered) state.skip = state.answered.body.skip;
  at("results").setAttribute("aria-busy", "false");
}

function clearResults() {
  for (const id of ["summary", "sure", "cards", "nearest"]) at(id).replaceChildren();
  for (const id of ["why", "export", "pages", "spectrum", "scale"]) at(id).hidden = true;
  state.answered = null;
  state.best = null;
  at("more").open = true;
  at("results").setAttribute("aria-busy", "false");
  document.title = "dsokr search";
}

/** Shows the next or the previous page of the answer that is shown, whatever stands in the form meanwhile; from the page that was asked for last. */
function turn(by) {
  if (!state.answered) return;
  const { body, query, address } = state.answered;
  state.skip = Math.max(0, state.skip + by * PAGE);
  const next = searchOf(address);
  next.delete("skip");
  if (state.skip > 0) next.set("skip", state.skip);
  fail(null);
  state.abort?.abort();
  searchFor({ body: { ...body, skip: state.skip }, query, address }, next);
  at("results").scrollIntoView();
}

/** Saves the candidates of the answer that is shown: so many as the form says, or the whole list with a stated confidence. */
async function exportAnswer(format) {
  fail(null);
  try {
    const { body } = state.answered;
    const top = body.coverage === undefined ? wholeNumber("export-count", state.limits.hits) : body.top;
    const search = { ...body, top, skip: 0, explain: false };
    const response = await ask("api/export", { format, search });
    saveFile(await response.blob(), `dsokr.${{ csv: "csv", sdf: "sdf", smiles: "smi" }[format]}`);
  } catch (error) { fail(error); }
}
