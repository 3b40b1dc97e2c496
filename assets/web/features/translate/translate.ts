// Translate: the decoding as a story, a step at a time.

import { canAsk } from "../../api/client.ts";
import { models } from "../../api/models.ts";
import { opening } from "../../api/schema.ts";
import type { Child, View } from "../../api/types.ts";
import { paddingMasked } from "../../charts/attention-map.ts";
import { areMany, orderKeys } from "../../charts/key-order.ts";
import { candidate, MAX_CANDIDATES, stepCard } from "../../charts/outputs.ts";
import { argmax } from "../../engine/arrays.ts";
import { findChange, insteadOfChoice, isAblated, replaceChange } from "../../state/changes.ts";
import { formatPercent, hasText, joinSentences, nodes, t } from "../../state/i18n.ts";
import { attentionRow, goldLink, shownHead, state, subscribe, UNIFORM_MARGIN, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { explainLikelihood } from "../../ui/describe.ts";
import {
  type Attributes,
  h,
  replaceKeepingFocus,
  scrollBox,
  scrollToMiddle,
  segmented,
  word,
  wordAt,
} from "../../ui/dom.ts";
import { pictureFrame, savable } from "../../ui/export.ts";
import { changeDetectors, headPicker, hint, link } from "../../ui/parts.ts";
import { pieceSearch } from "./piece-search.ts";
import { whyPanel } from "./why.ts";

type Parts = ReturnType<typeof build>;
type Shown = { layer: number; name: string; isMean: boolean; weights: number[] };

const MAX_OF_PIECES = 10;
const MAX_READ = 6; // words of a long output that the sentence repeats
const narrow = matchMedia("(width < 480px)");

export function mount({ element, signal }: View) {
  const parts = build(signal);
  const { pieces, search, why } = parts;
  const { say, cards, heading, bars, more, pickers, ablated, explained, candidates, loop, limits } = parts;
  const file = (what: string) => () => `step-${state.step + 1}-${what}`;
  const frame = pictureFrame(bars, file("looks"), scrollBox(bars));
  const steps = [h("h2", {}, t("translate.output")), cards, heading, frame, more, pickers.element, ablated, explained];
  const next = [h("h2", {}, t("translate.candidates")), pieces, candidates, search.element, why.element, loop, limits];
  const columns = [
    h("section", { class: "card said" }, steps),
    savable(h("section", { class: "card" }, next), candidates, file("candidates")),
  ];
  element.replaceChildren(say, h("div", { class: "columns" }, columns));
  more.addEventListener("click", () => {
    parts.areAllShown = !parts.areAllShown;
    draw(parts);
  });
  subscribe(element, () => draw(parts));
}

const build = (signal: AbortSignal) => ({
  say: h("p", { class: "say", "aria-live": "polite" }),
  cards: h("ol", { class: "cards" }),
  heading: h("h2"),
  bars: h("ol", { class: "bars" }),
  more: link("", () => {}, { hidden: true }),
  areAllShown: false, // of many source words
  pickers: headPicker({ hasMean: true }),
  ablated: h("p", { class: "hint", hidden: true }, t("ablation.shown")),
  explained: hint(),
  pieces: h("div", { class: "controls", hidden: true }),
  piece: 0, // of a word, whose candidates are shown
  candidates: h("ol", { class: "candidates" }),
  search: pieceSearch(forceWord, signal),
  why: whyPanel(signal),
  loop: hint(),
  limits: hint(),
  isNew: changeDetectors(),
});

function draw(parts: Parts) {
  const { run, step, head, averaged } = state;
  const { cross } = run.attention;
  const { layer } = shownHead("cross");
  const isMean = averaged && cross.heads > 1;
  parts.pickers.draw(cross);
  if (parts.isNew("run", run)) drawRun(parts);
  for (const [i, card] of [...parts.cards.children].entries()) {
    card.className = i > step ? "future" : i === step ? "now" : "";
    card.firstElementChild?.setAttribute("aria-current", i === step ? "step" : "false");
  }
  scrollToMiddle(parts.cards, parts.cards.children[step]);
  const name = isMean ? t("mean_of", { heads: cross.heads }) : t("head_n", { head: head + 1 });
  const shown = { layer, name, isMean, weights: attentionRow("cross", layer, averaged ? null : head, step) };
  parts.heading.textContent = t("translate.where", { step: step + 1, layer: layer + 1, who: name });
  parts.ablated.hidden = isMean || !isAblated("cross", layer, averaged ? 0 : head, run.changes);
  drawBars(parts, shown);
  drawCandidates(parts);
  parts.say.replaceChildren(...describeStep(shown));
}

function drawRun({ cards, explained, loop, limits }: Parts) {
  const { run } = state;
  const { layers, heads } = run.attention.cross;
  cards.replaceChildren(...run.steps.map((each, step) => stepCard(each, step, () => update({ step }))));
  cards.classList.toggle("many", areMany(run.steps));
  const padded = paddingMasked(run, "encoder") && paddingMasked(run, "cross") ? t("translate.padded") : "";
  const layered = layers > 1 ? t("translate.layers", { layers }) : t("translate.one_layer");
  const headed = heads > 1 ? t("translate.heads", { heads }) : t("translate.one_head");
  explained.replaceChildren(...joinSentences(layered, headed, padded));
  const isForced = findChange({ do: "force_word" }, run.changes);
  loop.textContent = t(
    opening.drawn?.length ? "translate.loop_drawn" : isForced ? "translate.loop_forced" : "translate.loop",
  );
  const known = models()[run.checkpoint] as { corpus?: string } | undefined;
  const key = run.model.pieces ? "limits.real" : `limits.${known?.corpus ?? run.checkpoint}`;
  limits.textContent = hasText(key) ? t(key) : "";
}

function drawBars({ bars, more, areAllShown }: Parts, { layer, isMean, weights }: Shown) {
  const { run, step, gold } = state;
  const { cross } = run.attention;
  const named = isMean ? [strongestHead(layer).key] : [];
  const { shown, rest } = orderKeys(weights, { most: narrow.matches ? 4 : 8, named });
  const bar = (key: number) => {
    const masked = !cross.allowed[step][key];
    const isPadding = cross.keys[key] === "P" && paddingMasked(run, "cross");
    const attributes = {
      data: { weight: weights[key] },
      class: masked ? "masked" : gold ? `gold ${goldLink(step, key)}` : "",
      title: masked ? t(isPadding ? "translate.padding" : "translate.closed") : "",
    };
    const share = formatPercent(weights[key]).replace("\u00a0", " "); // in a narrow column it takes two lines
    return barItem(attributes, masked ? t("masked") : share, weights[key], [
      word(cross.keys[key], "source"),
      areMany(weights) ? h("small", { class: "place" }, key + 1) : null,
    ]);
  };
  const isFolded = rest.length > 0 && !areAllShown;
  const items = (isFolded ? shown : [...weights.keys()]).map(bar);
  if (isFolded) {
    const share = rest.reduce((sum, key) => sum + weights[key], 0);
    const text = h("span", { class: "hint" }, t("inside.more", { count: rest.length }));
    items.push(barItem({ class: "rest", "data-rest": share }, formatPercent(share), share, text));
  }
  more.hidden = !rest.length;
  more.textContent = isFolded ? t("inside.show_more", { count: rest.length }) : t("inside.strongest");
  bars.style.setProperty("--count", String(items.length));
  bars.replaceChildren(...items);
  const strip = bars.parentElement;
  if (strip) scrollToMiddle(strip, items[isFolded ? 0 : argmax(weights)]);
}

const barItem = (attributes: Attributes, text: string, share: number, name: Child) =>
  h("li", attributes, h("span", { class: "bar" }, h("small", {}, text), h("i", { style: `--share: ${share}` })), name);

function strongestHead(layer: number) {
  const { heads } = state.run.attention.cross;
  const rows = Array.from({ length: heads }, (_, head) => attentionRow("cross", layer, head, state.step));
  const head = argmax(rows.map((row) => Math.max(...row)));
  const key = argmax(rows[head]);
  return { head, key, weight: rows[head][key] };
}

/** Those of one piece of a word. */
function drawCandidates(parts: Parts) {
  const { run } = state;
  const { pieces, first = state.step } = run.steps[state.step];
  if (parts.isNew("step", run, state.step)) parts.piece = 0;
  const step = first + parts.piece;
  parts.pieces.hidden = !pieces || pieces.length < 2;
  if (pieces) {
    const names = pieces.map(({ token }, i) => [String(i), token] as [string, string]);
    const choice = segmented(t("candidates.piece"), names, (i) => {
      parts.piece = Number(i);
      drawCandidates(parts);
    });
    choice.set(String(parts.piece));
    replaceKeepingFocus(parts.pieces, [h("small", {}, t("candidates.piece")), choice.element]);
  }
  const { token, candidates } = tokenRun(run).steps[step];
  const most = run.words ? MAX_OF_PIECES : MAX_CANDIDATES;
  const shown = candidates.filter((each, i) => i < most || each.token === token);
  const force = canAsk("translate") ? forceWord : undefined;
  const items = shown.map((each) => candidate(each, each.token === token, force && (() => force(each.token, step))));
  replaceKeepingFocus(parts.candidates, items);
  parts.search.draw(step);
  parts.why.draw(step);
}

/** Output this token at this step; the likeliest one needs no force. */
function forceWord(token: string, step: number) {
  const isLikeliest = token === tokenRun(state.run).steps[step].candidates[0].token;
  replaceChange({ do: "force_word", step }, isLikeliest ? null : { do: "force_word", step, word: token });
}

const prefix = (words: string[]) => (areMany(words) ? ["…", ...words.slice(-MAX_READ)] : words).join(" ");

function describeStep(shown: Shown) {
  const { run, step } = state;
  const { token, probability, candidates } = run.steps[step];
  const { first = step, pieces = [token] } = run.steps[step];
  const how = pieces.map((_, i) => insteadOfChoice(first + i, run)).find(Boolean);
  const says = { forced: "translate.forced", drawn: "translate.drawn" };
  const output = nodes(how ? says[how] : token === "E" ? "translate.says_end" : "translate.says", {
    step: step + 1,
    steps: run.steps.length,
    before: word(prefix(run.decoder_input.slice(0, step + 1)), "target"),
    token: word(token, "target"),
    share: formatPercent(probability),
    own: word(candidates[0].token, "target"),
    own_share: formatPercent(candidates[0].probability),
  });
  return joinSentences(output, describeAttention(shown), explainLikelihood(run));
}

function describeAttention({ layer, name, isMean, weights }: Shown) {
  const { run, step } = state;
  const { keys, allowed } = run.attention.cross;
  const open = allowed[step].filter(Boolean).length;
  const key = argmax(weights);
  const isUniform = (weight: number) => weight - 1 / open < UNIFORM_MARGIN;
  const share = formatPercent(weights[key]);
  const places = { word: wordAt(keys, key, "source"), count: open, share, layer: layer + 1, who: name };
  if (open === 0) return nodes("translate.nothing", places);
  if (open === 1) return nodes(keys.length > 1 ? "translate.only" : "translate.only_word", places);
  const text = isUniform(weights[key]) ? "translate.evenly" : "translate.mostly";
  if (!isMean) return nodes(text, places);
  const { head, key: on, weight } = strongestHead(layer);
  if (isUniform(weight)) return nodes(text, places);
  const highest = { head: head + 1, alone: formatPercent(weight), on: wordAt(keys, on, "source") };
  return nodes(`${text}_alone`, { ...places, ...highest });
}
