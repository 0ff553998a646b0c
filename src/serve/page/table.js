// Many queries of the page: a table of texts is read, and the best candidates of each are saved as one CSV file.
"use strict";

/** The rows of a CSV or TSV text. Where cells are `quotable`, those between quotation marks may hold separators, line breaks and doubled marks. */
function readRows(text, separator, quotable) {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  let closed = false;
  const unpaired = () => new Error(`${rows.length ? `row ${rows.length}` : "the names"}: a quotation mark without a partner`);
  const endRow = () => {
    row.push(cell);
    cell = "";
    if (row.length > 1 || row[0].trim() || closed) rows.push(row);
    row = [];
  };
  const source = text.replace(/\r\n?/g, "\n");
  for (let place = 0; place < source.length; place++) {
    const letter = source[place];
    if (quoted) {
      if (letter !== "\"") cell += letter;
      else if (source[place + 1] === "\"") { cell += letter; place++; }
      else { quoted = false; closed = true; }
    } else if (letter === "\n") {
      endRow();
      closed = false;
    } else if (letter === separator) {
      row.push(cell);
      cell = "";
      closed = false;
    } else if (closed) throw unpaired();
    else if (quotable && letter === "\"" && cell === "") quoted = true;
    else cell += letter;
  }
  if (quoted) throw unpaired();
  endRow();
  return rows;
}

/** A cell between tabs: without the marks around it where it has doubled ones within, no others, as pandas writes it. */
function unquoted(cell) {
  const inner = /^"(.*)"$/s.exec(cell)?.[1] ?? "";
  return inner.includes("\"\"") && !inner.replaceAll("\"\"", "").includes("\"") ? inner.replaceAll("\"\"", "\"") : cell;
}

const EMPTY = "the file is empty: a row for each query is needed";

/** The columns of a file: of a .txt file one without a name, with a query in each line. */
function readTable(name, content) {
  const text = content.replace(/^\ufeff/, "");
  if (name.toLowerCase().endsWith(".txt")) {
    const lines = text.split(/\r\n?|\n/).filter((line) => line.trim());
    if (!lines.length) throw new Error(EMPTY);
    return { names: ["text"], rows: lines.map((line) => [line]) };
  }
  const [start] = text.split(/\r\n?|\n/, 1);
  // Excel reads and writes a first line that only says which sign separates cells.
  const stated = /^sep=([\t;,|])$/.exec(start)?.[1];
  const table = stated ? text.slice(start.length).replace(/^(\r\n?|\n)/, "") : text;
  const [first] = table.split(/\r\n?|\n/, 1);
  const found = ["\t", ";", "|", ","].find((letter) => first.includes(letter)) ?? ",";
  const separator = stated ?? (name.toLowerCase().endsWith(".tsv") ? "\t" : found);
  // Cells between tabs are what they are, unless all names stand between quotation marks, as R writes them.
  const quotable = separator !== "\t" || first.split(separator).every((cell) => /^".*"$/.test(cell));
  const read = readRows(table, separator, quotable);
  const [names, ...rows] = quotable ? read : read.map((row) => row.map(unquoted));
  if (!names) throw new Error(EMPTY);
  const odd = rows.findIndex((row) => row.length !== names.length);
  if (odd >= 0) throw new Error(`row ${odd + 1} has ${plural(rows[odd].length, "cell", "cells")}, of ${plural(names.length, "column", "columns")}`);
  return { names, rows };
}

/** The ends of names of files that the page reads. */
const EXTENSIONS = [".csv", ".tsv", ".txt"];

/** Whether bytes are those of a spreadsheet such as .xlsx, which is an archive. */
const isArchive = (bytes) => new TextDecoder("latin1").decode(bytes.slice(0, 4)) === "PK\x03\x04";

