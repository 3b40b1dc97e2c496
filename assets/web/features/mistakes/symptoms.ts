// The symptoms of a mistake: numbers, texts, maps, curves of loss and code, of one side or of both.

import type { MistakeCode, Symptom, SymptomSide } from "#schema";
import type { MistakeTraining } from "../../api/mistake-training.ts";
import { schema } from "../../api/schema.ts";
import type { DrawnRun, Kind, Places } from "../../api/types.ts";
import { describedMap, mapHeading } from "../../charts/attention-map.ts";
import { lineChart } from "../../charts/line-chart.ts";
import { thumbnail } from "../../charts/map-canvas.ts";
import { fluidPicture } from "../../charts/vector-strip.ts";
import { isPresenting } from "../../state/address.ts";
import { formatNumber, formatPercent, nodes, t } from "../../state/i18n.ts";
import { chip, h, word } from "../../ui/dom.ts";
import { savable } from "../../ui/export.ts";
import { hint, rowHeading, table } from "../../ui/parts.ts";

type Which = "wrong" | "right";

const CHART = 240; // px
const LOW_CHART = 150; // px: in front of a class what is told stands below it, in view
const MAX_SHARE = 0.36; // of the screen's height that a map takes in front of a class
const COUNTS = ["saved_output_values", "texts", "padding", "runs"];
/** Digits of what is neither counted nor a share. */
const DIGITS: Record<string, number> = {
  ...{ loss: 3, loss_together: 3, loss_alone: 3 },
  ...{ entropy: 2, row_sum_error: 2, column_sum_error: 2, place_similarity: 2, word_similarity: 2 },
};

// From 0.001 to 10: on a linear axis, most of the curve would be its first steps.
const LOSS_AXIS = { type: "log", range: [-3, 1], dtick: 1, tickformat: "~r" };

const WHICH = ["wrong", "right"] as Which[];

function formatMeasured(name: string, value: number) {
  if (COUNTS.includes(name)) return formatNumber(value);
  return name in DIGITS ? value.toFixed(DIGITS[name]) : formatPercent(value);
}

const outputText = (text: string) => (text ? word(text, "target") : h("i", {}, t("mistakes.no_output")));
const texts = (side: SymptomSide) => side.text.split(" | ");

export function symptomPlaces({ sentence, wanted, head, right, wrong }: Symptom): Places {
  const numbers = (side: SymptomSide, before: string) =>
    Object.entries(side.numbers).map(([name, value]) => [
      `${before}${name}`,
      COUNTS.includes(name) ? value : formatMeasured(name, value), // a count as it is, for its plural
    ]);
  const [one, two = one] = texts(wrong);
  return {
    ...Object.fromEntries([...numbers(wrong, ""), ...numbers(right, "right_")]),
    sentence: word(sentence, "source"),
    wanted: word(wanted, "target"),
    text: outputText(wrong.text),
    right_text: outputText(right.text),
    one: outputText(one),
    two: outputText(two),
    head: head + 1,
    layer: (wrong.attention?.layer ?? 0) + 1,
  };
}

export function outputTokens(side: SymptomSide) {
  const line = (text: string) => text.split(" ").map((token) => h("li", {}, chip("span", token, "target")));
  return h("div", { class: "token-ids" }, ...texts(side).map((text) => h("ol", {}, line(text))));
}

export function symptomMaps(exercise: string, symptom: Symptom, which: Which) {
  const { attention } = symptom[which];
  if (!attention) return null;
  const { kind, layer, heads, weights, ...rest } = attention;
  const maps = { ...rest, heads, layers: 1, values: Float32Array.from(weights) };
  const run = { attention: { [kind]: maps }, reference: null, output: [] } as unknown as DrawnRun;
  const { head } = symptom;
  const small = Array.from({ length: heads }, (_, i) =>
    h("figure", { class: i === head ? "now" : "" }, thumbnail(kind, 0, i, run), h("small", {}, formatNumber(i + 1))),
  );
  const others = [h("h4", {}, t("mistakes.heads")), h("div", { class: "small-heads", "aria-hidden": "true" }, small)];
  const large = largeMap(run, kind, head, `${exercise}-${which}`);
  return [h("h4", {}, mapHeading(kind, layer, head)), large, heads > 1 ? others : null];
}

