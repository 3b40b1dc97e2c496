// Teacher forcing beside free running: what the model says when the right words are read to it, and when it reads its own.

import { tokensAsText } from "./beam-search.js";
import { labelledInput } from "./decoding-settings.js";
import { h, scrollBox, word } from "../core/dom.js";
import { nodes, formatNumber, formatPercent, t } from "../core/i18n.js";
import { pictureButtons } from "../charts/export.js";
import { possibleMistakes, state, baselineRun, update } from "../core/state.js";

export function teacherForcing() {
  const step = h("select");
  const slipped = h("select");
  step.addEventListener("change", () =>
    update({
      forcedMistake:
        step.value === "" ? null : { step: Number(step.value), word: possibleMistakes(Number(step.value))[0] },
    }),
  );
  slipped.addEventListener("change", () => update({ forcedMistake: { ...state.forcedMistake, word: slipped.value } }));
  const table = scrollBox();
  const hint = h("p", { class: "hint" });

  let offered = ""; // what the selects hold
  return {
    asks: "forced",
    controls: [labelledInput("slip", step), labelledInput("word", slipped)],
    figure: [
      h(
        "div",
        { class: "kept" },
        table,
        pictureButtons(table, () => "teacher-forcing"),
      ),
      hint,
    ],
    question: () => ({ slip: state.forcedMistake }),
    set() {
      const { output } = baselineRun();
      const words = state.forcedMistake ? possibleMistakes(state.forcedMistake.step) : [];
      const now = JSON.stringify([output, words]);
      if (now !== offered) {
        offered = now;
        const steps = output.flatMap((token, i) =>
          possibleMistakes(i).length ? [h("option", { value: i }, `${i + 1}: ${token}`)] : [],
        );
        step.replaceChildren(h("option", { value: "" }, t("roads.no_slip")), ...steps);
        slipped.replaceChildren(...(words.length ? words : ["–"]).map((token) => h("option", { value: token }, token)));
      }
      step.value = state.forcedMistake?.step ?? "";
      slipped.value = state.forcedMistake?.word ?? "–";
      slipped.disabled = !state.forcedMistake;
    },
    draw(said) {
      table.replaceChildren(sideBySide(said));
      hint.textContent = t(said.reference ? "roads.wanted" : "roads.unknown");
    },
    say,
  };
}

function sideBySide({ teacher, free, right, of, slip }) {
  const column = (name) => h("th", { scope: "col", colspan: 2 }, t(`lesson.loop.${name}`));
  const parts = ["reads", "says", "reads", "says"].map((name) => h("th", { scope: "col" }, t(`lesson.loop.${name}`)));
  const cells = (row, other, given) => {
    if (!row) return [h("td"), h("td")];
    const wrong = row.said !== row.wanted;
    const verdict =
      wrong && row.wanted
        ? h("small", { class: "wanted" }, ...nodes("roads.instead", { word: word(row.wanted, "target") }))
        : null;
    const astray = other && row.read !== other.read;
    return [
      h("td", { class: astray ? "astray" : "", "data-read": row.read }, word(row.read, "target")),
      h(
        "td",
        { class: wrong ? "wrong" : "", "data-said": row.said, "data-probability": row.probability },
        word(row.said, "target"),
        " ",
        h("small", {}, formatPercent(row.probability)),
        given ? h("small", {}, ` ${t("lesson.loop.slip")}`) : null,
        verdict,
      ),
    ];
  };
  const lines = Array.from({ length: Math.max(teacher.length, free.length) }, (_, i) =>
    h(
      "tr",
      { class: i === slip ? "marked" : "" },
      h("th", { scope: "row" }, formatNumber(i + 1)),
      cells(teacher[i], null, i === slip),
      cells(free[i], teacher[i], i === slip),
    ),
  );
  const total = (name) =>
    h("td", { colspan: 2, "data-right": right[name] }, t("roads.right_of", { right: right[name], of }));
  return h(
    "table",
    { class: "ways two-ways" },
    h("thead", {}, h("tr", {}, h("td"), column("teacher"), column("free")), h("tr", {}, h("td"), parts)),
    h("tbody", {}, lines),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "Σ"), total("teacher"), total("free"))),
  );
}

/** What the teacher is worth here. */
function say({ teacher, free, right, of, slip }) {
  const wrong = teacher.findIndex((row) => row.said !== row.wanted);
  const places = { right: right.teacher, free: right.free, of, text: tokensAsText(free.map(({ said }) => said)) };
  if (slip === null && wrong < 0) return nodes("roads.forced.say_right", places);
  const at = teacher[slip ?? wrong];
  const slipped = { step: (slip ?? wrong) + 1, word: word(at.said, "target"), wanted: word(at.wanted, "target") };
  return nodes(slip === null ? "roads.forced.say_mistake" : "roads.forced.say_slip", { ...places, ...slipped });
}
