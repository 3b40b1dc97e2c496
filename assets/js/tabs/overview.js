// Overview: one picture of the whole, in which every part leads to its tab.

import { pictureFrame } from "../charts/export.js";
import { foldedLayers } from "../charts/overview-layout.js";
import { overviewPicture, rowOfAllHeads, strongest, workingHeads } from "../charts/overview-picture.js";
import { takeAskedPlace } from "../charts/overview-place.js";
import { isPresenting } from "../core/address.js";
import { findChange } from "../core/changes.js";
import { h, typeScale, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { changeDetector, onResize } from "../core/parts.js";
import { KINDS, state, subscribe, update } from "../core/state.js";
import { isStill } from "../core/theme.js";

/** @import { Picture, Token } from "../charts/overview-picture.js" */
/** @import { Stack, View } from "../core/types.d.ts" */
/**
 * @typedef {object} Overview
 * @property {HTMLElement} say
 * @property {HTMLElement} figure
 * @property {HTMLElement} legend
 * @property {Picture | null} picture
 * @property {Token | null} followed
 * @property {number} drawnStep -1 for none of this picture
 * @property {boolean} isUnfolded
 * @property {boolean} isSeen since its tab was opened
 * @property {number} width px of the figure; 0 while its tab is closed
 * @property {number} room px of the screen for it
 * @property {ChangeDetector} isNewRun
 * @property {ChangeDetector} isNewPicture
 * @property {ChangeDetector} isNewStep
 */
/** @typedef {ReturnType<typeof changeDetector>} ChangeDetector */

const FRAME = 140; // px of the screen that other things take, of what scrolls
const BELOW = 30; // px under the figure while presenting
const LEAST_ROOM = 420; // px

/** @param {View} view */
export function mount({ element, signal }) {
  /** @type {Overview} */
  const overview = {
    say: h("p", { class: "say step-words", "aria-live": "polite" }),
    figure: h("div", { class: "overview-figure" }),
    legend: h("p", { class: "hint overview-legend" }),
    picture: null,
    followed: null,
    drawnStep: -1,
    isUnfolded: false,
    isSeen: false,
    width: 0,
    room: 0,
    isNewRun: changeDetector(),
    isNewPicture: changeDetector(),
    isNewStep: changeDetector(),
  };
  const { say, figure, legend } = overview;
  const frame = pictureFrame(figure, () => `overview-step-${state.step + 1}`);
  element.replaceChildren(say, h("section", { class: "card" }, frame, legend));
  subscribe(element, () => draw(overview));
  const resize = (/** @type {ResizeObserverEntry[]} */ entries) => {
    overview.width = Math.floor(entries[entries.length - 1].contentRect.width);
    say.style.minHeight = "";
    measure(overview);
    if (!overview.width) overview.isSeen = false;
    else if (state.run) draw(overview);
  };
  onResize(figure, resize, signal);
}

/** @param {Overview} overview */
function draw(overview) {
  if (!overview.width) return;
  const { run, step, gold } = state;
  const asked = takeAskedPlace();
  if (asked && "layer" in asked) overview.isUnfolded ||= isFolded(asked);
  if (overview.isNewRun(run, isPresenting())) {
    overview.followed = null;
    overview.say.style.minHeight = "";
    overview.say.replaceChildren(...describeStep());
    measure(overview);
  }
  const { width, room, isUnfolded } = overview;
  if (overview.isNewPicture(run, gold, width, room, isUnfolded)) drawPicture(overview);
  const { picture } = overview;
  if (!picture) return;
  if (overview.isNewStep(picture, step)) {
    drawStep(overview);
    if (overview.drawnStep >= 0 && !isStill()) picture.travel(step);
    overview.drawnStep = step;
  }
  if (asked || !overview.isSeen) picture.show(asked);
  overview.isSeen = true;
}

/** @param {Overview} overview */
function drawPicture(overview) {
  const { figure, legend, width, room, isUnfolded } = overview;
  overview.picture = overviewPicture(state.run, {
    ...{ width, room, isUnfolded },
    isWhole: isPresenting(), // the audience cannot scroll
    unfold: (stack) => unfold(overview, stack),
    follow: (token) => follow(overview, token),
    goTo: (step) => update({ step }),
  });
  figure.replaceChildren(overview.picture.element);
  legend.textContent = t(state.run.model.norm_first ? "overview.legend_norm_first" : "overview.legend");
  overview.drawnStep = -1;
}

/** @param {Overview} overview @param {Stack} stack whose first hidden layer gets the focus */
function unfold(overview, stack) {
  overview.isUnfolded = true;
  update({});
  const opened = overview.figure.querySelector(`[data-layer="${stack} 2"] [role=button]`);
  /** @type {SVGElement | null} */ (opened)?.focus({ preventScroll: true });
}

/** @param {Overview} overview */
function measure(overview) {
  const above = overview.figure.getBoundingClientRect().top + scrollY;
  const taken = isPresenting() ? above + BELOW : FRAME * typeScale();
  overview.room = Math.max(LEAST_ROOM, innerHeight - taken);
}

/** @param {Overview} overview */
function drawStep({ picture, followed, say }) {
  picture?.draw(state.step, followed);
  say.replaceChildren(...(followed ? describeToken(followed) : describeStep()));
}

/** @param {Overview} overview @param {Token | null} token */
function follow(overview, token) {
  overview.followed = token;
  drawStep(overview);
  overview.say.style.minHeight = `${overview.say.offsetHeight}px`; // else the word would move away from the pointer
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
  const isSilent = workingHeads(run, "cross").length === 0;
  const attends = isSilent ? "silent.cross" : isOpenRow ? "attends" : "attends_nothing";
  return joinSentences(
    nodes("overview.reads", places),
    nodes(`overview.${attends}`, places),
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
  if (workingHeads(run, kind).length === 0) return joinSentences(path, t(`overview.silent.${kind}`));
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
