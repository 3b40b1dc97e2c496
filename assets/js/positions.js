// Positions: the encoding, one dimension of it, one position of it, and how it joins the embedding of this sentence.

import { floats, follow, state } from "./store.js";
import { h, segmented, typeScale } from "./dom.js";

const SIZES = [16, 32, 64, 128, 256, 512];
const QUIET = { displaylogo: false, modeBarButtons: [["toImage"]] };

let plotly = null; // 5 MB: fetched when a figure is first wanted, once
function library(url) {
  plotly ??= new Promise((resolve, reject) => {
    const failed = () => {
      plotly = null; // the next wish tries again
      reject(new Error("Plotly could not be loaded"));
    };
    document.head.append(h("script", { src: url, onload: () => resolve(window.Plotly), onerror: failed }));
  });
  return plotly;
}

export function mount({ element, props, server }) {
  const { plotly: url, d_model: own, longest } = props.value;
  const at = { length: 50, d_model: own, position: 10, dimension: 4, stack: "encoder" };
  let encoding = null; // what the server last sent

  const number = (name, label, max, change) => {
    const input = h("input", { type: "range", name, min: 0, max, value: at[name] });
    const out = h("output", {}, String(at[name]));
    input.addEventListener("input", () => {
      at[name] = input.valueAsNumber;
      change();
    });
    return { input, out, element: h("label", {}, h("span", {}, label, " ", out), input) };
  };
  const length = number("length", "positions shown", longest, () => fetchSoon());
  length.input.min = 5;
  const position = number("position", "position", at.length - 1, () => cross());
  const dimension = number("dimension", "dimension", own - 1, () => cross());
  const size = h(
    "select",
    { name: "d_model" },
    [...new Set([own, ...SIZES])].sort((a, b) => a - b).map((d) => h("option", { value: d, selected: d === own }, String(d))),
  );
  size.addEventListener("change", () => {
    at.d_model = Number(size.value);
    fetchSoon();
  });
  const stacks = [
    ["encoder", "encoder input"],
    ["decoder", "decoder input"],
  ];
  const stack = segmented("Which input", stacks, (value) => {
    at.stack = value;
    stack.set(value);
    drawSum();
  });
  stack.set(at.stack);

  const figure = (label) => h("div", { class: "figure", role: "figure", "aria-label": label });
  const [map, wave, alike, sum] = ["Positional encoding", "One dimension", "Similarity", "Embedding + position = input"].map(figure);
  const [waveHeading, alikeHeading] = [h("h2"), h("h2")];
  const say = h("p", { class: "say", "aria-live": "polite" });
  const sumSay = h("p", { class: "hint" });
  element.replaceChildren(
    say,
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { class: "card" },
        h("h2", {}, "Each row is a position, written as a pattern of waves"),
        map,
        h("div", { class: "sliders" }, length.element, h("label", {}, h("span", {}, "numbers a word (d_model)"), size)),
      ),
      h(
        "section",
        { class: "card" },
        h("div", { class: "sliders" }, position.element, dimension.element),
        waveHeading,
        wave,
        alikeHeading,
        alike,
        h("p", { class: "hint" }, "Click the picture, or move the sliders, to choose a position and a dimension. Indigo is above 0, red below."),
      ),
    ),
    h(
      "section",
      { class: "card below" },
      h("div", { class: "controls" }, h("h2", {}, "This sentence: embedding + position = input"), stack.element),
      sum,
      sumSay,
    ),
  );

  let waiting = null;
  let wanted = null; // only the answer to the latest question is drawn
  function fetchSoon() {
    length.out.textContent = at.length;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const mine = (wanted = {});
      const answer = await server.positional_encoding({ length: at.length, d_model: at.d_model });
      if (mine !== wanted) return; // a later question was asked
      if (!answer || answer.error) return fail(say, answer?.error);
      encoding = answer;
      encoding.values = floats(encoding.heatmap.data[0].z.bdata);
      encoding.cosines = floats(encoding.similarity);
      drawMap();
    }, 120);
  }
  const failed = new Set(); // the sentences that say so; each is tried again when its figure is next seen
  function fail(where, error) {
    failed.add(where);
    where.textContent = error ?? "The figures could not be loaded. Leave this tab and come back to try again.";
  }

  const drawMap = () => mapFigure().catch(() => fail(say));
  async function mapFigure() {
    if (!encoding) return;
    const Plotly = await library(url);
    await Plotly.react(map, ...themed(encoding.heatmap), QUIET);
    if (!map.dataset.clickable) {
      map.dataset.clickable = "yes";
      map.on("plotly_click", ({ points: [point] }) => {
        Object.assign(at, { position: point.y, dimension: point.x });
        cross();
      });
    }
    await cross();
  }

  /** Follow the crosshair: one column as a curve, one position against all others. */
  const cross = () => drawCross().catch(() => fail(say));
  async function drawCross() {
    if (!encoding) return;
    const Plotly = await library(url);
    if (!map.data) return mapFigure(); // it could not be drawn before; it ends here again
    const { length: count, d_model: width } = encoding;
    at.position = Math.min(at.position, count - 1);
    at.dimension = Math.min(at.dimension, width - 1);
    for (const [each, max] of [[position, count - 1], [dimension, width - 1]]) {
      each.input.max = max;
      each.input.value = at[each.input.name];
      each.out.textContent = at[each.input.name];
    }
    const line = { line: { color: colours().ink, width: 1.5 }, layer: "above" };
    const vertical = (x, axes) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", ...axes, ...line });
    const horizontal = (y) => ({ type: "line", y0: y, y1: y, x0: 0, x1: 1, xref: "paper", ...line });
    Plotly.relayout(map, { shapes: [vertical(at.dimension), horizontal(at.position)] });

    const name = at.dimension % 2 ? "cosine" : "sine";
    const turn = encoding.wavelengths[at.dimension];
    waveHeading.textContent = `Dimension ${at.dimension} is a ${name}, one turn every ${short(turn)} positions`;
    const values = Array.from({ length: count }, (_, p) => encoding.values[p * width + at.dimension]);
    const cosines = Array.from(encoding.cosines.subarray(at.position * count, (at.position + 1) * count));
    alikeHeading.textContent = `How similar position ${at.position} is to every position`;
    const marks = { shapes: [vertical(at.position)] };
    for (const [node, skeleton, y] of [[wave, encoding.curve, values], [alike, encoding.similar, cosines]]) {
      const [data, layout] = themed(skeleton);
      await Plotly.react(node, [{ ...data[0], y }], { ...layout, ...marks }, QUIET);
    }
    const value = values[at.position];
    const next = at.position + 1 < count ? ` The next position is ${cosines[at.position + 1].toFixed(2)} alike (cosine; 1 would be the same).` : "";
    say.textContent =
      `Position ${at.position}, dimension ${at.dimension} is ${value.toFixed(3)}: a ${name} of wavelength ` +
      `${short(turn)} positions. Early dimensions turn fast and tell neighbours apart, late ones turn slowly and tell far from near.${next}`;
    map.setAttribute("aria-label", say.textContent);
    wave.setAttribute("aria-label", waveHeading.textContent);
    alike.setAttribute("aria-label", alikeHeading.textContent);
  }

  let asked = null; // likewise
  const drawSum = () => sumFigure().catch(() => fail(sumSay));
  async function sumFigure() {
    const mine = (asked = {});
    const drawing = await server.input_sum({ checkpoint: state.run.checkpoint, sentence: state.run.sentence, stack: at.stack });
    if (mine !== asked) return;
    if (!drawing || drawing.error) return fail(sumSay, drawing?.error);
    const Plotly = await library(url);
    if (mine !== asked) return;
    const [data, layout] = themed(drawing.figure);
    const color = colours()[at.stack === "encoder" ? "source" : "target"]; // tokens keep their side's colour
    for (const axis of Object.keys(layout).filter((name) => name.startsWith("yaxis"))) layout[axis].tickfont = { color };
    await Plotly.react(sum, data, layout, QUIET);
    sumSay.textContent =
      `The ${at.stack} reads ${drawing.tokens.length} vectors of ${drawing.d_model} numbers. Each is a word's embedding ` +
      `times √${drawing.d_model} plus the pattern of its position: the same word at another place is another vector. ` +
      `The strips share one scale: the strongest colours are ±${data[0].zmax.toFixed(1)}.`;
    sum.setAttribute("aria-label", sumSay.textContent);
  }

  let shown = null;
  follow(element, () => {
    if (shown === state.run) return;
    shown = state.run;
    drawSum();
  });
  fetchSoon();
  // Plotly minds the window's size alone, and not at all while its tab is hidden.
  const sized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (!target.clientWidth) continue;
      if (target.data) window.Plotly.Plots.resize(target);
      else if (target === map && failed.delete(say)) encoding ? drawMap() : fetchSoon();
      else if (target === sum && failed.delete(sumSay)) drawSum();
    }
  });
  for (const each of [map, wave, alike, sum]) sized.observe(each);
  new MutationObserver(() => {
    if (!element.isConnected) return;
    drawMap();
    drawSum();
  }).observe(document.body, { attributeFilter: ["class"] });
}

