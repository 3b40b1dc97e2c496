// How well each cross-attention head aligns the words, what every head is like, and what a high weight does not prove.

import { contrastClass, hasFullyMaskedRow } from "../charts/attention-map.js";
import { pictureButtons } from "../charts/export.js";
import { h, keepFocus, scrollBox, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { changeDetector, columnHeading, drawInSight, isOpen, link, table } from "../core/parts.js";
import { argmax, hasEnoughGold, likelihood, state, update } from "../core/state.js";

/** @import { HeadAblation, Heads } from "#schema" */
/** @import { AttentionMaps, Run, Server, View } from "../core/types.d.ts" */
/** @typedef {ReturnType<typeof build>} Parts */
/** @typedef {{ layer: number, head: number }} Head */
/** @typedef {keyof typeof COLUMNS} Column */
/** @typedef {Head & Record<"entropy" | "distance", number> & Record<"aligned" | "silenced", number | null>} Row */

const HIGH = 0.5; // a weight that stands out on a map

const COLUMNS = {
  layer: (/** @type {Row} */ row) => String(row.layer + 1),
  head: (/** @type {Row} */ row) => String(row.head + 1),
  entropy: (/** @type {Row} */ row) => row.entropy.toFixed(2),
  distance: (/** @type {Row} */ row) => row.distance.toFixed(2),
  aligned: (/** @type {Row} */ row) => share(row.aligned),
  silenced: (/** @type {Row} */ row) => share(row.silenced),
};

/** @param {number | null} value */
const share = (value) => (value === null ? "–" : formatPercent(value));

/** The server's answer about a run. It outlives every mounting. */
const known = {
  run: /** @type {Run | null} */ (null),
  answer: /** @type {Heads | null} */ (null),
};

/** @param {View} view */
export function mount({ element, server, signal }) {
  const parts = build();
  const { scores, about, verdict, tableHeading, tablePlace, aboutTable } = parts;
  const alignment = h(
    "div",
    {},
    h("h2", {}, t("heads.title")),
    h(
      "div",
      { class: "kept" },
      scores,
      pictureButtons(scores, () => "alignment-of-heads"),
    ),
    about,
    h("h2", { class: "later" }, t("heads.proof")),
    h("p", {}, t("heads.limits")),
    verdict,
  );
  const every = h(
    "div",
    { class: "kept" },
    tableHeading,
    tablePlace,
    aboutTable,
    pictureButtons(tablePlace, () => `${state.kind}-heads`),
  );
  parts.section.append(h("div", { class: "columns even" }, alignment, every));
  element.replaceChildren(parts.section);
  const update = () => {
    if (known.run !== state.run) Object.assign(known, { run: null, answer: null }); // another model has other heads
    if (isOpen(element)) fetchAnswer(parts, server);
    if (parts.isNew(state.run, state.kind)) keepFocus(parts.section, () => draw(parts));
    else mark(parts);
  };
  drawInSight(element, update, signal);
}

function build() {
  const here = h("div", { class: "scores" });
  const heldOut = h("div", { class: "scores" });
  return {
    section: h("section", { class: "card below" }),
    here,
    heldOut,
    scores: h("div", { class: "pair-of-scores" }, here, heldOut),
    about: h("p", { class: "hint" }),
    verdict: h("p", { id: "silenced", "aria-live": "polite" }),
    tableHeading: h("h2"),
    tablePlace: scrollBox(),
    aboutTable: h("p", { class: "hint" }),
    sort: { by: /** @type {Column} */ ("layer"), down: false },
    isNew: changeDetector(),
  };
}

/** @param {Parts} parts @param {Server} server */
async function fetchAnswer(parts, server) {
  const { run } = state;
  if (known.run === run) return;
  Object.assign(known, { run, answer: null });
  const answer = await server.heads({ checkpoint: run.checkpoint, sentence: run.sentence }).catch(() => null);
  if (known.run !== run) return; // another sentence by now
  const isAnswered = answer && !("error" in answer);
  Object.assign(known, isAnswered ? { answer } : { run: null }); // without an answer, the next change asks again
  keepFocus(parts.section, () => draw(parts));
}

/** @param {Parts} parts */
function draw(parts) {
  const { here, heldOut, about, verdict } = parts;
  const { run } = state;
  const { cross } = run.attention;
  const rates = run.reference?.error_rates ?? null;
  const elsewhere = known.answer?.held_out ?? null;
  about.replaceChildren(...joinSentences(t("heads.about"), rates && !hasEnoughGold(run) ? t("heads.luck") : ""));
  here.replaceChildren(
    h("h3", {}, t("heads.here")),
    rates ? scoreGrid(cross, rates, "here") : h("p", { class: "hint" }, whyNoScores(run)),
  );
  heldOut.hidden = Boolean(known.answer) && !elsewhere;
  const heading = run.changes.length ? "heads.there_unbroken" : "heads.there_count";
  heldOut.replaceChildren(
    h("h3", {}, elsewhere ? t(heading, { count: elsewhere.sentences }) : t("heads.there")),
    elsewhere ? scoreGrid(cross, elsewhere.error_rates, "there") : h("p", { class: "hint" }, "…"),
  );
  if (run.changes.length) verdict.textContent = t("silenced.changed");
  else if (!known.answer) verdict.textContent = "…";
  else verdict.replaceChildren(...describeSilenced(run, known.answer.silenced));
  drawTable(parts);
}

/** Mark the head that the visitor has chosen. @param {Parts} parts */
function mark({ scores, tablePlace }) {
  const isChosen = (/** @type {HTMLElement} */ { dataset }) =>
    Number(dataset.layer) === state.layer && Number(dataset.head) === state.head;
  for (const score of /** @type {NodeListOf<HTMLElement>} */ (scores.querySelectorAll(".score")))
    score.setAttribute("aria-pressed", String(state.kind === "cross" && isChosen(score)));
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (tablePlace.querySelectorAll("tbody tr"))) {
    row.classList.toggle("marked", isChosen(row));
    row.querySelector("button")?.setAttribute("aria-current", String(isChosen(row)));
  }
}

