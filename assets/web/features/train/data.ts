// The data of a training: the pairs, its vocabularies, and a pair as ids.

import type { PairAsIds } from "#schema";
import type { Side } from "../../api/types.ts";
import { formatMessage, joinSentences, t } from "../../state/i18n.ts";
import { chip, h, scrollBox } from "../../ui/dom.ts";
import { changeDetector, hint, setContent } from "../../ui/parts.ts";
import { chosen, limits, messageOf, planned, settings } from "./choices.ts";
import { pairEditor } from "./own-pairs.ts";
import { settingRow, share } from "./settings.ts";

const MANY_WORDS = 24; // a larger vocabulary is set closer

export function dataCard(changed: () => void, touched: () => void, signal: AbortSignal) {
  const title = h("h2");
  const about = h("p", { class: "lead" });
  const problem = h("p", { class: "problem" });
  const editor = h("div", {}, pairEditor(limits.file, changed, signal));
  for (const touch of ["click", "input", "drop"]) editor.addEventListener(touch, touched);
  const heldOut = settingRow("held_out", share(limits.held_out), (value) => {
    settings().held_out = value;
    changed();
  });
  const vocabularies = h("div", { class: "vocabularies" });
  const ids = h("div", { class: "pair-ids" });
  const words = h("section", {}, h("h2", {}, t("train.words")), vocabularies);
  const pair = h("section", {}, h("h2", {}, t("train.pair")), ids);
  const built = h("div", { class: "built" }, words, pair, hint(t("train.pair.about")));
  const legend = h("legend", { class: "visually-hidden" }, t("train.corpus"));
  const content = [legend, title, about, editor, problem, heldOut.element, built];
  const isNew = changeDetector();
  return {
    element: h("fieldset", { class: "card", id: "train-data" }, content),
    draw() {
      const { corpus } = chosen;
      const { plan } = planned;
      title.textContent = t(`train.corpus.${corpus}`);
      about.textContent = t(`train.corpus.${corpus}.about`, { pairs: limits.pairs });
      editor.hidden = corpus !== "own";
      const message = messageOf("pairs");
      setContent(problem, message && formatMessage(message));
      heldOut.draw(settings().held_out);
      const split = plan?.pairs ? t("train.split", { ...plan.pairs }) : "";
      heldOut.about.replaceChildren(...joinSentences(t("train.set.held_out.about"), split));
      if (!isNew(plan)) return;
      built.hidden = !plan?.vocabularies;
      if (!plan?.vocabularies || !plan.example) return;
      const { source, target, source_size, target_size } = plan.vocabularies;
      const both = [vocabulary("source", source, source_size), vocabulary("target", target, target_size)];
      vocabularies.replaceChildren(...both);
      ids.replaceChildren(...pairAsIds(plan.example));
    },
  };
}

/** @param tokens the first of `size` */
function vocabulary(side: Side, tokens: string[], size: number) {
  const items = tokens.map((token, id) =>
    h("li", { "data-id": id }, chip("span", token, side), h("small", {}, String(id))),
  );
  const rest = size - tokens.length;
  if (rest > 0) items.push(h("li", { class: "rest" }, t("train.words.rest", { rest })));
  const list = h("ol", { class: `vocabulary${tokens.length > MANY_WORDS ? " many" : ""}` }, items);
  return h("section", {}, h("h3", {}, t(`train.words.${side}`, { count: size })), list);
}

/** The three rows of ids that a pair becomes; the decoder's two stand below each other, so that the shift is seen. */
function pairAsIds({ source, source_ids, decoder_input, decoder_input_ids, target, target_ids }: PairAsIds) {
  const encoder = idRow("encoder", "source", source, source_ids);
  const decoder = idRow("decoder", "target", decoder_input, decoder_input_ids);
  const output = idRow("target", "target", target, target_ids);
  return [
    scrollBox(h("div", { class: "ids", style: `--count: ${source.length}` }, encoder)),
    scrollBox(h("div", { class: "ids", style: `--count: ${target.length}` }, decoder, output)),
  ];
}

function idRow(name: string, side: Side, tokens: string[], ids: number[]) {
  const token = (token: string, i: number) =>
    h("span", { class: "token", "data-id": ids[i] }, chip("span", token, side), h("small", {}, String(ids[i])));
  return [h("h3", {}, t(`train.pair.${name}`)), ...tokens.map(token)];
}
