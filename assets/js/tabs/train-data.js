// What a training learns from: the pairs, its vocabularies, and a pair as ids.

import { chip, h, scrollBox } from "../core/dom.js";
import { joinSentences, t } from "../core/i18n.js";
import { changeDetector } from "../core/parts.js";
import { pairEditor } from "./own-pairs.js";
import { problemLine, slider } from "./train-settings.js";

/** @import { PairAsIds, Problem } from "#schema" */
/** @import { Server, Side } from "../core/types.d.ts" */
/** @import { Plan } from "./train.js" */
/** @import { Settings } from "./train-settings.js" */

const MAX_HELD_OUT = 0.5;
const MANY_WORDS = 24; // a larger vocabulary is set closer

/**
 * `touched()` is called when the visitor works on the pairs.
 * @param {{ server: Server, limits: Record<string, number>, settings: () => Settings, changed: () => void,
 *   touched: () => void, signal: AbortSignal }} options
 */
export function dataCard({ server, limits, settings, changed, touched, signal }) {
  const title = h("h2");
  const about = h("p", { class: "lead" });
  const problem = problemLine();
  const editor = h("div", {}, pairEditor({ server, changed, signal }));
  for (const touch of ["click", "input", "drop"]) editor.addEventListener(touch, touched);
  const heldOut = heldOutSetting((share) => {
    settings().held_out = share;
    changed();
  });
  const vocabularies = h("div", { class: "vocabularies" });
  const ids = h("div", { class: "pair-ids" });
  const built = h(
    "div",
    { class: "built" },
    h("section", {}, h("h2", {}, t("train.words")), vocabularies),
    h("section", {}, h("h2", {}, t("train.pair")), ids),
    h("p", { class: "hint" }, t("train.pair.about")),
  );
  const legend = h("legend", { class: "visually-hidden" }, t("train.corpus"));
  const content = [legend, title, about, editor, problem.element, heldOut.element, built];
  const element = h("fieldset", { class: "card", id: "train-data" }, content);
  const isNew = changeDetector();
  function draw(/** @type {string} */ corpus, /** @type {Plan | null} */ plan, /** @type {Problem[]} */ problems) {
    title.textContent = t(`train.corpus.${corpus}`);
    about.textContent = t(`train.corpus.${corpus}.about`, { pairs: limits.pairs });
    editor.hidden = corpus !== "own";
    problem.draw(problems.find(({ field }) => field === "pairs" || field === "held_out")?.message);
    heldOut.draw(settings().held_out, plan);
    if (!isNew(plan)) return;
    built.hidden = !plan?.vocabularies;
    if (!plan?.vocabularies || !plan.example) return;
    const { source, target, source_size, target_size } = plan.vocabularies;
    vocabularies.replaceChildren(vocabulary("source", source, source_size), vocabulary("target", target, target_size));
    ids.replaceChildren(...pairAsIds(plan.example));
  }
  return { element, draw };
}

/** @param {(share: number) => void} change */
function heldOutSetting(change) {
  const id = "train-held_out";
  const share = slider({ how: { max: MAX_HELD_OUT }, ids: { id, "aria-describedby": `${id}-about` }, change });
  const about = h("p", { class: "about", id: `${id}-about` });
  const label = h("label", { class: "name", for: id }, t("train.set.held_out"));
  return {
    element: h("div", { class: "setting", "data-field": "held_out" }, label, share.element, about),
    draw(/** @type {number} */ value, /** @type {Plan | null} */ plan) {
      share.set(value);
      const split = plan?.pairs ? t("train.split", { ...plan.pairs }) : "";
      about.replaceChildren(...joinSentences(t("train.set.held_out.about"), split));
    },
  };
}

/** @param {Side} side @param {string[]} tokens the first of `size` @param {number} size */
const vocabulary = (side, tokens, size) =>
  h(
    "section",
    {},
    h("h3", {}, t(`train.words.${side}`, { count: size })),
    h(
      "ol",
      { class: `vocabulary${tokens.length > MANY_WORDS ? " many" : ""}` },
      tokens.map((token, id) => h("li", { "data-id": id }, chip("span", token, side), h("small", {}, String(id)))),
      size > tokens.length ? h("li", { class: "rest" }, t("train.words.rest", { rest: size - tokens.length })) : null,
    ),
  );

/**
 * The three rows of ids that a pair becomes; the decoder's two stand below each other, so that the shift is seen.
 * @param {PairAsIds} example
 */
function pairAsIds({ source, source_ids, decoder_input, decoder_input_ids, target, target_ids }) {
  const row = (
    /** @type {string} */ name,
    /** @type {Side} */ side,
    /** @type {string[]} */ tokens,
    /** @type {number[]} */ ids,
  ) => [
    h("h3", {}, t(`train.pair.${name}`)),
    ...tokens.map((token, i) =>
      h("span", { class: "token", "data-id": ids[i] }, chip("span", token, side), h("small", {}, String(ids[i]))),
    ),
  ];
  const block = (/** @type {number} */ count, /** @type {Node[][]} */ ...rows) =>
    scrollBox(h("div", { class: "ids", style: `--count: ${count}` }, rows));
  return [
    block(source.length, row("encoder", "source", source, source_ids)),
    block(
      target.length,
      row("decoder", "target", decoder_input, decoder_input_ids),
      row("target", "target", target, target_ids),
    ),
  ];
}
