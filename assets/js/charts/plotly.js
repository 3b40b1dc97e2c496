// Ordinary charts: Plotly draws them in the page's colours, size of type and language.

import { h, typeScale } from "../core/dom.js";
import { hasText, t } from "../core/i18n.js";
import { schema } from "../core/schema.js";

/** A figure as Plotly has it. @typedef {{ data: any[], layout: Record<string, any> }} Figure */
/**
 * An element that Plotly has drawn into, once it has `data`.
 * @typedef {HTMLElement & { data?: unknown[], on?: any }} Plot
 */

/** @type {Promise<any> | null} */
let library = null;

/** Plotly: 5 MB, fetched once, when a figure is first wanted. */
function loadPlotly() {
  library ??= new Promise((resolve, reject) => {
    const onload = () => resolve(/** @type {any} */ (window).Plotly);
    const onerror = () => {
      library = null; // the next call tries again
      reject(new Error("Plotly could not be loaded"));
    };
    document.head.append(h("script", { src: schema.plotly, onload, onerror }));
  });
  return library;
}

/**
 * Draw a figure into an element, or change the one that is there.
 * @param {Plot} element @param {() => Figure} figure is called once Plotly is there
 */
export async function drawPlot(element, figure, options = {}) {
  const plotly = await loadPlotly();
  const { data, layout } = figure();
  await plotly.react(element, data, layout, { displayModeBar: false, ...options });
}

/** Lines across a plot. @param {Plot} element @param {object[]} shapes */
export const markPlot = async (element, shapes) => (await loadPlotly()).relayout(element, { shapes });

/** Plotly minds the window's size alone, and not at all while its tab is hidden. @param {Plot} element */
export const resizePlot = async (element) => (await loadPlotly()).Plots.resize(element);

/** The page's present colours, by the names of their variables. @returns {Record<string, string>} */
export function pageColours() {
  const style = getComputedStyle(document.body);
  const names = ["ink", "muted", "line", "surface", "accent", "negative", "source", "target"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * A layout as the page shows it now: in its colours, and as large as its type.
 * @param {Record<string, any>} layout
 */
export function themedLayout(layout) {
  const { ink, muted, line, surface } = pageColours();
  const grown = typeScale();
  const font = { ...layout.font, size: layout.font.size * grown, color: ink };
  const axis = (/** @type {any} */ given) => ({
    ...given,
    color: muted,
    gridcolor: line,
    linecolor: line,
    title: { text: axisText(given.title?.text), font: { size: font.size } },
  });
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  return {
    ...layout,
    ...Object.fromEntries(axes.map((key) => [key, axis(layout[key])])),
    annotations: layout.annotations?.map((/** @type {any} */ each) => ({ ...each, text: axisText(each.text) })),
    margin: Object.fromEntries(Object.entries(layout.margin).map(([side, px]) => [side, px * grown])),
    height: layout.height * grown,
    hoverlabel: { bgcolor: surface, bordercolor: line, font },
    font,
  };
}

/** @param {string} text */
const axisText = (text) => (hasText(`figure.${text}`) ? t(`figure.${text}`) : text);

/**
 * A figure of the server as the page shows it now; `name` is that of its text for what is pointed at.
 * @param {Record<string, unknown>} figure @param {string} name @returns {Figure}
 */
export function themedFigure(figure, name) {
  const { data, layout } = /** @type {Figure} */ (figure);
  const { surface, accent, negative } = pageColours();
  const places = { x: "%{x}", y: "%{y}", z: "%{z:.3f}", value: "%{y:.3f}", token: "%{customdata}" };
  const hovertemplate = `${t(`positions.hover.${name}`, places)}<extra></extra>`;
  const colorscale = [
    [0, negative],
    [0.5, surface],
    [1, accent],
  ];
  const paint = (/** @type {any} */ trace) =>
    trace.type === "heatmap" ? { colorscale } : { line: { ...trace.line, color: accent } };
  return {
    data: data.map((trace) => ({ ...trace, hovertemplate, ...paint(trace) })),
    layout: themedLayout(layout),
  };
}
