// What a model outputs: the words that could come next, and teacher forcing beside free running.

import type { ForcedRow, TeacherForcing } from "#schema";
import type { Candidate } from "../api/types.ts";
import { formatNumber, formatPercent, nodes, t } from "../state/i18n.ts";
import { h, word } from "../ui/dom.ts";
import { button, columnHeading, rowHeading } from "../ui/parts.ts";

function comparisonHead() {
  const heading = (name: string, colspan: number) => columnHeading(t(`lesson.loop.${name}`), { colspan });
  const row = (names: string[], colspan: number) =>
    h("tr", {}, h("td"), ...names.map((name) => heading(name, colspan)));
  return h("thead", {}, row(["teacher", "free"], 2), row(["reads", "says", "reads", "says"], 1));
}

export function forceButton(token: string, choose: () => void) {
  const attributes = { title: t("translate.force"), "aria-label": t("translate.force_word", { word: token }) };
  return button(null, word(token, "target"), choose, attributes);
}

/** Both ways beside each other, a step a row; `isGraded` marks what is wrong and counts what is right. */
export function comparisonTable({ teacher, free, right, of, mistake: forcedAt }: TeacherForcing, isGraded = true) {
  const rows = Array.from({ length: Math.max(teacher.length, free.length) }, (_, i) => {
    const isForced = i === forcedAt;
    const cells = [
      stepCells(teacher[i], null, isForced, isGraded),
      stepCells(free[i], teacher[i] ?? null, isForced, isGraded),
    ];
    return h("tr", { class: isForced ? "marked" : "" }, rowHeading(formatNumber(i + 1)), cells);
  });
  const total = (name: "teacher" | "free") =>
    h("td", { colspan: 2, "data-right": right[name] }, t("decoding.right_of", { right: right[name], of }));
  const foot = h("tfoot", {}, h("tr", {}, rowHeading("Σ"), total("teacher"), total("free")));
  const attributes = { class: isGraded ? "ways two-ways" : "ways" };
  return h("table", attributes, comparisonHead(), h("tbody", {}, rows), isGraded ? foot : null);
}

function stepCells(step: ForcedRow | undefined, other: ForcedRow | null, isForced: boolean, isGraded: boolean) {
  if (!step) return [h("td"), h("td")];
  const { read, output, wanted, probability } = step;
  const isWrong = isGraded && output !== wanted;
  const notes = [h("small", {}, formatPercent(probability))];
  if (isForced) notes.push(h("small", {}, ` ${t("lesson.loop.forced")}`));
  if (isWrong && wanted) {
    const instead = nodes("decoding.instead", { word: word(wanted, "target") });
    notes.push(h("small", { class: "wanted" }, instead));
  }
  return [
    h("td", { class: other && read !== other.read ? "astray" : "", data: { read } }, word(read, "target")),
    h("td", { class: isWrong ? "wrong" : "", data: { output, probability } }, word(output, "target"), " ", notes),
  ];
}

export const MAX_CANDIDATES = 8;

export function candidate({ token, probability }: Candidate, isOutput: boolean, choose?: () => void) {
  const item = { class: isOutput ? "chosen" : "", data: { probability } };
  const bar = [h("i", { style: `--share: ${probability}` }), h("small", {}, formatPercent(probability))];
  return h("li", item, choose ? forceButton(token, choose) : word(token, "target"), bar);
}

/** What a decoding outputs at a step, and how likely that was. */
export function stepCard({ token, probability }: Candidate, step: number, open: () => void, isNow = false) {
  const [number, share] = [t("step_n", { step: step + 1 }), formatPercent(probability)];
  const content = [h("small", {}, number), word(token, "target"), h("small", {}, share)];
  const opener = button(null, content, open, { "aria-current": isNow ? "step" : "false" });
  return h("li", { class: isNow ? "now" : "" }, opener);
}
