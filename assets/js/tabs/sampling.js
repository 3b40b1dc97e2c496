// Sampling: each word drawn, from the model's own distribution or from what temperature, top-k and top-p leave of it.

import { pictureButtons } from "../charts/export.js";
import { h, word } from "../core/dom.js";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { button } from "../core/parts.js";
import { DECODING_SETTINGS, settingsOf } from "../core/schema.js";
import { baselineRun, state, update } from "../core/state.js";
import { sentenceWord, tokensAsText } from "./beam-search.js";
import { labelledSetting, settingSlider } from "./decoding-settings.js";

/** @import { DrawnCandidate, DrawnStep, Sample } from "#schema" */
/** @import { Strategy } from "./decoding.js" */
/** @typedef {ReturnType<typeof build>} Parts */

const MAX_SENTENCES = 8;
const SETTINGS = settingsOf("sampling");
/**
 * Where a slider does not show its number, or does not end at its setting's maximum.
 * @type {Record<string, Parameters<typeof settingSlider>[1]>}
 */
const SLIDERS = {
  temperature: { shown: (value) => value.toFixed(1) },
  top_k: {
    max: () => baselineRun().model.target_words,
    shown: (value) => (value ? formatNumber(value) : t("decoding.all")),
  },
  top_p: { shown: formatPercent },
};
/**
 * The seeds that drew each text: settings -> text -> seeds, of this session.
 * @type {Map<string, Map<string, Set<number>>>}
 */
const draws = new Map();

/** @returns {Strategy} */
export function sampling() {
  const parts = build();
  const { sliders, seed, greedy, drawing, drawn, heading, bars, left, tally, tallyHeading } = parts;
  const cards = h("div", {}, h("h2", {}, t("decoding.greedy")), greedy, drawing, drawn);
  const { max } = DECODING_SETTINGS.seed;
  const again = button("pill", t("decoding.again"), () => update({ seed: (state.seed + 1) % (max + 1) }));
  const seeded = h("span", { class: "seed" }, h("span", { class: "stepper" }, seed), again);
  const distribution = h(
    "div",
    { class: "kept" },
    heading,
    bars,
    left,
    pictureButtons(bars, () => `drawn-${state.seed}-step-${state.step + 1}`),
  );
  return {
    asks: "sampled",
    followsStep: true,
    controls: [...sliders.map(({ element }) => element), labelledSetting("seed", seed, seeded)],
    figure: [
      h(
        "div",
        { class: "kept" },
        cards,
        pictureButtons(cards, () => `drawn-${state.seed}`),
      ),
      h("div", { class: "columns" }, distribution, h("div", {}, tallyHeading, tally)),
    ],
    question: () => Object.fromEntries(SETTINGS.map((name) => [name, state[name]])),
    drawControls() {
      for (const each of sliders) each.draw();
      if (document.activeElement !== seed) seed.value = String(state.seed); // while it is typed it is the visitor's
    },
    draw: (sample) => draw(parts, sample),
    describe: describeSample,
  };
}

function build() {
  const { max } = DECODING_SETTINGS.seed;
  const seed = h("input", { type: "number", min: 0, max, step: 1, inputmode: "numeric" });
  seed.addEventListener("input", () => {
    if (/^\d{1,9}$/.test(seed.value)) update({ seed: Number(seed.value) });
  });
  return {
    sliders: SETTINGS.filter((name) => name !== "seed").map((name) => settingSlider(name, SLIDERS[name])),
    seed,
    greedy: h("ol", { class: "cards" }),
    drawing: h("h2"),
    drawn: h("ol", { class: "cards" }),
    heading: h("h2", { class: "later" }),
    bars: h("ol", { class: "both" }),
    left: h("p", { class: "hint" }),
    tally: h("ol", { class: "tally" }),
    tallyHeading: h("h2", { class: "later" }),
    // A drawn word that was chosen, and the run's step then: what was drawn may be longer than the run.
    picked: /** @type {{ step: number, runStep: number } | null} */ (null),
  };
}

