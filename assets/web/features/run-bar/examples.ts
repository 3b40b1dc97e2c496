// Sentences to try: example sentences, a surprise, and the words that the model knows.

import { isOwn, isReal, models } from "../../api/models.ts";
import type { Example, OwnModel } from "../../api/types.ts";
import { shortened } from "../../charts/map-parts.ts";
import { t } from "../../state/i18n.ts";
import { state, subscribe } from "../../state/state.ts";
import { dialog, h, setChildren } from "../../ui/dom.ts";
import { button, changeDetector } from "../../ui/parts.ts";
import { askExample, askSurprise, plainText } from "./requests.ts";

const MAX_LENGTH = 40; // letters of a sentence on a button; its title has all of them

export function exampleBar() {
  const list = h("div", { class: "word-list" });
  const title = [h("h2", {}, t("words.title")), h("button", { class: "pill" }, t("close"))];
  const known = dialog({ "aria-label": t("words.title") }, h("form", { method: "dialog" }, title), list);
  const sentences = h("span", { class: "example-list" });
  const onclick = () => all.close(); // also at a sentence, which asks for it
  const all = h("dialog", { class: "plan all-examples", "aria-label": t("examples.try"), onclick });
  const more = button(null, t("examples.more"), () => all.showModal());
  const element = h("p", { class: "examples" }, t("examples.try"), " ", sentences, more);
  const isNew = changeDetector();
  subscribe(element, () => {
    const { checkpoint } = state.run;
    if (!isNew(checkpoint) || !Object.hasOwn(models(), checkpoint)) return; // one that is gone gives way to another run
    const { examples, surprise, words } = models()[checkpoint];
    const hint = { title: t("examples.surprise_hint") };
    const showWords = button("link", t("examples.words"), () => known.showModal());
    sentences.replaceChildren(...examples.flatMap((each) => [exampleButton(each), " "]));
    setChildren(
      all,
      examples.map((each) => h("p", {}, exampleButton(each))),
      surprise ? h("p", {}, button("link", t("examples.surprise"), askSurprise, hint)) : null,
      Object.keys(words).length ? h("p", {}, showWords) : null,
    );
    more.hidden = !surprise && !isReal(checkpoint) && hasAllWords(examples, words);
    list.replaceChildren(...wordLists(checkpoint));
  });
  return [element, all, known];
}

function hasAllWords(examples: Example[], words: OwnModel["words"]) {
  const shown = new Set(examples.flatMap(({ sentence }) => plainText(sentence).split(" ")));
  return Object.values(words as Record<string, [string, string][]>)
    .flat()
    .every(([source]) => shown.has(plainText(source)));
}

function exampleButton(example: Example) {
  const { name, sentence } = example;
  const title = name ? t("examples.example", { name: t(`example.${name}`), sentence }) : sentence;
  return button(null, shortened(sentence, MAX_LENGTH), () => askExample(example), { title, "data-sentence": sentence });
}

function wordLists(checkpoint: string) {
  const { words, corpus } = models()[checkpoint] as OwnModel;
  const lang = isOwn(checkpoint) && corpus === "own" ? null : "de";
  const kinds = Object.entries(words as Record<string, [string, string][]>);
  return kinds.map(([kind, pairs]) => {
    const heading = kinds.length > 1 ? h("h3", {}, t(`words.${kind}`)) : null;
    const words = pairs.map(([source, target]) => [h("dt", { lang }, source), h("dd", {}, target)]);
    return h("section", {}, heading, h("dl", {}, words));
  });
}
