// The controls of What if: each makes a change or undoes it. What is changed is read from the run, never kept here.

import { editMask, findChange, replaceChange, toggleChange } from "../core/changes.js";
import { h, replaceKeepingFocus, segmented } from "../core/dom.js";
import { formatPercent, t } from "../core/i18n.js";
import { button, changeDetector, link, select, toggle } from "../core/parts.js";
import { askOnce } from "../core/server-cache.js";
import { KINDS, SIDES, state } from "../core/state.js";
import { headControls } from "./what-if-heads.js";

/** @import { Change, Child, Kind, Server, Stack } from "../core/types.d.ts" */
/**
 * A group of controls; `draw` after every change.
 * @typedef {{ name: string, body: Element, draw: () => void }} Group
 */

/** The sublayers of each stack. @type {Record<Stack, string[]>} */
const STACKS = { encoder: ["self", "ffn"], decoder: ["self", "cross", "ffn"] };
const STACK_NAMES = /** @type {Stack[]} */ (Object.keys(STACKS));
const TEMPERATURES = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20];

/** The groups that the visitor has unfolded. */
const unfolded = new Set(["heads"]);

/** @param {Server} server */
export function changeControls(server) {
  const groups = [
    headControls(server),
    maskControls(),
    temperatureControls(),
    positionControls(),
    wordControls(server),
    residualControls(),
  ];
  const details = groups.map(({ name, body, draw }) => {
    const summary = h("summary", {}, h("h3", {}, t(`panel.${name}`)), h("small", {}, t(`panel.${name}.about`)));
    const attributes = { class: "group", "data-group": name, open: unfolded.has(name) };
    const group = h("details", attributes, summary, body);
    group.addEventListener("toggle", () => {
      if (group.open) unfolded.add(name);
      else unfolded.delete(name);
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

/** @param {Child} text @param {Change} change @param {object} attributes */
const changeToggle = (text, change, attributes = {}) =>
  toggle(text, Boolean(findChange(change)), () => toggleChange(change), attributes);

/** @returns {Group} */
function maskControls() {
  const removals = h("div", { class: "controls" });
  const cell = h("div", { class: "controls" });
  const at = { query: 0, key: 0 };
  const draw = () => {
    const before = (state.baseline ?? state.run).attention;
    const removal = (/** @type {Kind} */ kind) => {
      const hasNoMask = before[kind].allowed.flat().every(Boolean);
      const attributes = hasNoMask ? { disabled: true, title: t("panel.masks.nothing") } : {};
      return changeToggle(t(`panel.masks.${kind}`), { do: "remove_mask", kind }, attributes);
    };
    replaceKeepingFocus(removals, KINDS.map(removal));
    const { kind } = state;
    const { queries, keys, allowed } = state.run.attention[kind];
    at.query = Math.min(at.query, queries.length - 1);
    at.key = Math.min(at.key, keys.length - 1);
    const pick = (/** @type {"query" | "key"} */ axis, /** @type {string[]} */ tokens) => {
      const options = tokens.map((token, i) => /** @type {[number, string]} */ ([i, `${i + 1} ${token}`]));
      return select(t(`panel.masks.${axis}`), options, at[axis], (value) => {
        at[axis] = Number(value);
        draw();
      });
    };
    const action = t(allowed[at.query][at.key] ? "panel.masks.close" : "panel.masks.open");
    const [from, to] = SIDES[kind];
    replaceKeepingFocus(cell, [
      h("small", {}, t(`kind.${kind}`)),
      h("span", { class: from }, pick("query", queries)),
      "→",
      h("span", { class: to }, pick("key", keys)),
      button("pill", h("span", {}, action), () => editMask(kind, at.query, at.key)),
    ]);
  };
  return { name: "masks", body: h("div", {}, removals, cell), draw };
}

/** @returns {Group} */
function temperatureControls() {
  /** @type {Kind | "all"} */
  let kind = "all";
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
    const options = ["all", ...KINDS].map((name) => /** @type {[string, string]} */ ([name, t(`change.of.${name}`)]));
    const choice = select(t("panel.temperature.of"), options, kind, (value) => {
      kind = /** @type {Kind | "all"} */ (value);
      draw();
    });
    replaceKeepingFocus(place, [choice]);
  };
  return { name: "temperature", body: h("div", { class: "controls" }, place, range, output), draw };
}

/** @returns {Group} */
function positionControls() {
  const body = h("div", {});
  const row = (/** @type {Stack} */ stack) => {
    const now = findChange({ do: "positions", stack });
    const set = (/** @type {string} */ how, seed = 0) => {
      const change = { do: "positions", stack, how, seed };
      replaceChange({ do: "positions", stack }, how === "kept" ? null : /** @type {Change} */ (change));
    };
    const how = segmented(
      t(`change.of.${stack}`),
      ["kept", "removed", "shuffled"].map((name) => [name, t(`panel.positions.${name}`)]),
      (value) => set(value),
    );
    how.set(now?.how ?? "kept");
    const shuffle = () => set("shuffled", (now?.seed ?? 0) + 1);
    return h(
      "div",
      { class: "controls" },
      h("span", { class: "name" }, t(`side.${stack === "encoder" ? "source" : "target"}`)),
      how.element,
      now?.how === "shuffled" ? link(t("panel.positions.again"), shuffle) : null,
    );
  };
  const draw = () => {
    const none = () => h("p", { class: "hint" }, t("panel.positions.none"));
    replaceKeepingFocus(body, state.run.model.positions ? STACK_NAMES.map(row) : [none()]);
  };
  return { name: "positions", body, draw };
}

/** @param {Server} server @returns {Group} */
function wordControls(server) {
  const swap = h("div", { class: "controls" });
  const force = h("div", { class: "controls" });
  let vocabulary = NO_WORDS; // of the run's model
  let position = 0; // of the word to swap
  const isNewModel = changeDetector();
  const fetchVocabulary = async () => {
    const { checkpoint } = state.run;
    vocabulary = NO_WORDS;
    const answer = await askOnce("vocabulary", { checkpoint }, server.vocabulary).catch(() => NO_WORDS);
    if (checkpoint !== state.run.checkpoint) return;
    vocabulary = answer;
    draw();
  };
  const move = (/** @type {number} */ to) => {
    position = to;
    draw();
  };
  const draw = () => {
    if (!unfolded.has("words")) return;
    if (isNewModel(state.run.checkpoint)) fetchVocabulary();
    position = Math.min(position, sourceWords().length - 1);
    replaceKeepingFocus(swap, swapControls(position, vocabulary.source, move));
    replaceKeepingFocus(force, forceControls(vocabulary.target));
  };
  return { name: "words", body: h("div", {}, swap, force), draw };
}

/** @type {{ source: string[], target: string[] }} */
const NO_WORDS = { source: [], target: [] };

/** The words of the sentence before any change. */
const sourceWords = () => (state.baseline ?? state.run).source.filter((token) => token !== "P");

/** @param {number} position @param {string[]} vocabulary @param {(to: number) => void} move */
function swapControls(position, vocabulary, move) {
  const pattern = /** @type {const} */ ({ do: "swap_word", position });
  const now = findChange(pattern)?.word ?? "";
  const others = [...new Set([...vocabulary, now])].filter(Boolean);
  const swap = (/** @type {string} */ word) => replaceChange(pattern, word ? { ...pattern, word } : null);
  return [
    h("span", { class: "name" }, t("panel.words.swap")),
    select(t("panel.words.which"), [...sourceWords().entries()], position, (value) => move(Number(value))),
    "→",
    select(t("panel.words.by"), [["", t("panel.words.as_it_is")], ...asOptions(others)], now, swap),
  ];
}

/** @param {string[]} vocabulary */
function forceControls(vocabulary) {
  const { run, step } = state;
  const { candidates } = run.steps[step];
  const pattern = /** @type {const} */ ({ do: "force_word", step });
  const likely = candidates.map(
    ({ token, probability }) => /** @type {[string, string]} */ ([token, `${token}  ${formatPercent(probability)}`]),
  );
  const others = vocabulary.filter((token) => !candidates.some((each) => each.token === token));
  /** @type {[string, string][]} */
  const options = [["", t("panel.words.own")], ...likely, ...asOptions(others)];
  const force = (/** @type {string} */ word) => replaceChange(pattern, word ? { ...pattern, word } : null);
  return [
    h("span", { class: "name" }, t("panel.words.force", { step: step + 1 })),
    select(t("panel.words.say"), options, findChange(pattern)?.word ?? "", force),
  ];
}

/** @param {string[]} words @returns {[string, string][]} */
const asOptions = (words) => words.map((each) => [each, each]);

/** @returns {Group} */
function residualControls() {
  const body = h("div", { class: "residuals" });
  const layerRow = (/** @type {Stack} */ stack, /** @type {number} */ layer) => {
    const name = t("layer_n", { layer: layer + 1 });
    return h(
      "div",
      { class: "controls", role: "group", "aria-label": `${t(`change.of.${stack}`)}, ${name}` },
      h("small", { class: "axis" }, name),
      STACKS[stack].map((sublayer, i) =>
        changeToggle(t(`panel.residuals.${sublayer}`), { do: "drop_residual", stack, layer, sublayer: i + 1 }),
      ),
    );
  };
  const stackRows = (/** @type {Stack} */ stack) =>
    h(
      "div",
      {},
      h("h4", {}, t(`change.of.${stack}`)),
      Array.from({ length: state.run.attention[stack].layers }, (_, layer) => layerRow(stack, layer)),
    );
  return { name: "residuals", body, draw: () => replaceKeepingFocus(body, STACK_NAMES.map(stackRows)) };
}
