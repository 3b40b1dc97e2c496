// The replay of a training: one map at every snapshot, with a slider over them. No step of it asks the server.

import type { Point, Snapshot, SnapshotRun } from "../../api/training-stream.ts";
import { isTraining, measurementAt, training } from "../../api/training-stream.ts";
import type { Kind } from "../../api/types.ts";
import type { DrawnMap } from "../../charts/attention-map.ts";
import { cellOf, cellTips, describeRow, heatmap, mapHeading, zoomControl } from "../../charts/attention-map.ts";
import { headGrid } from "../../charts/head-grids.ts";
import { sparkline, topLoss } from "../../charts/line-chart.ts";
import { argmax } from "../../engine/arrays.ts";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { attentionRow, eachHead, KINDS, SIDES } from "../../state/state.ts";
import { chip, h, icon, isSpecial, namedChoice, scrollBox, word } from "../../ui/dom.ts";
import { pictureFrame, savable } from "../../ui/export.ts";
import { button, changeDetectors, closest, headPicker, link, onResize, option, setContent } from "../../ui/parts.ts";

type Parts = ReturnType<typeof build>;

const PLAY_MS = 300;
const EXTRA_WORDS = 1; // that are shown of a translation beyond the length of the right one
const MAX_STEP_LABELS = 6;
const WORDS = ["free", "forced"] as const;

const view = {
  of: null as Snapshot[] | null, // the snapshots of the training that it belongs to
  at: null as number | null, // the step of one of them; null for the newest
  kind: "cross" as Kind,
  layer: 0,
  head: 0,
  query: null as number | null, // a row; null for the one that changed most
  words: "forced" as (typeof WORDS)[number],
  isChosen: false, // whether the visitor has chosen any of it
};

let redraw = () => {};
let timer: ReturnType<typeof setInterval> | undefined; // of Play

/** The last snapshot whose loss is known as well: losses come in bundles, a little later. */
function newest() {
  const last = training.snapshots.findLastIndex(({ step }) => measurementAt(step));
  return Math.max(0, last);
}
const current = () => (view.at === null ? newest() : training.snapshots.findIndex(({ step }) => step === view.at));
const words = () => (training.snapshots[0]?.forced ? view.words : "free");
const runOf = (snapshot: Snapshot): SnapshotRun => snapshot[words()] ?? snapshot.free;
const firstRun = () => runOf(training.snapshots[0]);
const lastRun = () => runOf(training.snapshots[training.snapshots.length - 1]);

/** Whether a row stands for the same word in every snapshot, so that its weights can be compared over time. */
const rowsAreComparable = () => view.kind === "encoder" || words() === "forced";
const rowOf = (query: number, run: SnapshotRun) => attentionRow(view.kind, view.layer, view.head, query, run);

/** How much the largest weight of each row has grown; where rows are not comparable, how large it is. */
function rowGains(layer: number, head: number, run: SnapshotRun) {
  const hasContent = contentRows(run);
  return run.attention[view.kind].queries.map((_, query) => {
    if (!hasContent[query]) return -Infinity;
    const weights = attentionRow(view.kind, layer, head, query, run);
    const key = argmax(weights);
    const before = rowsAreComparable() ? attentionRow(view.kind, layer, head, query, firstRun())[key] : 0;
    return weights[key] - before;
  });
}

/** Rows whose word (to be output; of the encoder its own) tells more: no sign, and none of the short ones. */
function contentRows(run: SnapshotRun) {
  const { queries } = run.attention[view.kind];
  const rightWords = [...queries.slice(1), "E"]; // they move one place
  const words = view.kind === "encoder" ? queries : rowsAreComparable() ? rightWords : run.output;
  const lengths = words.map((word) => (!isSpecial(word) && /\p{L}/u.test(word) ? [...word].length : 0));
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.filter(Boolean).length;
  return lengths.map((length) => length > 0 && length >= mean);
}

export function translationChips({ output, probabilities }: { output: string[]; probabilities: number[] }) {
  const most = (training.reference?.split(" ").length ?? 0) + EXTRA_WORDS; // an untrained model goes on and on
  const shown = output.length > most + 1 ? output.slice(0, most) : output;
  const chips = shown.flatMap((token, i) => [
    chip("span", token, "target", { style: `--share: ${probabilities[i]}`, title: formatPercent(probabilities[i]) }),
    " ",
  ]);
  if (shown === output) return chips;
  return [...chips, h("span", { class: "and-more" }, t("replay.words_more", { rest: output.length - most }))];
}

