// Answers on the page: cards, candidate sets, quantiles and exact predictions.
"use strict";

/** Which candidates of a spectrum are ranked; nothing where all are. */
function ranked() {
  const spectra = state.model.inputs === "spectra" && state.model.outputs === "molecules";
  if (!spectra || at("among").value === "all") return "";
  return `, ranked are those of the ${at("among").value === "formula" ? "formula" : "precursor's mass"}`;
}

function show(found) {
  const [answer] = found.answers;
  notice(found.notice ?? state.taken);
  document.title = `${at("query").value.trim().slice(0, 60)} – dsokr`;
  const kept = found.wanted === found.candidates ? "" : `, ${found.wanted.toLocaleString("en")} pass the filters`;
  at("summary").textContent = found.calibration ? holding(found.calibration, answer) : answer.hits.length
    ? `${plural(found.candidates, "candidate", "candidates")}${kept}${ranked()}`
    : state.skip ? "No more candidates" : ranked() ? "No candidate has that mass or formula and passes the filters"
      : "No candidate passes the filters";
  if (answer.cautions) at("summary").textContent += ` · ${answer.cautions.join("; ")}`;
  at("sure").replaceChildren(...sure(answer));
  at("why").hidden = !answer.nearest?.length;
  showSpectrum(answer, answer.hits[0], 0);
  at("nearest").replaceChildren(...(answer.nearest ?? []).map((near, place) => make("li", {},
    answer.spectrum ? make("button", { type: "button", onclick: () => showSpectrum(answer, answer.hits[0], place) }, "Draw")
      : make("div", {}, near.text),
    make("div", { class: "small" }, `similarity ${near.similarity.toFixed(2)} · output ${near.id}`,
      near.label ? make("code", {}, ` ${near.label}`) : null))));
  const cards = answer.hits.map((hit) => card(hit, answer));
  if (state.skip === 0) cards.unshift(...(answer.beyond ?? []).map(beyond));
  if (answer.exact && state.skip === 0) cards.unshift(exact(answer.exact));
  at("cards").replaceChildren(...cards);
  at("export").hidden = !answer.hits.length;
  // the answer belongs on the first screen
  at("more").open = false;
  document.querySelectorAll("#export .molecules").forEach((button) => {
    button.hidden = state.model.outputs !== "molecules";
  });
  const page = Math.floor(state.skip / PAGE) + 1;
  at("pages").hidden = found.calibration || state.skip === 0 && answer.hits.length < PAGE;
  at("page").textContent = `Page ${page}`;
  at("previous").disabled = state.skip === 0;
  at("next").disabled = answer.hits.length < PAGE;
}

/** What a set of candidates holds. */
function holding({ coverage, on, queries, caution }, { hits, whole }) {
  const set = whole ? plural(hits.length, "candidate", "candidates") : `The first ${hits.length} of a set of candidates`;
  return `${set} that ${whole && hits.length === 1 ? "is" : "hold"} a right one with probability ${coverage}, `
    + `calibrated on ${queries} queries (${on}${caution ? `; ${caution}` : ""})`;
}

/** How sure the answer is, and quantiles. */
function sure(answer) {
  const lines = [];
  if (answer.quantiles?.length) {
    lines.push(...quantiles(answer.quantiles));
  }
  const sureness = answer.confidence;
  if (sureness && state.skip === 0) {
    const holds = sureness.from <= sureness.gap && sureness.gap <= sureness.to;
    const gaps = holds ? "such a gap" : "the nearest gaps";
    const range = sureness.from === sureness.to ? number(sureness.from) : `${number(sureness.from)} to ${number(sureness.to)}`;
    lines.push(make("p", { class: "small" },
      `The first score is ${number(sureness.gap)} above the next. Of ${sureness.queries} validation queries with ${gaps} `
      + `(${range}), the first candidate was right for ${percent(sureness.right)} `
      + `(95 % interval ${percent(sureness.low)} to ${percent(sureness.high)}).`));
  }
  return lines;
}

/** Predicted quantiles in words, drawn, and as a table. */
function quantiles(all) {
  const at = (level) => all.find((own) => Math.abs(own.level - level) < 1e-9)?.value;
  const low = Math.min(...all.map((own) => own.value));
  const high = Math.max(...all.map((own) => own.value));
  const place = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  const bars = make("div", { class: "quantiles", "aria-hidden": "true" });
  const middles = [];
  for (const { level, value } of all) {
    const other = level < 0.5 ? at(1 - level) : undefined;
    if (other !== undefined && other >= value) {
      const bar = make("span", { class: "between" });
      bar.style.left = `${100 * place(value)}%`;
      bar.style.width = `${100 * (place(other) - place(value))}%`;
      bars.append(bar);
      middles.push(`between ${rounded(value)} and ${rounded(other)} with a probability of ${percent(1 - 2 * level)}`);
    }
  }
  const median = at(0.5);
  for (const { value } of all) {
    const mark = make("span", { class: value === median ? "median" : "mark" });
    mark.style.left = `${100 * place(value)}%`;
    bars.append(mark);
  }
  const said = [...(median === undefined ? [] : [`median ${rounded(median)}`]), ...middles];
  return [
    make("p", { class: "predicted" }, `Predicted: ${said.length ? said.join("; ") : "quantiles"}.`),
    bars,
    make("div", { class: "wide" }, make("table", { "aria-label": "predicted quantiles" },
      make("tr", {}, make("th", {}, "quantile"), all.map((own) => make("td", { class: "number" }, `${own.level}`))),
      make("tr", {}, make("th", {}, "value"), all.map((own) => make("td", { class: "number" }, rounded(own.value)))))),
  ];
}

