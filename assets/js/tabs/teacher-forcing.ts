// Teacher forcing beside free running: what the model outputs when it reads the right words, and when it reads its own.

import type { ForcedRow, TeacherForcing } from "#schema";
import { pictureFrame } from "../charts/export.ts";
import { h, scrollBox, word } from "../core/dom.ts";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../core/i18n.ts";
import { changeDetector, columnHeading, option, rowHeading } from "../core/parts.ts";
import { baselineRun, possibleMistakes, state, update } from "../core/state.ts";
import { tokensAsText } from "./beam-search.ts";
import type { Strategy } from "./decoding.ts";
import { setting } from "./decoding-settings.ts";
import { experimentLink } from "./experiment-link.ts";

export function teacherForcing(): Strategy {
  const step = h("select");
  const mistake = h("select");
  step.addEventListener("change", () => {
    const at = Number(step.value);
    update({ forcedMistake: step.value === "" ? null : { step: at, word: possibleMistakes(at)[0] } });
  });
  mistake.addEventListener("change", () => {
    if (state.forcedMistake) update({ forcedMistake: { ...state.forcedMistake, word: mistake.value } });
  });
  const place = scrollBox();
  const hint = h("p", { class: "hint" });
  const isNew = changeDetector();
  return {
    asks: "forced",
    controls: [setting("mistake", step, step), setting("word", mistake, mistake)],
    figure: [pictureFrame(place, () => "teacher-forcing"), hint],
    question: () => ({ mistake: state.forcedMistake }),
    drawControls() {
      const { forcedMistake } = state;
      const run = baselineRun();
      const words = forcedMistake ? possibleMistakes(forcedMistake.step) : [];
      if (isNew(run, words.join(" "))) {
        const steps = [...run.output.entries()].filter(([i]) => possibleMistakes(i).length);
        const stepOptions = steps.map(([i, token]) => option()([i, `${i + 1}: ${token}`]));
        step.replaceChildren(option()(["", t("decoding.no_mistake")]), ...stepOptions);
        mistake.replaceChildren(...(words.length ? words : ["–"]).map((token) => option()([token, token])));
      }
      step.value = String(forcedMistake?.step ?? "");
      mistake.value = forcedMistake?.word ?? "–";
      mistake.disabled = !forcedMistake;
    },
    draw(comparison: TeacherForcing) {
      place.replaceChildren(comparisonTable(comparison));
      hint.textContent = t(comparison.reference ? "decoding.wanted" : "decoding.unknown");
    },
    describe: describeComparison,
  };
}

/** The two headings of a comparison: each way reads and outputs. */
function comparisonHead() {
  const row = (names: string[], colspan: number) => {
    const headings = names.map((name) => columnHeading(t(`lesson.loop.${name}`), { colspan }));
    return h("tr", {}, h("td"), headings);
  };
  return h("thead", {}, row(["teacher", "free"], 2), row(["reads", "says", "reads", "says"], 1));
}

/** Both ways beside each other, a step a row; `isGraded` marks what is wrong and counts what is right. */
export function comparisonTable({ teacher, free, right, of, mistake: forcedAt }: TeacherForcing, isGraded = true) {
  const rows = Array.from({ length: Math.max(teacher.length, free.length) }, (_, i) => {
    const isForced = i === forcedAt;
    const cells = [stepCells(teacher[i], null, isForced, isGraded), stepCells(free[i], teacher[i], isForced, isGraded)];
    return h("tr", { class: isForced ? "marked" : "" }, rowHeading(formatNumber(i + 1)), cells);
  });
  const total = (name: "teacher" | "free") =>
    h("td", { colspan: 2, "data-right": right[name] }, t("decoding.right_of", { right: right[name], of }));
  const foot = h("tfoot", {}, h("tr", {}, rowHeading("Σ"), total("teacher"), total("free")));
  const attributes = { class: isGraded ? "ways two-ways" : "ways" };
  return h("table", attributes, comparisonHead(), h("tbody", {}, rows), isGraded ? foot : null);
}

/** @param other the same step of the other way */
function stepCells(
  step: ForcedRow | undefined,
  other: ForcedRow | null | undefined,
  isForced: boolean,
  isGraded: boolean,
) {
  if (!step) return [h("td"), h("td")];
  const { read, output, wanted, probability } = step;
  const isWrong = isGraded && output !== wanted;
  const notes = [h("small", {}, formatPercent(probability))];
  if (isForced) notes.push(h("small", {}, ` ${t("lesson.loop.forced")}`));
  if (isWrong && wanted) {
    const instead = nodes("decoding.instead", { word: word(wanted, "target") });
    notes.push(h("small", { class: "wanted" }, instead));
  }
  const data = { class: isWrong ? "wrong" : "", "data-output": output, "data-probability": probability };
  return [
    h("td", { class: other && read !== other.read ? "astray" : "", "data-read": read }, word(read, "target")),
    h("td", data, word(output, "target"), " ", notes),
  ];
}

/** How many words each way gets right, and what the forced mistake, or the model's first, leads to. */
function describeComparison({ teacher, free, right, of, mistake: forcedAt }: TeacherForcing) {
  const wrong = teacher.findIndex((step) => step.output !== step.wanted);
  const places = { right: right.teacher, free: right.free, of, text: tokensAsText(free.map(({ output }) => output)) };
  if (forcedAt === null && wrong < 0)
    return joinSentences(nodes("decoding.forced.say_right", places), experimentLink("forced"));
  const step = forcedAt ?? wrong;
  const { output, wanted } = teacher[step];
  return nodes(forcedAt === null ? "decoding.forced.say_mistake" : "decoding.forced.say_forced", {
    ...places,
    step: step + 1,
    word: word(output, "target"),
    wanted: word(wanted ?? "", "target"),
  });
}
