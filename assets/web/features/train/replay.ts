// The replay of a training: one map at every snapshot, with a slider over them. All snapshots are here, so no step of
// it asks the server.

import {
  isTraining,
  measurementAt,
  type Point,
  type Snapshot,
  type SnapshotRun,
  training,
} from "../../api/training-stream.ts";
import type { Kind } from "../../api/types.ts";
import { cellOf, cellTips, describeRow, heatmap, heatmapHeight, mapHeading } from "../../charts/attention-map.ts";
import { sparkline, topLoss } from "../../charts/line-chart.ts";
import { thumbnail } from "../../charts/map-canvas.ts";
import type { DrawnMap } from "../../charts/map-parts.ts";
import { zoomControl } from "../../charts/map-zoom.ts";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { argmax, attentionRow, KINDS, SIDES } from "../../state/state.ts";
import { chip, h, icon, isSpecial, numberedOptions, scrollBox, segmented, word } from "../../ui/dom.ts";
import { pictureButtons } from "../../ui/export.ts";
import { button, changeDetector, closest, link, onResize, option } from "../../ui/parts.ts";

const PLAY_MS = 300;
const EXTRA_WORDS = 1; // that are shown of a translation beyond the length of the right one
const THUMB = 9; // px, half the slider's
const SLIDER_MAX = 1000;
const EVEN_SHARE = 0.2; // of the slider, which all snapshots have alike: what hardly changes can be reached as well
const MAX_STEP_LABELS = 6;

/**
 * The visitor's position in the replay; it outlives a mounting. `of` are the snapshots of the training that it belongs
 * to, `at` the step of one of them (null: the newest), `query` a row (null: the one that changed most), `isChosen`
 * whether the visitor has chosen any of it.
 */
const view: {
  of: Snapshot[] | null;
  at: number | null;
  kind: Kind;
  layer: number;
  head: number;
  query: number | null;
  words: "free" | "forced";
  isChosen: boolean;
} = { of: null, at: null, kind: "cross", layer: 0, head: 0, query: null, words: "forced", isChosen: false };

/** Start a replay of its own for every training: it follows the newest snapshot until the visitor takes the slider. */
function startReplay() {
  if (view.of === training.snapshots) return;
  Object.assign(view, { of: training.snapshots, at: null, layer: 0, head: 0, query: null, isChosen: false });
}

/** The last snapshot whose loss is known as well: losses come in bundles, a little later. */
const newest = () =>
  Math.max(
    0,
    training.snapshots.findLastIndex(({ step }) => measurementAt(step)),
  );
const current = () => (view.at === null ? newest() : training.snapshots.findIndex(({ step }) => step === view.at));
const words = () => (training.snapshots[0]?.forced ? view.words : "free");

const runOf = (snapshot: Snapshot): SnapshotRun => snapshot[words()] ?? snapshot.free;
const firstRun = () => runOf(training.snapshots[0]);
const lastRun = () => runOf(training.snapshots[training.snapshots.length - 1]);

/** Whether a row stands for the same word in every snapshot, so that its weights can be compared over time. */
const rowsAreComparable = () => view.kind === "encoder" || words() === "forced";

/** The weights of one row of the head in view. */
const rowOf = (query: number, run: SnapshotRun) => attentionRow(view.kind, view.layer, view.head, query, run);

/**
 * How much the largest weight of each row of a head has grown since the first snapshot, or, where rows are not
 * comparable, how large it is.
 */
function rowGains(layer: number, head: number, run: SnapshotRun = lastRun()) {
  const hasContent = contentRows(run);
  return run.attention[view.kind].queries.map((_, query) => {
    if (!hasContent[query]) return -Infinity;
    const weights = attentionRow(view.kind, layer, head, query, run);
    const key = argmax(weights);
    if (!rowsAreComparable()) return weights[key];
    return weights[key] - attentionRow(view.kind, layer, head, query, firstRun())[key];
  });
}

/**
 * Rows whose word (the one to be output there, of the encoder its own) tells more than others: no sign, and none of the
 * short ones.
 */
