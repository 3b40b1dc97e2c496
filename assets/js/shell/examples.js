// What there is to try: example sentences, a surprise, and the words that the model knows.

import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { state, subscribe } from "../core/state.js";
import { isOwn, models } from "../net/models.js";

const MAX_LENGTH = 40; // letters of a sentence that is offered; its title has all of them

const short = (sentence) =>
  [...sentence].length > MAX_LENGTH
    ? `${[...sentence]
        .slice(0, MAX_LENGTH - 1)
        .join("")
        .trimEnd()}…`
    : sentence;

/** Returns an element that follows the model: `choose.example(example)` and `choose.surprise()` are called on a click. */
export function exampleBar(choose) {
  const element = h("p", { class: "examples" });
  const list = h("div", { class: "word-list" });
  const dialog = h(
    "dialog",
    { "aria-label": t("words.title") },
    h("form", { method: "dialog" }, h("h2", {}, t("words.title")), h("button", { class: "pill" }, t("close"))),
    list,
  );
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close()); // outside of it
  let drawn = null;
  subscribe(element, () => {
    const { checkpoint } = state.run;
    if (drawn === checkpoint) return;
    drawn = checkpoint;
    if (!Object.hasOwn(models(), checkpoint)) return; // it was forgotten, and another run is on its way
    const { examples, surprise, words, corpus } = models()[checkpoint];
    const german = isOwn(checkpoint) && corpus === "own" ? null : "de";
    const button = (text, onclick, title) => [h("button", { type: "button", onclick, title }, text), " "];
    element.replaceChildren(
      t("offers.try"),
      " ",
      ...examples.flatMap((each) =>
        button(each.name ? t(`example.${each.name}`) : short(each.sentence), () => choose.example(each), each.sentence),
      ),
      ...(surprise ? button(t("offers.surprise"), () => choose.surprise(), t("offers.surprise_hint")) : []),
      ...button(t("offers.words"), () => dialog.showModal()),
      dialog,
    );
    list.replaceChildren(
      ...Object.entries(words).map(([kind, pairs]) =>
        h(
          "section",
          {},
          Object.keys(words).length > 1 ? h("h3", {}, t(`words.${kind}`)) : null,
          h("dl", {}, ...pairs.flatMap(([source, target]) => [h("dt", { lang: german }, source), h("dd", {}, target)])),
        ),
      ),
    );
  });
  return element;
}
