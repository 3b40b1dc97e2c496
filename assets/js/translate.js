// Translate: the decoding as a story, a step at a time.

import { EVEN, argmax, follow, gold, row, state, update } from "./store.js";
import { h, percent, segmented, word } from "./dom.js";

const MOST_CANDIDATES = 8;

const LOOP =
  "The decoder scores every word it knows and says the likeliest; then it reads that word as its next input. " +
  "It begins by reading S, and stops when it says E.";
const LIMITS = {
  toy:
    "This model has learned two sentences, and only bier or cola decides anything: at the other steps a head need not " +
    "look anywhere in particular. What it looks at is what it does, not a word-by-word alignment.",
  classroom:
    "This model has learned German that a grammar made, where word order, case and endings decide, so it has to look. " +
    "How well each head aligns the words, and what that does not prove, stands under Attention.",
};

export function mount({ element }) {
  const cards = h("ol", { class: "cards" });
  const heading = h("h2");
  const bars = h("ol", { class: "bars" });
  const candidates = h("ol", { class: "candidates" });
  const pickers = h("div", { class: "pickers" });
  const explained = h("p", { class: "hint" });
  const limits = h("p", { class: "hint" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  element.replaceChildren(
    say,
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { class: "card" },
        h("h2", {}, "What has been said, and what comes next"),
        cards,
        heading,
        h("div", { class: "scroll" }, bars),
        pickers,
        explained,
      ),
      h("section", { class: "card" }, h("h2", {}, "Candidates for the next word"), candidates, h("p", { class: "hint" }, LOOP), limits),
    ),
  );

  let drawn = null;
  let shape = null;
  let layers, heads;
  follow(element, () => {
    const { run, step, head, averaged } = state;
    const cross = run.attention.cross;
    const layer = Math.min(state.layer, cross.layers - 1);
    if (shape !== `${cross.layers} ${cross.heads}`) {
      shape = `${cross.layers} ${cross.heads}`;
      layers = segmented("Layer", range(cross.layers), (value) => update({ layer: Number(value) }));
      heads = segmented("Head", [["mean", "mean"], ...range(cross.heads)], (value) =>
        update(value === "mean" ? { averaged: true } : { averaged: false, head: Number(value) }),
      );
      pickers.replaceChildren(pair("layer", layers.element), pair("head", heads.element));
    }
    layers.set(layer);
    heads.set(averaged ? "mean" : head);

    if (drawn !== run) {
      drawn = run;
      cards.replaceChildren(...run.steps.map(card));
      explained.textContent =
        `A layer is one round of looking, ${cross.layers} in all. In each, ${cross.heads} heads look at the same time, ` +
        "each in its own way. P only fills the line: it is masked, so nobody may look at it.";
    }
    [...cards.children].forEach((each, t) => {
      each.className = t > step ? "future" : t === step ? "now" : "";
      each.firstChild.setAttribute("aria-current", t === step ? "step" : "false");
    });

    const look = row("cross", layer, averaged ? null : head, step);
    const who = averaged ? `mean of ${cross.heads} heads` : `head ${head + 1}`;
    heading.textContent = `Where step ${step + 1} looks · layer ${layer + 1}, ${who}`;
    bars.style.setProperty("--count", look.length);
    bars.replaceChildren(
      ...look.map((share, s) => {
        const masked = !cross.allowed[step][s];
        return h(
          "li",
          { "data-weight": share, class: masked ? "masked" : state.gold ? `gold ${gold(step, s)}` : "", title: masked ? "Padding is masked: nobody may look" : "" },
          h("span", { class: "bar" }, h("small", {}, masked ? "masked" : percent(share)), h("i", { style: `--share: ${share}` })),
          word(cross.keys[s], "source"),
        );
      }),
    );

    const chosen = run.steps[step];
    candidates.replaceChildren(
      ...chosen.candidates.slice(0, MOST_CANDIDATES).map(({ token, probability }, i) =>
        h(
          "li",
          { class: i === 0 ? "chosen" : "", "data-probability": probability },
          word(token, "target"),
          h("i", { style: `--share: ${probability}` }),
          h("small", {}, percent(probability)),
        ),
      ),
    );
    limits.textContent = LIMITS[run.checkpoint] ?? "";
    say.replaceChildren(...sentence(layer, look, who));
  });
}

const card = ({ token, probability }, t) =>
  h(
    "li",
    {},
    h(
      "button",
      { type: "button", onclick: () => update({ step: t }) },
      h("small", {}, `step ${t + 1}`),
      word(token, "target"),
      h("small", {}, percent(probability)),
    ),
  );
const pair = (name, control) => h("span", { class: "pair" }, name, control);
const range = (count) => Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);

/** The picture read aloud. */
function sentence(layer, look, who) {
  const { run, step, averaged } = state;
  const { keys, heads } = run.attention.cross;
  const key = argmax(look);
  const before = run.decoder_input.slice(0, step + 1).join(" ");
  const { token, probability } = run.steps[step];
  const words = [`Step ${step + 1} of ${run.steps.length}: after `, word(before, "target"), " the model says "];
  words.push(word(token, "target"), ` (${percent(probability)})`, token === "E" ? ", the end of the sentence" : "");
  const open = run.attention.cross.allowed[step].filter(Boolean).length;
  const even = (share) => share - 1 / open < EVEN;
  if (open === 1) return [...words, ", able to look at nothing but ", word(keys[key], "source"), "."];
  if (even(look[key])) words.push(`, looking at all ${open} source words almost alike (layer ${layer + 1}, ${who}`);
  else words.push(", looking mostly at ", word(keys[key], "source"), ` (${percent(look[key])}; layer ${layer + 1}, ${who}`);
  if (averaged) {
    const alone = Array.from({ length: heads }, (_, head) => Math.max(...row("cross", layer, head, step)));
    const best = argmax(alone);
    const at = argmax(row("cross", layer, best, step));
    if (!even(alone[best])) words.push(`; head ${best + 1} alone: ${percent(alone[best])} at `, word(keys[at], "source"));
  }
  return [...words, ")."];
}
