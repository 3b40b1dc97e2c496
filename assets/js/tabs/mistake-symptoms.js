// What is seen of a mistake: numbers, texts, maps, curves of loss and code, of one side or of both.

import { describeLargestWeights, heatmap, mapHeading, markRow, thumbnail } from "../charts/attention-map.js";
import { pictureButtons } from "../charts/export.js";
import { lineChart } from "../charts/line-chart.js";
import { fluidPicture } from "../charts/vector-strip.js";
import { h, word } from "../core/dom.js";
import { formatNumber, formatPercent, nodes, t } from "../core/i18n.js";
import { SIDES } from "../core/state.js";

const COUNTS = [
  "words_after_end",
  "steps",
  "rows",
  "columns",
  "heads",
  "saved_norm_values",
  "saved_output_values",
  "texts",
];
const DIGITS = { loss: 3, entropy: 2, row_sum_error: 2 }; // of what is neither counted nor a share

const LEAST = 0.001; // loss, at the foot of a curve,
const DECADES = 4; // and so many powers of ten to its top: on a line, most of the curve would be its first steps

/** A number of a side, for people. */
function said(name, value) {
  if (COUNTS.includes(name)) return formatNumber(value);
  return name in DIGITS ? value.toFixed(DIGITS[name]) : formatPercent(value);
}

/** A text in its side's colour; a side that says nothing says so. */
const spoken = (text) => (text ? word(text, "target") : h("i", {}, t("bugs.silent")));
const texts = (side) => side.text.split(" | ");

/** What the texts of an exercise may name: the wrong side's numbers as they are called, the right one's after "right_". */
export function symptomPlaces({ sentence, wanted, head, right, wrong }) {
  const numbers = (side, before) =>
    Object.entries(side.numbers).map(([name, value]) => [
      `${before}${name}`,
      COUNTS.includes(name) ? value : said(name, value), // a count as it is, for its plural
    ]);
  const [one, two = one] = texts(wrong);
  return {
    ...Object.fromEntries([...numbers(wrong, ""), ...numbers(right, "right_")]),
    sentence: word(sentence, "source"),
    wanted: word(wanted, "target"),
    text: spoken(wrong.text),
    right_text: spoken(right.text),
    one: spoken(one),
    two: spoken(two),
    head: head + 1,
    layer: (wrong.attention?.layer ?? 0) + 1,
  };
}

/** A side's map, large for the head that shows most and small for all; `flipped` where its rows are its keys. */
export function symptomMap({ attention }, head, name, { flipped, signal }) {
  const { kind, layer, heads, weights, ...rest } = attention;
  const run = {
    attention: { [kind]: { ...rest, heads, layers: 1, values: Float32Array.from(weights) } },
    reference: null,
  };
  const sides = flipped ? SIDES[kind].toReversed() : SIDES[kind];
  const figure = fluidPicture((width) => {
    const drawn = heatmap(kind, 0, head, { width, sides, run });
    markRow(drawn, null);
    drawn.setAttribute("aria-label", describeLargestWeights(kind, 0, head, run));
    return drawn;
  }, signal);
  const small = Array.from({ length: heads }, (_, i) =>
    h("figure", { class: i === head ? "now" : "" }, thumbnail(kind, 0, i, run), h("small", {}, formatNumber(i + 1))),
  );
  return [
    h("h4", {}, mapHeading(kind, layer, head)),
    h(
      "div",
      { class: "kept large" },
      figure,
      pictureButtons(figure, () => name),
    ),
    heads > 1 ? [h("h4", {}, t("bugs.heads")), h("div", { class: "small-heads", "aria-hidden": "true" }, small)] : null,
  ];
}

/** The losses of both sides while they are trained: {element, draw(retraining, names of the sides)}. */
export function lossCurves(signal) {
  const losses = lineChart({ height: 200, widest: String(LEAST), signal });
  const high = ([step, loss]) => [step, Math.max(0, Math.log10(loss / LEAST))];
  const ticks = Array.from({ length: DECADES + 1 }, (_, i) => i);
  const say = (tick) => String(Number((LEAST * 10 ** tick).toFixed(3)));
  function draw({ steps, wrong, right }, names) {
    const series = Object.entries({ wrong, right }).map(([side, points]) => {
      const last = points.at(-1);
      return {
        name: side,
        label: last ? `${names[side]} ${last[1].toFixed(3)}` : "",
        points: points.map(high),
        column: 1,
      };
    });
    const drawn = series.filter(({ points }) => points.length);
    if (!drawn.length) return;
    const longest = `${Object.values(names).reduce((one, other) => (one.length >= other.length ? one : other))} 0.000`;
    const label = t("bugs.curves", {
      step: drawn.at(-1).points.at(-1)[0],
      losses: drawn.map((each) => each.label).join(", "),
    });
    losses.draw({ steps, top: DECADES, ticks, say, series, longest, line: null, label });
  }
  return { element: h("div", { class: "kept" }, h("h4", {}, t("bugs.loss")), losses.element), draw };
}

/** Code with the lines marked that the other side does not have. */
function code(own, other, side) {
  const others = new Set(other.split("\n").map((line) => line.trim()));
  const line = (text) => (others.has(text.trim()) ? `${text}\n` : h("mark", { class: side }, `${text}\n`));
  return h(
    "figure",
    { class: "code" },
    h("figcaption", {}, t(`bugs.${side}`)),
    h("pre", { tabindex: 0 }, h("code", {}, own.split("\n").map(line))),
  );
}

/** Both sides of a mistake, and why; without a symptom (null) only what is always so. `flips` marks a map with swapped axes. */
export function revealedMistake(mistake, symptom, { flips, signal }) {
  const { name } = mistake;
  const about = {
    training: t(`bugs.${name}.training`),
    decoding: t(`bugs.${name}.decoding`),
    why: t(`bugs.${name}.why`),
  };
  const side = (which) => {
    const { attention } = symptom[which];
    return h(
      "section",
      { class: which },
      h("h3", {}, t(`bugs.${which}`)),
      attention
        ? symptomMap(symptom[which], symptom.head, `${name}-${which}`, { flipped: flips && which === "wrong", signal })
        : null,
      h(
        "p",
        { class: "said" },
        nodes("bugs.says", { text: texts(symptom[which]).flatMap((text, i) => [i ? " · " : "", spoken(text)]) }),
      ),
    );
  };
  const numbers = () =>
    h(
      "table",
      { class: "measured" },
      h(
        "thead",
        {},
        h("tr", {}, h("td"), ...["wrong", "right"].map((which) => h("th", { scope: "col" }, t(`bugs.${which}`)))),
      ),
      h(
        "tbody",
        {},
        Object.keys(symptom.wrong.numbers).map((number) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, t(`bugs.number.${number}`)),
            ...["wrong", "right"].map((which) =>
              h(
                "td",
                { "data-side": which, "data-number": number, "data-value": symptom[which].numbers[number] },
                said(number, symptom[which].numbers[number]),
              ),
            ),
          ),
        ),
      ),
    );
  return [
    h(
      "div",
      { class: "codes" },
      code(mistake.wrong, mistake.right, "wrong"),
      code(mistake.right, mistake.wrong, "right"),
    ),
    ...(symptom ? [h("div", { class: "sides" }, side("wrong"), side("right")), numbers()] : []),
    h(
      "div",
      { class: "about-it" },
      Object.entries(about).map(([what, text]) =>
        h("section", {}, h("h3", {}, t(`bugs.about.${what}`)), h("p", {}, text)),
      ),
    ),
  ];
}
