// A class's answers: bars for each choice, both rounds side by side, and the table of a whole lesson.

import type { ShownQuestion } from "#schema";
import { formatPercent, t } from "../../state/i18n.ts";
import { describeQuestion, voteShares } from "../../ui/class-answers.ts";
import { h } from "../../ui/dom.ts";

export function tally(question: ShownQuestion) {
  const { choices } = describeQuestion(question);
  const rounds = question.tallies ?? [];
  const own = question.mine.findLast((choice) => choice !== null) ?? null;
  const item = (text: string, at: number) => {
    const isRight = question.state === "revealed" && at === question.right;
    const marks = [
      isRight ? h("b", { class: "mark" }, "✓ ", t("room.right"), " ") : null,
      at === own ? h("small", {}, t("room.mine")) : null,
    ];
    const bars = rounds.map(({ votes }, round) => bar(votes[at], voteShares(question, round)[at], round + 1));
    return h("li", { class: isRight ? "right" : "" }, h("span", { class: "choice-name" }, text, " ", marks), bars);
  };
  const bar = (count: number, share: number, n: number) =>
    h("span", { class: `vote-bar round-${n}`, "data-votes": count }, [
      rounds.length > 1 ? h("small", {}, t("room.round", { n })) : null,
      h("i", { style: `--share: ${share}` }),
      h("small", { class: "count" }, t("room.votes", { count, share: formatPercent(share) })),
    ]);
  return h("ol", { class: "room-tally" }, choices.map(item));
}