function contentRows(run: SnapshotRun) {
  const { queries } = run.attention[view.kind];
  const rightWords = [...queries.slice(1), "E"]; // they move one place
  const words = view.kind === "encoder" ? queries : rowsAreComparable() ? rightWords : run.output;
  const lengths = words.map((word) => (!isSpecial(word) && /\p{L}/u.test(word) ? [...word].length : 0));
  const known = lengths.filter(Boolean);
  const mean = known.reduce((sum, length) => sum + length, 0) / known.length;
  return lengths.map((length) => length > 0 && length >= mean);
}

/** The model's own decoding of the sentence: the underline of a word is its probability. */
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

/** Open on the head with the row that has changed most. */
function openMostChangedHead() {
  const { layers, heads } = lastRun().attention[view.kind];
  const most = Array.from({ length: layers * heads }, (_, i) =>
    Math.max(...rowGains(Math.floor(i / heads), i % heads)),
  );
  const best = argmax(most);
  Object.assign(view, { layer: Math.floor(best / heads), head: best % heads, query: null });
}

/** One mounting of the replay: its parts, and what they show now. */
type Replay = {
  player: ReturnType<typeof buildPlayer>;
  map: ReturnType<typeof buildMap>;
  frame: { waiting: HTMLElement; body: HTMLElement; limits: HTMLElement };
  timer: ReturnType<typeof setInterval> | undefined;
  isNew: Record<string, ReturnType<typeof changeDetector>>;
  layerChoice: ReturnType<typeof segmented> | null;
  mapHeight: number;
  drawn: DrawnMap | null;
};

/** The replay as an element, and `draw` to call after every change of the training. */
export function trainingReplay(signal: AbortSignal) {
  const replay = { timer: undefined, isNew: {}, layerChoice: null, mapHeight: 0, drawn: null } as Replay;
  replay.player = buildPlayer(replay, signal);
  replay.map = buildMap(replay, signal);
  const { player, map } = replay;
  const waiting = h("p", { class: "hint replay-waiting" }, t("replay.waiting"));
  const limits = h("p", { class: "hint", hidden: true }, t("limits.toy"));
  const body = h("div", { class: "replay-body" }, player.bar, player.output, map.element, limits);
  replay.frame = { waiting, body, limits };
  const head = h(
    "div",
    { class: "replay-head" },
    h("h2", {}, t("replay.title")),
    h("span", { class: "space" }),
    player.at,
  );
  const element = h("section", { class: "card", id: "replay" }, head, waiting, body);
  element.addEventListener("keydown", (event) => {
    // Space on a button presses that button, and nothing else.
    if (event.key === " " && closest(event, "button")) event.stopPropagation();
  });
  onResize(element, () => draw(replay), signal);
  signal.addEventListener("abort", () => clearInterval(replay.timer));
  return { element, draw: () => draw(replay) };
}

// ---- what changes it ----

function change(replay: Replay, changes: Partial<typeof view>) {
  Object.assign(view, changes);
  draw(replay);
}

const choose = (replay: Replay, changes: Partial<typeof view>) => change(replay, { ...changes, isChosen: true });

/** Show a snapshot; the newest one of a running training is followed from then on. */
function goTo(replay: Replay, i: number) {
  const isFollowed = i >= newest() && isTraining();
  change(replay, { at: isFollowed ? null : training.snapshots[Math.max(0, Math.min(i, newest()))].step });
}

function play(replay: Replay) {
  if (current() === newest()) goTo(replay, 0);
  replay.timer = setInterval(() => {
    if (current() < newest()) goTo(replay, current() + 1);
    else pause(replay);
  }, PLAY_MS);
  draw(replay);
}

function pause(replay: Replay) {
  clearInterval(replay.timer);
  replay.timer = undefined;
  draw(replay);
}

function pauseAt(replay: Replay, i: number) {
  pause(replay);
  goTo(replay, i);
}

const playOrPause = (replay: Replay) => (replay.timer ? pause(replay) : play(replay));

// ---- the player: the slider with its curves, and what the model outputs ----

