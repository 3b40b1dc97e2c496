// Curves over the steps of a training: Plotly draws them in the page's colours, size of type and language.

import { schema } from "../api/schema.ts";
import type { Point } from "../api/training-stream.ts";
import { t } from "../state/i18n.ts";
import { fontFamily, h, onThemeChange, svg, typeScale } from "../ui/dom.ts";
import { onResize } from "../ui/parts.ts";

/** The values `point[column]` of points; `name` stands in the legend, `hover` writes a value in Plotly's notation. */
type Curve = { name: string; points: Point[]; column: number; colour: string; dash?: string; hover?: string };
/** `yaxis` as Plotly has it; `level` is a value across the chart with its name; `label` is the text alternative. */
type ChartData = { steps: number; yaxis: object; curves: Curve[]; level?: { at: number; name: string }; label: string };
/** The curve goes from 0 to 1 and to `top`; `marked` are places to show, `place` is the one shown, with its value. */
type SparklineData = { points: Point[]; marked: number[]; top: number; place: number; value: number | null };

const PAUSE_MS = 250; // Plotly takes tens of milliseconds, and a training measures more often
const MAX_UNIFORM_LOSSES = 3; // an axis of losses reaches this many times the loss of a uniform guess at most

let library: Promise<any> | null = null;

/** Plotly: 5 MB, fetched once, when a chart is first wanted. */
function loadPlotly() {
  library ??= new Promise((resolve, reject) => {
    const onload = () => resolve((window as any).Plotly);
    const onerror = () => {
      library = null; // the next call tries again
      reject(new Error("Plotly could not be loaded"));
    };
    document.head.append(h("script", { src: schema.plotly, onload, onerror }));
  });
  return library;
}

/** Where Plotly cannot be loaded nothing is drawn until the next call: the numbers stand beside the chart as well. */
export function lineChart(height: number, signal: AbortSignal) {
  const element = h("div", { class: "figure curves", role: "img", style: `height: ${height / 16}rem` });
  let data: ChartData | null = null;
  let isScheduled = false;
  const drawNow = () => {
    isScheduled = false;
    if (!data || !element.clientWidth) return;
    const react = (plotly: any) => plotly.react(element, ...chart(data as ChartData, height, element.clientWidth));
    loadPlotly().then(react, () => {});
  };
  onResize(element, drawNow, signal);
  onThemeChange(drawNow, signal);
  return {
    element,
    draw(given: ChartData) {
      data = given;
      element.setAttribute("aria-label", data.label);
      if (!isScheduled) setTimeout(drawNow, PAUSE_MS);
      isScheduled = true;
    },
  };
}

/** What Plotly takes: curves, layout and configuration. */
function chart({ steps, yaxis, curves, level }: ChartData, height: number, width: number) {
  const style = getComputedStyle(document.body);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const [ink, muted, line, surface] = ["ink", "muted", "line", "surface"].map(colour);
  const type = typeScale();
  const font = { family: fontFamily(), size: 13 * type, color: ink };
  const axis = { fixedrange: true, zeroline: false, color: muted, gridcolor: line, linecolor: line };
  const data = curves.map(({ name, points, column, colour: hue, dash, hover }) => ({
    x: points.map(([step]) => step),
    y: points.map((point) => point[column]),
    mode: points.length > 1 ? "lines" : "markers",
    name,
    line: { color: colour(hue), width: 2, dash },
    hovertemplate: `${hover}<extra></extra>`,
  }));
  const across = level && {
    x: [0, steps],
    y: [level.at, level.at],
    mode: "lines",
    name: level.name,
    line: { color: muted, width: 1.5, dash: "dash" },
    hoverinfo: "skip",
  };
  const layout = {
    ...{ width, height: height * type, paper_bgcolor: surface, plot_bgcolor: surface, dragmode: false, font },
    margin: { l: 48 * type, r: 16 * type, t: 4 * type, b: 40 * type },
    hovermode: "x unified",
    hoverlabel: { bgcolor: surface, bordercolor: line, font },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
    showlegend: true,
    xaxis: {
      ...{ ...axis, range: [0, steps], showgrid: false },
      title: { text: t("train.curve.steps", { steps }), font: { size: font.size } },
      ...{ spikethickness: 1, spikecolor: muted, unifiedhovertitle: { text: t("step_n", { step: "%{x}" }) } },
    },
    yaxis: { ...axis, ...yaxis },
  };
  return [across ? [...data, across] : data, layout, { displayModeBar: false }];
}

const percent = (share: number) => `${100 * share}%`;

export function sparkline(height: number, colour: string) {
  const style = `height: ${height}px; color: var(--${colour})`;
  const element = svg("svg", { class: "sparkline", "aria-hidden": "true", style }); // its numbers stand beside it
  const line = (name: string, place: number, top: number) =>
    svg("line", { class: name, x1: percent(place), x2: percent(place), y1: percent(top), y2: "100%" });
  return {
    element,
    draw({ points, marked, top, place, value }: SparklineData) {
      const d = points.map(([x, y], i) => `${i ? "L" : "M"}${x} ${1 - y / top}`).join("");
      const curve = svg("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none" }, svg("path", { d }));
      const dot = value === null ? [] : [svg("circle", { cx: percent(place), cy: percent(1 - value / top), r: 4 })];
      const places = marked.map((each) => line("marked", each, 0.9));
      element.replaceChildren(curve, ...dot, ...places, line("here", place, 0));
    },
  };
}

/** The top of an axis of losses: those far above a uniform guess leave there, because what matters is below. */
export function topLoss({ points, heldOut, uniform }: { points: Point[]; heldOut: Point[]; uniform: number }) {
  const most = [...points, ...heldOut].reduce((highest, [, loss]) => Math.max(highest, loss), uniform * 1.2);
  return Math.min(most, uniform * MAX_UNIFORM_LOSSES);
}
