// Why this word: attribution, attention and the effect of masking each source word, asked for when the panel is opened.

import { NO_ANSWER, reasonOf } from "../../api/client.ts";
import type { Child } from "../../api/types.ts";
import { type Asked, explainWord, fetchWhy, secondWord } from "../../charts/why-words.ts";
import { formatMessage, nodes, t } from "../../state/i18n.ts";
import { state } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { h, replaceKeepingFocus, scrollBox, segmented, setChildren, word } from "../../ui/dom.ts";
import { changeDetector, isOpen, link, onSight } from "../../ui/parts.ts";

export function whyPanel(signal: AbortSignal) {
  const choice = h("div", { class: "controls" });
  const say = h("p", { class: "why-says", role: "status" });
  const [figure, below] = [h("div"), h("div")];
  const content = h("div", { class: "why-content" }, choice, say, scrollBox(figure), below);
  const element = h("details", { class: "why-word" }, h("summary", {}, t("why.title")), content);
  const isNew = changeDetector();
  let [step, isContrast, isUnfolded, asked] = [0, false, false, 0];

  async function ask() {
    const run = tokenRun(state.run);
    if (!run || !element.open || !isOpen(element) || !isNew(state.run, step, isContrast)) return;
    const { token } = run.steps[step];
    const second = secondWord(run, step);
    const other = (isContrast && second) || null;
    drawChoice(token, second);
    content.ariaBusy = "true";
    asked++;
    const mine = asked;
    const answer = await fetchWhy(state.run, step, other).catch(reasonOf);
    if (signal.aborted || mine !== asked) return;
    content.ariaBusy = null;
    if (!("key" in answer)) return draw({ step, answer, other });
    isNew.forget();
    setChildren(say, answer === NO_ANSWER ? t("why.failed") : formatMessage(answer));
    for (const each of [figure, below]) each.replaceChildren();
  }

  function drawChoice(token: string, second: string | undefined) {
    const names = second ? ["of", "against"] : ["of"];
    const text = (name: string) =>
      nodes(`why.${name}`, { token: word(token, "target"), other: word(second ?? "", "target") });
    const options = names.map((name): [string, Child] => [name, text(name)]);
    const picker = segmented(t("why.title"), options, (name) => {
      isContrast = name === "against";
      ask();
    });
    picker.set(isContrast ? "against" : "of");
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

  element.addEventListener("toggle", async () => {
    await ask();
    if (element.open) figure.scrollIntoView({ block: "nearest" }); // with the sentence, which stands above it
  });
  onSight([element], () => ask(), signal);
  return {
    element,
    draw(now: number) {
      step = now;
      ask();
    },
  };
}