function largeMap(run: DrawnRun, kind: Kind, head: number, file: string) {
  const figure = fluidPicture((width) => {
    const limits = isPresenting() ? { maxHeight: innerHeight * MAX_SHARE } : {};
    return describedMap({ run, kind, layer: 0, head }, { width, ...limits });
  });
  return savable(h("div", { class: "large" }, figure), figure, () => `${file}-${head + 1}`);
}

export function lossCurves(signal: AbortSignal) {
  const chart = lineChart(isPresenting() ? LOW_CHART : CHART, signal);
  const losses = hint(); // where there is no Plotly
  const title = h("h4", {}, t("mistakes.loss"));
  const element = h("div", { class: "savable" }, title, schema.plotly ? chart.element : losses);
  const draw = (training: MistakeTraining, names: Record<Which, string>) => {
    const curves = WHICH.filter((which) => training[which].length).map((which) => ({
      name: `${names[which]} ${training[which].at(-1)?.[1].toFixed(3)}`,
      points: training[which],
      column: 1,
      hover: `${names[which]} %{y:.3f}`,
      ...(which === "wrong" ? { colour: "negative" } : { colour: "accent", dash: "dash" }),
    }));
    element.hidden = !curves.length;
    if (!curves.length) return;
    const step = curves.at(-1)?.points.at(-1)?.[0];
    const label = t("mistakes.curves", { step, losses: curves.map(({ name }) => name).join(", ") });
    losses.textContent = label;
    chart.draw({ steps: training.steps, yaxis: LOSS_AXIS, curves, label });
  };
  return { element, draw };
}

export const mistakeCode = ({ wrong, right }: MistakeCode) =>
  h("div", { class: "codes" }, code(wrong, right, "wrong"), code(right, wrong, "right"));

export function revealedMistake(name: string, symptom: Symptom | null) {
  const about = ["training", "decoding", "why"].map((what) =>
    h("section", {}, h("h3", {}, t(`mistakes.about.${what}`)), h("p", {}, t(`mistakes.${name}.${what}`))),
  );
  const sides = symptom && WHICH.map((which) => revealedSide(name, symptom, which));
  return [
    ...(symptom ? [h("div", { class: "sides" }, sides), measuredTable(symptom)] : []),
    h("div", { class: "about-it" }, about),
  ];
}

function code(own: string, other: string, which: Which) {
  const others = new Set(other.split("\n").map((line) => line.trim()));
  const lines = own.split("\n").map((line) => {
    const indent = `--indent: ${line.search(/\S|$/)}`; // what does not fit goes on further in
    const name = others.has(line.trim()) ? "span" : "mark";
    const parts = `${line}\n`.split(/(?<=[([])/); // else a long call would break within a word
    const breakable = parts.flatMap((part, i) => (i ? [h("wbr"), part] : [part]));
    return h(name, { class: name === "mark" ? which : "line", style: indent }, breakable);
  });
  const caption = h("figcaption", {}, t(`mistakes.${which}`));
  return h("figure", { class: "code" }, caption, h("pre", { tabindex: 0 }, h("code", {}, lines)));
}

function revealedSide(name: string, symptom: Symptom, which: Which) {
  const text = texts(symptom[which]).flatMap((each, i) => [i ? " · " : "", outputText(each)]);
  const says = h("p", { class: "output" }, nodes("mistakes.says", { text }));
  return h("section", { class: which }, h("h3", {}, t(`mistakes.${which}`)), symptomMaps(name, symptom, which), says);
}

function measuredTable(symptom: Symptom) {
  const rows = Object.keys(symptom.wrong.numbers).map((name) => {
    const cells = WHICH.map((which) => {
      const value = symptom[which].numbers[name];
      const data = { "data-side": which, "data-number": name, "data-value": value };
      return h("td", data, formatMeasured(name, value));
    });
    return h("tr", {}, rowHeading(t(`mistakes.number.${name}`)), cells);
  });
  return table({ class: "measured" }, [h("td"), ...WHICH.map((which) => t(`mistakes.${which}`))], rows);
}
