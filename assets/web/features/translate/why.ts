// Why this word: attribution, attention and the effect of masking each source word, asked for when the panel is opened.

import { canAsk } from "../../api/client.ts";
import type { Child } from "../../api/types.ts";
import { type Asked, explainWord, fetchWhy, secondWord } from "../../charts/why.ts";
import { nodes, t } from "../../state/i18n.ts";
import { failureText } from "../../state/server-cache.ts";
import { state, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { h, replaceKeepingFocus, scrollBox, segmented, setChildren, word } from "../../ui/dom.ts";
import { changeDetector, isOpen, link, onSight } from "../../ui/parts.ts";

export function whyPanel(signal: AbortSignal) {
  const choice = h("div", { class: "controls" });
  const say = h("p", { class: "why-says", role: "status" });
  const [figure, below] = [h("div"), h("div")];
  const content = h("div", { class: "why-content" }, choice, say, scrollBox(figure), below);
  const summary = h("summary", {}, t("why.title"));
  const element = h("details", { class: "why-word" }, summary, content);
  const isNew = changeDetector();
  let [step, isUnfolded, asked] = [0, false, 0];
  let answered = Promise.resolve();

  function ask() {
    if (state.run && element.open && isOpen(element) && isNew(state.run, step, state.why)) answered = explain();
    return answered;
  }

  async function explain() {
    const second = secondWord(state.run, step);
    const other = state.why === "contrast" ? second : null;
    drawChoice(tokenRun(state.run).steps[step].token, second);
    content.ariaBusy = "true";
    asked++;
    const mine = asked;
    const answer = await fetchWhy(state.run, step, other).catch((error) => failureText(error, "why.failed"));
    if (signal.aborted || mine !== asked) return;
    content.ariaBusy = null;
    if (typeof answer !== "string") return draw({ step, answer, other });
    isNew.forget();
    setChildren(say, answer);
    for (const each of [figure, below]) each.replaceChildren();
  }

  function drawChoice(token: string, second: string | null) {
    const options: [string, Child][] = [["word", nodes("why.of", { token: word(token, "target") })]];
    const places = { token: word(token, "target"), other: word(second ?? "", "target") };
    if (second) options.push(["contrast", nodes("why.against", places)]);
    const choose = (name: string) => update({ why: name === "contrast" ? "contrast" : "word" });
    const picker = segmented(t("why.title"), options, choose);
    picker.set(second ? state.why : "word");
    replaceKeepingFocus(choice, [picker.element]);
  }

  function draw(shown: Asked) {
    const { said, table, folded, warning, about } = explainWord(state.run, shown, isUnfolded);
    const unfold = () => {
      isUnfolded = true;
      draw(shown);
    };
    setChildren(say, said);
    setChildren(figure, table);
    setChildren(below, folded ? link(t("inside.show_more", { count: folded }), unfold) : null, warning, about);
  }

  summary.addEventListener("click", (event) => {
    event.preventDefault(); // the draw opens and closes: one between the click and its toggle event would undo it
    update({ why: element.open ? "closed" : "word" });
  });
  element.addEventListener("toggle", async () => {
    if (element.open !== (state.why !== "closed")) update({ why: element.open ? "word" : "closed" });
    await ask();
    if (element.open) figure.scrollIntoView({ block: "nearest" }); // with the sentence, which stands above it
  });
  onSight([element], () => ask(), signal);
  return {
    element,
    draw(now: number) {
      step = now;
      element.hidden = !canAsk("why");
      element.open = state.why !== "closed";
      ask();
    },
  };
}