/** @param {Parts} parts @param {Sample} sample */
function draw(parts, sample) {
  if (parts.picked?.runStep !== state.step) parts.picked = null;
  const { steps, seed } = sample;
  const now = Math.min(parts.picked?.step ?? state.step, steps.length - 1);
  const pick = (/** @type {number} */ step) => {
    const runStep = Math.min(step, state.run.steps.length - 1);
    parts.picked = { step, runStep };
    if (runStep === state.step) draw(parts, sample);
    else update({ step });
  };
  const card = (/** @type {number} */ i, /** @type {string} */ token, /** @type {number} */ share, isBold = false) =>
    h(
      "li",
      { class: `${i === now ? "now" : ""} ${isBold ? "bold" : ""}` },
      h(
        "button",
        { type: "button", "aria-current": i === now ? "step" : "false", onclick: () => pick(i) },
        h("small", {}, t("step_n", { step: i + 1 })),
        word(token, "target"),
        h("small", {}, formatPercent(share)),
      ),
    );
  parts.greedy.replaceChildren(...baselineRun().steps.map((each, i) => card(i, each.token, each.probability)));
  parts.drawing.textContent = t("decoding.drawn", { seed: String(seed) });
  parts.drawn.replaceChildren(
    ...steps.map((each, i) => card(i, each.token, each.drawn, each.token !== each.candidates[0].token)),
  );
  parts.heading.textContent = t("decoding.step", { step: now + 1 });
  drawDistribution(parts, steps[now]);
  drawTally(parts, sample);
}

/**
 * Every candidate of a step, as the model gives it and as it was drawn.
 * @param {Parts} parts @param {DrawnStep} step
 */
function drawDistribution({ bars, left }, { token: drawn, candidates, left: count, drawn: share, probability: own }) {
  const bar = (/** @type {number} */ value) => [
    h("i", { style: `--share: ${value}` }),
    h("small", {}, formatPercent(value)),
  ];
  const row = (/** @type {DrawnCandidate} */ { token, probability, drawn: rest }) =>
    h(
      "li",
      {
        class: `${token === drawn ? "chosen" : ""} ${rest ? "" : "cut"}`,
        "data-probability": probability,
        "data-drawn": rest,
      },
      word(token, "target"),
      bar(probability),
      bar(rest),
    );
  const head = h(
    "li",
    { class: "head" },
    h("span"),
    h("span", {}, t("decoding.model")),
    h("span", {}, t("decoding.left")),
  );
  bars.replaceChildren(head, ...candidates.map(row));
  const places = {
    left: count,
    all: baselineRun().model.target_words,
    word: word(drawn, "target"),
    share: formatPercent(share),
    own: formatPercent(own),
  };
  left.replaceChildren(...nodes("decoding.left_of", places));
}

/** How often each sentence was drawn under these settings. @param {Parts} parts @param {Sample} sample */
function drawTally({ tally, tallyHeading }, { text, temperature, top_k, top_p, seed }) {
  const { checkpoint, sentence } = baselineRun();
  const settings = JSON.stringify([checkpoint, sentence, temperature, top_k, top_p]);
  const texts = draws.get(settings) ?? new Map();
  draws.set(settings, texts.set(text, (texts.get(text) ?? new Set()).add(seed)));
  const counts = [...texts].map(([each, seeds]) => ({ each, count: seeds.size })).sort((a, b) => b.count - a.count);
  tallyHeading.textContent = t("decoding.tally", { count: counts.reduce((sum, { count }) => sum + count, 0) });
  const line = (/** @type {{ each: string, count: number }} */ { each, count }) =>
    h("li", {}, h("b", {}, `${formatNumber(count)} ×`), " ", sentenceWord(each));
  tally.replaceChildren(...counts.slice(0, MAX_SENTENCES).map(line));
}

/** What was drawn beside greedy, and where they part first. @param {Sample} sample */
function describeSample({ text, steps, seed, complete }) {
  const step = steps.findIndex(({ token, candidates }) => token !== candidates[0].token);
  const places = { seed: String(seed), drawn: sentenceWord(text), greedy: tokensAsText(baselineRun().output) };
  const end = complete ? "" : t("note.endless", { steps: steps.length });
  if (step < 0) return joinSentences(nodes("decoding.sampling.say_same", places), end);
  const { token, drawn, probability, candidates } = steps[step];
  const parting = {
    step: step + 1,
    word: word(token, "target"),
    share: formatPercent(drawn),
    own: formatPercent(probability),
    first: word(candidates[0].token, "target"),
  };
  return joinSentences(nodes("decoding.sampling.say", { ...places, ...parting }), end);
}