function mostChangedHead() {
  const maps = lastRun().attention[view.kind];
  const most = eachHead(maps, (layer, head) => Math.max(...rowGains(layer, head, lastRun())));
  const best = argmax(most.flat());
  return { layer: Math.floor(best / maps.heads), head: best % maps.heads, query: null, isChosen: true };
}

export function trainingReplay(signal: AbortSignal) {
  const parts = build(signal);
  const { player, map, waiting, body } = parts;
  redraw = () => draw(parts);
  const title = [h("h2", {}, t("replay.title")), h("span", { class: "space" }), player.at];
  const head = h("div", { class: "replay-head" }, title);
  const element = h("section", { class: "card", id: "replay" }, head, waiting, body);
  element.addEventListener("keydown", (event) => {
    // Space on a button presses that button, and nothing else.
    if (event.key === " " && closest(event, "button")) event.stopPropagation();
  });
  map.large.addEventListener("click", (event) => {
    const cell = cellOf(event, parts.drawn);
    if (cell) choose({ query: cell.query });
  });
  onResize(element, redraw, signal);
  signal.addEventListener("abort", pause);
  return { element, draw: redraw };
}

function build(signal: AbortSignal) {
  const player = buildPlayer();
  const map = buildMap(() => parts.drawn, signal);
  const limits = h("p", { class: "hint" }, t("limits.toy"));
  const parts = {
    player,
    map,
    waiting: h("p", { class: "hint replay-waiting" }, t("replay.waiting")),
    body: h("div", { class: "replay-body" }, player.bar, player.output, map.element, limits),
    limits,
    drawn: null as DrawnMap | null,
    isNew: changeDetectors(),
  };
  return parts;
}

// ---- what changes it ----

function change(changes: Partial<typeof view>) {
  Object.assign(view, changes);
  redraw();
}

const choose = (changes: Partial<typeof view>) => change({ ...changes, isChosen: true });

/** Show a snapshot; the newest one of a running training is followed from then on. */
function goTo(i: number) {
  const isFollowed = i >= newest() && isTraining();
  change({ at: isFollowed ? null : training.snapshots[Math.max(0, Math.min(i, newest()))].step });
}

function pause() {
  clearInterval(timer);
  timer = undefined;
  redraw();
}

function playOrPause() {
  if (timer) return pause();
  if (current() === newest()) goTo(0);
  timer = setInterval(() => (current() < newest() ? goTo(current() + 1) : pause()), PLAY_MS);
  redraw();
}

// ---- the player: the slider with its curves, and what the model outputs ----

function buildPlayer() {
  const slider = h("input", { type: "range", min: 0, id: "replay-step", "aria-label": t("replay.slider") });
  const steps = h("div", { class: "replay-steps", "aria-hidden": "true" });
  const losses = sparkline(40, "accent");
  const weights = sparkline(24, "target");
  const story = h("p", { class: "replay-story" });
  const playButton = button("round", null, playOrPause, { id: "replay-play" });
  const follow = link(t("replay.follow"), () => goTo(newest()), { id: "replay-follow" });
  slider.addEventListener("input", () => {
    goTo(slider.valueAsNumber);
    pause();
  });
  slider.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.ctrlKey || event.metaKey || event.altKey) return;
    playOrPause();
    event.preventDefault();
  });
  const slide = h("div", { class: "replay-slide" }, losses.element, slider, steps, weights.element, story, follow);
  const bar = h("div", { class: "replay-bar" }, playButton, slide);
  const at = h("span", { class: "replay-at" });
  const output = h("p", { class: "replay-output" });
  return { slider, steps, losses, weights, story, playButton, follow, bar, at, output };
}

/** Where a snapshot is on the slider, from 0 to 1. */
const placeOf = (i: number) => i / Math.max(1, training.snapshots.length - 1);

function placeOfStep(step: number) {
  const { snapshots } = training;
  const next = snapshots.findIndex((each) => each.step >= step);
  if (next <= 0) return next === 0 ? 0 : 1;
  const [before, after] = [snapshots[next - 1], snapshots[next]];
  return placeOf(next - 1 + (step - before.step) / (after.step - before.step));
}

/** Points of a curve over the slider instead of over steps; losses after the newest snapshot have no place yet. */
function overSlider(points: Point[]) {
  const last = training.snapshots.at(-1)?.step ?? 0;
  return points.filter(([step]) => step <= last).map(([step, ...values]) => [placeOfStep(step), ...values]);
}

