// Spectra on the page: what is pasted or dropped becomes a query, and answers are drawn.
"use strict";

/** The fields of a spectrum's precursor, by the names that files have. */
const PRECURSOR = { precursor_mz: "precursor", adduct: "adduct", formula: "ion-formula" };

// Reading

/** The formats that the page tells apart by the first line of an entry. */
const isMgf = (line) => /^\s*begin ions\s*$/i.test(line);
const isMassBank = (line) => line.startsWith("ACCESSION:");
const isPeakList = (line) => /^[\d.[(]/.test(line);

/** A text without a first line of names of columns, which has no digit, no field with a value and no adduct, and precedes lines of numbers alone. */
function withoutHeading(text) {
  const [first, ...rest] = text.split("\n");
  const lines = rest.filter((line) => line.trim());
  // A field has a value behind its sign, and an adduct a charge behind its bracket.
  const isHeading = !/\d|[:=]\s*\S|\]\s*[+-]/.test(first) && lines.length && lines.every((line) => /^[\d\s.,;:+eE-]+$/.test(line));
  return isHeading ? rest.join("\n").trim() : text;
}

/** A line with the MS level of a spectrum, by the names that the server reads. */
const LEVEL_LINE = /^\s*(?:ac\$mass_spectrometry:\s*)?(?:ms[ _]?level|ms[ _]?type|spectrum[ _]?type)[ \t]*[=: \t][ \t]*(\S+)/im;

/** Whether a spectrum says an MS level other than 2, such as 1 or MS; the server reads none of these. */
function isOtherLevel(entry) {
  const text = (LEVEL_LINE.exec(entry)?.[1] ?? "2").toLowerCase().replace(/\.0$/, "").replace(/[^a-z0-9]/g, "");
  const rest = text.replace(/^(?:ms)+/, "");
  const level = rest ? Number(rest) : text.length / 2;
  return Number.isInteger(level) && level !== 2;
}

/** The spectra of entries: those of MS level 2, or all where there is none. */
function tandemSpectra(entries) {
  const tandem = entries.filter((entry) => !isOtherLevel(entry));
  return tandem.length ? tandem : entries;
}

/** The spectra of a text: entries of an MGF, MSP, MassBank or JSON file, or one list of peaks. */
const spectraOf = (text) => tandemSpectra(entriesOf(text));

/** Refuses files of XML with more than one spectrum of mzML. */
function refuseFilesOfXml(source) {
  if (/<mzXML\b/.test(source)) throw new Error("The file is mzXML, which is not read: convert it, such as by msconvert --mgf");
  if ((source.match(/<spectrum\s/g) ?? []).length > 1) {
    throw new Error("The mzML has several spectra, and this page reads one: convert the file, such as by msconvert --mgf, or read it by dsokr predict");
  }
}

/** The entries of a text, as [`spectraOf`] reads it, of any MS level. */
function entriesOf(text) {
  const source = withoutHeading(text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n").trim());
  if (/^mzspec:/i.test(source)) {
    throw new Error("A universal spectrum identifier only names a spectrum, and this page does not look it up: paste its peaks");
  }
  if (source.startsWith("<")) refuseFilesOfXml(source);
  if (/^[{[]/.test(source)) {
    const spectra = jsonSpectra(source);
    if (spectra) return spectra;
  }
  const lines = source.split("\n");
  if (lines.some(isMgf)) return mgfSpectra(lines);
  const starts = firstLines(lines);
  return starts.map((start, place) => lines.slice(start, starts[place + 1]).join("\n").trim()).filter(Boolean);
}

/** The spectra of an MGF file. What it says outside of them, such as the charge, is about all that follow, and precedes each. */
function mgfSpectra(lines) {
  const header = [];
  const spectra = [];
  let inside = false;
  for (const line of lines) {
    if (isMgf(line)) {
      spectra.push([...header, line]);
      inside = true;
    } else if (/^\s*end ions\s*$/i.test(line)) {
      inside = false;
    } else if (inside) {
      spectra.at(-1).push(line);
    } else if (/^\s*[a-z][^=]*=/i.test(line)) {
      header.push(line);
    }
  }
  return spectra.map((spectrum) => `${spectrum.join("\n").trim()}\nEND IONS`);
}

/** The lines at which the entries of a file begin that is no MGF. */
function firstLines(lines) {
  const begins = (test) => lines.flatMap((line, place) => (test(line) ? [place] : []));
  if (isMassBank(lines[0])) return begins(isMassBank);
  // A list of peaks is one spectrum, whatever lines are blank.
  if (isPeakList(lines[0])) return [0];
  return begins((line) => line.trim()).filter((place) => place === 0 || !lines[place - 1].trim());
}

/** The spectra of a JSON text, as entries of MSP; null of numbers that only look like JSON. */
function jsonSpectra(source) {
  let value;
  try { value = JSON.parse(source); } catch { return null; }
  // Further numbers are columns of a list, and what is none is an annotation.
  const isColumn = (entry, place) => place < 2 || typeof entry === "number";
  if (Array.isArray(value) && value.every(Array.isArray)) return [value.map((peak) => peak.filter(isColumn).join(" ")).join("\n")];
  return [value].flat().map(jsonSpectrum);
}

/** The names in JSON of pairs of m/z and intensity, and of lists of either. */
const PAIRS = ["peaks", "spectrum", "peaks_json"];
const MZS = ["mzs", "mz", "m/z"];
const INTENSITIES = ["intensities", "intensity"];

/** The numbers of a list of JSON, which may be a text with commas between them; null of what is no list. */
function jsonNumbers(value) {
  if (typeof value !== "string") return Array.isArray(value) ? value : null;
  return wordsOf(value.replace(/[[\]]/g, " "));
}

/** The pairs of two lists of more than two numbers, of m/z, which rise, and of intensities; null of what is no such list. */
function pairsOfLists(peaks) {
  const isList = (list) => Array.isArray(list) && list.length > 2 && list.every((number) => typeof number === "number");
  if (peaks.length !== 2 || !peaks.every(isList) || peaks[0].length !== peaks[1].length) return null;
  const [mzs, intensities] = peaks;
  if (!mzs.every((mz, place) => place === 0 || mz > mzs[place - 1])) {
    throw new Error("The peaks of the JSON are two lists, of which the first does not rise as m/z do: pairs of m/z and intensity are needed");
  }
  return mzs.map((mz, place) => [mz, intensities[place]]);
}

/** A peak of JSON as a pair; null of what is none. A further value is an annotation, and several numbers are no peak. */
function pairOfPeak(peak) {
  const [mz, intensity, ...others] = Array.isArray(peak) ? peak : [peak?.mz, peak?.intensity];
  const isGiven = (value) => value !== undefined && value !== null;
  const isOne = others.filter((value) => typeof value === "number").length < 2;
  return isGiven(mz) && isGiven(intensity) && isOne ? [mz, intensity] : null;
}

/** The peaks of a spectrum of JSON: pairs, behind which an annotation may stand, or two lists, also by names. */
function jsonPeaks(named) {
  let peaks = named(...PAIRS);
  if (typeof peaks === "string" && peaks.startsWith("[")) peaks = JSON.parse(peaks);
  if (typeof peaks === "string") peaks = peaks.split(/[\s;]+/).filter(Boolean).map((peak) => peak.split(":"));
  if (peaks) {
    const pairs = Array.isArray(peaks) ? pairsOfLists(peaks) ?? peaks.map(pairOfPeak) : null;
    if (!pairs?.every(Boolean)) throw new Error("The peaks of the JSON must be pairs of m/z and intensity");
    return pairs;
  }
  const mzs = jsonNumbers(named(...MZS));
  if (!mzs) throw new Error("The JSON has no peaks: pairs of m/z and intensity by the name \"peaks\" are needed");
  const intensities = jsonNumbers(named(...INTENSITIES));
  if (intensities?.length !== mzs.length) {
    throw new Error(`The JSON has ${mzs.length} m/z and ${intensities?.length ?? "no"} intensities: as many of both are needed`);
  }
  return mzs.map((mz, place) => [mz, intensities[place]]);
}

/** The fields of a spectrum of JSON, as lines of MSP: its texts and numbers, and the pairs of name and value that MoNA lists. The server reads the names that it knows. */
function jsonFields(value) {
  const listed = Array.isArray(value.metaData) ? value.metaData.map((field) => [field?.name, field?.value]) : [];
  const isValue = (field) => typeof field === "number" || (typeof field === "string" && field.trim());
  // What is read as peaks, or as their number, stands behind the fields.
  const isField = (name) => /^[a-z][^:\n]*$/.test(name) && !/^num[ _]*peaks$/.test(name) && ![...PAIRS, ...MZS, ...INTENSITIES].includes(name);
  const all = [...Object.entries(value), ...listed].map(([name, field]) => [String(name).trim().toLowerCase(), field]);
  // pyteomics has a list of the precursor's m/z and its intensity.
  const single = ([name, field]) => [name, ["pepmass", "precursor_mz"].includes(name) && Array.isArray(field) ? field[0] : field];
  const fields = all.map(single).filter(([name, field]) => isField(name) && isValue(field));
  return fields.map(([name, field]) => `${name}: ${String(field).replace(/\s+/g, " ").trim()}`);
}

/** A spectrum of JSON, as GNPS, MoNA, matchms and MassSpecGym write it. */
function jsonSpectrum(value) {
  if (value === null || typeof value !== "object") throw new Error("The JSON must be a spectrum, a list of spectra, or a list of pairs of m/z and intensity");
  const fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  // The number of peaks may stand beside them.
  const isList = (field) => typeof field === "string" || (typeof field === "object" && field !== null);
  const named = (...names) => names.map((name) => fields.get(name)).find(isList);
  const pairs = jsonPeaks(named).map((peak) => peak.join(" "));
  return [...jsonFields(value), `Num Peaks: ${pairs.length}`, ...pairs].join("\n");
}

/** A line with the m/z of the precursor, by the names that the server reads in MGF, MSP and its comments, and MassBank. */
const PRECURSOR_LINE = /^\s*(?:ms\$focused_ion:\s*|comments?:.*[\s"])?(?:pepmass|precursor[ _]?m\/?z|isolation[ _]?mz|parent)[\s=:]+"?[\d.]*[1-9]/im;

/** Whether a spectrum has the m/z of its precursor, which a mere list of m/z and intensity does not. */
function namesPrecursor(entry) {
  if (!isPeakList(entry)) return PRECURSOR_LINE.test(entry);
  const words = wordsOf(entry);
  return words.some(isPair) && !isPair(words[0]);
}

/** Empties the fields about the precursor where a spectrum comes that has its own: they are of the one before. */
function leavePrecursor(entry) {
  // Without an answer or a spectrum before, they were typed for this one.
  if ((!at("query").value.trim() && !state.answered) || !namesPrecursor(entry)) return;
  for (const id of Object.values(PRECURSOR)) at(id).value = "";
}

/** Takes a query into the form, and searches it. */
function takeQuery(text) {
  leavePrecursor(text);
  at("query").value = text;
  begin();
}

/** A line of an entry with which its peaks begin, or that ends it. */
const isPeaksStart = (line) => /^\s*(?:num[ _]*peaks|pk\$|end ions|[\d.])/i.test(line);

/** The query of a text: a file's entry with fields of the form, or peaks with them; `fields` are those that are about it, as [`PRECURSOR`] has them. They precede those of the entry, or only stand in for them. */
function spectrumQuery(text, fields, precede = true) {
  const valueOf = (key, id) => (key === "precursor_mz" ? decimal(id) : at(id).value.replace(/\s+/g, "") || undefined);
  const given = Object.entries(fields).map(([key, id]) => [key, valueOf(key, id)]).filter(([, value]) => value !== undefined);
  const [entry] = spectraOf(text);
  const lines = entry.split("\n");
  if (isPeakList(lines[0])) return peakList(/^[[(]/.test(entry) ? withoutBrackets(entry) : entry, Object.fromEntries(given), precede);
  const begin = lines.findIndex(isMgf);
  const massBank = isMassBank(lines[0]);
  // Of several fields with one name the first counts, those of a spectrum before those of its file, and of names of the adduct the last is ion_type.
  const nameOfField = (key) => (!precede && key === "adduct" ? "ion_type" : key);
  const lineOf = ([key, value]) => (begin >= 0 ? `${nameOfField(key)}=${value}` : `${massBank ? "CH$" : ""}${nameOfField(key)}: ${value}`);
  const start = begin >= 0 ? begin + 1 : Number(massBank);
  const place = precede ? start : Math.max(start, lines.findIndex(isPeaksStart));
  lines.splice(place, 0, ...given.map(lineOf));
  return lines.join("\n");
}

/** A list whose peaks stand in brackets, with semicolons in their place. A comma between the two numbers of a bracket divides them. */
function withoutBrackets(text) {
  const divided = text.replace(/([[(]\s*[^\s,;()[\]]+)\s*,\s*([^\s,;()[\]]+\s*[\])])/g, "$1 $2");
  return divided.replace(/[[(]/g, " ").replace(/[\])]/g, ";");
}

/** The words of a list, which blanks, commas or semicolons divide. */
const wordsOf = (text) => text.split(/[\s,;]+/).filter(Boolean);

/** Whether a word is m/z:intensity. */
const isPair = (word) => /^[\d.][^:=]*:[\d.]/.test(word);

const COMMAS = "The numbers of the list have commas: write decimal points, and blanks between the numbers";

/** Whether the commas of a list may be decimal ones: where some number has one, and nothing says that commas divide numbers, such as a point beside one. */
function hasDecimalCommas(text) {
  const lines = text.split("\n").map((line) => line.split(/[\s;]+/).filter(Boolean));
  const words = lines.flat().filter((word) => word.includes(","));
  const haveZero = (numbers) => numbers.some((digits) => /^0\d/.test(digits));
  const areLong = (numbers, least) => numbers.every(({ length }) => length >= least && length === numbers[0].length);
  // Of columns the first two may be one number, as its decimals look. On a single line an even number may be pairs.
  if (words.length && words.every((word) => /^\d+(,\d+){2,},*$/.test(word))) {
    const columns = words.map((word) => word.split(",").filter(Boolean));
    const second = columns.map((numbers) => numbers[1]);
    return haveZero(second) || (areLong(second, 3) && columns.every(({ length }) => length === 3));
  }
  // Points before three digits may divide thousands.
  const mayBe = words.some((word) => /^\d+,\d+(:|,*$)/.test(word)) && words.every((word) => /^\d+(\.\d{3})*,\d+(:|,*$)/.test(word));
  const isPeak = (line) => line.length > 1 || line.some((word) => word.includes(":"));
  if (!mayBe || lines.some(isPeak)) return mayBe;
  // One number a line is no peak, so that commas divide two, unless what is behind them looks like decimals of m/z.
  const behind = words.map((word) => /,(\d+)/.exec(word)[1]);
  return haveZero(behind) || areLong(behind, 4);
}

/** The words of each peak of a line: what semicolons divide, where that is several words each time; else the whole line. */
function peaksOfLine(line) {
  const pieces = line.split(";").filter((piece) => wordsOf(piece).length);
  const divided = pieces.every((piece) => wordsOf(piece).length > 1) ? pieces : [line];
  // A comma inside a word beside others is that of a decimal number.
  const hasDecimalComma = (piece) => /\d,\d/.test(piece) && /[^\s,;][\s;]+[^\s,;]/.test(piece);
  if (divided.some(hasDecimalComma)) throw new Error(COMMAS);
  return divided.map(wordsOf);
}

/** The m/z and intensities of a list without colons: of one peak a line, or of all on a single line, one behind the other. */
function pairsOf(text) {
  const lines = text.split("\n").flatMap(peaksOfLine);
  if (lines.length === 1) {
    const [words] = lines;
    if (words.length % 2) throw new Error("The list must be pairs of m/z and intensity");
    return words.flatMap((mz, place) => (place % 2 ? [] : [[mz, words[place + 1]]]));
  }
  const count = lines[0]?.length;
  const equal = count > 1 && lines.every((words) => words.length === count);
  // Four numbers may be four columns or two peaks, and two lines may be a list of m/z, which rise, and one of intensities.
  const areNumbers = lines.flat().every((word) => Number.isFinite(Number(word)));
  const rise = lines[0]?.every((mz, place, all) => place === 0 || Number(mz) > Number(all[place - 1]));
  const areTwoLists = rise && lines.length === 2;
  const areSeveral = areNumbers && count > 2 && (count % 2 === 0 || areTwoLists);
  if (!equal || areSeveral) throw new Error("The list must have m/z and intensity of one peak a line; further columns are left out");
  return lines.map(([mz, intensity]) => [mz, intensity]);
}

/** A line with the precursor and the peaks of a list, which may be that line already. Fields that are given precede those of the list, or only stand in for them. */
function peakList(text, given, precede = true) {
  const own = {};
  const list = text.replace(/(?<=^|[\s,;])(adduct|formula|tree)=([^\s,;]*)/g, (_, key, value) => {
    own[key] ??= value;
    return "";
  });
  const fields = precede ? { ...own, ...given } : { ...given, ...own };
  if (hasDecimalCommas(list)) throw new Error(COMMAS);
  const words = wordsOf(list);
  let peaks;
  if (words.some(isPair)) {
    if (!isPair(words[0])) {
      const precursor = words.shift();
      fields.precursor_mz ??= precursor;
    }
    if (!words.every(isPair)) throw new Error("The list must be pairs of m/z and intensity");
    peaks = words.map((word) => word.split(":", 2));
  } else {
    peaks = pairsOf(list);
  }
  if (!fields.precursor_mz) {
    const message = "The m/z of the precursor is needed: a list of peaks does not have it";
    throw Object.assign(new Error(message), { field: "precursor" });
  }
  peaks.sort(([a], [b]) => a - b);
  const head = [fields.precursor_mz, ...["adduct", "formula", "tree"].map((key) => fields[key] && `${key}=${fields[key]}`)];
  return [...head.filter(Boolean), ...peaks.map((peak) => peak.join(":"))].join(" ");
}

/** What an entry is called in the list of several. */
function nameOf(entry, place) {
  const named = /^\s*(?:title|(?:compound_)?name|ch\$name)\s*[=:]\s*(.+)$/im.exec(entry);
  const name = (named ?? /^\s*(?:identifier|feature_id|scans)\s*[=:]\s*(.+)$/im.exec(entry))?.[1]?.trim();
  const mz = /^\s*(?:pepmass|(?:ms\$focused_ion:\s*)?precursor[ _]?m\/?z)\s*[=:]?\s*([\d.]+)/im.exec(entry)?.[1];
  return `${place + 1}: ${name ?? "without a name"}${mz ? ` (m/z ${mz})` : ""}`.slice(0, 120);
}

/** Offers the spectra of a file to choose from, where there are several. */
function showSeveral(entries) {
  state.taken = null;
  state.spectra = entries;
  at("several-choice").hidden = entries.length < 2;
  at("several").replaceChildren(...entries.map((entry, place) => make("option", { value: place }, nameOf(entry, place))));
}

/** The most bytes that are read of a file that is dropped. */
const MOST_BYTES = 1 << 24;

/** The spectra at the start of a file that is not read to its end. */
function firstSpectra(text) {
  const wrong = "The file has more than 16 MiB, and no whole spectrum in the first of them";
  if (/^[\ufeff\s]*[{[]/.test(text)) throw new Error(wrong);
  // The last one may be cut.
  const entries = entriesOf(text).slice(0, -1);
  if (!entries.length) throw new Error(wrong);
  return tandemSpectra(entries);
}

/** Takes the spectra of a text into the form, and searches the first; `cut` is whether the text is only the start of a file. */
function takeSpectra(text, name, cut = false) {
  fail(null);
  try {
    const entries = cut ? firstSpectra(text) : spectraOf(text);
    if (!entries.length) throw new Error(`${name} has no spectrum`);
    showSeveral(entries);
    const place = cut ? `the first 16 MiB of ${name}, which is not read further` : name;
    const counted = `${plural(entries.length, "spectrum", "spectra")} in ${place}`;
    const choice = entries.length > 1 ? `${counted}: choose one below the query` : null;
    state.taken = choice ?? (cut ? counted : null);
    takeQuery(entries[0]);
  } catch (error) { fail(error); }
}

/** Takes files that are dropped on the query, and pasted texts of several spectra. */
function takesSpectra(area) {
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", async (event) => {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    const cut = file.size > MOST_BYTES;
    const text = await file.slice(0, MOST_BYTES).text();
    if (state.model?.inputs === "spectra") {
      takeSpectra(text, file.name, cut);
    } else if (cut) {
      fail(`${file.name} has more than 16 MiB: a query is one text`);
    } else {
      area.value = text.trim();
      begin();
    }
  });
  area.addEventListener("paste", (event) => {
    if (state.model?.inputs !== "spectra") return;
    const text = event.clipboardData.getData("text/plain");
    try {
      const entries = spectraOf(text);
      if (entries.length === 1) leavePrecursor(entries[0]);
      if (entries.length < 2) return;
    } catch { return; }
    event.preventDefault();
    takeSpectra(text, "what was pasted");
  });
  at("several").addEventListener("change", () => takeQuery(state.spectra[Number(at("several").value)]));
}

/** Precursor and peaks of a line, with intensities in shares of the largest. */
function readSpectrum(line) {
  const [precursor, ...words] = line.split(" ");
  const peaks = words.filter((word) => !/^(adduct|formula|tree)=/.test(word)).map((word) => word.split(":").map(Number));
  const most = Math.max(...peaks.map(([, intensity]) => intensity));
  return { precursor: Number(precursor), peaks: peaks.map(([mz, intensity]) => [mz, intensity / most]) };
}

// Drawing

/** The frame of the drawing in pixels: sides of the axes, how wide a label of an m/z is, and the room of labels below peaks that point down. [`fitFrame`] sets the width. */
const FRAME = { width: 900, height: 360, left: 64, right: 884, top: 44, bottom: 312, label: 62, below: 18 };

/** What is drawn, and the part of it that is shown: m/z from `low` to `high`. */
const drawn = { query: null, nearest: null, hit: null, peak: null, low: 0, high: 1, whole: [0, 1] };

/** An element of an SVG. */
function svg(name, attributes, ...children) {
  const element = document.createElementNS(at("spectrum-drawing").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const xOf = (mz) => FRAME.left + (FRAME.right - FRAME.left) * (mz - drawn.low) / (drawn.high - drawn.low);
const mzOf = (x) => drawn.low + (drawn.high - drawn.low) * (x - FRAME.left) / (FRAME.right - FRAME.left);

/** Makes the frame as wide as the drawing is on the screen, so that its letters have the same size on every screen. */
function fitFrame() {
  // A drawing that is not shown has no width.
  FRAME.width = Math.max(280, at("spectrum-drawing").clientWidth || 900);
  FRAME.right = FRAME.width - 16;
}

/** Where an intensity lies: `sign` is 1 above the axis and -1 below it. */
function yOf(share, sign) {
  const { top, bottom, below } = FRAME;
  if (!drawn.nearest) return bottom - share * (bottom - top);
  const half = (bottom - below - top) / 2;
  return top + half - sign * share * half;
}

/** Steps of the m/z axis: at most ten, and as many as their labels leave room for. */
function massStep() {
  const span = drawn.high - drawn.low;
  const most = Math.min(10, (FRAME.right - FRAME.left) / FRAME.label);
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => span / step <= most) ?? 2000;
}

function axes() {
  const { left, right, top, bottom, width, height } = FRAME;
  const parts = [];
  const shares = drawn.nearest ? [1, 0.5, 0, -0.5, -1] : [1, 0.75, 0.5, 0.25, 0];
  for (const share of shares) {
    const y = yOf(Math.abs(share), Math.sign(share) || 1);
    parts.push(svg("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" }),
      svg("text", { x: left - 6, y: y + 4, class: "end" }, `${Math.abs(100 * share)}`));
  }
  const step = massStep();
  for (let place = Math.ceil(drawn.low / step); place * step <= drawn.high; place++) {
    const mz = Number((place * step).toFixed(2));
    parts.push(svg("line", { x1: xOf(mz), x2: xOf(mz), y1: bottom, y2: bottom + 4, class: "axis" }),
      svg("text", { x: xOf(mz), y: bottom + 17, class: "middle" }, `${mz}`));
  }
  const zero = yOf(0, 1);
  parts.push(svg("line", { x1: left, x2: right, y1: zero, y2: zero, class: "axis" }),
    svg("line", { x1: left, x2: left, y1: top, y2: bottom, class: "axis" }),
    svg("text", { x: (left + right) / 2, y: height - 8, class: "middle title" }, "m/z"),
    svg("text", { x: 14, y: (top + bottom) / 2, class: "middle title", transform: `rotate(-90 14 ${(top + bottom) / 2})` },
      "Relative intensity (%)"),
    svg("rect", { x: 0, y: 0, width, height, fill: "none" }));
  return parts;
}

/** What a hit says of peaks, by the places of the peaks: fragments, and formulas where no fragment has the mass. */
function explanationsOf(hit) {
  const formulas = (hit?.explained ?? []).map((part) => [part.peak, part]);
  const fragments = (hit?.fragments?.peaks ?? []).map((part) => [part.peak, part]);
  return new Map([...formulas, ...fragments]);
}

/** What is said of a peak. */
function peakWords(mz, share, part) {
  const peak = `m/z ${mz}, ${(100 * share).toFixed(1)} %`;
  if (!part) return peak;
  const cut = part.broken ? `, ${part.broken.length ? plural(part.broken.length, "bond cut", "bonds cut") : "no bond cut"}` : "";
  return `${peak}: ${part.formula} (${part.ppm.toFixed(1)} ppm)${cut}`;
}

/** The peaks of a spectrum, upwards or downwards, the largest of them with their m/z, those that are explained in colour. */
function sticks({ peaks }, sign, explanations) {
  const shown = peaks.map(([mz, share], place) => ({ mz, share, place, part: explanations.get(place) }))
    .filter(({ mz }) => drawn.low <= mz && mz <= drawn.high);
  const parts = shown.flatMap(({ mz, share, place, part }) => {
    const ends = { x1: xOf(mz), x2: xOf(mz), y1: yOf(0, sign), y2: yOf(Math.max(0.01, share), sign) };
    const chosen = sign > 0 && place === drawn.peak ? " chosen-peak" : "";
    const kind = part ? ` explained${part.atoms ? " fragment" : ""}` : "";
    const title = () => svg("title", {}, peakWords(mz, share, part));
    const stick = svg("line", { ...ends, class: `peak${kind}${chosen}` }, title());
    if (!part?.atoms) return [stick];
    const target = svg("line", { ...ends, class: "target", "data-peak": place }, title());
    return [stick, target];
  });
  // Labels of the largest peaks, where they do not meet.
  const labelled = [];
  const half = FRAME.label / 2;
  for (const { mz, share, part } of [...shown].sort((a, b) => b.share - a.share).slice(0, 24)) {
    // Beside the axes the label of an m/z is within them.
    const x = Math.min(FRAME.right - half, Math.max(FRAME.left + half, xOf(mz)));
    if (labelled.length >= 12 || labelled.some((other) => Math.abs(other - x) < FRAME.label)) continue;
    labelled.push(x);
    const y = yOf(share, sign) + (sign > 0 ? -4 : 13);
    parts.push(svg("text", { x, y, class: part ? "middle name" : "middle" }, mz.toFixed(mz >= 1000 ? 3 : 4)));
  }
  return parts;
}

/** The precursor, as a line through its half of the drawing. */
function precursorLine({ precursor }, sign) {
  if (precursor < drawn.low || precursor > drawn.high) return [];
  const x = xOf(precursor);
  const right = x > FRAME.right - 130;
  // Its label lies above those of peaks.
  const y = FRAME.top - 28;
  return [svg("line", { x1: x, x2: x, y1: yOf(0, sign), y2: sign > 0 ? y - 8 : FRAME.bottom, class: "precursor" },
    svg("title", {}, `precursor, m/z ${precursor}`)),
  ...(sign > 0 ? [svg("text", { x: right ? x - 4 : x + 4, y, class: right ? "end ion" : "ion" }, `precursor ${precursor}`)] : [])];
}

/** Draws the spectrum upwards, with the peaks that a candidate explains, and the nearest training spectrum downwards. */
function drawSpectrum() {
  const { query, nearest } = drawn;
  if (!query) return;
  fitFrame();
  const explanations = explanationsOf(drawn.hit);
  const frame = at("spectrum-drawing");
  frame.setAttribute("viewBox", `0 0 ${FRAME.width} ${FRAME.height}`);
  frame.setAttribute("aria-label", `spectrum of ${plural(query.peaks.length, "peak", "peaks")}, ${explanations.size} of them explained`
    + (nearest ? "; below it a training spectrum" : ""));
  frame.replaceChildren(...axes(), ...precursorLine(query, 1), ...sticks(query, 1, explanations),
    ...(nearest ? [...precursorLine(nearest, -1), ...sticks(nearest, -1, new Map())] : []));
  at("zoom-out").disabled = drawn.low === drawn.whole[0] && drawn.high === drawn.whole[1];
}

/** Shows a range of m/z. */
function zoom(low, high) {
  const middle = (low + high) / 2;
  const half = Math.max(0.05, (high - low) / 2);
  drawn.low = Math.max(drawn.whole[0], middle - half);
  drawn.high = Math.min(drawn.whole[1], middle + half);
  drawSpectrum();
}

/** Draws the answer with what a hit explains, mirrored with one of the nearest training spectra. */
function showSpectrum(answer, hit, mirrored) {
  at("spectrum").hidden = !answer.spectrum;
  if (!answer.spectrum) return;
  const near = (answer.nearest ?? [])[mirrored];
  drawn.query = readSpectrum(answer.spectrum);
  drawn.nearest = near ? readSpectrum(near.spectrum) : null;
  drawn.hit = hit;
  drawn.peak = null;
  const masses = [drawn.query, drawn.nearest].filter(Boolean).flatMap(({ precursor, peaks }) => [precursor, ...peaks.map(([mz]) => mz)]);
  const low = Math.min(...masses);
  const high = Math.max(...masses);
  const margin = Math.max(1, (high - low) * 0.03);
  drawn.whole = [low - margin, high + margin];
  [drawn.low, drawn.high] = drawn.whole;
  drawSpectrum();
  showFragments();
  const coloured = hit?.fragments ? `thick peaks in colour are fragments of candidate ${hit.rank}, ${hit.id}; thin ones have a formula within its own`
    : `peaks in colour have a formula within that of candidate ${hit?.rank}, ${hit?.id}`;
  const above = hit?.explained || hit?.fragments ? `Above: the query; ${coloured}.` : "Above: the query.";
  at("spectrum-says").textContent = near
    ? `${above} Below: the training spectrum of ${near.id}${near.label ? ` (${near.label})` : ""}, similarity ${near.similarity.toFixed(2)}.` : above;
}

/** Lists the peaks of the drawn spectrum that are fragments of the drawn hit, and draws the largest of them. */
function showFragments() {
  const fragments = drawn.hit?.fragments?.peaks ?? [];
  at("fragment").hidden = !fragments.length;
  at("fragments").hidden = !fragments.length;
  if (!fragments.length) return;
  at("fragments-title").textContent = `${plural(fragments.length, "peak is a fragment", "peaks are fragments")} of candidate ${drawn.hit.rank}`;
  const shareOf = ({ peak }) => drawn.query.peaks[peak][1];
  at("fragment-list").replaceChildren(...fragments.map((fragment) => {
    const [mz, share] = drawn.query.peaks[fragment.peak];
    const show = () => chooseFragment(fragment);
    return make("li", {}, make("button", { type: "button", onclick: show, onfocus: show, onmouseenter: show }, peakWords(mz, share, fragment)));
  }));
  chooseFragment(fragments.reduce((largest, fragment) => (shareOf(fragment) > shareOf(largest) ? fragment : largest)));
}

/** Draws the candidate with the atoms of a fragment marked. */
function chooseFragment(fragment) {
  if (drawn.peak === fragment.peak) return;
  drawn.peak = fragment.peak;
  const [mz, share] = drawn.query.peaks[fragment.peak];
  const address = new URLSearchParams({ model: state.model.name, id: drawn.hit.id, atoms: fragment.atoms.join(",") });
  at("fragment-image").src = `api/drawing?${address}`;
  at("fragment-image").alt = `drawing of candidate ${drawn.hit.id} with ${plural(fragment.atoms.length, "atom", "atoms")} marked`;
  at("fragment-says").textContent = peakWords(mz, share, fragment);
  drawSpectrum();
}

/** How much a hit explains, as a button that marks it. */
function explains(hit, answer) {
  const parts = hit.fragments?.peaks ?? hit.explained;
  if (!parts) return null;
  const { peaks } = readSpectrum(answer.spectrum);
  const total = peaks.reduce((sum, [, share]) => sum + share, 0);
  const explained = parts.reduce((sum, { peak }) => sum + peaks[peak][1], 0);
  return make("button", { type: "button", class: "explains", onclick: () => {
    showSpectrum(answer, hit, 0);
    at("spectrum").scrollIntoView({ block: "nearest" });
  } }, `explains ${parts.length} of ${plural(peaks.length, "peak", "peaks")}, ${percent(explained / total)} of the intensity`);
}

/** Zooms to a range that is dragged over the drawing, or by buttons. */
function listenToSpectrum() {
  const frame = at("spectrum-drawing");
  let from = null;
  const x = (event) => {
    const box = frame.getBoundingClientRect();
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(frame.getScreenCTM().inverse());
    return box.width ? Math.min(FRAME.right, Math.max(FRAME.left, place.x)) : FRAME.left;
  };
  const unmark = () => frame.querySelector(".chosen")?.remove();
  frame.addEventListener("pointerdown", (event) => {
    from = x(event);
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointerover", (event) => {
    const peak = Number(event.target.dataset?.peak ?? NaN);
    const fragment = drawn.hit?.fragments?.peaks.find((part) => part.peak === peak);
    if (fragment && from === null) chooseFragment(fragment);
  });
  frame.addEventListener("pointermove", (event) => {
    if (from === null) return;
    unmark();
    const to = x(event);
    frame.append(svg("rect", { x: Math.min(from, to), width: Math.abs(to - from), y: FRAME.top, height: FRAME.bottom - FRAME.top, class: "chosen" }));
  });
  frame.addEventListener("pointerup", (event) => {
    const to = x(event);
    unmark();
    if (from !== null && Math.abs(to - from) > 8) zoom(mzOf(Math.min(from, to)), mzOf(Math.max(from, to)));
    from = null;
  });
  frame.addEventListener("dblclick", () => zoom(...drawn.whole));
  // The screen may turn, and a fragment may take room beside the drawing.
  new ResizeObserver(() => {
    if (frame.clientWidth && frame.clientWidth !== FRAME.width) drawSpectrum();
  }).observe(frame);
  at("zoom-in").addEventListener("click", () => {
    const quarter = (drawn.high - drawn.low) / 4;
    zoom(drawn.low + quarter, drawn.high - quarter);
  });
  at("zoom-out").addEventListener("click", () => zoom(...drawn.whole));
}
