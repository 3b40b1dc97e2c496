// The controls of What if: each makes a change or undoes it. The changes are read from the run, never kept here.

import type { Change, Child, Kind, Side, Stack } from "../../api/types.ts";
import { editMask, findChange, replaceChange, toggleChange } from "../../state/changes.ts";
import { formatPercent, t } from "../../state/i18n.ts";
import { askOnce } from "../../state/server-cache.ts";
import { baselineRun, KINDS, SIDES, STACKS, SUBLAYERS, state } from "../../state/state.ts";
import { tokenIndex, tokenRun } from "../../state/words.ts";
import { h, namedChoice, replaceKeepingFocus } from "../../ui/dom.ts";
import { button, changeDetector, hint, link, select, toggle } from "../../ui/parts.ts";
import { headControls } from "./heads.ts";

type Group = { name: string; body: Element; draw: () => void };

const POSITIONS = ["kept", "removed", "shuffled"] as const;
const TEMPERATURES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20];

const unfolded = new Set(["heads"]);

export function changeControls() {
  const made = [headControls, maskControls, temperatureControls, positionControls, wordControls, residualControls];
  const groups = made.map((make) => make());
  const details = groups.map(({ name, body, draw }) => {
    const summary = h("summary", {}, h("h3", {}, t(`panel.${name}`)), h("small", {}, t(`panel.${name}.about`)));
    const attributes = { class: "group", "data-group": name, open: unfolded.has(name) };
    const group = h("details", attributes, summary, body);
    group.addEventListener("toggle", () => {
      unfolded[group.open ? "add" : "delete"](name);
      draw();
    });
    return group;
  });
  return {
    element: h("div", { class: "panel" }, details),
    draw() {
      for (const group of groups) group.draw();
    },
  };
}

function drawnGroup(name: string, children: () => Child[]): Group {
  const body = h("div");
  return { name, body, draw: () => replaceKeepingFocus(body, children()) };
}

const row = (...children: Child[]) => h("div", { class: "controls" }, children);

const changeToggle = (text: Child, change: Change, attributes: object = {}) =>
  toggle(text, Boolean(findChange(change)), () => toggleChange(change), attributes);

function maskControls() {
  const at = { query: 0, key: 0 };
  const group = drawnGroup("masks", () => [row(KINDS.map(maskToggle)), row(cellControls(at, () => group.draw()))]);
  return group;
}

function maskToggle(kind: Kind) {
  const hasNoMask = baselineRun().attention[kind].allowed.flat().every(Boolean);
  const attributes = hasNoMask ? { disabled: true, title: t("panel.masks.nothing") } : {};
  return changeToggle(t(`panel.masks.${kind}`), { do: "remove_mask", kind }, attributes);
}

function cellControls(at: { query: number; key: number }, draw: () => void) {
  const { kind } = state;
  const { queries, keys, allowed } = state.run.attention[kind];
  at.query = Math.min(at.query, queries.length - 1);
  at.key = Math.min(at.key, keys.length - 1);
  const pick = (axis: "query" | "key", tokens: string[], side: Side) => {
    const options = tokens.map((token, i) => [i, `${i + 1} ${token}`] as [number, string]);
    const choose = (value: string) => {
      at[axis] = Number(value);
      draw();
    };
    return h("span", { class: side }, select(t(`panel.masks.${axis}`), options, at[axis], choose));
  };
  const action = t(allowed[at.query][at.key] ? "panel.masks.close" : "panel.masks.open");
  const [from, to] = SIDES[kind];
  return [
    h("small", {}, t(`kind.${kind}`)),
    pick("query", queries, from),
    "→",
    pick("key", keys, to),
    button("pill", h("span", {}, action), () => editMask(kind, at.query, at.key)),
  ];
}

function temperatureControls(): Group {
  let kind: Kind | "all" = "all";
  const max = TEMPERATURES.length - 1;
  const range = h("input", { type: "range", min: 0, max, step: 1, "aria-label": t("panel.temperature") });
  const output = h("output");
  const place = h("span");
  range.addEventListener("input", () => {
    const temperature = TEMPERATURES[range.valueAsNumber];
    output.textContent = `÷ ${temperature}`;
    replaceChange({ do: "temperature", kind }, temperature === 1 ? null : { do: "temperature", kind, temperature });
  });
  const draw = () => {
    const now = findChange({ do: "temperature", kind })?.temperature ?? 1;
    const distances = TEMPERATURES.map((value) => Math.abs(Math.log(value / now)));
    if (document.activeElement !== range) range.value = String(distances.indexOf(Math.min(...distances)));
    range.setAttribute("aria-valuetext", `÷ ${now}`);
    output.textContent = `÷ ${now}`;
    const options = ["all", ...KINDS].map((name) => [name, t(`change.of.${name}`)] as [string, string]);
    const choice = select(t("panel.temperature.of"), options, kind, (value) => {
      kind = value as Kind | "all";
      draw();
    });
    replaceKeepingFocus(place, [choice]);
  };
  return { name: "temperature", body: row(place, range, output), draw };
}

