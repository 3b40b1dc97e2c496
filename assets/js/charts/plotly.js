// Figures of the server, which Plotly draws in the page's colours, size of type and language.

import { h, typeScale } from "../core/dom.js";
import { hasText, t } from "../core/i18n.js";

/** A figure as Plotly has it. @typedef {{ data: any[], layout: Record<string, any> }} Figure */
/**
 * An element that Plotly has drawn into, once it has `data`.
 * @typedef {HTMLElement & { data?: unknown[], on?: any }} Plot
 */

/** @type {Promise<any> | null} */
let library = null;

/** Plotly: 5 MB, fetched once, when a figure is first wanted. @param {string} url */
export function loadPlotly(url) {
  library ??= new Promise((resolve, reject) => {
    const failed = () => {
      library = null; // the next call tries again
      reject(new Error("Plotly could not be loaded"));
    };
    document.head.append(h("script", { src: url, onload: () => resolve(plotly()), onerror: failed }));
  });
  return library;
}

const plotly = () => /** @type {any} */ (window).Plotly;

/** Draw a figure into an element, or change the one that is there. @param {Plot} element @param {Figure} figure */
export const drawPlot = (element, { data, layout }) =>
  plotly().react(element, data, layout, {
    displaylogo: false,
    modeBarButtons: [[imageButton("png"), imageButton("svg")]],
  });

/** Lines across a plot. @param {Plot} element @param {object[]} shapes */
export const markPlot = (element, shapes) => plotly().relayout(element, { shapes });

/** Plotly minds the window's size alone, and not at all while its tab is hidden. @param {Plot} element */
export const resizePlot = (element) => plotly().Plots.resize(element);

/** @param {"png" | "svg"} format */
const imageButton = (format) => ({
  name: format,
  title: t(`save.${format}`),
  icon: { width: 24, height: 24, path: "M11 4h2v8l3-3 1.4 1.4L12 16l-5.4-5.600L8 9l3 3zM5 19h14v2H5z" },
  click: (/** @type {Plot} */ figure) => plotly().downloadImage(figure, { format, filename: "positions" }),
});

/** The page's present colours, by the names of their variables. @returns {Record<string, string>} */
export function pageColours() {
  const style = getComputedStyle(document.body);
  const names = ["ink", "muted", "line", "surface", "accent", "negative", "source", "target"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * A figure of the server as the page shows it now; `name` is that of its text for what is pointed at.
 * @param {Record<string, unknown>} figure @param {string} name @returns {Figure}
 */
export function themedFigure(figure, name) {
  const { data, layout } = /** @type {Figure} */ (figure);
  const { ink, line, surface } = pageColours();
  const grown = typeScale();
  const font = { ...layout.font, size: layout.font.size * grown, color: ink };
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  return {
    data: data.map((trace) => themedTrace(trace, name)),
    layout: {
      ...layout,
      ...Object.fromEntries(axes.map((key) => [key, themedAxis(layout[key], font.size)])),
      annotations: layout.annotations?.map((/** @type {any} */ each) => ({ ...each, text: axisText(each.text) })),
      margin: Object.fromEntries(Object.entries(layout.margin).map(([side, px]) => [side, px * grown])),
      height: layout.height * grown,
      hoverlabel: { bgcolor: surface, bordercolor: line, font },
      font,
    },
  };
}

/** @param {any} trace @param {string} name */
function themedTrace(trace, name) {
  const { surface, accent, negative } = pageColours();
  const places = { x: "%{x}", y: "%{y}", z: "%{z:.3f}", value: "%{y:.3f}", token: "%{customdata}" };
  const hovertemplate = `${t(`positions.hover.${name}`, places)}<extra></extra>`;
  const colorscale = [
    [0, negative],
    [0.5, surface],
    [1, accent],
  ];
  const paint = trace.type === "heatmap" ? { colorscale } : { line: { ...trace.line, color: accent } };
  return { ...trace, hovertemplate, ...paint };
}

/** @param {any} axis @param {number} size */
function themedAxis(axis, size) {
  const { muted, line } = pageColours();
  return { ...axis, color: muted, linecolor: line, title: { text: axisText(axis.title.text), font: { size } } };
}

/** @param {string} text */
const axisText = (text) => (hasText(`figure.${text}`) ? t(`figure.${text}`) : text);
