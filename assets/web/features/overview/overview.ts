// Overview: one picture of the whole, in which every part leads to its tab.

import type { Lens } from "#schema";
import type { Stack, View } from "../../api/types.ts";
import { fetchLens, lensCaveat, readings } from "../../charts/lens.ts";
import { foldedLayers } from "../../charts/overview-layout.ts";
import { takeAskedPlace } from "../../charts/overview-place.ts";
import { isPresenting } from "../../state/address.ts";
import { insteadOfChoice } from "../../state/changes.ts";
import { formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { STACKS, state, subscribe, update } from "../../state/state.ts";
import { h, typeScale, word, wordAt } from "../../ui/dom.ts";
import { pictureFrame } from "../../ui/export.ts";
import { changeDetectors, onResize } from "../../ui/parts.ts";
import { overviewPicture, type Picture, rowOfAllHeads, strongest, type Token, workingHeads } from "./picture.ts";

type Overview = ReturnType<typeof build>;

const FRAME = 140; // px of the screen that other things take, of what scrolls
const BELOW = 30; // px under the figure while presenting
const MIN_HEIGHT = 420; // px

export function mount({ element, signal }: View) {
  const overview = build();
  const { say, figure, legend, lensSays } = overview;
  const frame = pictureFrame(figure, () => `overview-step-${state.step + 1}`);
  element.replaceChildren(say, h("section", { class: "card" }, frame, lensSays, legend));
  subscribe(element, () => draw(overview));
  const resize = (entries: ResizeObserverEntry[]) => {
    overview.width = Math.floor(entries[entries.length - 1].contentRect.width);
    say.style.minHeight = "";
    measure(overview);
    if (!overview.width) overview.isSeen = false;
    else if (state.run) draw(overview);
  };
  onResize(figure, resize, signal);
}

const build = () => ({
  say: h("p", { class: "say step-words", "aria-live": "polite" }),
  figure: h("div", { class: "overview-figure" }),
  legend: h("p", { class: "hint overview-legend" }),
  lensSays: h("p", { class: "hint overview-legend" }),
  lens: null as Lens | null, // of the run, once it is there
  picture: null as Picture | null,
  followed: null as Token | null,
  isUnfolded: false,
  isSeen: false, // since its tab was opened
  width: 0, // px of the figure; 0 while its tab is closed
  available: 0, // px of the screen's height for it
  isNew: changeDetectors(),
});

function draw(overview: Overview) {
  if (!overview.width) return;
  const { run, step, gold } = state;
  const asked = takeAskedPlace();
  if (asked && "layer" in asked) overview.isUnfolded ||= isFolded(asked);
  if (overview.isNew("run", run, isPresenting())) {
    overview.followed = null;
    readLayers(overview);
    overview.say.style.minHeight = "";
    overview.say.replaceChildren(...describeStep());
    measure(overview);
  }
  const { width, available, isUnfolded } = overview;
  if (overview.isNew("picture", run, gold, width, available, isUnfolded, isPresenting() && state.layer))
    drawPicture(overview);
  const { picture } = overview;
  if (!picture) return;
  if (overview.isNew("step", picture, step)) drawStep(overview);
  if (asked || !overview.isSeen) picture.show(asked);
  overview.isSeen = true;
}

function drawPicture(overview: Overview) {
  const { figure, legend, width, available, isUnfolded } = overview;
  const isWhole = isPresenting(); // the audience cannot scroll
  overview.picture = overviewPicture(
    state.run,
    { width, available, isUnfolded, isWhole, open: state.layer },
    {
      unfold: (stack, from, to) => unfold(overview, stack, from, to),
      follow: (token) => follow(overview, token),
      goTo: (step) => update({ step }),
    },
  );
  figure.replaceChildren(overview.picture.element);
  legend.textContent = t(state.run.model.norm_first ? "overview.legend_norm_first" : "overview.legend");
}

/** Show a stack's hidden layers, with the focus on the first; a class sees the one that is next to the open one. */
function unfold(overview: Overview, stack: Stack, from: number, to: number) {
  const layer = isPresenting() && from < state.layer ? to : from;
  overview.isUnfolded ||= !isPresenting();
  update(isPresenting() ? { layer } : {});
  const opened = overview.figure.querySelector(`[data-layer="${stack} ${layer}"] [role=button]`);
  (opened as SVGElement | null)?.focus({ preventScroll: true });
}

async function readLayers(overview: Overview) {
  const { run } = state;
  overview.lens = null;
  const lens = await fetchLens(run).catch(() => null); // without it the picture lacks these words
  if (state.run !== run) return;
  overview.lens = lens;
  drawLens(overview);
}

function drawLens({ picture, lens, lensSays }: Overview) {
  const { run, step } = state;
  if (!lens || !picture) return lensSays.replaceChildren();
  const found = readings(lens, run, step);
  const layers = found.layers.length;
  picture.read(found);
  const places = {
    step: step + 1,
    layer: found.turn + 1,
    layers,
    token: word(found.layers[layers - 1].token, "target"),
  };
  const says = nodes(found.turn ? "overview.lens.says" : "overview.lens.all", places);
  lensSays.replaceChildren(...joinSentences(says, lensCaveat(lens, run)));
}

function measure(overview: Overview) {
  const above = overview.figure.getBoundingClientRect().top + scrollY;
  const taken = isPresenting() ? above + BELOW : FRAME * typeScale();
  overview.available = Math.max(MIN_HEIGHT, innerHeight - taken);
}

function drawStep(overview: Overview) {
  const { picture, followed, say } = overview;
  picture?.draw(state.step, followed);
  drawLens(overview);
  say.replaceChildren(...(followed ? describeToken(followed) : describeStep()));
}

function follow(overview: Overview, token: Token | null) {
  overview.followed = token;
  drawStep(overview);
  overview.say.style.minHeight = `${overview.say.offsetHeight}px`; // else the word would move away from the pointer
}

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
    word: wordAt(run.source, key, "source"),
    share: formatPercent(weight),
    token: word(token, "target"),
    chance: formatPercent(probability),
    next: step + 2,
  };
  const how = insteadOfChoice(step, run);
  const isOpenRow = run.attention.cross.allowed[step].includes(true);
  const isSilent = workingHeads(run, "cross").length === 0;
  const attends = isSilent ? "silent.cross" : isOpenRow ? "attends" : "attends_nothing";
  return joinSentences(
    nodes("overview.reads", places),
    nodes(`overview.${attends}`, places),
    nodes(hasNext ? "overview.goes_on" : token === "E" ? "overview.is_end" : "overview.is_cut", places),
    how ? t(`overview.is_${how}`) : null,
  );
}

function describeToken({ side, at }: Token) {
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

function isFolded({ layer }: { layer: number }) {
  const folds = STACKS.flatMap((stack) => foldedLayers(state.run.attention[stack].layers, {}));
  return folds.some(({ from, to }) => layer >= from && layer <= to);
}
