// Sampling: each word drawn, from the model's own distribution or from what temperature, top-k and top-p leave of it.

import type { DrawnStep, Sample } from "#schema";
import { DECODING_SETTINGS, settingsOf } from "../../api/schema.ts";
import type { Candidate, Run } from "../../api/types.ts";
import { stepCard } from "../../charts/outputs.ts";
import { counted } from "../../engine/arrays.ts";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { baselineRun, state, update } from "../../state/state.ts";
import { h, word } from "../../ui/dom.ts";
import { pictureFrame } from "../../ui/export.ts";
import { button, hint, setUnlessTyped } from "../../ui/parts.ts";
import { sentenceWord, spokenSentence, tokensAsText } from "./beam-search.ts";
import type { Strategy } from "./decoding.ts";
import { setting, settingSlider } from "./settings.ts";

const MAX_SENTENCES = 8;
const SETTINGS = settingsOf("sampling");
/** Where a slider does not show its number, or does not end at its setting's maximum. */
const SLIDERS: Record<string, Parameters<typeof settingSlider>[1]> = {
  temperature: { shown: (value) => value.toFixed(1) },
  top_k: {
    max: () => baselineRun().model.target_words,
    shown: (value) => (value ? formatNumber(value) : t("decoding.all")),
  },
  top_p: { shown: formatPercent },
};
/** The text that each seed drew: settings -> seed -> text, of this session. */
const draws: Map<string, Map<number, string>> = new Map();

export function sampling(): Strategy {
  const sliders = SETTINGS.filter((name) => name !== "seed").map((name) => settingSlider(name, SLIDERS[name]));
  let seedShown = 0; // which may have been found, where none is chosen
  const seed = seedControl(() => seedShown);
  const drawing = h("h2");
  const greedy = h("ol", { class: "cards" });
  const drawn = h("ol", { class: "cards" });
  const cards = h("div", {}, h("h2", {}, t("decoding.greedy")), greedy, drawing, drawn);
  const heading = h("h2", { class: "later" });
  const bars = h("ol", { class: "both" });
  const left = hint();
  const file = () => `drawn-${seedShown}-step-${state.step + 1}`;
  const distribution = pictureFrame(bars, file, [heading, bars, left]);
  const tally = h("div");
  // A drawn word that was chosen, and the run's step then: what was drawn may be longer than the run.
  let picked = { step: -1, runStep: -1 };

  function draw(sample: Sample, run = baselineRun()) {
    const { steps } = sample;
    seedShown = sample.seed;
    seed.draw();
    if (picked.runStep !== state.step) picked = { step: state.step, runStep: state.step };
    const now = Math.min(picked.step, steps.length - 1);
    const pick = (step: number) => {
      const runStep = Math.min(step, state.run.steps.length - 1);
      picked = { step, runStep };
      if (runStep === state.step)
        draw(sample, run); // by now another may be wanted
      else update({ step });
    };
    const card = (step: Candidate, i: number) => stepCard(step, i, () => pick(i), i === now);
    greedy.replaceChildren(...run.steps.map(card));
    drawing.textContent = t("decoding.drawn", { seed: String(sample.seed) });
    drawn.replaceChildren(...steps.map((each, i) => card({ ...each, probability: each.drawn }, i)));
    for (const [i, each] of steps.entries()) drawn.children[i].classList.toggle("bold", isOther(each));
    heading.textContent = t("decoding.step", { step: now + 1 });
    bars.replaceChildren(...distributionRows(steps[now]));
    left.replaceChildren(...describeDistribution(steps[now]));
    tally.replaceChildren(...tallyOf(sample, run));
  }

  return {
    asks: "sampled",
    followsStep: true,
    controls: [...sliders.map(({ element }) => element), seed.element],
    figure: [pictureFrame(cards, () => `drawn-${seedShown}`), h("div", { class: "columns" }, distribution, tally)],
    question: () => Object.fromEntries(SETTINGS.map((name) => [name, state[name]])),
    drawControls() {
      for (const each of [...sliders, seed]) each.draw();
    },
    draw,
    describe: describeSample,
  };
}

const isOther = ({ token, candidates }: DrawnStep) => token !== candidates[0].token;

function seedControl(shown: () => number) {
  const { max } = DECODING_SETTINGS.seed;
  const oninput = () => /^\d{1,9}$/.test(input.value) && update({ seed: Number(input.value) });
  const input = h("input", { type: "number", min: 0, max, step: 1, inputmode: "numeric", oninput });
  const latest = () => state.seed ?? shown(); // its sentence may be on its way
  const again = button("pill", t("decoding.again"), () => update({ seed: (latest() + 1) % (max + 1) }));
  const control = h("span", { class: "seed" }, h("span", { class: "stepper" }, input), again);
  const draw = () => setUnlessTyped(input, String(latest()));
  return { element: setting("seed", control, input), draw };
}

function distributionRows({ token: chosen, candidates }: DrawnStep) {
  const bar = (value: number) => [h("i", { style: `--share: ${value}` }), h("small", {}, formatPercent(value))];
  const rows = candidates.map(({ token, probability, drawn }) => {
    const data = { "data-probability": probability, "data-drawn": drawn };
    const attributes = { class: `${token === chosen ? "chosen" : ""} ${drawn ? "" : "cut"}`, ...data };
    return h("li", attributes, word(token, "target"), bar(probability), bar(drawn));
  });
  const headings = ["", t("decoding.model"), t("decoding.left")].map((text) => h("span", {}, text));
  return [h("li", { class: "head" }, headings), ...rows];
}

const placesOf = ({ token, drawn, probability }: DrawnStep) => ({
  word: word(token, "target"),
  share: formatPercent(drawn),
  own: formatPercent(probability),
});

const describeDistribution = (step: DrawnStep) =>
  nodes("decoding.left_of", { left: step.left, all: baselineRun().model.target_words, ...placesOf(step) });

function tallyOf({ text, temperature, top_k, top_p, seed }: Sample, { checkpoint, sentence }: Run) {
  const settings = JSON.stringify([checkpoint, sentence, temperature, top_k, top_p]);
  const texts = draws.get(settings) ?? new Map();
  draws.set(settings, texts.set(seed, text));
  const lines = [...counted(texts.values())]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_SENTENCES)
    .map(([each, count]) => h("li", {}, h("b", {}, `${formatNumber(count)} ×`), " ", sentenceWord(each)));
  const heading = h("h2", { class: "later" }, t("decoding.tally", { count: texts.size }));
  return [heading, h("ol", { class: "tally" }, lines)];
}

function describeSample({ text, steps, seed, complete }: Sample) {
  const step = steps.findIndex(isOther);
  const places = { seed: String(seed), drawn: spokenSentence(text), greedy: tokensAsText(baselineRun().output) };
  const end = complete ? "" : t("note.endless", { steps: steps.length });
  if (step < 0) return joinSentences(nodes("decoding.sampling.say_same", places), end);
  const first = word(steps[step].candidates[0].token, "target");
  const parting = { step: step + 1, first, ...placesOf(steps[step]) };
  return joinSentences(nodes("decoding.sampling.say", { ...places, ...parting }), end);
}
