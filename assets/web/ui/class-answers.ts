// Questions to a class, their wording, and the answers as a file.

import type { ShownQuestion } from "#schema";
import { EXERCISES, offeredCauses, schema } from "../api/schema.ts";
import type { Child } from "../api/types.ts";
import { argmax } from "../engine/arrays.ts";
import { joinSentences, nodes, t } from "../state/i18n.ts";
import { attentionRow, state } from "../state/state.ts";
import { distinctWord } from "../state/words.ts";
import { h, word } from "./dom.ts";
import { cells, table } from "./parts.ts";
import { openQuestion } from "./question.ts";

/** A question on the wire. A page without a translation shows the teacher's wording (`text`). */
type About =
  | { kind: "stop"; name: string; text: string }
  | { kind: "mistake"; name: string; text: string }
  | { kind: "next"; step: number; before: string }
  | { kind: "source"; step: number; layer: number; head: number | null };
export type Askable = { about: string; choices: string[]; right: number };

const MAX_OFFERED = 6; // words that could come next

function askable(about: About, choices: string[], right: number): Askable | null {
  const text = JSON.stringify(about);
  if (choices.length < 2 || choices.length > schema.max_choices || text.length > schema.max_question) return null;
  return { about: text, choices: choices.map((each) => each.slice(0, schema.max_choice)), right };
}

export function viewQuestion() {
  const found = openQuestion();
  return found && askable({ kind: found.kind, name: found.name, text: found.text }, found.choices, found.right);
}

/** Which word comes next? In an order that does not tell which is likely. */
export function nextWordQuestion(run = state.run, step = state.step) {
  const { token, candidates } = run.steps[step];
  const likely = candidates.slice(0, MAX_OFFERED).map((each) => each.token);
  const words = [...new Set([token, ...likely])].slice(0, MAX_OFFERED).sort();
  const before = run.decoder_input.slice(0, step + 1).join(" ");
  return askable({ kind: "next", step, before: before.slice(-200) }, words, words.indexOf(token));
}

/** Which source word gets the most weight, from a head or the mean of its layer (null)? */
export function sourceWordQuestion(run = state.run, { step, layer: wanted, head: chosen, tab, averaged } = state) {
  const { layers, allowed } = run.attention.cross;
  const layer = Math.min(wanted, layers - 1);
  const head = tab === "translate" && averaged ? null : chosen;
  const weights = attentionRow("cross", layer, head, step, run);
  const open = [...run.source.keys()].filter((key) => allowed[step][key]);
  const choices = open.map((key) => distinctWord(run.source, key));
  const right = open.indexOf(argmax(weights));
  return right < 0 ? null : askable({ kind: "source", step, layer, head }, choices, right);
}

export function parseAbout(text: string): About | null {
  try {
    const about = JSON.parse(text);
    return ["stop", "mistake", "next", "source"].includes(about?.kind) ? about : null;
  } catch {
    return null;
  }
}

export function isOfView(question: ShownQuestion) {
  const about = parseAbout(question.about);
  const drawn = openQuestion();
  const isSame = about && drawn && about.kind === drawn.kind && about.name === drawn.name;
  return Boolean(isSame && drawn.choices.length === question.choices.length);
}

/** A question in this page's language, as far as it can say it. */
export function describeQuestion(question: ShownQuestion): { text: Child; choices: string[] } {
  const about = parseAbout(question.about);
  const { choices } = question;
  if (!about) return { text: question.about, choices };
  if (about.kind === "next")
    return { text: nodes("room.next.question", { before: word(about.before, "target") }), choices };
  if (about.kind === "source") {
    const key = about.head === null ? "room.source.question_mean" : "room.source.question";
    const places = { layer: about.layer + 1, head: (about.head ?? 0) + 1, step: about.step + 1 };
    return { text: nodes(key, places), choices };
  }
  if (about.kind === "mistake" && Object.hasOwn(EXERCISES, about.name)) {
    const causes = offeredCauses(about.name).map((cause) => t(`mistakes.${cause}.cause`));
    const text = joinSentences(t(`mistakes.${about.name}.title`), t("mistakes.question"));
    return { text, choices: causes.length === choices.length ? causes : choices };
  }
  const drawn = isOfView(question) ? openQuestion() : null;
  return { text: drawn?.text ?? about.text, choices: drawn?.choices ?? choices };
}

export function voteShares(votes: number[]) {
  const answered = votes.reduce((sum, count) => sum + count, 0);
  return votes.map((count) => (answered ? count / answered : 0));
}

const heading = (name: string) => t(`room.summary.${name}`);

const summaryRows = (questions: readonly ShownQuestion[]) =>
  questions.map((question, i) => {
    const { text, choices } = describeQuestion(question);
    const votes = (round: number, at: number) => question.tallies?.[round]?.[at] ?? "";
    const rows = choices.map((choice, at) => ({
      choice,
      votes: [votes(0, at), votes(1, at)],
      isRight: at === question.right,
    }));
    return { asked: [`${i + 1}. `, text], rows };
  });

export function summaryCsv(questions: ShownQuestion[]) {
  const headings = ["question", "choice", "first", "second", "right"].map(heading);
  const rows = summaryRows(questions).flatMap(({ asked, rows }) =>
    rows.map(({ choice, votes, isRight }) => [plain(asked), choice, ...votes, isRight ? heading("yes") : ""]),
  );
  return `\ufeff${[headings, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}

const plain = (child: Child) => h("span", {}, child).textContent ?? "";

/** A cell that no spreadsheet takes for a formula. */
export function csvCell(value: string | number) {
  const text = String(value);
  const isFormula = typeof value === "string" && /^[=+\-@\u2212]/.test(text.normalize("NFKC").trimStart()); // ＝, too
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function summaryTable(questions: readonly ShownQuestion[]) {
  const rows = summaryRows(questions).flatMap(({ asked, rows }) =>
    rows.map(({ choice, votes, isRight }, at) => {
      const question = at ? null : h("th", { scope: "rowgroup", rowspan: rows.length }, asked);
      const name = isRight ? h("b", {}, `${choice} ✓`) : choice;
      return h("tr", { class: isRight ? "right" : "" }, question, cells([name, ...votes]));
    }),
  );
  return table({ class: "room-summary" }, ["question", "choice", "first", "second"].map(heading), rows);
}
