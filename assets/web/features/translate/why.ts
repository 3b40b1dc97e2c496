// Why this word: attribution, attention and the effect of masking each source word, asked for when the panel is opened.

import type { Why } from "#schema";
import { NO_ANSWER, reasonOf } from "../../api/client.ts";
import type { Child, Places } from "../../api/types.ts";
import { orderKeys } from "../../charts/key-order.ts";
import { pointedTo, type Shares, sharesOf, whyTable } from "../../charts/why-table.ts";
import { formatMessage, formatNumber, formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { askAboutRun } from "../../state/server-cache.ts";
import { state } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { h, replaceKeepingFocus, scrollBox, segmented, setChildren, word } from "../../ui/dom.ts";
import { fixed } from "../../ui/numbers.ts";
import { changeDetector, hint, isOpen, link, onSight } from "../../ui/parts.ts";

const MAX_MISSING = 0.05; // of what attributions should add up to

type Asked = { step: number; answer: Why; token: string; other: string | null };

export function whyPanel(signal: AbortSignal) {
  const choice = h("div", { class: "controls" });
  const say = h("p", { class: "why-says", role: "status" });
  const [figure, about] = [h("div"), h("div")];
  const content = h("div", { class: "why-content" }, choice, say, scrollBox(figure), about);
  const element = h("details", { class: "why-word" }, h("summary", {}, t("why.title")), content);
  const isNew = changeDetector();
  let [step, isContrast, isUnfolded, asked] = [0, false, false, 0];

  async function ask() {
    const run = tokenRun(state.run);
    if (!run || !element.open || !isOpen(element) || !isNew(state.run, step, isContrast)) return;
    const { token, candidates } = run.steps[step];
    const second = candidates.find((each) => each.token !== token && each.token !== "S" && each.token !== "P")?.token;
    const other = (isContrast && second) || null;
    drawChoice(token, second);
    content.ariaBusy = "true";
    asked++;
    const mine = asked;
    const words = Boolean(state.run.pieces);
    const answer = await askAboutRun("why", { step, other, words }, run).catch(reasonOf);
    if (signal.aborted || mine !== asked) return;
    content.ariaBusy = null;
    if (!("key" in answer)) return draw({ step, answer, token, other });
    isNew.forget();
    setChildren(say, answer === NO_ANSWER ? t("why.failed") : formatMessage(answer));
    for (const each of [figure, about]) each.replaceChildren();
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

  function draw(now: Asked) {
    const { answer, token, other } = now;
    const words = answer.keys.map((key) => state.run.source[key]);
    const shares = sharesOf(answer, other !== null);
    const named = Object.values(pointedTo(shares)).filter((each) => each !== null);
    const strength = words.map((_, i) => Math.max(...Object.values(shares).map((each) => Math.abs(each[i]))));
    const { shown, rest } = orderKeys(strength, { isOpen: isUnfolded, named });
    const unfold = () => {
      isUnfolded = true;
      draw(now);
    };
    const more = rest.length ? link(t("inside.show_more", { count: rest.length }), unfold) : null;
    setChildren(say, joinSentences(...describe(shares, words, now)));
    setChildren(figure, whyTable(words, shares, shown));
    setChildren(about, more, explained(answer, token, other));
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

/** Else attributions are no evidence: of a random network of a real one's size they may miss by any factor. */
const isComplete = (complete: number) => Math.abs(complete - 1) <= MAX_MISSING;

function explained({ complete }: Why, token: string, other: string | null) {
  const { layers, heads } = state.run.attention.cross;
  const names = { token: word(token, "target"), other: word(other ?? "", "target") };
  const places = { layers, heads, complete: `${fixed(100 * complete, 1)}%`, ...names };
  return [
    isComplete(complete) ? null : hint(t("why.incomplete")),
    hint(nodes(other === null ? "why.about" : "why.about_lead", places)),
    hint(t("why.debate")),
  ];
}

type Pointed = Record<"attribution" | "attention" | "removal", number | null>;

function whoDiffers({ attribution, attention, removal }: Pointed) {
  if (attribution === null) return "unattributed";
  if (attribution === attention) return attribution === removal ? "same" : "masking";
  if (attribution === removal) return "attention";
  return attention === removal ? "attribution" : "none";
}

/** Whether the three point to one word, and what the output loses without it. */
function describe(shares: Shares, words: string[], { step, answer, token, other }: Asked) {
  const pointed = pointedTo(shares);
  const { attribution, attention, removal } = pointed;
  const name = (i: number | null) => word(words[i ?? 0] ?? "", "source");
  const odds = (score: number) => formatNumber(Number(Math.exp(score).toPrecision(2)));
  const format = other === null ? formatPercent : odds;
  const places: Places = {
    token: word(token, "target"),
    other: word(other ?? "", "target"),
    attribution: name(attribution),
    attention: name(attention),
    removal: name(removal),
    score: format(answer.score),
    without: format(answer.without[removal ?? 0]),
    least: format(Math.min(...answer.without)),
  };
  const of = other === null ? "" : "_lead";
  const isEvidence = isComplete(answer.complete);
  if (removal !== null)
    return [isEvidence ? nodes(`why.odd.${whoDiffers(pointed)}`, places) : "", nodes(`why.falls${of}`, places)];
  const isForced = other === null && tokenRun(state.run)?.steps[step].candidates[0].token !== token;
  const stays = nodes(`why.stays${isForced ? "_forced" : of}`, places);
  return isEvidence && attribution !== null && attention !== null
    ? [stays, nodes(attribution === attention ? "why.still_same" : "why.still", places)]
    : [stays];
}