/** The table of a file; errors name it. */
async function tableOf(file) {
  try {
    const bytes = await file.arrayBuffer();
    const isNamed = EXTENSIONS.some((extension) => file.name.toLowerCase().endsWith(extension));
    if (!isNamed || isArchive(bytes)) throw new Error(`the file is none of ${EXTENSIONS.join(", ")}: save it as CSV`);
    let text;
    try { text = new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { throw new Error("the file is not UTF-8: save it as UTF-8"); }
    return readTable(file.name, text);
  } catch (error) { throw new Error(`${file.name}: ${error.message}`); }
}

/** The names of columns of queries, and of those that stand beside them. */
const QUERY_NAMES = ["text", "description", "query", "spectrum"];
const NAMES = [...QUERY_NAMES, "texts", "descriptions", "queries", "spectra", "smiles", "id", "ids", "identifier", "name", "title",
  "label", "cid", "inchikey", "formula"];

/** The place of the first of some names in a row; -1 where it has none. */
function placeOf(names, row) {
  const wanted = names.filter(Boolean).map((name) => name.toLowerCase());
  return row.findIndex((cell) => wanted.includes(cell.trim().toLowerCase()));
}

/** Words at the end of names of columns of queries. */
const NAME_WORD = /(^|\s)(text|description|query|question|abstract|sentence|prompt|spectrum|name|smiles)\s*\d*$/i;

/** How many times longer queries are than names that the page does not know. */
const QUERY_TO_NAME = 4;

/** Whether the first row of a table holds names of columns: some of them is known here, or in the model's own tables; or all are short, and one ends with a known word or the cells below are all longer, several times in the mean. */
function hasNames({ names, rows }) {
  if (placeOf([...NAMES, state.model.column, ...state.model.columns], names) >= 0) return true;
  const isShort = (cell) => cell.trim().split(/[\s_]+/).length <= 3 && !/[.!?。？！]/.test(cell);
  if (!names.every(isShort)) return false;
  if (names.some((name) => NAME_WORD.test(name.replaceAll("_", " ")))) return true;
  const longest = (row) => Math.max(...row.map((cell) => cell.trim().length));
  const lengths = rows.map(longest);
  const mean = lengths.reduce((sum, length) => sum + length, 0) / rows.length;
  return lengths.every((length) => length > longest(names)) && mean >= QUERY_TO_NAME * longest(names);
}

/** The table whose first row is a query as the others are. */
const withoutNames = ({ names, rows }) => ({ names: names.map((_, column) => `column ${column + 1}`), rows: [names, ...rows] });

/** The column that holds the queries: that of the model's own tables, one with the name of texts, else the one with the longest cells. */
function queryColumn({ names, rows }) {
  const own = placeOf([state.model.column], names);
  const named = own >= 0 ? own : placeOf(QUERY_NAMES, names);
  if (named >= 0) return named;
  const letters = (column) => rows.reduce((sum, row) => sum + (row[column] ?? "").length, 0);
  return names.map((_, column) => column).reduce((best, column) => (letters(column) > letters(best) ? column : best), 0);
}

/** A cell of a CSV file. An apostrophe precedes what a spreadsheet takes for a formula, as in the other files that the program writes. */
function csvCell(value) {
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) && Number.isFinite(Number(value));
  const text = /^[=+\-@\t\r]/.test(value) && !isNumber ? `'${value}` : `${value}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

/** The fields of the form that are about the spectra of all rows without one of their own: the precursor's m/z and the formula are of one. */
const OF_ALL_ROWS = { adduct: PRECURSOR.adduct };

/** The queries of cells. Of a cell that is none, `refused` has the reason by its place, and the query is empty. */
function queriesOf(cells, refused) {
  if (state.model.inputs !== "spectra") return cells;
  return cells.map((cell, place) => {
    try {
      return cell && spectrumQuery(cell, OF_ALL_ROWS, false);
    } catch (error) {
      refused.set(place, error.message);
      return "";
    }
  });
}

/** Whether the server takes a text for a query. */
const isQuery = (text) => text !== "" && (text.length <= state.limits.text || [...text].length <= state.limits.text);

/** The places of queries in groups, each of at most `most` queries and so many bytes; what is no query is left out. */
function batchesOf(texts, most, bytes) {
  const batches = [];
  let room = 0;
  texts.forEach((text, place) => {
    if (!isQuery(text)) return;
    const size = bytesOf(text) + 1;
    if (!batches.length || batches.at(-1).length === most || size > room) {
      batches.push([]);
      room = bytes;
    }
    batches.at(-1).push(place);
    room -= size;
  });
  return batches;
}

/** How many bytes a value has in a request. */
const bytesOf = (value) => new TextEncoder().encode(JSON.stringify(value)).length;

/** The answers to a group of texts, each behind the place of its text. A text that the server refuses has none, and `refused` has the reason. */
async function searchBatch(batch, texts, body, refused, signal) {
  const places = [...batch];
  while (places.length) {
    try {
      const asked = { ...body, texts: places.map((place) => texts[place]) };
      const { answers } = await (await ask("api/search", asked, signal)).json();
      return answers.map((answered, query) => [places[query], answered]);
    } catch (error) {
      const [, query, reason] = /^query "texts\[(\d+)\]": (.*)$/s.exec(error.message) ?? [];
      const place = places[Number(query)];
      if (place === undefined) throw error;
      refused.set(place, reason);
      places.splice(Number(query), 1);
    }
  }
  return [];
}

/** The answers to all texts, asked for by a `body` without them, some at a time. After a failure they are those to the texts before. */
async function searchAll(texts, body, refused, signal) {
  const { queries, allHits, bytes } = state.limits;
  const most = Math.max(1, Math.min(queries, Math.floor(allHits / body.top)));
  const all = texts.map(() => ({ hits: [] }));
  at("table-bar").max = texts.length;
  for (const batch of batchesOf(texts, most, bytes - bytesOf({ ...body, texts: [] }))) {
    const first = batch[0];
    at("table-bar").value = first;
    at("table-count").textContent = `${first.toLocaleString("en")} of ${plural(texts.length, "query", "queries")}`;
    try {
      const found = await searchBatch(batch, texts, body, refused, signal);
      found.forEach(([place, answered]) => { all[place] = answered; });
    } catch (error) {
      const failure = `rows ${first + 1} to ${batch.at(-1) + 1}: ${error.message}`;
      return { all: all.slice(0, first), failure };
    }
  }
  return { all, failure: null };
}

/** A CSV file with a line for each hit of each query, and one without a candidate for a query that has none. The `ids` are those of the queries, if their table has any. */
function hitsTable(texts, ids, all, columns) {
  const cells = [...["rank", "id", "label", "score", "tied", "duplicates"].map((name) => ({ name, of: (hit) => hit[name] })),
    ...columns.map((name) => ({ name, of: (hit) => hit.columns?.[name] ?? "" }))];
  const lines = [["row", ...(ids ? ["query_id"] : []), "query", ...cells.map(({ name }) => name), "caution"]];
  all.forEach(({ hits, cautions = [] }, place) => {
    const start = [place + 1, ...(ids ? [ids[place]] : []), texts[place]];
    const caution = cautions.join("; ");
    if (!hits.length) lines.push([...start, ...cells.map(() => ""), caution]);
    for (const hit of hits) {
      const values = cells.map(({ of }) => of(hit));
      lines.push([...start, ...values.map((value) => (Array.isArray(value) ? value.join(" ") : value)), caution]);
    }
  });
  return lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
}

/** The most refused rows whose reasons are shown. */
const REASONS = 3;

/** Which rows are refused and why, in words. */
function refusals(refused) {
  const rows = [...refused].sort(([one], [other]) => one - other);
  const reasons = rows.slice(0, REASONS).map(([place, reason]) => `row ${place + 1}: ${reason}`);
  return `${plural(rows.length, "row is", "rows are")} refused: ${reasons.join("; ")}${rows.length > REASONS ? "; …" : "."}`;
}

/** Searches a column of a table by what the form says, and saves the candidates. */
async function searchTable({ names, rows }, signal) {
  const { columns, beyond, name } = state.model;
  const wanted = filter();
  if (wanted?.error) throw wanted.error;
  const body = { model: name, top: wholeNumber("table-top", state.limits.hits) };
  if (wanted) body.filter = wanted;
  chooseCandidates(body);
  if (beyond !== undefined) body.beyond = false;
  const column = Number(at("table-column").value);
  const cells = rows.map((row) => row[column].trim());
  const idColumn = placeOf(["id", "ids", "identifier"], names);
  const ids = idColumn < 0 || idColumn === column ? null : rows.map((row) => row[idColumn].trim());
  const refused = new Map();
  const texts = queriesOf(cells, refused);
  const { all, failure } = await searchAll(texts, body, refused, signal);
  if (signal.aborted) return;
  if (refused.size === cells.length) throw new Error(refusals(refused));
  if (all.length) saveFile(new Blob([hitsTable(cells, ids, all, columns)], { type: "text/csv" }), "dsokr-candidates.csv");
  if (failure) throw new Error(failure + (all.length ? "; the candidates of the rows before them are saved" : ""));
  const left = texts.filter((text, place) => !refused.has(place) && !isQuery(text)).length;
  const most = state.limits.text.toLocaleString("en");
  const says = [];
  if (left) says.push(`${plural(left, "row has", "rows have")} no candidates: they have no text, or more than ${most} characters.`);
  if (refused.size) says.push(refusals(refused));
  const doubtful = all.filter(({ cautions }) => cautions?.length).length;
  if (doubtful) says.push(`${plural(doubtful, "row has a caution", "rows have a caution")}, which the column “caution” says.`);
  if (says.length) at("table-says").textContent = says.join(" ");
}

/** Says what the panel of many queries does, before a file is chosen. */
function showTableHint() {
  const passing = at("filters").hidden ? "" : " that pass the filters";
  const spectra = state.model.inputs === "spectra";
  const query = { spectra: "a spectrum, such as “149.0961 91.0542:100 119.0855:8”,", molecules: "a SMILES" }[state.model.inputs] ?? "a query";
  const fields = spectra ? " Of the fields above the adduct is that of rows without one; the precursor's m/z and the formula do not count." : "";
  at("table-says").textContent = `Choose a CSV, TSV or text file with ${query} in each row. The best candidates of each row`
    + `${passing} are saved as one CSV file.${fields}`;
}

/** Offers the columns of a table, and says how many queries it has. */
function showTable({ names, rows }, file, isNamed) {
  at("table-column").replaceChildren(...names.map((name, column) => make("option", { value: column }, name)));
  at("table-column").value = queryColumn({ names, rows });
  at("table-column-choice").hidden = names.length < 2;
  at("table-says").textContent = `${file.name}: ${countOfQueries(rows, isNamed)}`;
  at("table-go").disabled = !rows.length;
}

/** How many queries a table has, in words. A first row that is one of them is shown. */
function countOfQueries(rows, isNamed) {
  if (!rows.length) return "no query, as its only row holds names of columns.";
  const first = isNamed ? "" : `, the first row “${rows[0].join(", ").slice(0, 120)}” among them`;
  return `${plural(rows.length, "query", "queries")}${first}.`;
}

function listenToTable() {
  // What the file has, with its first row as names, and what is searched.
  let read = null;
  let table = null;
  let abort = null;
  const take = () => {
    const isNamed = at("table-names").checked;
    table = isNamed ? read : withoutNames(read);
    showTable(table, at("table-file").files[0], isNamed);
  };
  at("table-names").addEventListener("change", take);
  at("table-file").addEventListener("change", async () => {
    fail(null);
    at("table-go").disabled = true;
    at("table-column-choice").hidden = true;
    at("table-names-choice").hidden = true;
    showTableHint();
    const [file] = at("table-file").files;
    if (!file) return;
    try {
      read = await tableOf(file);
      // A text file has no names.
      const isTable = !file.name.toLowerCase().endsWith(".txt");
      at("table-names-choice").hidden = !isTable;
      at("table-names").checked = !isTable || hasNames(read);
      take();
    } catch (error) { fail(error); }
  });
  at("table-cancel").addEventListener("click", () => abort?.abort());
  at("table-go").addEventListener("click", async () => {
    fail(null);
    abort = new AbortController();
    // One search at a time, and of the table that it began with.
    const running = (is) => {
      at("table-go").disabled = is;
      at("table-file").disabled = is;
      at("table-names").disabled = is;
      at("table-progress").hidden = !is;
    };
    running(true);
    try {
      await searchTable(table, abort.signal);
    } catch (error) { fail(error); }
    running(false);
  });
}
