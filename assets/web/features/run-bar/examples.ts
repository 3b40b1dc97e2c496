// Sentences to try: example sentences, a surprise, and the words that the model knows.

import { isOwn, models } from "../../api/models.ts";
import type { Example, OwnModel } from "../../api/types.ts";
import { t } from "../../state/i18n.ts";
import { state, subscribe } from "../../state/state.ts";
import { h, setChildren } from "../../ui/dom.ts";
import { button, changeDetector } from "../../ui/parts.ts";
import { askExample, askSurprise } from "./requests.ts";

const MAX_LENGTH = 40; // letters of a sentence on a button; its title has all of them

function shortened(sentence: string) {
  const letters = [...sentence];
  if (letters.length <= MAX_LENGTH) return sentence;
  const start = letters.slice(0, MAX_LENGTH - 1).join("");
  return `${start.trimEnd()}…`;
}

export function exampleBar() {
  const element = h("p", { class: "examples" });
  const list = h("div", { class: "word-list" });
  const title = [h("h2", {}, t("words.title")), h("button", { class: "pill" }, t("close"))];
  const dialog = h("dialog", { "aria-label": t("words.title") }, h("form", { method: "dialog" }, title), list);
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close()); // outside of it
  const sentences = h("span", { class: "example-list" });
  const more = button("more", t("examples.more"), () => unfold(true));
  const unfold = (open: boolean) => {
    element.classList.toggle("unfolded", open);
    if (open) more.hidden = true;
  };
  const look = () => {
    more.hidden = true; // it takes room itself, and must not decide whether it is there
    more.hidden = element.classList.contains("unfolded") || sentences.scrollHeight <= sentences.clientHeight + 2;
  };
  new ResizeObserver(look).observe(sentences);
  sentences.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof HTMLElement) || !target.matches(":focus-visible")) return; // by the Tab key
    if (target.offsetTop > sentences.offsetTop + 2) unfold(true);
  });
  const isNew = changeDetector();
  subscribe(element, () => {
    const { checkpoint } = state.run;
    if (!isNew(checkpoint) || !Object.hasOwn(models(), checkpoint)) return; // one that is gone gives way to another run
    const { examples, surprise, words: known } = models()[checkpoint];
    const hint = { title: t("examples.surprise_hint") };
    const words = Object.keys(known).length > 0 && button(null, t("examples.words"), () => dialog.showModal());
    const drawn = surprise ? [button(null, t("examples.surprise"), askSurprise, hint), " "] : [];
    unfold(false);
    sentences.replaceChildren(...examples.flatMap((each) => [exampleButton(each), " "]));
    setChildren(element, t("examples.try"), " ", sentences, more, " ", drawn, words || [], dialog);
    look();
    list.replaceChildren(...wordLists(checkpoint));
  });
  return element;
}

function exampleButton(example: Example) {
  const { name, sentence } = example;
  const title = name ? t("examples.example", { name: t(`example.${name}`), sentence }) : sentence;
  return button(null, shortened(sentence), () => askExample(example), { title, "data-sentence": sentence });
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