/** @param {Parts} parts */
function drawTable(parts) {
  const { tableHeading, tablePlace, aboutTable } = parts;
  const { run, kind } = state;
  const hasSilenced = kind === "cross" && !run.changes.length; // each head was silenced in the run without changes
  const columns = /** @type {Column[]} */ (Object.keys(COLUMNS)).filter((name) =>
    name === "aligned" ? kind === "cross" : name !== "silenced" || hasSilenced,
  );
  if (!columns.includes(parts.sort.by)) parts.sort = { by: "layer", down: false };
  const { by, down } = parts.sort;
  const rows = headRows(run).sort(
    (a, b) => (down ? -1 : 1) * (Number(a[by]) - Number(b[by])) || a.layer - b.layer || a.head - b.head,
  );
  const key = hasSilenced ? "heads.about_table_cross" : "heads.about_table";
  const about = t(key, { whole: formatPercent(likelihood(run)) });
  aboutTable.replaceChildren(...joinSentences(about, hasFullyMaskedRow(run, kind) ? t("heads.blind") : ""));
  tableHeading.textContent = t(`heads.every.${kind}`);
  const headings = columns.map((name) => sortHeading(parts, name));
  tablePlace.replaceChildren(
    table(
      { class: "sortable" },
      headings,
      rows.map((row) => tableRow(row, columns)),
    ),
  );
  mark(parts);
}

/** @param {Run} run @returns {Row[]} */
function headRows({ heads, reference }) {
  const { kind } = state;
  return heads.data
    .map((values) => Object.fromEntries(values.map((value, i) => [heads.columns[i], value])))
    .filter((row) => row.kind === kind)
    .map((values) => {
      const row = /** @type {Row} */ (/** @type {unknown} */ (values));
      const isRow = (/** @type {Head} */ { layer, head }) => layer === row.layer && head === row.head;
      const rate = kind === "cross" ? reference?.error_rates?.[row.layer][row.head] : undefined;
      const silenced = kind === "cross" ? known.answer?.silenced.find(isRow) : undefined;
      return { ...row, aligned: rate === undefined ? null : 1 - rate, silenced: silenced?.probability ?? null };
    });
}