function buildPlayer(replay: Replay, signal: AbortSignal) {
  const range = { type: "range", min: 0, max: SLIDER_MAX, step: "any" };
  const slider = h("input", {
    ...range,
    id: "replay-step",
    "aria-label": t("replay.slider"),
    title: t("replay.spacing"),
  });
  const steps = h("div", { class: "replay-steps", "aria-hidden": "true" });
  const losses = sparkline({ height: 40, inset: THUMB, colour: "accent", signal });
  const weights = sparkline({ height: 24, inset: THUMB, colour: "target", signal });
  const story = h("p", { class: "replay-story" });
  const playButton = button("round", null, () => playOrPause(replay), { id: "replay-play" });
  const follow = link(t("replay.follow"), () => goTo(replay, newest()), { id: "replay-follow" });
  slider.addEventListener("input", () => pauseAt(replay, nearestSnapshot(slider.valueAsNumber)));
  slider.addEventListener("keydown", (event) => onSliderKey(replay, event));
  const slide = h("div", { class: "replay-slide" }, losses.element, slider, steps, weights.element, story, follow);
  const bar = h("div", { class: "replay-bar" }, playButton, slide);
  const at = h("span", { class: "replay-at" });
  const output = h("p", { class: "replay-output" });
  return { slider, steps, losses, weights, story, playButton, follow, bar, at, output };
}

/** @param place on the slider */
const nearestSnapshot = (place: number) => argmax(places().map((each) => -Math.abs(each * SLIDER_MAX - place)));

/** How much the maps of two snapshots differ: the mean difference of a weight. */
function difference(a: Snapshot, b: Snapshot) {
  const [one, other] = [a.forced ?? a.free, b.forced ?? b.free];
  let sum = 0;
  let count = 0;
  for (const kind of KINDS) {
    const [before, after] = [one.attention[kind].values, other.attention[kind].values];
    const length = Math.min(before.length, after.length); // without the right words, outputs differ in length
    for (let i = 0; i < length; i++) sum += Math.abs(after[i] - before[i]);
    count += length;
  }
  return count ? sum / count : 0;
}

const spacing: { of: Snapshot | null; count: number; places: number[] } = { of: null, count: 0, places: [] };

/** The place of each snapshot on the slider, from 0 to 1: it is spaced by what changes, not by steps. */
function places() {
  const { snapshots } = training;
  if (spacing.of === snapshots[0] && spacing.count === snapshots.length) return spacing.places;
  const gaps = snapshots.map((each, i) => (i ? difference(snapshots[i - 1], each) : 0));
  const total = gaps.reduce((sum, gap) => sum + gap, 0) || 1;
  const last = Math.max(1, snapshots.length - 1);
  let passed = 0;
  const found = gaps.map((gap, i) => {
    passed += gap;
    return (EVEN_SHARE * i) / last + ((1 - EVEN_SHARE) * passed) / total;
  });
  Object.assign(spacing, { of: snapshots[0], count: snapshots.length, places: found });
  return found;
}

/** Where a step is on the slider, also between two snapshots. */
function placeOfStep(step: number) {
  const { snapshots } = training;
  const next = snapshots.findIndex((each) => each.step >= step);
  if (next <= 0) return next === 0 ? 0 : 1;
  const [before, after] = [snapshots[next - 1], snapshots[next]];
  const share = (step - before.step) / (after.step - before.step);
  return places()[next - 1] + share * (places()[next] - places()[next - 1]);
}

/** Points of a curve over the slider instead of over steps; losses after the newest snapshot have no place yet. */
function overSlider(points: Point[]) {
  const last = training.snapshots.at(-1)?.step ?? 0;
  return points.filter(([step]) => step <= last).map(([step, ...values]) => [placeOfStep(step), ...values]);
}

/** Some steps under the slider, each where it is on it. */
function drawStepLabels(element: HTMLElement) {
  const { snapshots } = training;
  const gap = 1 / MAX_STEP_LABELS;
  let free = 0;
  const labels = snapshots.flatMap(({ step }, i) => {
    const place = places()[i];
    const isLast = i === snapshots.length - 1;
    if (!isLast && (place < free || place > 1 - gap)) return [];
    free = place + gap;
    return [h("span", { style: `left: ${place * 100}%` }, formatNumber(step))];
  });
  element.replaceChildren(...labels);
}

