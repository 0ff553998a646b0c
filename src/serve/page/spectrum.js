// Spectra on the page: what is pasted or dropped becomes a query, and answers are drawn.
"use strict";

/** The fields of a spectrum's precursor, by the names that files have. */
const PRECURSOR = { precursor_mz: "precursor", adduct: "adduct", formula: "ion-formula" };

/** The first spectrum of a text, and whether there are more. */
function firstSpectrum(text) {
  const lines = text.replace(/\r\n?/g, "\n").trim().split("\n");
  const starts = lines[0].startsWith("BEGIN IONS") ? /^END IONS/ : lines[0].startsWith("ACCESSION:") ? /^\/\// : /^\s*$/;
  const end = lines.findIndex((line, at) => starts.test(line) && at > 0);
  const own = end < 0 ? lines : lines.slice(0, end + (starts.source === "^\\s*$" ? 0 : 1));
  return { text: own.join("\n"), more: end >= 0 && lines.slice(end + 1).some((line) => line.trim()) };
}

/** The query of a text: a file's entry with the fields of the form, or peaks with them. */
function spectrumQuery(text) {
  const given = Object.entries(PRECURSOR).map(([key, id]) => [key, at(id).value.trim()]).filter(([, value]) => value);
  const own = firstSpectrum(text).text;
  const [first, ...rest] = own.split("\n");
  // of several fields with one name the first counts
  if (first.startsWith("BEGIN IONS")) return [first, ...given.map(([key, value]) => `${key}=${value}`), ...rest].join("\n");
  if (first.startsWith("ACCESSION:")) return [first, ...given.map(([key, value]) => `CH$${key}: ${value}`), ...rest].join("\n");
  if (!/^[\d.]/.test(first)) return [...given.map(([key, value]) => `${key}: ${value}`), own].join("\n");
  return peakList(own, Object.fromEntries(given));
}

/** A line with the precursor and the peaks of a list, which may be that line already. */
function peakList(text, given) {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  const known = { ...given };
  if (words.some((word) => word.includes(":")) && !words[0].includes(":")) {
    const precursor = words.shift();
    known.precursor_mz ??= precursor;
  }
  const peaks = [];
  for (let place = 0; place < words.length; place++) {
    const named = /^(adduct|formula|tree)=(.*)$/.exec(words[place]);
    if (named) known[named[1]] ??= named[2];
    else peaks.push(words[place].includes(":") ? words[place].split(":", 2) : [words[place], words[++place]]);
  }
  if (peaks.some(([, intensity]) => intensity === undefined)) throw new Error("The list must be pairs of m/z and intensity");
  if (!known.precursor_mz) throw new Error("Type the m/z of the precursor: a list of peaks does not have it");
  peaks.sort(([a], [b]) => a - b);
  const head = [known.precursor_mz, ...["adduct", "formula", "tree"].map((key) => known[key] && `${key}=${known[key]}`)];
  return [...head.filter(Boolean), ...peaks.map((peak) => peak.join(":"))].join(" ");
}

/** Precursor and peaks of a line, with intensities in shares of the largest. */
function readSpectrum(line) {
  const [precursor, ...words] = line.split(" ");
  const peaks = words.filter((word) => !/^(adduct|formula|tree)=/.test(word)).map((word) => word.split(":").map(Number));
  const most = Math.max(...peaks.map(([, intensity]) => intensity));
  return { precursor: Number(precursor), peaks: peaks.map(([mz, intensity]) => [mz, intensity / most]) };
}

/** An element of an SVG. */
function svg(name, attributes, ...children) {
  const element = document.createElementNS(at("spectrum-drawing").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const FRAME = { width: 800, height: 300, left: 10, middle: 150, tall: 120 };

/** Draws the spectrum upwards, with the peaks that a candidate explains, and the nearest training spectrum downwards. */
function draw(query, nearest, explained) {
  const all = [query, ...(nearest ? [nearest] : [])];
  const masses = all.flatMap((own) => [own.precursor, ...own.peaks.map(([mz]) => mz)]);
  const [low, high] = [Math.min(...masses), Math.max(...masses)];
  const margin = Math.max(1, (high - low) * 0.03);
  const { width, height, left, middle, tall } = FRAME;
  const x = (mz) => left + (width - 2 * left) * (mz - low + margin) / (high - low + 2 * margin);
  const parts = new Map((explained ?? []).map((own) => [own.peak, own]));
  const stick = (sign, names) => ([mz, share], place) => {
    const part = names.get(place);
    const says = `m/z ${mz}, ${(100 * share).toFixed(1)} %${part ? `: ${part.formula} (${part.ppm.toFixed(1)} ppm)` : ""}`;
    return svg("line", { x1: x(mz), x2: x(mz), y1: middle, y2: middle - sign * Math.max(2, tall * share), class: part ? "peak explained" : "peak" },
      svg("title", {}, says));
  };
  const ion = (own, sign) => svg("path", { class: "precursor", d: `M${x(own.precursor)} ${middle - sign * 3} l-4 ${-sign * 8} h8 z` },
    svg("title", {}, `precursor, m/z ${own.precursor}`));
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((own) => (high - low) / own <= 10) ?? 2000;
  const ticks = [];
  for (let mz = Math.ceil(low / step) * step; mz <= high; mz += step) {
    ticks.push(svg("text", { x: x(mz), y: height - 4, class: "tick" }, `${mz}`));
  }
  const frame = at("spectrum-drawing");
  frame.setAttribute("viewBox", `0 0 ${width} ${height}`);
  frame.setAttribute("aria-label", `spectrum of ${query.peaks.length} peaks, ${parts.size} of them explained`
    + (nearest ? "; below it a training spectrum" : ""));
  frame.replaceChildren(svg("line", { x1: left, x2: width - left, y1: middle, y2: middle, class: "axis" }), ...ticks,
    ...query.peaks.map(stick(1, parts)), ion(query, 1),
    ...(nearest ? [...nearest.peaks.map(stick(-1, new Map())), ion(nearest, -1)] : []));
}

/** Draws the answer with what a hit explains, mirrored with one of the nearest training spectra. */
function showSpectrum(answer, hit, mirrored) {
  at("spectrum").hidden = !answer.spectrum;
  if (!answer.spectrum) return;
  const near = (answer.nearest ?? [])[mirrored];
  draw(readSpectrum(answer.spectrum), near && readSpectrum(near.text), hit?.explained);
  const above = hit?.explained ? `Above: the query, with the peaks that ${hit.id} explains.` : "Above: the query.";
  at("spectrum-says").textContent = near
    ? `${above} Below: a training spectrum of ${near.id}, similarity ${near.similarity.toFixed(2)}.` : above;
}

/** How much a hit explains, as a button that marks it. */
function explains(hit, answer) {
  if (!hit.explained) return null;
  const { peaks } = readSpectrum(answer.spectrum);
  const total = peaks.reduce((sum, [, share]) => sum + share, 0);
  const own = hit.explained.reduce((sum, { peak }) => sum + peaks[peak][1], 0);
  return make("button", { type: "button", class: "explains", onclick: () => showSpectrum(answer, hit, 0) },
    `explains ${hit.explained.length} of ${plural(peaks.length, "peak", "peaks")}, ${percent(own / total)} of the intensity`);
}

/** Takes a file that is dropped on the query, whose first spectrum it becomes. */
function takesFiles(area, taken) {
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", async (event) => {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    // an entry is much smaller
    const { text, more } = firstSpectrum(await file.slice(0, 1 << 20).text());
    area.value = text;
    taken(more ? `the first spectrum of ${file.name}` : null);
  });
}