function exact(best) {
  return make("li", { class: "card exact", tabindex: "0", "data-copy": best.label },
    make("div", { class: "top" }, make("span", { class: "rank" }, "Best of all outputs"),
      make("span", { class: "score" }, `score ${number(best.score)}`)),
    label(best.label));
}

/** A molecule that a search found, drawn with what differs from the nearest candidate. */
function beyond(found) {
  const { drawing, in_table: known, nearest, nearest_label: other, difference, kept } = found;
  const ended = { neighbours: "no neighbour is better", rounds: "its rounds ended", evaluations: "its evaluations ended" };
  return make("li", { class: "card exact", tabindex: "0", "data-copy": found.label },
    make("div", { class: "top" }, make("span", { class: "rank" }, known ? "The search found a candidate" : "Not in the table"),
      make("span", { class: "score", title: `score ${found.score}` }, `score ${number(found.score)}`)),
    drawing ? make("img", { src: `data:image/svg+xml,${encodeURIComponent(drawing)}`, alt: `drawing of ${found.label.slice(0, 200)}` }) : null,
    label(found.label),
    make("div", { class: "small" }, known ? `It is candidate ${nearest}. ` : `The nearest candidate is ${nearest}, `,
      known ? null : make("code", {}, other), known ? null : difference ? `, from which it differs by ${difference}; marked in the drawing. ` : ". ",
      kept ? null : "Nothing that was found keeps what is asked for. ",
      `${plural(found.evaluated, "molecule was", "molecules were")} scored until ${ended[found.ended]}.`));
}

/** What a label says: labels of a set, a ranking with its items in order, a number, or the label itself. */
function said(text) {
  const chips = (parts) => make("div", { class: "chips" }, parts.map((part) => make("span", { class: "chip" }, part)));
  switch (state.model.outputs) {
    case "labels": {
      const labels = text.split(state.model.separator ?? " ").map((part) => part.trim()).filter(Boolean);
      return labels.length ? chips(labels) : make("div", { class: "small said" }, "the empty set");
    }
    case "rankings": {
      const ranks = text.trim().split(/\s+/).map(Number);
      const items = ranks.map((rank, item) => [rank, item + 1]).sort(([a], [b]) => a - b).map(([, item]) => item);
      return make("div", { class: "said" }, make("code", {}, text),
        make("div", { class: "small" }, `items, the best first: ${items.join(", ")}`));
    }
    case "numbers": return make("strong", { class: "said" }, text);
    default: return make("code", {}, text);
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
    // browsers give the clipboard to secure pages alone
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

function card(hit, answer) {
  const { molecule } = hit;
  const nearest = answer.nearest ?? [];
  const drawn = ["molecules", "graphs"].includes(state.model.outputs);
  const address = new URLSearchParams({ model: state.model.name, id: hit.id });
  const image = drawn ? make("img", { src: `api/drawing?${address}`, alt: `drawing of ${hit.label.slice(0, 200)}`, loading: "lazy" }) : null;
  image?.addEventListener("error", () => image.remove());
  const name = hit.link
    ? make("a", { href: hit.link, target: "_blank", rel: "noreferrer" }, `CID ${hit.id}`)
    : make("span", { class: hit.label ? "small" : null }, hit.id);
  const gap = hit.gap === undefined ? "" : `, ${number(hit.gap)} above the next`;
  const known = new Map(nearest.map((near, place) => [near.id, place + 1]));
  const shared = (hit.shared ?? []).map((own) => {
    const parts = [...own.groups, ...own.rings];
    return make("li", {}, `with training ${answer.spectrum ? "spectrum" : "text"} ${known.get(own.id) ?? own.id}: `
      + `${parts.length ? parts.join(", ") : "no group or ring"} (Tanimoto ${own.similarity.toFixed(2)})`);
  });
  return make("li", { class: "card", tabindex: "0", "data-copy": hit.label, "data-id": hit.id },
    make("div", { class: "top" }, make("span", { class: "rank" }, `${hit.rank}`), name,
      make("span", { class: "score", title: `score ${hit.score}${gap}` }, `score ${number(hit.score)}`)),
    image,
    molecule ? make("div", {}, make("strong", { class: "formula" }, molecule.formula),
      ` · ${molecule.mass.toFixed(2)} g/mol`) : null,
    hit.label ? label(hit.label) : null,
    explains(hit, answer),
    hit.tied ? make("div", { class: "small" }, `${plural(hit.tied, "other candidate has", "other candidates have")} the same score`) : null,
    hit.duplicates.length ? make("details", {}, make("summary", {}, `+ ${plural(hit.duplicates.length, "duplicate", "duplicates")}`),
      hit.duplicates.join(", ")) : null,
    molecule?.groups.length ? make("div", { class: "chips" }, molecule.groups.map((group) => make("span", { class: "chip" }, group))) : null,
    shared.length ? make("details", {}, make("summary", {}, "Shared with training molecules"), make("ul", { class: "shared" }, shared)) : null);
}