function stepLabels() {
  const gap = 1 / MAX_STEP_LABELS;
  let free = 0;
  return training.snapshots.flatMap(({ step }, i, { length }) => {
    const place = placeOf(i);
    if (i < length - 1 && (place < free || place > 1 - gap)) return [];
    free = place + gap;
    return [h("span", { style: `left: ${place * 100}%` }, formatNumber(step))];
  });
}

// ---- the map ----

function buildMap(drawn: () => DrawnMap | null, signal: AbortSignal) {
  const kind = namedChoice(t("attention.which"), KINDS, "kind", (kind) => choose({ kind, query: null }));
  const whose = namedChoice(t("replay.words"), WORDS, "replay.words", (words) => change({ words, query: null }));
  const layers = headPicker({ names: ["layer"], of: view, choose });
  const large = h("div", { class: "large" });
  const place = scrollBox(large);
  const tip = cellTips(large, drawn, signal);
  const zoom = zoomControl(() => redraw());
  const grid = headGrid((head) => choose({ head }));
  const most = link("", () => change(mostChangedHead()), { id: "replay-most" });
  const chooseRow = () => choose({ query: rows.value === "" ? null : Number(rows.value) });
  const rows = h("select", { id: "replay-row", onchange: chooseRow });
  const [heading, gridHeading] = [h("h2"), h("h2")];
  const say = h("p", { class: "say", id: "replay-say" });
  const meaning = h("p", { class: "hint meaning" });
  const box = h("div", { class: "map" }, heading, zoom.element, place, tip);
  const map = savable(box, large, () => fileName(`head-${view.head + 1}`));
  const controls = h("div", { class: "controls" }, kind.element, whose.element, layers.element);
  const thumbnails = pictureFrame(grid.element, () => fileName("heads"), [gridHeading, grid.element, most]);
  const element = [
    h("div", { class: "columns" }, map, h("div", {}, controls, thumbnails)),
    h("p", { class: "pickers rows" }, h("label", { for: "replay-row" }, t("replay.row")), rows),
    say,
    meaning,
  ];
  return {
    ...{ element, kind, whose, layers, large, place, tip, zoom, grid, most, rows },
    ...{ heading, gridHeading, say, meaning },
  };
}

const fileName = (what: string) =>
  `${training.name}-step-${training.snapshots[current()].step}-${view.kind}-layer-${view.layer + 1}-${what}`;

// ---- drawing ----

function draw(parts: Parts) {
  const { snapshots, phase, corpus } = training;
  if (phase === "idle") return;
  // A replay of its own for every training: it follows the newest snapshot until the visitor takes the slider.
  if (view.of !== snapshots)
    Object.assign(view, { of: snapshots, at: null, layer: 0, head: 0, query: null, isChosen: false });
  parts.waiting.hidden = snapshots.length > 0;
  parts.limits.hidden = corpus !== "toy"; // two sentences: only one word decides anything
  parts.body.hidden = !snapshots.length;
  if (!snapshots.length) return;
  if (phase === "trained" && !view.isChosen && view.at === null) Object.assign(view, mostChangedHead()); // once
  const snapshot = snapshots[Math.max(0, current())];
  const run = runOf(snapshot);
  const { layers, heads, queries } = run.attention[view.kind];
  view.layer = Math.min(view.layer, layers - 1);
  view.head = Math.min(view.head, heads - 1);
  const gains = rowGains(view.layer, view.head, rowsAreComparable() ? lastRun() : run);
  const query = Math.min(view.query ?? argmax(gains), queries.length - 1);
  drawPlayer(parts, snapshot);
  drawOutput(parts, snapshot);
  drawChoices(parts, run);
  parts.map.gridHeading.textContent = t("attention.all_heads", { layer: view.layer + 1 });
  parts.map.grid.draw({ ...view, run });
  drawStory(parts, snapshot, query);
  drawMap(parts, snapshot, query);
}

function drawPlayer({ player }: Parts, snapshot: Snapshot) {
  const { slider, steps, at, follow, losses, playButton } = player;
  const point = measurementAt(snapshot.step);
  const i = training.snapshots.indexOf(snapshot);
  slider.max = String(training.snapshots.length - 1);
  slider.value = String(i);
  setContent(steps, stepLabels());
  const said = {
    step: formatNumber(snapshot.step),
    steps: formatNumber(training.steps),
    loss: point?.[1].toFixed(3),
    accuracy: point && formatPercent(point[2]),
  };
  at.replaceChildren(...nodes(point ? "replay.at" : "replay.at_step", said));
  slider.setAttribute("aria-valuetext", `${at.textContent}: ${snapshot.free.text}`);
  follow.hidden = !isTraining() || view.at === null;
  const [points, top, value] = [overSlider(training.points), topLoss(training), point?.[1] ?? null];
  losses.draw({ points, marked: [...training.snapshots.keys()].map(placeOf), top, place: placeOf(i), value });
  const name = timer ? "pause" : "play";
  setContent(playButton, icon(name));
  playButton.setAttribute("aria-label", t(`replay.${name}`));
}