const short = (value) => (value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString("en"));

function colours() {
  const style = getComputedStyle(document.body);
  const names = ["ink", "muted", "line", "surface", "accent", "negative", "source", "target"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** A figure from the server in the page's present colours and size of type: [data, layout]. */
function themed({ data, layout }) {
  const { ink, muted, line, surface, accent, negative } = colours();
  const grown = typeScale();
  const font = { ...layout.font, size: layout.font.size * grown, color: ink };
  const scale = [[0, negative], [0.5, surface], [1, accent]];
  const traces = data.map((trace) =>
    trace.type === "heatmap" ? { ...trace, colorscale: scale } : { ...trace, line: { ...trace.line, color: accent } },
  );
  const quiet = (axis) => ({ ...axis, color: muted, linecolor: line, title: { ...axis.title, font: { size: font.size } } });
  const axes = Object.keys(layout).filter((name) => /^[xy]axis/.test(name));
  const margin = Object.fromEntries(Object.entries(layout.margin).map(([side, px]) => [side, px * grown]));
  const hoverlabel = { bgcolor: surface, bordercolor: line, font };
  const quieted = Object.fromEntries(axes.map((name) => [name, quiet(layout[name])]));
  return [traces, { ...layout, ...quieted, margin, height: layout.height * grown, hoverlabel, font }];
}
