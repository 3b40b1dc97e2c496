// A class's answers: bars for each choice, both rounds side by side, and the table of a whole lesson.

import { h } from "../core/dom.js";
import { formatPercent, t } from "../core/i18n.js";
import { cells, table } from "../core/parts.js";
import { describeQuestion, voteShares } from "./room-questions.js";

/** @import { ShownQuestion } from "#schema" */
/** @import { Child } from "../core/types.d.ts" */

/** The votes of a question, its right choice marked, and this student's own. @param {ShownQuestion} question */
export function tally(question) {
  const { choices } = describeQuestion(question);
  const rounds = question.tallies ?? [];
  const own = question.mine.findLast((choice) => choice !== null) ?? null;
  const item = (/** @type {string} */ text, /** @type {number} */ at) => {
    const isRight = question.state === "revealed" && at === question.right;
    const marks = [
      isRight ? h("b", { class: "mark" }, "✓ ", t("room.right"), " ") : null,
      at === own ? h("small", {}, t("room.mine")) : null,
    ];
    return h(
      "li",
      { class: isRight ? "right" : "" },
      h("span", { class: "choice-name" }, text, " ", marks),
      rounds.map((_, round) => bar(at, round)),
    );
  };
  const bar = (/** @type {number} */ at, /** @type {number} */ round) => {
    const share = voteShares(question, round)[at];
    const label = rounds.length > 1 ? h("small", {}, t("room.round", { n: round + 1 })) : null;
    const count = h(
      "small",
      { class: "count" },
      t("room.votes", { count: rounds[round].votes[at], share: formatPercent(share) }),
    );
    return h(
      "span",
      { class: `vote-bar round-${round + 1}`, "data-votes": rounds[round].votes[at] },
      label,
      h("i", { style: `--share: ${share}` }),
      count,
    );
  };
  return h("ol", { id: "room-tally", class: "room-tally" }, choices.map(item));
}

/** Every question of a class with its votes and its right answer. @param {readonly ShownQuestion[]} questions */
export function summaryTable(questions) {
  const headings = ["question", "choice", "first", "second"].map((name) => t(`room.summary.${name}`));
  const rows = questions.flatMap((question, i) => {
    const { text, choices } = describeQuestion(question);
    const [first, second] = question.tallies ?? [];
    return choices.map((choice, at) => {
      const isRight = at === question.right;
      const name = isRight ? h("b", {}, `${choice} ✓`) : choice;
      /** @type {Child[]} */
      const row = [name, first?.votes[at] ?? "", second?.votes[at] ?? ""];
      const asked = at ? null : h("th", { scope: "rowgroup", rowspan: choices.length }, `${i + 1}. `, text);
      return h("tr", { class: isRight ? "right" : "" }, asked, cells(row));
    });
  });
  return table({ class: "room-summary" }, headings, rows);
}
