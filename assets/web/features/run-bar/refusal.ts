// A sentence that the model cannot read: why, which model can, what is nearest, and how to teach it.

import { canAsk } from "../../api/client.ts";
import { isReal, modelName, models, ownModels, useModel } from "../../api/models.ts";
import type { Message } from "../../api/types.ts";
import { formatMessage, joinSentences, nodes, t } from "../../state/i18n.ts";
import { askOnce } from "../../state/server-cache.ts";
import { state, update } from "../../state/state.ts";
import { describeModel } from "../../ui/describe.ts";
import { type Attributes, h } from "../../ui/dom.ts";
import { button } from "../../ui/parts.ts";
import { askExample } from "./requests.ts";

/** Errors that name a few of the known words, each with its text for a model that knows many more. */
const SHORT: Record<string, string> = {
  "error.empty": "error.nothing",
  "error.unknown": "refusal.unknown",
  "error.too_many_words": "refusal.too_many_words",
};
const LEADING_ON = ["error.unknown", "error.unknown_near", "error.too_many_words"];
const OTHERS = ["error.too_many_pieces", "error.too_long", "error.empty", "error.nothing", "error.invisible"];

export const isRefusal = (error: Message | null) => error !== null && [...LEADING_ON, ...OTHERS].includes(error.key);

export function refusalNotice() {
  const message = h("p", { class: "message", role: "alert", hidden: true });
  const suggestions = h("div", { class: "suggestions", id: "suggestions", hidden: true });
  let latest = 0;

  async function lead(sentence: string) {
    const mine = latest;
    const { checkpoint } = state.run;
    const own = ownModels().map((each) => each.checkpoint);
    const answer = await askOnce("alternatives", { checkpoint, sentence, own }).catch(() => null);
    if (mine !== latest || !answer) return;
    const { readers, nearest } = answer;
    const suggest = (key: string, what: string, text: string, onclick: () => void, attributes: Attributes) =>
      button("pill", h("span", {}, nodes(key, { [what]: h("b", {}, text) })), onclick, attributes);
    const buttons = readers.map((reader) =>
      suggest("refusal.reader", "name", modelName(reader), () => useModel(reader), { "data-reader": reader }),
    );
    const translator = translatorOf(sentence);
    if (translator) {
      const use = () => useModel(translator);
      buttons.push(suggest("refusal.real", "name", describeModel(translator), use, { "data-reader": translator }));
    }
    if (nearest) {
      const translate = () => askExample({ name: "", sentence: nearest, watch: "" });
      buttons.push(suggest("refusal.nearest", "sentence", nearest, translate, { id: "nearest" }));
    }
    if (canAsk("train"))
      buttons.push(button("pill", t("refusal.teach"), () => teach(checkpoint, sentence), { id: "teach" }));
    suggestions.replaceChildren(...buttons);
    suggestions.hidden = false;
  }

  /** @param sentence that the error is about @param wrongLink what was wrong with the page's address */
  async function draw(error: Message | null, sentence: string, wrongLink: string) {
    latest += 1;
    const shown = error && t("run.refused", { sentence: state.run.sentence });
    message.replaceChildren(...joinSentences(wrongLink, error ? joinSentences(reason(error), shown) : []));
    message.hidden = !message.textContent;
    suggestions.hidden = true;
    if (error && LEADING_ON.includes(error.key)) await lead(sentence);
  }
  return { elements: [message, suggestions], draw };
}

const HAN = /\p{Script=Han}/u;

/** The real model of a sentence's language, told by its script; none where a real model has refused it. */
function translatorOf(sentence: string) {
  if (isReal(state.run.checkpoint)) return null;
  const language = HAN.test(sentence) ? "zh" : "de";
  return Object.keys(models()).find((checkpoint) => models()[checkpoint].real?.languages[0] === language);
}

function reason(error: Message) {
  const known = error.values.known as { rest: number } | undefined;
  return formatMessage(known?.rest ? { ...error, key: SHORT[error.key] } : error);
}

async function teach(checkpoint: string, sentence: string) {
  const pairs = await askOnce("similar_pairs", { checkpoint, sentence }).catch(() => []);
  document.dispatchEvent(new CustomEvent("teach:wanted", { detail: [sentence, pairs] }));
  update({ tab: "train" });
}
