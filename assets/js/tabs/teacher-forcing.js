// Teacher forcing beside free running: what the model outputs when it reads the right words, and when it reads its own.

import { pictureButtons } from "../charts/export.js";
import { h, scrollBox, word } from "../core/dom.js";
import { formatNumber, formatPercent, nodes, t } from "../core/i18n.js";
import { changeDetector, columnHeading, option, rowHeading } from "../core/parts.js";
import { baselineRun, possibleMistakes, state, update } from "../core/state.js";
import { tokensAsText } from "./beam-search.js";
import { labelledSetting } from "./decoding-settings.js";

/** @import { ForcedRow, TeacherForcing } from "#schema" */
/** @import { Strategy } from "./decoding.js" */
/** @typedef {ReturnType<typeof build>} Parts */

/** @returns {Strategy} */
export function teacherForcing() {
  const parts = build();
  const { step, mistake, place, hint } = parts;
  const figure = h(
    "div",
    { class: "kept" },
    place,
    pictureButtons(place, () => "teacher-forcing"),
  );
  return {
    asks: "forced",
    controls: [labelledSetting("mistake", step), labelledSetting("word", mistake)],
    figure: [figure, hint],
    question: () => ({ slip: state.forcedMistake }),
    drawControls: () => drawControls(parts),
    draw(/** @type {TeacherForcing} */ comparison) {
      place.replaceChildren(sideBySide(comparison));
      hint.textContent = t(comparison.reference ? "decoding.wanted" : "decoding.unknown");
    },
    describe: describeComparison,
  };
}

function build() {
  const step = h("select");
  const mistake = h("select");
  step.addEventListener("change", () => {
    const at = Number(step.value);
    update({ forcedMistake: step.value === "" ? null : { step: at, word: possibleMistakes(at)[0] } });
  });
  mistake.addEventListener("change", () => {
    if (state.forcedMistake) update({ forcedMistake: { ...state.forcedMistake, word: mistake.value } });
  });
  return { step, mistake, place: scrollBox(), hint: h("p", { class: "hint" }), isNew: changeDetector() };
}

/** @param {Parts} parts */
function drawControls({ step, mistake, isNew }) {
  const { forcedMistake } = state;
  const run = baselineRun();
  const words = forcedMistake ? possibleMistakes(forcedMistake.step) : [];
  if (isNew(run, words.join(" "))) {
    const steps = run.output.flatMap((token, i) =>
      possibleMistakes(i).length ? [option()([i, `${i + 1}: ${token}`])] : [],
    );
    step.replaceChildren(option()(["", t("decoding.no_mistake")]), ...steps);
    mistake.replaceChildren(...(words.length ? words : ["–"]).map((token) => option()([token, token])));
  }
  step.value = String(forcedMistake?.step ?? "");
  mistake.value = forcedMistake?.word ?? "–";
  mistake.disabled = !forcedMistake;
}

/**
 * The two headings of a comparison: each way reads and outputs.
 * @param {(text: string, span: number) => HTMLElement} heading
 */
export const comparisonHead = (heading) =>
  h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("td"),
      ["teacher", "free"].map((name) => heading(t(`lesson.loop.${name}`), 2)),
    ),
    h(
      "tr",
      {},
      h("td"),
      ["reads", "says", "reads", "says"].map((name) => heading(t(`lesson.loop.${name}`), 1)),
    ),
  );

/** @param {TeacherForcing} comparison */
function sideBySide({ teacher, free, right, of, slip }) {
  const row = (/** @type {unknown} */ _, /** @type {number} */ i) =>
    h(
      "tr",
      { class: i === slip ? "marked" : "" },
      rowHeading(formatNumber(i + 1)),
      stepCells(teacher[i], null, i === slip),
      stepCells(free[i], teacher[i], i === slip),
    );
  const total = (/** @type {"teacher" | "free"} */ name) =>
    h("td", { colspan: 2, "data-right": right[name] }, t("decoding.right_of", { right: right[name], of }));
  return h(
    "table",
    { class: "ways two-ways" },
    comparisonHead((text, span) => columnHeading(text, span > 1 ? { colspan: span } : {})),
    h("tbody", {}, Array.from({ length: Math.max(teacher.length, free.length) }, row)),
    h("tfoot", {}, h("tr", {}, rowHeading("Σ"), total("teacher"), total("free"))),
  );
}

/**
 * @param {ForcedRow | undefined} step @param {ForcedRow | null | undefined} other the same step of the other way
 * @param {boolean} isForced
 */
function stepCells(step, other, isForced) {
  if (!step) return [h("td"), h("td")];
  const { read, said: output, wanted, probability } = step;
  const isWrong = output !== wanted;
  return [
    h("td", { class: other && read !== other.read ? "astray" : "", "data-read": read }, word(read, "target")),
    h(
      "td",
      { class: isWrong ? "wrong" : "", "data-said": output, "data-probability": probability },
      word(output, "target"),
      " ",
      h("small", {}, formatPercent(probability)),
      isForced ? h("small", {}, ` ${t("lesson.loop.forced")}`) : null,
      isWrong && wanted
        ? h("small", { class: "wanted" }, nodes("decoding.instead", { word: word(wanted, "target") }))
        : null,
    ),
  ];
}

/**
 * How many words each way gets right, and what the forced mistake, or the model's first, leads to.
 * @param {TeacherForcing} comparison
 */
function describeComparison({ teacher, free, right, of, slip }) {
  const wrong = teacher.findIndex((step) => step.said !== step.wanted);
  const places = { right: right.teacher, free: right.free, of, text: tokensAsText(free.map(({ said }) => said)) };
  if (slip === null && wrong < 0) return nodes("decoding.forced.say_right", places);
  const step = slip ?? wrong;
  const { said: output, wanted } = teacher[step];
  return nodes(slip === null ? "decoding.forced.say_mistake" : "decoding.forced.say_forced", {
    ...places,
    step: step + 1,
    word: word(output, "target"),
    wanted: word(wanted ?? "", "target"),
  });
}