/** Here the keys of the page's own steps move the replay. */
function onSliderKey(replay: Replay, event: KeyboardEvent) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const ways: Record<string, number> = {
    ArrowLeft: current() - 1,
    ArrowDown: current() - 1,
    ArrowRight: current() + 1,
    ArrowUp: current() + 1,
    Home: 0,
    End: newest(),
  };
  const to = ways[event.key];
  if (event.key === " ") playOrPause(replay);
  else if (to !== undefined) pauseAt(replay, to);
  else return;
  event.preventDefault();
}

// ---- the map ----

function buildMap(replay: Replay, signal: AbortSignal) {
  const { controls, ...pickers } = mapPickers(replay);
  const { map, ...large } = largeColumn(replay, signal);
  const { thumbnails, ...grid } = gridColumn(replay);
  const rows = h("select", {
    id: "replay-row",
    onchange: () => choose(replay, { query: rows.value === "" ? null : Number(rows.value) }),
  });
  const say = h("p", { class: "say", id: "replay-say" });
  const meaning = h("p", { class: "hint meaning" });
  const element = [
    h("div", { class: "columns" }, map, h("div", {}, controls, thumbnails)),
    h("p", { class: "pickers rows" }, h("label", { for: "replay-row" }, t("replay.row")), rows),
    say,
    meaning,
  ];
  return { element, ...pickers, ...large, ...grid, rows, say, meaning };
}

/** Which maps are seen. */
function mapPickers(replay: Replay) {
  const kind = segmented(
    t("attention.which"),
    KINDS.map((name) => [name, t(`kind.${name}`)]),
    (name) => choose(replay, { kind: name as Kind, query: null }),
  );
  const whose = segmented(
    t("replay.words"),
    ["free", "forced"].map((name) => [name, t(`replay.words.${name}`)]),
    (name) => change(replay, { words: name as "free" | "forced", query: null }),
  );
  const layers = h("span", { class: "pickers" });
  const controls = h("div", { class: "controls" }, kind.element, whose.element, layers);
  return { controls, kind, whose, layers };
}

/** A file's name. */
const fileName = (what: string) =>
  `${training.name}-step-${training.snapshots[current()].step}-${view.kind}-layer-${view.layer + 1}-${what}`;

/** The map of one head. */
function largeColumn(replay: Replay, signal: AbortSignal) {
  const heading = h("h2");
  const large = h("div", { class: "large" });
  large.addEventListener("click", (event) => {
    const cell = cellOf(event, replay.drawn);
    if (cell) choose(replay, { query: cell.query });
  });
  const place = scrollBox(large);
  const tip = cellTips(large, () => replay.drawn, signal);
  const zoom = zoomControl(() => draw(replay));
  const buttons = pictureButtons(large, () => fileName(`head-${view.head + 1}`));
  const map = h("div", { class: "map" }, heading, zoom.element, place, tip, buttons);
  return { map, heading, large, place, tip, zoom };
}

/** The maps of all heads of a layer. */
function gridColumn(replay: Replay) {
  const gridHeading = h("h2");
  const grid = h("div", { class: "heads" });
  const openMost = () => {
    openMostChangedHead();
    choose(replay, {});
  };
  const most = link("", openMost, { id: "replay-most" });
  const buttons = pictureButtons(grid, () => fileName("heads"));
  return { thumbnails: h("div", { class: "kept" }, gridHeading, grid, most, buttons), gridHeading, grid, most };
}

// ---- drawing ----

/** Run `again` only where something that a part depends on has changed. */
function redraw({ isNew }: Replay, part: string, depends: unknown[], again: () => void) {
  isNew[part] ??= changeDetector();
  if (isNew[part](...depends)) again();
}

