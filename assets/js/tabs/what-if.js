// What if: parts of the network taken away, beside the baseline. Left the original, right the modified run, and the
// difference.

import { cellTips, heatmap, mapDifference, mapHeading, markRow } from "../charts/attention-map.js";
import { pictureButtons } from "../charts/export.js";
import { editMask, findChange, isAblated, toggleChange } from "../core/changes.js";
import { h, isSpecial, replaceKeepingFocus, scrollBox, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";
import {
  cells,
  changeDetector,
  closest,
  isOpen,
  kindPicker,
  onResize,
  rowHeading,
  table,
  toggle,
} from "../core/parts.js";
import { argmax, likelihood, SIDES, state, subscribe, update } from "../core/state.js";
import { explainLikelihood } from "../shell/describe-likelihood.js";
import { headPicker } from "./head-picker.js";
import { changeControls } from "./what-if-controls.js";

/** @import { Change, DrawnRun, Run, View } from "../core/types.d.ts" */
/** @typedef {ReturnType<typeof build>} Parts */
/** @typedef {keyof Parts["maps"]} MapName */

const VISIBLE = 0.0005; // a change that is seen in the digits that are shown

/** @param {View} view */
export function mount(view) {
  const { element, signal } = view;
  const parts = build(view);
  const { say, steps, starters, kind, picker, heading, maps, silenced, controls } = parts;
  const output = h("section", { class: "card" }, h("h2", {}, t("whatif.steps")), steps, starters);
  const columns = [output, h("section", { class: "card" }, controls.element)];
  const pickers = h("div", { class: "controls" }, kind.element, picker.element);
  const beside = h("div", { class: "maps-beside" }, ...Object.values(maps).map(({ column }) => column));
  const attention = [pickers, heading, beside, silenced, h("p", { class: "hint" }, t("whatif.cells"))];
  element.replaceChildren(
    say,
    h("div", { class: "columns whatif" }, columns),
    h("section", { class: "card below" }, attention),
  );
  maps.modified.place.addEventListener("click", (event) => {
    const { query, key } = closest(event, "[data-query][data-key]")?.dataset ?? {};
    if (query !== undefined) editMask(state.kind, Number(query), Number(key));
  });
  subscribe(element, () => draw(parts));
  onResize(element, () => state.run && draw(parts), signal);
}

/** @param {View} view */
function build({ element, server, signal }) {
  const map = (/** @type {string} */ name) => {
    const place = h("div", { class: "large" });
    const title = h("h3", {}, t(`whatif.${name}`));
    const file = () => `${state.kind}-layer-${state.layer + 1}-head-${state.head + 1}-${name}`;
    const content = [title, scrollBox(place), cellTips(place, signal), pictureButtons(place, file)];
    return { title, place, column: h("div", { class: "map", "data-map": name }, content) };
  };
  return {
    element,
    say: h("p", { class: "say", "aria-live": "polite" }),
    steps: scrollBox(),
    starters: h("div", { class: "tried" }),
    kind: kindPicker(),
    picker: headPicker(),
    heading: h("h2"),
    maps: { original: map("original"), modified: map("modified"), difference: map("difference") },
    silenced: h("p", { class: "hint", hidden: true }, t("silenced.shown")),
    controls: changeControls(server),
    isNew: changeDetector(),
    hasNewRuns: changeDetector(),
    difference: /** @type {DrawnRun | null} */ (null),
  };
}

/** @param {Parts} parts */
function draw(parts) {
  const { run, baseline, kind, layer, head, step } = state;
  const { maps } = parts;
  if (!isOpen(parts.element)) return;
  parts.kind.set(kind);
  parts.picker.draw(run.attention[kind]);
  parts.controls.draw();
  // Without changes there is one map.
  for (const map of [maps.original, maps.difference]) map.column.hidden = !baseline;
  const width = maps.modified.place.parentElement?.clientWidth ?? 0;
  if (!parts.isNew(run, baseline, kind, layer, head, step, width)) return;
  if (parts.hasNewRuns(run, baseline)) parts.difference = baseline && mapDifference(run, baseline);
  parts.say.replaceChildren(...describeChanges());
  drawSteps(parts);
  parts.heading.replaceChildren(...mapHeading(kind, layer, head));
  parts.silenced.hidden = !isAblated(kind, layer, head, run.changes);
  maps.modified.title.textContent = t(baseline ? "whatif.modified" : "whatif.original");
  drawMap(parts, "modified", run, width);
  if (baseline) drawMap(parts, "original", baseline, width);
  if (parts.difference) drawMap(parts, "difference", parts.difference, width);
}

/** @param {Parts} parts */
function drawSteps({ steps, starters }) {
  const { run, baseline } = state;
  const compared = run.beside?.slice(0, run.steps.length);
  const hasOtherInput = compared?.some(({ kept, same_input }) => kept !== null && !same_input);
  const note = hasOtherInput ? h("p", { class: "hint" }, `* ${t("whatif.other_input")}`) : null;
  replaceKeepingFocus(steps, [stepTable(run, baseline ?? run), note]);
  const list = h("div", { class: "starters" }, exampleChanges(baseline ?? run));
  replaceKeepingFocus(starters, [h("h3", {}, t("whatif.try")), list]);
}

/** @param {Parts} parts @param {MapName} name @param {DrawnRun} run @param {number} width */
function drawMap({ maps }, name, run, width) {
  const { kind, layer, head, step } = state;
  const picture = heatmap(kind, layer, head, { width, sides: SIDES[kind], run });
  const hasStep = kind !== "encoder" && step < run.attention[kind].queries.length;
  markRow(picture, hasStep ? step : null);
  picture.setAttribute("aria-label", describeMap(name, run));
  maps[name].place.replaceChildren(picture);
}

/** @param {Run} run */
const output = (run) => word(run.output.join(" "), "target");

/** What the changes did, in a sentence. */
function describeChanges() {
  const { run, baseline } = state;
  if (!baseline) {
    const said = nodes("whatif.say_original", { said: output(run), share: formatPercent(likelihood(run)) });
    return joinSentences(said, explainLikelihood(run));
  }
  const places = {
    before: output(baseline),
    share: formatPercent(likelihood(baseline)),
    after: output(run),
    left: formatPercent(likelihood(run)),
  };
  if (run.output.join(" ") !== baseline.output.join(" ")) return nodes("whatif.say_other", places);
  return nodes(places.share === places.left ? "whatif.say_stays" : "whatif.say_same", places);
}

/**
 * The output of both runs at every step, and the probability that the modified one gives the original word.
 * @param {Run} run @param {Run} baseline
 */
function stepTable(run, baseline) {
  const isModified = run !== baseline;
  const output = (/** @type {Run} */ { output, steps }, /** @type {number} */ i) =>
    steps[i] ? [word(output[i], "target"), " ", h("small", {}, formatPercent(steps[i].probability))] : "–";
  const length = Math.max(run.steps.length, baseline.steps.length);
  const rows = Array.from({ length }, (_, i) => {
    const { kept = null, same_input = true } = run.beside?.[i] ?? {};
    const change = kept === null ? null : kept - baseline.steps[i].probability;
    const isOther = isModified && run.output[i] !== baseline.output[i];
    const isBeyond = i >= run.steps.length;
    const classes = [i === state.step ? "marked" : "", isOther ? "other" : ""].join(" ").trim();
    const attributes = { class: classes || null, "data-change": change };
    const heading = rowHeading(h("button", { type: "button", class: "link", disabled: isBeyond }, i + 1));
    const modified = isModified ? [output(run, i), change === null ? "–" : shiftBar(change, same_input)] : [];
    const onclick = () => !isBeyond && update({ step: i });
    return h("tr", { onclick, ...attributes }, heading, cells([output(baseline, i), ...modified]));
  });
  const names = ["step", "original", ...(isModified ? ["modified", "kept"] : [])];
  const headings = names.map((name) => t(`whatif.column.${name}`));
  return table({ class: "steps-beside" }, headings, rows);
}

/**
 * By how much a probability has changed: a bar from the middle, and the number in points.
 * @param {number} change @param {boolean} hasSameInput
 */
function shiftBar(change, hasSameInput) {
  const points = `${change >= VISIBLE ? "+" : ""}${fixed(100 * change, 1)}`;
  const bar = h("i", { class: change < 0 ? "less" : "more", style: `--share: ${Math.abs(change)}` });
  return h(
    "span",
    { class: "shift", title: hasSameInput ? null : t("whatif.other_input") },
    h("span", { class: "axis", "aria-hidden": "true" }, Math.abs(change) < VISIBLE ? null : bar),
    h("small", {}, t("whatif.points", { points }), hasSameInput ? null : "*"),
  );
}

/**
 * A map in words: its title, and the cell that is largest, or that has changed most.
 * @param {MapName} name @param {DrawnRun} run
 */
function describeMap(name, run) {
  const { queries, keys, heads, values } = run.attention[state.kind];
  const size = queries.length * keys.length;
  const start = (state.layer * heads + state.head) * size;
  const weights = values.slice(start, start + size);
  const at = argmax(weights.map(Math.abs));
  const places = {
    title: t(`whatif.${name}`),
    from: queries[Math.floor(at / keys.length)],
    to: keys[at % keys.length],
    value: fixed(weights[at], 2),
  };
  return t(name === "difference" ? "whatif.map_changed" : "whatif.map_largest", places);
}

/**
 * Changes to begin with, one of every sort, each on a button that makes it and undoes it.
 * @param {Run} run the baseline
 */
function exampleChanges(run) {
  const { cross, decoder } = run.attention;
  const { layers, heads, queries, keys, values } = cross;
  const highest = Math.floor(argmax(values) / (queries.length * keys.length));
  const [layer, head] = [Math.floor(highest / heads), highest % heads];
  const step = run.steps.findLastIndex(({ token }) => !["E", "."].includes(token));
  const other = run.steps[step]?.candidates.find(({ token }) => !isSpecial(token) && !run.output.includes(token));
  const lastLayer = decoder.layers - 1;
  /** @type {Record<string, Change | null | undefined>} */
  const examples = {
    head: { do: "ablate", kind: "cross", layer, head },
    mask: { do: "remove_mask", kind: "decoder" },
    positions: run.model.positions ? { do: "positions", stack: "encoder", how: "removed", seed: 0 } : null,
    temperature: { do: "temperature", kind: "all", temperature: 5 },
    residual: { do: "drop_residual", stack: "decoder", layer: lastLayer, sublayer: 2 },
    word: other && { do: "force_word", step, word: other.token },
  };
  return Object.entries(examples).map(([name, change]) => {
    if (!change) return null;
    const places = {
      layer: 1 + (name === "residual" ? lastLayer : layer),
      head: head + 1,
      layers,
      word: other && word(other.token, "target"),
    };
    const isMade = Boolean(findChange(change));
    return toggle(nodes(`whatif.try.${name}`, places), isMade, () => toggleChange(change));
  });
}
