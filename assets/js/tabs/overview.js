// Overview: one picture of the whole, in which every part leads to its tab.

import { pictureFrame } from "../charts/export.js";
import { foldedLayers } from "../charts/overview-layout.js";
import { overviewPicture, rowOfAllHeads, strongest } from "../charts/overview-picture.js";
import { takeAskedPlace } from "../charts/overview-place.js";
import { isPresenting } from "../core/address.js";
import { findChange } from "../core/changes.js";
import { h, typeScale, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { changeDetector, onResize } from "../core/parts.js";
import { KINDS, state, subscribe, update } from "../core/state.js";

/** @import { Picture, Token } from "../charts/overview-picture.js" */
/** @import { Stack, View } from "../core/types.d.ts" */

const FRAME = 140; // px of the screen that other things take, of what scrolls
const BELOW = 30; // px under the figure while presenting
const LEAST_ROOM = 420; // px

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** @param {View} view */
export function mount({ element, signal }) {
  const say = h("p", { class: "say step-words", "aria-live": "polite" });
  const figure = h("div", { class: "overview-figure" });
  const legend = h("p", { class: "hint overview-legend" });
  const card = h(
    "section",
    { class: "card" },
    pictureFrame(figure, () => `overview-step-${state.step + 1}`),
    legend,
  );
  const isNewRun = changeDetector();
  const isNewPicture = changeDetector();
  const isNewStep = changeDetector();
  /** @type {Picture | null} */
  let picture = null;
  /** @type {Token | null} */
  let followed = null;
  let drawnStep = -1;
  let isUnfolded = false;
  let isSeen = false; // since its tab was opened
  let width = 0; // of the figure; 0 while its tab is closed
  let room = 0; // px of the screen for it

  function draw() {
    if (!width) return;
    const { run, step, gold } = state;
    const asked = takeAskedPlace();
    if (asked && "layer" in asked) isUnfolded ||= isFolded(asked);
    if (isNewRun(run, isPresenting())) {
      followed = null;
      say.style.minHeight = "";
      say.replaceChildren(...describeStep());
      measure();
    }
    if (isNewPicture(run, gold, width, room, isUnfolded)) {
      const unfold = (/** @type {Stack} */ stack) => {
        isUnfolded = true;
        update({});
        const opened = figure.querySelector(`[data-layer="${stack} 2"] [role=button]`);
        /** @type {SVGElement | null} */ (opened)?.focus({ preventScroll: true });
      };
      const goTo = (/** @type {number} */ step) => update({ step });
      const isWhole = isPresenting(); // nobody in the room can scroll
      picture = overviewPicture(run, { width, room, isWhole, isUnfolded, unfold, follow, goTo });
      figure.replaceChildren(picture.element);
      const isNormFirst = run.model.norm_first;
      legend.textContent = t(isNormFirst ? "overview.legend_norm_first" : "overview.legend");
      drawnStep = -1;
    }
    if (!picture) return;
    if (isNewStep(picture, step)) {
      drawStep();
      if (drawnStep >= 0 && !still.matches) picture.travel(step);
      drawnStep = step;
    }
    if (asked || !isSeen) picture.show(asked);
    isSeen = true;
  }
  function measure() {
    const taken = isPresenting() ? figure.getBoundingClientRect().top + scrollY + BELOW : FRAME * typeScale();
    room = Math.max(LEAST_ROOM, innerHeight - taken);
  }
  const drawStep = () => {
    picture?.draw(state.step, followed);
    say.replaceChildren(...(followed ? describeToken(followed) : describeStep()));
  };
  /** @param {Token | null} token */
  function follow(token) {
    followed = token;
    drawStep();
    say.style.minHeight = `${say.offsetHeight}px`; // else the word would move away from the pointer
  }
  element.replaceChildren(say, card);
  subscribe(element, draw);
  const resize = (/** @type {ResizeObserverEntry[]} */ entries) => {
    width = Math.floor(entries[entries.length - 1].contentRect.width);
    say.style.minHeight = "";
    measure();
    if (!width) isSeen = false;
    else if (state.run) draw();
  };
  onResize(figure, resize, signal);
}

/** The text alternative of a step. */
function describeStep() {
  const { run, step } = state;
  const { token, probability } = run.steps[step];
  const { layer, head, key, weight } = strongest(rowOfAllHeads(run, "cross", step));
  const hasNext = step + 1 < run.steps.length;
  const places = {
    step: step + 1,
    steps: run.steps.length,
    read: word(run.decoder_input[step], "target"),
    layer: layer + 1,
    head: head + 1,
    word: word(run.source[key], "source"),
    share: formatPercent(weight),
    token: word(token, "target"),
    chance: formatPercent(probability),
    next: step + 2,
  };
  const isForced = findChange({ do: "force_word", step }, run.changes);
  const isOpenRow = run.attention.cross.allowed[step].includes(true);
  return joinSentences(
    nodes("overview.reads", places),
    nodes(isOpenRow ? "overview.attends" : "overview.attends_nothing", places),
    nodes(hasNext ? "overview.goes_on" : token === "E" ? "overview.is_end" : "overview.is_cut", places),
    isForced ? t("overview.is_forced") : null,
  );
}

/** A token's path in words: how much the step attends to it. @param {Token} token */
function describeToken({ side, at }) {
  const { run, step } = state;
  const kind = side === "source" ? "cross" : "decoder";
  const { mean, layer, head, weight } = rowOfAllHeads(run, kind, step)[at];
  const tokens = side === "source" ? run.source : run.decoder_input;
  const places = {
    word: word(tokens[at], side),
    n: at + 1,
    step: step + 1,
    mean: formatPercent(mean),
    layer: layer + 1,
    head: head + 1,
    share: formatPercent(weight),
  };
  const isSeen = run.attention[kind].allowed[step][at];
  const path = nodes(`overview.follow.${side}`, places);
  if (isSeen) return joinSentences(path, nodes(`overview.paid.${side}`, places));
  return joinSentences(path, nodes(side === "target" && at > step ? "overview.not_yet" : "overview.unseen", places));
}

/** Whether a layer is among those that are folded at first. @param {{ layer: number }} place */
function isFolded({ layer }) {
  return KINDS.some((kind) => {
    const folded = foldedLayers(state.run.attention[kind].layers, false);
    return folded && layer >= folded.from && layer <= folded.to;
  });
}