const positionControls = () =>
  drawnGroup("positions", () =>
    state.run.model.positions ? STACKS.map(stackPositions) : [hint(t("panel.positions.none"))],
  );

function stackPositions(stack: Stack) {
  const pattern = { do: "positions", stack } as const;
  const { how: now = "kept", seed: last = 0 } = findChange(pattern) ?? {};
  const set = (how: (typeof POSITIONS)[number], seed = 0) =>
    replaceChange(pattern, how === "kept" ? null : { ...pattern, how, seed });
  const how = namedChoice(t(`change.of.${stack}`), POSITIONS, "panel.positions", (value) => set(value));
  how.set(now);
  const side = t(`side.${stack === "encoder" ? "source" : "target"}`);
  const again = now === "shuffled" ? link(t("panel.positions.again"), () => set("shuffled", last + 1)) : null;
  return row(h("span", { class: "name" }, side), how.element, again);
}

function wordControls(): Group {
  let vocabulary = NO_WORDS; // of the run's model
  let position = 0; // of the word to swap
  const isNewModel = changeDetector();
  const fetchVocabulary = async () => {
    const { checkpoint } = state.run;
    vocabulary = NO_WORDS;
    const answer = await askOnce("vocabulary", { checkpoint }).catch(() => NO_WORDS);
    if (checkpoint !== state.run.checkpoint) return;
    vocabulary = answer;
    group.draw();
  };
  const move = (to: number) => {
    position = to;
    group.draw();
  };
  const group = drawnGroup("words", () => {
    if (!unfolded.has("words")) return [];
    if (isNewModel(state.run.checkpoint)) fetchVocabulary();
    position = Math.min(position, sourceWords().length - 1);
    return [row(swapControls(position, vocabulary.source, move)), row(forceControls(vocabulary.target))];
  });
  return group;
}

const NO_WORDS: { source: string[]; target: string[] } = { source: [], target: [] };

/** The words of the sentence before any change, or their pieces. */
const sourceWords = () => tokenRun(baselineRun()).source.filter((token) => token !== "P");

function swapControls(position: number, vocabulary: string[], move: (to: number) => void) {
  const pattern = { do: "swap_word", position } as const;
  const now = findChange(pattern)?.word ?? "";
  const others = [...new Set([...vocabulary, now])].filter(Boolean);
  const swap = (word: string) => replaceChange(pattern, word ? { ...pattern, word } : null);
  return [
    h("span", { class: "name" }, t("panel.words.swap")),
    select(t("panel.words.which"), [...sourceWords().entries()], position, (value) => move(Number(value))),
    "→",
    select(t("panel.words.by"), [["", t("panel.words.unchanged")], ...asOptions(others)], now, swap),
  ];
}

function forceControls(vocabulary: string[]) {
  const step = tokenIndex(state.run, "decoder", state.step);
  const { candidates } = tokenRun(state.run).steps[step];
  const pattern = { do: "force_word", step } as const;
  const likely = candidates.map((each): Option => [each.token, `${each.token}  ${formatPercent(each.probability)}`]);
  const others = vocabulary.filter((token) => !candidates.some((each) => each.token === token));
  const options: Option[] = [["", t("panel.words.own")], ...likely, ...asOptions(others)];
  const force = (word: string) => replaceChange(pattern, word ? { ...pattern, word } : null);
  return [
    h("span", { class: "name" }, t("panel.words.force", { step: step + 1 })),
    select(t("panel.words.say"), options, findChange(pattern)?.word ?? "", force),
  ];
}

type Option = [string, string];
const asOptions = (words: string[]): Option[] => words.map((each) => [each, each]);

const residualControls = () =>
  drawnGroup("residuals", () => [h("div", { class: "residuals" }, STACKS.map(stackResiduals))]);

function stackResiduals(stack: Stack) {
  const rows = Array.from({ length: state.run.attention[stack].layers }, (_, layer) => {
    const name = t("layer_n", { layer: layer + 1 });
    const toggles = SUBLAYERS[stack].map((sublayer, i) =>
      changeToggle(t(`panel.residuals.${sublayer}`), { do: "drop_residual", stack, layer, sublayer: i + 1 }),
    );
    const attributes = { class: "controls", role: "group", "aria-label": `${t(`change.of.${stack}`)}, ${name}` };
    return h("div", attributes, h("small", { class: "axis" }, name), toggles);
  });
  return h("div", {}, h("h4", {}, t(`change.of.${stack}`)), rows);
}
