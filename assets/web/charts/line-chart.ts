// Curves over the steps of a training.

import type { Point } from "../api/training-stream.ts";
import { t } from "../state/i18n.ts";
import { fontFamily, h, onThemeChange } from "../ui/dom.ts";
import { onResize } from "../ui/parts.ts";
import { drawPlot, type Figure, pageColours, themedLayout } from "./plotly.ts";

/** The values `point[column]` of points; `name` stands in the legend, `hover` writes a value in Plotly's notation. */
type Curve = { name: string; points: Point[]; column: number; colour: string; dash?: string; hover?: string };
/** `yaxis` as Plotly has it; `level` is a value across the chart with its name; `label` is the text alternative. */
type ChartData = { steps: number; yaxis: object; curves: Curve[]; level?: { at: number; name: string }; label: string };
/** The curve goes from 0 to 1 and to `top`; `marked` are places to show, `place` is the one shown, with its value. */
type SparklineData = { points: Point[]; marked: number[]; top: number; place: number; value: number | null };

/** `pause`: ms between two drawings. */
type Look = { pause: number; staticPlot?: boolean };

const THUMB = 9; // px, half the slider's, whose middle does not reach its ends
const PAUSE_MS = 250; // Plotly takes tens of milliseconds, and a training measures more often
const MAX_UNIFORM_LOSSES = 3; // an axis of losses reaches this many times the loss of a uniform guess at most

export function lineChart(height: number, signal: AbortSignal) {
  const element = h("div", { class: "figure curves", role: "img", style: `height: ${height / 16}rem` });
  const draw = redrawn(element, (data: ChartData) => chartFigure(data, height), signal, { pause: PAUSE_MS });
  return {
    element,
    draw(data: ChartData) {
      element.setAttribute("aria-label", data.label);
      draw(data);
    },
  };
}

export function sparkline(height: number, colour: string, signal: AbortSignal) {
  const element = h("div", { "aria-hidden": "true", style: `height: ${height}px` }); // its numbers stand beside it
  const figure = (data: SparklineData) => sparklineFigure(data, height, colour);
  return { element, draw: redrawn(element, figure, signal, { pause: 0, staticPlot: true }) };
}

/** Where Plotly cannot be loaded nothing is drawn until the next call: the numbers stand beside the chart as well. */
function redrawn<Data>(element: HTMLElement, figure: (data: Data) => Figure, signal: AbortSignal, look: Look) {
  const { pause, ...options } = look;
  let data: Data | null = null;
  let isScheduled = false;
  const drawNow = () => {
    isScheduled = false;
    const latest = () => {
      const chart = figure(data as Data);
      chart.layout.width = element.clientWidth; // else Plotly keeps the first width
      return chart;
    };
    if (data && element.clientWidth) drawPlot(element, latest, options).catch(() => {});
  };
  onResize(element, drawNow, signal);
  onThemeChange(drawNow, signal);
  return (given: Data) => {
    data = given;
    if (!isScheduled) setTimeout(drawNow, pause);
    isScheduled = true;
  };
}

const NO_AXIS = { visible: false, fixedrange: true };

function chartFigure({ steps, yaxis, curves, level }: ChartData, height: number): Figure {
  const colours = pageColours();
  const data = curves.map(({ name, points, column, colour, dash, hover }) => ({
    x: points.map(([step]) => step),
    y: points.map((point) => point[column]),
    mode: points.length > 1 ? "lines" : "markers",
    name,
    line: { color: colours[colour], width: 2, dash },
    hovertemplate: `${hover}<extra></extra>`,
  }));
  const across = level && {
    x: [0, steps],
    y: [level.at, level.at],
    mode: "lines",
    name: level.name,
    line: { color: colours.muted, width: 1.5, dash: "dash" },
    hoverinfo: "skip",
  };
  const layout = themedLayout({
    ...{ height, paper_bgcolor: colours.surface, plot_bgcolor: colours.surface, dragmode: false },
    font: { family: fontFamily(), size: 13 },
    margin: { l: 48, r: 16, t: 4, b: 40 },
    hovermode: "x unified",
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
    showlegend: true,
    xaxis: {
      ...{ ...AXIS, range: [0, steps], showgrid: false, title: { text: t("train.curve.steps", { steps }) } },
      ...{ spikethickness: 1, spikecolor: colours.muted, unifiedhovertitle: { text: t("step_n", { step: "%{x}" }) } },
    },
    yaxis: { ...AXIS, ...yaxis },
  });
  return { data: across ? [...data, across] : data, layout };
}

const AXIS = { fixedrange: true, zeroline: false };

function sparklineFigure({ points, marked, top, place, value }: SparklineData, height: number, colour: string) {
  const { [colour]: color, ink, muted } = pageColours();
  const line = (x: number, y1: number, color: string) => ({
    ...{ type: "line", yref: "paper", x0: x, x1: x, y0: 0, y1 },
    line: { color, width: 1 },
  });
  return {
    data: [
      { x: points.map(([step]) => step), y: points.map((point) => point[1]), mode: "lines", line: { color, width: 2 } },
      { x: [place], y: [value], mode: "markers", marker: { color, size: 8 }, cliponaxis: false },
    ],
    layout: {
      ...{ height, paper_bgcolor: "transparent", plot_bgcolor: "transparent" },
      margin: { l: THUMB, r: THUMB, t: 4, b: 4 },
      showlegend: false,
      xaxis: { ...NO_AXIS, range: [0, 1] },
      yaxis: { ...NO_AXIS, range: [0, top] },
      shapes: [...marked.map((each) => line(each, 0.1, muted)), line(place, 1, ink)],
    },
  };
}

/** The top of an axis of losses: those far above a uniform guess leave there, because what matters is below. */
export function topLoss({ points, heldOut, uniform }: { points: Point[]; heldOut: Point[]; uniform: number }) {
  const most = [...points, ...heldOut].reduce((highest, [, loss]) => Math.max(highest, loss), uniform * 1.2);
  return Math.min(most, uniform * MAX_UNIFORM_LOSSES);
}
