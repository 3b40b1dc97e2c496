// Ordinary charts: Plotly draws them in the page's colours, size of type and language.

import { schema } from "../api/schema.ts";
import { h, typeScale } from "../ui/dom.ts";

export type Figure = { data: any[]; layout: any };
/** An element that Plotly has drawn into, once it has `data`. */
type Plot = HTMLElement & { data?: unknown[]; on?: any };

let library: Promise<any> | null = null;

/** Plotly: 5 MB, fetched once, when a figure is first wanted. */
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

/** Draw a figure into an element, or change the one that is there. @param figure is called once Plotly is there */
export async function drawPlot(element: Plot, figure: () => Figure, options = {}) {
  const plotly = await loadPlotly();
  const { data, layout } = figure();
  await plotly.react(element, data, layout, { displayModeBar: false, ...options });
}

export function pageColours(): Record<string, string> {
  const style = getComputedStyle(document.body);
  const names = ["ink", "muted", "line", "surface", "accent", "negative", "source", "target"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function themedLayout(layout: any) {
  const { ink, muted, line, surface } = pageColours();
  const grown = typeScale();
  const font = { ...layout.font, size: layout.font.size * grown, color: ink };
  const axis = (given: any) => ({
    ...given,
    color: muted,
    gridcolor: line,
    linecolor: line,
    title: { ...given.title, font: { size: font.size } },
  });
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  return {
    ...layout,
    ...Object.fromEntries(axes.map((key) => [key, axis(layout[key])])),
    margin: Object.fromEntries(Object.entries<number>(layout.margin).map(([side, px]) => [side, px * grown])),
    height: layout.height * grown,
    hoverlabel: { bgcolor: surface, bordercolor: line, font },
    font,
  };
}