function draw(replay: Replay) {
  if (training.phase === "idle") return;
  startReplay();
  const { waiting, body, limits } = replay.frame;
  const hasSnapshots = training.snapshots.length > 0;
  waiting.hidden = hasSnapshots;
  limits.hidden = training.corpus !== "toy"; // two sentences: only one word decides anything
  body.hidden = !hasSnapshots;
  if (!hasSnapshots) return;
  if (training.phase === "trained" && !view.isChosen && view.at === null) {
    openMostChangedHead();
    view.isChosen = true; // once: from here on the visitor decides
  }
  const snapshot = training.snapshots[Math.max(0, current())];
  const run = runOf(snapshot);
  const maps = run.attention[view.kind];
  view.layer = Math.min(view.layer, maps.layers - 1);
  view.head = Math.min(view.head, maps.heads - 1);
  const gains = rowsAreComparable() ? rowGains(view.layer, view.head) : rowGains(view.layer, view.head, run);
  const query = Math.min(view.query ?? argmax(gains), maps.queries.length - 1);
  drawPlayer(replay, snapshot, measurementAt(snapshot.step));
  drawOutput(replay, snapshot);
  drawChoices(replay, snapshot);
  drawGrid(replay, run);
  drawRows(replay, run);
  drawStory(replay, snapshot, query);
  drawMap(replay, snapshot, query);
}

function drawPlayer(replay: Replay, snapshot: Snapshot, point: Point | null) {
  const { slider, steps, at, follow, losses, playButton } = replay.player;
  const place = places()[training.snapshots.indexOf(snapshot)];
  slider.value = String(place * SLIDER_MAX);
  redraw(replay, "steps", [training.snapshots[0], training.snapshots.length], () => drawStepLabels(steps));
  at.replaceChildren(
    ...nodes(point ? "replay.at" : "replay.at_step", {
      step: formatNumber(snapshot.step),
      steps: formatNumber(training.steps),
      loss: point?.[1].toFixed(3),
      accuracy: point && formatPercent(point[2]),
    }),
  );
  slider.setAttribute("aria-valuetext", `${at.textContent}: ${snapshot.free.text}`);
  follow.hidden = !isTraining() || view.at === null;
  losses.draw({
    points: overSlider(training.points),
    marked: places(),
    steps: 1,
    top: topLoss(training),
    step: place,
    value: point?.[1] ?? null,
  });
  redraw(replay, "play", [Boolean(replay.timer)], () => {
    playButton.replaceChildren(icon(replay.timer ? "pause" : "play"));
    playButton.setAttribute("aria-label", t(replay.timer ? "replay.pause" : "replay.play"));
  });
}

/** Draw the model's output at a snapshot. */
function drawOutput(replay: Replay, snapshot: Snapshot) {
  const { output } = replay.player;
  redraw(replay, "output", [snapshot, output.clientWidth], () => {
    const source = snapshot.source.filter((token) => token !== "P");
    output.replaceChildren(
      ...source.flatMap((token) => [chip("span", token, "source", { style: "--share: 0" }), " "]),
      h("span", { class: "arrow" }, "→"),
      " ",
      ...translationChips(snapshot.free),
    );
    redraw(replay, "lines", [view.of, output.clientWidth], () => {
      output.style.minHeight = "";
    });
    output.style.minHeight = `${output.clientHeight}px`; // never less than before: what stands below does not move
  });
}

function drawChoices(replay: Replay, snapshot: Snapshot) {
  const { kind, whose, layers, meaning, most } = replay.map;
  const { layers: count } = runOf(snapshot).attention[view.kind];
  redraw(replay, "layers", [count], () => {
    replay.layerChoice = segmented(t("layer"), numberedOptions(count), (value) =>
      choose(replay, { layer: Number(value) }),
    );
    layers.replaceChildren(h("span", {}, t("layer")), replay.layerChoice.element);
  });
  kind.set(view.kind);
  replay.layerChoice?.set(view.layer);
  whose.element.hidden = !snapshot.forced;
  whose.set(words());
  meaning.textContent = view.kind === "encoder" ? t("replay.about.encoder") : t(`replay.about.${words()}`);
  most.textContent = t(rowsAreComparable() ? "replay.most" : "replay.hardest");
}

/** All heads of the layer. Their buttons stay, or else the one with the focus would lose it at every snapshot. */
function drawGrid(replay: Replay, run: SnapshotRun) {
  const { grid, gridHeading } = replay.map;
  const { heads } = run.attention[view.kind];
  redraw(replay, "heads", [heads], () => {
    const label = (head: number) => [h("span"), h("small", {}, t("head_n", { head: head + 1 }))];
    const headButton = (head: number) => button(null, label(head), () => choose(replay, { head }));
    grid.replaceChildren(...Array.from({ length: heads }, (_, head) => headButton(head)));
  });
  const buttons = [...grid.children];
  redraw(replay, "grid", [run, view.kind, view.layer, heads], () => {
    gridHeading.textContent = t("attention.all_heads", { layer: view.layer + 1 });
    buttons.forEach((button, head) => {
      button.firstElementChild?.replaceChildren(thumbnail(view.kind, view.layer, head, run));
    });
  });
  buttons.forEach((button, head) => {
    button.setAttribute("aria-pressed", String(head === view.head));
  });
}

