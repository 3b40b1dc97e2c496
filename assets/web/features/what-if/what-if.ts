// What if: parts of the network taken away. Left what can be, right what it does: the output of both runs, and one map
// of the original, of the modified run, or of their difference.

import { models } from "../../api/models.ts";
import type { Change, Child, DrawnRun, Run, View } from "../../api/types.ts";
import {
  cellTips,
  type DrawnMap,
  heatmap,
  largestCell,
  mapDifference,
  mapHeading,
  reveal,
  strongestKey,
  zoomControl,
  zoomToRead,
} from "../../charts/attention-map.ts";
import { argmax } from "../../engine/arrays.ts";
import { isPresenting } from "../../state/address.ts";
import { changes, editMask, findChange, isAblated, requestChanges } from "../../state/changes.ts";
import { openRun, type WantedRun } from "../../state/experiments.ts";
import { formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { askOnce } from "../../state/server-cache.ts";
import { baselineRun, KINDS, likelihood, SIDES, state, subscribe, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { experimentLink, explainLikelihood } from "../../ui/describe.ts";
import { h, isSpecial, namedChoice, replaceKeepingFocus, scrollBox, word } from "../../ui/dom.ts";
import { savable } from "../../ui/export.ts";
import { fixed } from "../../ui/numbers.ts";
import {
  cells,
  changeDetectors,
  headPicker,
  hint,
  isOpen,
  kindPicker,
  link,
  onResize,
  rowHeading,
  table,
  toggle,
} from "../../ui/parts.ts";
import { changeControls } from "./controls.ts";

type Parts = ReturnType<typeof build>;
type Starters = Record<string, { sentence: string; changes: Change[] }>;

const VISIBLE = 0.0005; // a change that is seen in the digits that are shown
const SMALL = 0.005; // a change of the probability of the same word below this is folded away
const MIN_FOLD = 2; // rows
const MAX_SAID = 24; // words of an output in a sentence
const MAX_SHARE = 0.3; // of the screen that a map is high, so that the result beside it is in sight
const MAPS = ["original", "modified", "difference"] as const;
const MIN_SCALE = 0.02; // the largest change that bars are drawn to, where all are smaller

const EXPERIMENTS: Partial<Record<Change["do"], string>> = {
  ablate: "head",
  isolate: "head",
  remove_mask: "mask",
  edit_mask: "mask",
  positions: "positions",
  temperature: "temperature",
  drop_residual: "residual",
  force_word: "word",
};

/** Kept when the view is built again. */
const session = {
  isFollowing: !new URLSearchParams(location.search).has("kind"), // the next modified run opens on its largest change
  isUnfolded: false, // the rows of unchanged words
  map: "modified" as (typeof MAPS)[number],
  left: null as WantedRun | null, // for the sentence that a chip has brought along
  brought: "",
};

export function mount(view: View) {
  const { element, signal } = view;
  const parts: Parts = build(view, () => draw(parts));
  const follow = () => {
    session.isFollowing = true;
  };
  for (const wanted of ["changes:wanted", "run:wanted"]) document.addEventListener(wanted, follow, { signal });
  parts.place.addEventListener("click", (event) => {
    const { cell } = parts.map?.cellAt(event) ?? {};
    if (cell && shownMap() === "modified") editMask(state.kind, cell.query, cell.key);
  });
  subscribe(element, () => draw(parts));
  onResize(element, () => state.run && draw(parts), signal);
}

const shownMap = () => (state.baseline ? session.map : "modified");

function build({ element, signal }: View, redraw: () => void) {
  const choice = namedChoice(t("whatif.which"), MAPS, "whatif", (map) => {
    session.map = map;
    redraw();
  });
  const place = h("div", { class: "large" });
  const file = () => `${state.kind}-layer-${state.layer + 1}-head-${state.head + 1}-${shownMap()}`;
  const tips: Element = cellTips(place, () => parts.map, signal);
  const column = savable(h("div", { class: "map" }, scrollBox(place), tips), place, file);
  const starters = h("div");
  const say = h("p", { class: "say", "aria-live": "polite" });
  const steps = scrollBox();
  steps.classList.add("tall"); // a place for those of a long sentence
  const controls = changeControls();
  const kind = kindPicker();
  const picker = headPicker();
  const zoom = zoomControl(redraw);
  const heading = h("h2");
  const most = h("p", { class: "hint", hidden: true });
  const ablated = h("p", { class: "hint", hidden: true }, t("ablation.shown"));
  const pickers = h("div", { class: "controls" }, kind.element, picker.element, zoom.element);
  const map = [choice.element, heading, column, ablated, most, pickers, hint(t("whatif.cells"))];
  const card = (...children: Child[]) => h("section", { class: "card" }, children);
  const tried = h("div", {}, card(h("h2", {}, t("whatif.try")), starters), card(controls.element));
  const result = h("div", { class: "result" }, say, card(h("h2", {}, t("whatif.steps")), steps), card(map));
  element.replaceChildren(h("div", { class: "columns whatif" }, tried, result));
  const parts = {
    ...{ element, say, steps, starters, kind, picker, zoom, heading, most, choice, place, column, ablated, controls },
    isNew: changeDetectors(),
    tried: null as Starters | null, // once it is known what they change
    map: null as DrawnMap | null,
    difference: null as DrawnRun | null,
    largest: null as ReturnType<typeof largestChange>, // of the difference
  };
  return parts;
}

function draw(parts: Parts) {
  const { run, baseline, kind, layer, head, step } = state;
  if (!isOpen(parts.element)) return;
  parts.kind.set(kind);
  parts.picker.draw(run.attention[kind]);
  parts.controls.draw();
  parts.choice.element.hidden = !baseline;
  parts.choice.set(shownMap());
  const width = parts.place.parentElement?.clientWidth ?? 0;
  if (parts.isNew("shape", run, kind, width)) parts.zoom.begin(zoomToRead(state, width));
  const zoom = parts.zoom.value();
  drawStarters(parts);
  if (!parts.isNew("view", run, baseline, kind, layer, head, step, width, session.isUnfolded, zoom, session.map))
    return;
  if (parts.isNew("runs", run, baseline)) {
    parts.difference = baseline && mapDifference(run, baseline);
    parts.largest = parts.difference && largestChange(parts.difference, run.changes);
    if (session.isFollowing && parts.largest) {
      session.isFollowing = false;
      const { kind, layer, head } = parts.largest;
      parts.isNew.forget("view"); // even if it is the map in view
      update({ kind, layer, head }); // draws again
      return;
    }
  }
  parts.say.replaceChildren(...describeChanges());
  drawSteps(parts);
  parts.heading.replaceChildren(...mapHeading(kind, layer, head));
  parts.ablated.hidden = !isAblated(kind, layer, head, run.changes);
  parts.most.hidden = !baseline;
  parts.most.replaceChildren(...describeMost(parts));
  drawMap(parts, width);
  parts.zoom.draw(parts.map?.zoomRange ?? null);
  if (parts.isNew("map", run, baseline, kind, layer, head, width, zoom, session.map)) revealMost(parts);
}

function revealMost({ map, difference }: Parts) {
  const { kind, step } = state;
  const query = difference ? largestCell(difference, kind, state).query : kind === "encoder" ? 0 : step;
  map?.reveal(query, strongestKey({ ...state, run: difference ?? state.run }, query));
}

function drawSteps({ steps }: Parts) {
  const { run, baseline } = state;
  const shown = stepTable(run, baseline ?? run);
  const note = shown.querySelector(".shift[title]") ? hint(`* ${t("whatif.other_input")}`) : null;
  const scaled = baseline ? hint(t("whatif.scale")) : null;
  const { scrollTop } = steps;
  replaceKeepingFocus(steps, [shown, scaled, note]);
  steps.scrollTop = scrollTop;
  const head = steps.querySelector("thead")?.getBoundingClientRect().height ?? 0;
  const marked = [...steps.querySelectorAll("tr.marked th")].map((step) => step.getBoundingClientRect());
  reveal(steps, { parts: marked, inset: { left: 0, top: head } });
}

/** The attention weight that changed most, of the kind whose mask is changed if one is; null where none did. */
function largestChange(difference: DrawnRun, changes: Change[]) {
  const masked = changes.flatMap((each) => (each.do === "remove_mask" || each.do === "edit_mask" ? [each.kind] : []));
  const largest = (masked.length ? masked : KINDS).map((kind) => largestCell(difference, kind));
  const most = largest[argmax(largest.map(({ value }) => Math.abs(value)))];
  return Math.abs(most.value) < VISIBLE ? null : { ...most, isOfMask: masked.length > 0 };
}

function describeMost({ largest, difference }: Parts) {
  if (!largest || !difference) return [t("whatif.same_maps")];
  const { heads, difference: strongest = [] } = difference.attention[state.kind];
  const darkest = t("whatif.darkest", { value: fixed(strongest[state.layer * heads + state.head], 2) });
  const { kind, layer, head, value, from, to, isOfMask } = largest;
  const isShown = kind === state.kind && layer === state.layer && head === state.head;
  const map = t("whatif.map", { kind: t(`kind.${kind}`), layer: layer + 1, head: head + 1 });
  const places = {
    from: word(from, SIDES[kind][0]),
    to: word(to, SIDES[kind][1]),
    value: `${value > 0 ? "+" : ""}${fixed(value, 2)}`,
    map: link(map, () => update({ kind, layer, head })),
  };
  const key = isShown ? (isOfMask ? "whatif.most_masked" : "whatif.most") : "whatif.most_there";
  return joinSentences(nodes(key, places), darkest);
}

function drawMap(parts: Parts, width: number) {
  const { kind, layer, head, step, run, baseline } = state;
  const name = shownMap();
  const runs = { original: baseline ?? run, modified: run, difference: parts.difference ?? run };
  const beside = Object.values(runs).filter((each) => each !== runs[name]);
  const maxHeight = innerHeight * MAX_SHARE;
  const options = { width, maxHeight, zoom: parts.zoom.value(), beside };
  const map = heatmap({ run: runs[name], kind, layer, head }, options);
  const hasStep = kind !== "encoder" && step < runs[name].attention[kind].queries.length;
  map.mark(hasStep ? step : null);
  map.element.classList.toggle("ablated", name === "modified" && isAblated(kind, layer, head, run.changes));
  map.element.setAttribute("aria-label", describeMap(name, runs[name]));
  parts.column.dataset.map = name;
  parts.place.replaceChildren(map.element);
  parts.map = map;
}

function output({ output }: Run) {
  const shown = output.length > MAX_SAID ? [...output.slice(0, MAX_SAID - 6), "…", ...output.slice(-5)] : output;
  return word(shown.join(" "), "target");
}

function describeChanges() {
  const { run, baseline } = state;
  if (!baseline) {
    const summary = nodes("whatif.say_original", { output: output(run), share: formatPercent(likelihood(run)) });
    return joinSentences(summary, isPresenting() ? "" : explainLikelihood(run)); // the map needs its space
  }
  const places = {
    before: output(baseline),
    share: formatPercent(likelihood(baseline)),
    after: output(run),
    left: formatPercent(likelihood(run)),
  };
  if (run.output.join(" ") !== baseline.output.join(" ")) return nodes("whatif.say_other", places);
  const same = nodes(places.share === places.left ? "whatif.say_stays" : "whatif.say_same", places);
  return joinSentences(same, experimentLink(EXPERIMENTS[run.changes[0].do] ?? ""));
}

function stepTable(run: Run, baseline: Run) {
  const isModified = run !== baseline;
  const length = Math.max(run.steps.length, baseline.steps.length);
  const changes = Array.from({ length }, (_, i) => {
    const { new_probability = null } = run.comparison?.[i] ?? {};
    return new_probability === null ? null : new_probability - baseline.steps[i].probability;
  });
  const scale = Math.max(MIN_SCALE, ...changes.map((each) => Math.abs(each ?? 0)));
  const isSame = changes.map((each, i) => run.output[i] === baseline.output[i] && Math.abs(each ?? 1) < SMALL);
  const rows: Element[] = [];
  for (let i = 0; i < length; i++) {
    const next = isSame.indexOf(false, i);
    const same = (next < 0 ? length : next) - i;
    if (isModified && !session.isUnfolded && same >= MIN_FOLD) {
      rows.push(foldedRow(same));
      i += same - 1;
    } else rows.push(stepRow(run, baseline, i, changes[i], scale));
  }
  const names = ["step", "original", ...(isModified ? ["modified", "kept"] : [])];
  const headings = names.map((name) => t(`whatif.column.${name}`));
  return table({ class: "steps-beside" }, headings, rows);
}

function foldedRow(count: number) {
  const unfold = () => {
    session.isUnfolded = true;
    update({});
  };
  const text = t("whatif.unchanged", { count });
  return h("tr", { class: "folded" }, h("td", { colspan: 4 }, link(text, unfold, { "aria-expanded": "false" })));
}

function stepRow(run: Run, baseline: Run, i: number, change: number | null, scale: number) {
  const output = ({ output, steps }: Run) =>
    steps[i] ? [word(output[i], "target"), " ", h("small", {}, formatPercent(steps[i].probability))] : "–";
  const isModified = run !== baseline;
  const { same_input = true } = run.comparison?.[i] ?? {};
  const isOther = isModified && run.output[i] !== baseline.output[i];
  const isBeyond = i >= run.steps.length;
  const classes = [i === state.step ? "marked" : "", isOther ? "other" : ""].join(" ").trim();
  const heading = rowHeading(h("button", { type: "button", class: "link", disabled: isBeyond }, i + 1));
  const modified = isModified ? [output(run), change === null ? "–" : shiftBar(change, scale, same_input)] : [];
  const onclick = () => !isBeyond && update({ step: i });
  const attributes = { class: classes || null, "data-change": change };
  return h("tr", { onclick, ...attributes }, heading, cells([output(baseline), ...modified]));
}

function shiftBar(change: number, scale: number, hasSameInput: boolean) {
  const points = `${change >= VISIBLE ? "+" : ""}${fixed(100 * change, 1)}`;
  const bar = h("i", { class: change < 0 ? "less" : "more", style: `--share: ${Math.abs(change) / scale}` });
  const axis = h("span", { class: "axis", "aria-hidden": "true" }, Math.abs(change) < VISIBLE ? null : bar);
  const number = h("small", {}, t("whatif.points", { points }), hasSameInput ? null : "*");
  return h("span", { class: "shift", title: hasSameInput ? null : t("whatif.other_input") }, axis, number);
}

function describeMap(name: (typeof MAPS)[number], run: DrawnRun) {
  const { from, to, value } = largestCell(run, state.kind, state);
  const places = { title: t(`whatif.${name}`), from, to, value: fixed(value, 2) };
  return t(name === "difference" ? "whatif.map_changed" : "whatif.map_largest", places);
}

/** Changes to begin with: of a shipped model those that the server has found to change words. */
async function drawStarters(parts: Parts) {
  const { checkpoint, sentence } = baselineRun();
  const isSearched = Boolean(models()[checkpoint]?.experiments);
  if (parts.isNew("sentence", checkpoint, sentence)) {
    parts.tried = isSearched ? null : usualChanges(baselineRun());
    const found = isSearched && (await askOnce("starters", { checkpoint, sentence }).catch(() => null));
    if (checkpoint !== baselineRun().checkpoint || sentence !== baselineRun().sentence) return;
    if (found) parts.tried = found as unknown as Starters;
    else if (isSearched) parts.isNew.forget("sentence");
  }
  if (!parts.tried || !parts.isNew("starters", parts.tried, changes())) return; // or they are not known yet
  const chips = Object.entries(parts.tried).map(([name, each]) => starterChip(name, each));
  const about = hint(t(isSearched ? "whatif.try.about" : "whatif.try.maybe"));
  const { left, brought } = session;
  if (left?.checkpoint === checkpoint && brought === sentence) {
    const back = link(t("note.back_to", { name: left.sentence }), () => openRun(left, {}));
    about.append(" ", back);
  }
  replaceKeepingFocus(parts.starters, [h("div", { class: "starters" }, chips), about]);
}

/** A button that makes its changes and no others, on its own sentence, and undoes them. */
function starterChip(name: string, { sentence, changes: wanted }: Starters[string]) {
  const { checkpoint, sentence: shown } = baselineRun();
  const isHere = sentence === shown;
  const open = () => {
    if (shown !== session.brought) session.left = { checkpoint, sentence: shown, changes: [] };
    session.brought = sentence;
    openRun({ checkpoint, sentence, changes: wanted }, {});
  };
  const isPressed = isHere && wanted.every((each) => findChange(each));
  const { layer = 0, head = 0, word: forced = "", temperature = 0 } = wanted[0] as any;
  const places = { layer: layer + 1, head: head + 1, temperature, word: word(forced, "target") };
  const where = isHere ? [] : [" ", ...nodes("whatif.try.with", { sentence: word(sentence, "source") })];
  return toggle([...nodes(`whatif.try.${name}`, places), ...where], isPressed, () =>
    isHere ? requestChanges(isPressed ? [] : wanted) : open(),
  );
}

/** Changes of every sort, which may change nothing, of a model that nobody has searched. @param run the baseline */
function usualChanges(run: Run): Starters {
  const { layer, head } = largestCell(run, "cross");
  const { steps, output } = tokenRun(run);
  const step = steps.findLastIndex(({ token }) => !["E", "."].includes(token));
  const other = steps[step]?.candidates.find(({ token }) => !isSpecial(token) && !output.includes(token));
  const lastLayer = run.attention.decoder.layers - 1;
  const examples: Record<string, Change | null | undefined> = {
    head: { do: "ablate", kind: "cross", layer, head },
    mask: { do: "remove_mask", kind: "decoder" },
    positions: run.model.positions ? { do: "positions", stack: "encoder", how: "removed", seed: 0 } : null,
    temperature: { do: "temperature", kind: "all", temperature: 5 },
    residual: { do: "drop_residual", stack: "decoder", layer: lastLayer, sublayer: 2 },
    word: other && { do: "force_word", step, word: other.token },
  };
  const made = Object.entries(examples).flatMap(([name, change]) =>
    change ? [[name, { sentence: run.sentence, changes: [change] }]] : [],
  );
  return Object.fromEntries(made);
}
