// Many queries of the page: a table of texts is read, and the best candidates of each are saved as one CSV file.
"use strict";

/** The rows of a CSV or TSV text; quoted cells may hold separators, line breaks and doubled quotation marks. */
function readRows(text, separator) {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  const source = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  for (let place = 0; place < source.length; place++) {
    const letter = source[place];
    if (quoted) {
      if (letter !== "\"") cell += letter;
      else if (source[place + 1] === "\"") { cell += letter; place++; }
      else quoted = false;
    } else if (letter === "\"" && cell === "") quoted = true;
    else if (letter === separator) { row.push(cell); cell = ""; }
    else if (letter === "\n") { row.push(cell); rows.push(row); row = []; cell = ""; }
    else cell += letter;
  }
  if (cell || row.length) rows.push([...row, cell]);
  return rows.filter((cells) => cells.some((value) => value.trim()));
}

/** The columns of a file: of a .txt file one without a name, with a query in each line. */
function readTable(name, text) {
  if (name.toLowerCase().endsWith(".txt")) {
    return { names: ["text"], rows: text.split(/\r\n?|\n/).filter((line) => line.trim()).map((line) => [line]) };
  }
  const [first] = text.split(/\r\n?|\n/, 1);
  const separator = ["\t", ";", ","].find((letter) => first.includes(letter)) ?? ",";
  const [names, ...rows] = readRows(text, separator);
  if (!names || !rows.length) throw new Error(`${name}: a line with the names of columns and a row for each query are needed`);
  return { names, rows };
}

/** The column that holds the queries: one with the name of texts, else the one with the longest cells. */
function queryColumn({ names, rows }) {
  const named = names.findIndex((name) => ["text", "description", "query", "spectrum"].includes(name.trim().toLowerCase()));
  if (named >= 0) return named;
  const letters = (column) => rows.reduce((sum, row) => sum + (row[column] ?? "").length, 0);
  return names.map((_, column) => column).reduce((best, column) => (letters(column) > letters(best) ? column : best), 0);
}

/** A cell of a CSV file. */
function csvCell(value) {
  const text = `${value}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

/** Searches all texts, some at a time, and gives the lines of a CSV file. */
async function searchAll(texts, top, signal) {
  const most = Math.max(1, Math.min(state.limits.queries, Math.floor(state.limits.allHits / top)));
  const columns = state.model.columns;
  const lines = [["row", "query", "rank", "id", "label", "score", ...columns]];
  at("table-bar").max = texts.length;
  for (let begun = 0; begun < texts.length; begun += most) {
    at("table-bar").value = begun;
    at("table-count").textContent = `${begun.toLocaleString("en")} of ${plural(texts.length, "query", "queries")}`;
    const body = { model: state.model.name, texts: texts.slice(begun, begun + most), top };
    if (state.model.beyond !== undefined) body.beyond = false;
    const { answers } = await (await ask("api/search", body, signal)).json();
    answers.forEach(({ hits }, place) => hits.forEach((hit) => {
      const further = columns.map((name) => hit.columns[name]);
      lines.push([begun + place + 1, texts[begun + place], hit.rank, hit.id, hit.label, hit.score, ...further]);
    }));
  }
  return lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
}

function listenToTable() {
  let table = null;
  let abort = null;
  at("table-file").addEventListener("change", async () => {
    fail(null);
    at("table-go").disabled = true;
    const [file] = at("table-file").files;
    if (!file) return;
    try {
      table = readTable(file.name, await file.text());
      at("table-column").replaceChildren(...table.names.map((name, column) => make("option", { value: column }, name)));
      at("table-column").value = queryColumn(table);
      at("table-column-choice").hidden = table.names.length < 2;
      at("table-says").textContent = `${file.name}: ${plural(table.rows.length, "query", "queries")}.`;
      at("table-go").disabled = false;
    } catch (error) { fail(error); }
  });
  at("table-cancel").addEventListener("click", () => abort?.abort());
  at("table-go").addEventListener("click", async () => {
    fail(null);
    abort = new AbortController();
    at("table-progress").hidden = false;
    try {
      const top = decimal("table-top") ?? 10;
      const texts = table.rows.map((row) => (row[Number(at("table-column").value)] ?? "").trim());
      const csv = await searchAll(texts, top, abort.signal);
      saveFile(new Blob([csv], { type: "text/csv" }), "dsokr-candidates.csv");
    } catch (error) {
      if (!abort.signal.aborted) fail(error);
    }
    at("table-progress").hidden = true;
  });
}