/** The choice of a row. */
function drawRows(replay: Replay, run: SnapshotRun) {
  const { rows } = replay.map;
  redraw(replay, "rows", [run, view.kind], () => {
    const usual = t(rowsAreComparable() ? "replay.row_most" : "replay.row_hardest");
    const options = run.attention[view.kind].queries.map((token, i) => {
      const text = view.kind === "encoder" ? token : t("replay.row_of", { token, output: run.output[i] });
      return option()([i, text]);
    });
    rows.replaceChildren(option()(["", usual]), ...options);
  });
  rows.value = view.query === null ? "" : String(view.query);
}

/**
 * The largest weight of the marked row in every snapshot: the replay in one line. It is left out where rows are not
 * comparable.
 */
function drawStory({ player: { weights, story } }: Replay, snapshot: Snapshot, query: number) {
  const { snapshots } = training;
  for (const each of [weights.element, story]) each.style.visibility = rowsAreComparable() ? "visible" : "hidden";
  if (!rowsAreComparable()) return;
  const points = snapshots.map((each, i) => [places()[i], Math.max(...rowOf(query, runOf(each)))]);
  const [step, value] = points[snapshots.indexOf(snapshot)];
  weights.draw({ points, marked: [], steps: 1, top: 1, step, value });
  const token = runOf(snapshot).attention[view.kind].queries[query];
  story.replaceChildren(
    ...nodes("replay.story", {
      row: word(token, SIDES[view.kind][0]),
      first: formatPercent(points[0][1]),
      last: formatPercent(points[points.length - 1][1]),
    }),
  );
}

/** The large map, its marked row, and that row in words. */
function drawMap(replay: Replay, snapshot: Snapshot, query: number) {
  const { heading, large, place, say, tip, zoom } = replay.map;
  const { kind, layer, head } = view;
  const run = runOf(snapshot);
  const output = kind === "encoder" ? null : run.output[query];
  say.replaceChildren(
    ...joinSentences(
      nodes("replay.step", { step: snapshot.step }),
      describeRow(kind, layer, head, query, output, run),
      changeSinceFirst(query, run),
    ),
  );
  const width = place.clientWidth;
  if (!width) return; // the tab is not open
  redraw(replay, "large", [run, kind, layer, head, width, zoom.value()], () => {
    heading.replaceChildren(...mapHeading(kind, layer, head));
    tip.hidden = true;
    large.style.minHeight = `${tallestMap(replay, width)}px`;
    replay.drawn = heatmap(kind, layer, head, { width, sides: SIDES[kind], run, zoom: zoom.value() });
    large.replaceChildren(replay.drawn.element);
  });
  const { drawn } = replay;
  if (!drawn) return;
  zoom.draw(drawn.zoomRange);
  drawn.mark(query);
  drawn.element.setAttribute("aria-label", say.textContent ?? "");
  const key = argmax(rowOf(query, run));
  redraw(replay, "sight", [kind, layer, head, query, key, width, zoom.value()], () => {
    drawn.reveal(query, key);
  });
}

/** As high as the map of the most words, so that the page does not jump when there are fewer. */
function tallestMap(replay: Replay, width: number) {
  const count = (run: SnapshotRun) => run.attention[view.kind].queries.length;
  const run = training.snapshots.map(runOf).reduce((most, each) => (count(each) > count(most) ? each : most));
  redraw(replay, "tallest", [run, view.kind, width, replay.map.zoom.value()], () => {
    replay.mapHeight = heatmapHeight(view.kind, { width, sides: SIDES[view.kind], run, zoom: replay.map.zoom.value() });
  });
  return replay.mapHeight;
}

/** How the weight that is described has changed since the first snapshot. */
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
