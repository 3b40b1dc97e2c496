// Sampling: each word drawn, from the model's own distribution or from what temperature, top-k and top-p leave of it.

import { tokensAsText, sentenceWord } from "./beam-search.js";
import { settingSlider, labelledInput } from "./decoding-settings.js";
import { h, word } from "../core/dom.js";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { pictureButtons } from "../charts/export.js";
import { DECODING_SETTINGS } from "../core/schema.js";
import { state, baselineRun, update } from "../core/state.js";

const TALLIED = 8; // sentences
const draws = new Map(); // settings -> text -> seeds that drew it, of this visit

export function sampling() {
  const sliders = [
    settingSlider("temperature", { shown: (value) => value.toFixed(1) }),
    settingSlider("top_k", {
      max: () => baselineRun().model.target_words,
      shown: (value) => (value ? formatNumber(value) : t("roads.all")),
    }),
    settingSlider("top_p", { shown: formatPercent }),
  ];
  const seed = h("input", { type: "number", min: 0, max: DECODING_SETTINGS.seed.max, step: 1, inputmode: "numeric" });
  seed.addEventListener("input", () => /^\d{1,9}$/.test(seed.value) && update({ seed: Number(seed.value) }));
  const again = h(
    "button",
    {
      type: "button",
      class: "pill",
      onclick: () => update({ seed: (state.seed + 1) % (DECODING_SETTINGS.seed.max + 1) }),
    },
    t("roads.again"),
  );
  const seeded = labelledInput(
    "seed",
    seed,
    h("span", { class: "seed" }, h("span", { class: "stepper" }, seed), again),
  );

  const greedy = h("ol", { class: "cards" });
  const drawing = h("h2");
  const drawn = h("ol", { class: "cards" });
  const rows = h("div", {}, h("h2", {}, t("roads.greedy")), greedy, drawing, drawn);
  const heading = h("h2", { class: "later" });
  const bars = h("ol", { class: "both" });
  const left = h("p", { class: "hint" });
  const tally = h("ol", { class: "tally" });
  const tallied = h("h2", { class: "later" });

  let picked = null; // a drawn word that was chosen: [its step, the step at the top then]
  function at({ steps }) {
    if (picked?.[1] !== state.step) picked = null;
    return Math.min(picked ? picked[0] : state.step, steps.length - 1);
  }
  function pick(step, said) {
    picked = [step, Math.min(step, state.run.steps.length - 1)]; // what was drawn may be longer than the run at the top
    if (picked[1] === state.step) draw(said);
    else update({ step });
  }

  function draw(said) {
    const now = at(said);
    const step = said.steps[now];
    greedy.replaceChildren(
      ...baselineRun().steps.map(({ token, probability }, i) =>
        card(i, token, probability, i === now, () => pick(i, said)),
      ),
    );
    drawing.textContent = t("roads.drawn", { seed: String(said.seed) });
    drawn.replaceChildren(
      ...said.steps.map((each, i) =>
        card(i, each.token, each.drawn, i === now, () => pick(i, said), each.token !== each.candidates[0].token),
      ),
    );
    heading.textContent = t("roads.step", { step: now + 1 });
    const bar = (share) => [h("i", { style: `--share: ${share}` }), h("small", {}, formatPercent(share))];
    const head = h("li", { class: "head" }, h("span"), h("span", {}, t("roads.model")), h("span", {}, t("roads.left")));
    const row = ({ token, probability, drawn: share }) =>
      h(
        "li",
        {
          class: `${token === step.token ? "chosen" : ""} ${share ? "" : "cut"}`,
          "data-probability": probability,
          "data-drawn": share,
        },
        word(token, "target"),
        bar(probability),
        bar(share),
      );
    bars.replaceChildren(head, ...step.candidates.map(row));
    const places = {
      left: step.left,
      all: baselineRun().model.target_words,
      word: word(step.token, "target"),
      share: formatPercent(step.drawn),
      own: formatPercent(step.probability),
    };
    left.replaceChildren(...nodes("roads.left_of", places));
    count(said);
  }

  function count({ text: said, temperature, top_k, top_p, seed: by }) {
    const { checkpoint, sentence } = baselineRun();
    const settings = JSON.stringify([checkpoint, sentence, temperature, top_k, top_p]);
    const texts = draws.get(settings) ?? new Map();
    draws.set(settings, texts.set(said, (texts.get(said) ?? new Set()).add(by)));
    const all = [...texts].sort(([, a], [, b]) => b.size - a.size);
    tallied.textContent = t("roads.tally", { count: all.reduce((sum, [, seeds]) => sum + seeds.size, 0) });
    tally.replaceChildren(
      ...all
        .slice(0, TALLIED)
        .map(([each, seeds]) => h("li", {}, h("b", {}, `${formatNumber(seeds.size)} ×`), " ", sentenceWord(each))),
    );
  }

  return {
    asks: "sampled",
    steps: true,
    controls: [...sliders.map(({ element }) => element), seeded],
    figure: [
      h(
        "div",
        { class: "kept" },
        rows,
        pictureButtons(rows, () => `drawn-${state.seed}`),
      ),
      h(
        "div",
        { class: "columns" },
        h(
          "div",
          { class: "kept" },
          heading,
          bars,
          left,
          pictureButtons(bars, () => `drawn-${state.seed}-step-${state.step + 1}`),
        ),
        h("div", {}, tallied, tally),
      ),
    ],
    question: () => ({ temperature: state.temperature, top_k: state.top_k, top_p: state.top_p, seed: state.seed }),
    set() {
      sliders.forEach((each) => each.set());
      if (document.activeElement !== seed) seed.value = state.seed; // while it is typed it is the visitor's
    },
    draw,
    say,
  };
}

/** A word of a sentence; `bold` where it is not the likeliest. */
const card = (i, token, share, now, choose, bold = false) =>
  h(
    "li",
    { class: `${now ? "now" : ""} ${bold ? "bold" : ""}` },
    h(
      "button",
      { type: "button", "aria-current": now ? "step" : "false", onclick: choose },
      h("small", {}, t("step_n", { step: i + 1 })),
      word(token, "target"),
      h("small", {}, formatPercent(share)),
    ),
  );

/** What was drawn beside greedy, and where they part first. */
function say({ text: said, steps, seed, complete }) {
  const step = steps.findIndex(({ token, candidates }) => token !== candidates[0].token);
  const places = { seed: String(seed), drawn: sentenceWord(said), greedy: tokensAsText(baselineRun().output) };
  const end = complete ? "" : t("note.endless", { steps: steps.length });
  if (step < 0) return joinSentences(nodes("roads.sampling.say_same", places), end);
  const { token, drawn, probability, candidates } = steps[step];
  const parted = {
    step: step + 1,
    word: word(token, "target"),
    share: formatPercent(drawn),
    own: formatPercent(probability),
    first: word(candidates[0].token, "target"),
  };
  return joinSentences(nodes("roads.sampling.say", { ...places, ...parted }), end);
}