function drawOutput({ player: { output }, isNew }: Parts, { source, free }: Snapshot) {
  const width = output.clientWidth;
  const tokens = source.filter((token) => token !== "P");
  const read = tokens.map((token) => [chip("span", token, "source", { style: "--share: 0" }), " "]);
  setContent(output, read, h("span", { class: "arrow" }, "→"), " ", translationChips(free));
  if (isNew("lines", view.of, width)) output.style.minHeight = "";
  output.style.minHeight = `${output.clientHeight}px`; // never less than before: what stands below does not move
}

function drawChoices({ map }: Parts, { attention, output }: SnapshotRun) {
  const { kind, whose, layers, rows, meaning, most } = map;
  const { queries } = attention[view.kind];
  const isEncoder = view.kind === "encoder";
  const isComparable = rowsAreComparable();
  kind.set(view.kind);
  whose.element.hidden = !training.snapshots[0].forced;
  whose.set(words());
  layers.draw(attention[view.kind]);
  meaning.textContent = t(`replay.about.${isEncoder ? "encoder" : words()}`);
  most.textContent = t(isComparable ? "replay.most" : "replay.hardest");
  const usual = t(isComparable ? "replay.row_most" : "replay.row_hardest");
  const texts = queries.map((token, i) => (isEncoder ? token : t("replay.row_of", { token, output: output[i] })));
  setContent(rows, option()(["", usual]), [...texts.entries()].map(option()));
  rows.value = String(view.query ?? "");
}

function drawStory({ player: { weights, story } }: Parts, snapshot: Snapshot, query: number) {
  const { snapshots } = training;
  for (const each of [weights.element, story]) each.style.visibility = rowsAreComparable() ? "visible" : "hidden";
  if (!rowsAreComparable()) return;
  const points = snapshots.map((each, i) => [placeOf(i), Math.max(...rowOf(query, runOf(each)))]);
  const [place, value] = points[snapshots.indexOf(snapshot)];
  weights.draw({ points, marked: [], top: 1, place, value });
  const said = {
    row: word(runOf(snapshot).attention[view.kind].queries[query], SIDES[view.kind][0]),
    first: formatPercent(points[0][1]),
    last: formatPercent(points[points.length - 1][1]),
  };
  story.replaceChildren(...nodes("replay.story", said));
}

function drawMap(parts: Parts, snapshot: Snapshot, query: number) {
  const { heading, large, place, say, tip, zoom } = parts.map;
  const { kind, layer, head } = view;
  const run = runOf(snapshot);
  const output = kind === "encoder" ? null : run.output[query];
  const step = nodes("replay.step", { step: snapshot.step });
  const row = describeRow({ run, kind, layer, head }, query, output);
  say.replaceChildren(...joinSentences(step, row, changeSinceFirst(query, run)));
  const width = place.clientWidth;
  if (!width) return; // the tab is not open
  if (parts.isNew("large", run, kind, layer, head, width, zoom.value())) {
    heading.replaceChildren(...mapHeading(kind, layer, head));
    tip.hidden = true;
    parts.drawn = heatmap({ run, kind, layer, head }, { width, zoom: zoom.value() });
    large.replaceChildren(parts.drawn.element);
    if (parts.isNew("tallest", view.of, kind, words(), width, zoom.value())) large.style.minHeight = "";
    large.style.minHeight = `${large.clientHeight}px`; // never less than before, when there are fewer words
  }
  const { drawn } = parts;
  if (!drawn) return;
  zoom.draw(drawn.zoomRange);
  drawn.mark(query);
  drawn.element.setAttribute("aria-label", say.textContent ?? "");
  const key = argmax(rowOf(query, run));
  if (parts.isNew("sight", kind, layer, head, query, key, width, zoom.value())) drawn.reveal(query, key);
}

function changeSinceFirst(query: number, run: SnapshotRun) {
  if (!rowsAreComparable() || firstRun() === run) return [];
  const weights = rowOf(query, run);
  if (weights.filter((share) => share > 0).length < 2) return [];
  const key = argmax(weights);
  return nodes("replay.since", {
    step: formatNumber(training.snapshots[0].step),
    share: formatPercent(weights[key]),
    before: formatPercent(rowOf(query, firstRun())[key]),
  });
}