/** @param {Parts} parts @param {Column} name */
function sortHeading(parts, name) {
  const { by, down } = parts.sort;
  const sort = () => {
    parts.sort = { by: name, down: by === name ? !down : !["layer", "head"].includes(name) };
    keepFocus(parts.section, () => drawTable(parts));
  };
  return columnHeading(
    h("button", { type: "button", "data-by": name, "data-place": name, onclick: sort }, t(`heads.column.${name}`)),
    { "aria-sort": by === name ? (down ? "descending" : "ascending") : "none" },
  );
}

/** A row is clicked anywhere; the keyboard has a button in it. @param {Row} row @param {Column[]} columns */
function tableRow(row, columns) {
  const { layer, head } = row;
  const opener = () =>
    h(
      "button",
      {
        type: "button",
        "aria-label": t("heads.name", { layer: layer + 1, head: head + 1 }),
        "data-place": `row ${layer} ${head}`,
      },
      COLUMNS.head(row),
    );
  return h(
    "tr",
    { onclick: () => update({ layer, head }), "data-layer": layer, "data-head": head },
    columns.map((name) => h("td", {}, name === "head" ? opener() : COLUMNS[name](row))),
  );
}

/** @param {Head} head */
const openHead = ({ layer, head }) => update({ kind: "cross", layer, head, averaged: false });

/**
 * Layers × heads: how much of each head's alignment is right. `name` tells one grid from another.
 * @param {AttentionMaps} maps @param {number[][]} rates @param {string} name
 */
function scoreGrid({ layers, heads }, rates, name) {
  const axis = (/** @type {string} */ text) => h("small", { class: "axis" }, text);
  const cell = (/** @type {number} */ layer, /** @type {number} */ head) => {
    const value = 1 - rates[layer][head];
    const strength = 4 + 96 * value; // % of the hue
    return h(
      "button",
      {
        type: "button",
        class: `score ${contrastClass(strength, false)}`,
        style: `--score: ${strength.toFixed(1)}%`,
        "data-score": value,
        "data-layer": layer,
        "data-head": head,
        "data-place": `${name} ${layer} ${head}`,
        "aria-label": t("heads.score", { layer: layer + 1, head: head + 1, share: formatPercent(value) }),
        onclick: () => openHead({ layer, head }),
      },
      String(Math.round(100 * value)),
    );
  };
  return h(
    "div",
    { class: "score-grid", style: `--heads: ${heads}` },
    axis(t("head")),
    Array.from({ length: heads }, (_, head) => axis(String(head + 1))),
    Array.from({ length: layers }, (_, layer) => [
      axis(t("layer_n", { layer: layer + 1 })),
      ...Array.from({ length: heads }, (_, head) => cell(layer, head)),
    ]),
  );
}

/** @param {Run} run */
function whyNoScores({ reference }) {
  if (!reference) return t("heads.unknown");
  return reference.aligned ? t("heads.mistaken", { right: reference.text }) : t("heads.unaligned");
}

/**
 * The head with the highest weight that changes nothing when it is silenced; if there is none, the one that matters
 * least of those with a high weight.
 * @param {Run} run @param {HeadAblation[]} silenced
 */
function describeSilenced(run, silenced) {
  const text = run.output.filter((token) => token !== "E").join(" ");
  const high = silenced.filter((each) => each.weight >= HIGH);
  const idle = high.filter((each) => each.text === text);
  const count = silenced.filter((each) => each.text === text).length;
  const all = nodes("silenced.all", { heads: silenced.length, count });
  if (!high.length) return joinSentences(nodes("silenced.none", { share: formatPercent(HIGH) }), all);
  const each = idle.length
    ? idle[argmax(idle.map(({ weight }) => weight))]
    : high[argmax(high.map(({ probability }) => probability))];
  const places = {
    head: link(t("heads.name", { layer: each.layer + 1, head: each.head + 1 }), () => openHead(each)),
    share: formatPercent(each.weight),
    word: word(run.source[each.key], "source"),
    said: word(run.output[each.query], "target"),
    text: word(each.text, "target"),
    whole: formatPercent(likelihood(run)),
    left: formatPercent(each.probability),
  };
  const key = !idle.length ? "silenced.needed" : places.whole === places.left ? "silenced.idle_stays" : "silenced.idle";
  return joinSentences(nodes(key, places), all);
}
