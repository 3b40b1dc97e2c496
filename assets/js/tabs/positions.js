// Positions: the encoding, one dimension of it, one position of it, and how it joins the embedding of this sentence.

import { findChange } from "../core/changes.js";
import { h, segmented, typeScale } from "../core/dom.js";
import { formatNumber as counted, hasText, joinSentences, t } from "../core/i18n.js";
import { runQuestion } from "../core/server-cache.js";
import { decodeFloats, state, subscribe, update } from "../core/state.js";

const SIZES = [16, 32, 64, 128, 256, 512];
const quiet = () => ({ displaylogo: false, modeBarButtons: [[imageButton("png"), imageButton("svg")]] });
const imageButton = (format) => ({
  name: format,
  title: t(`save.${format}`),
  icon: { width: 24, height: 24, path: "M11 4h2v8l3-3 1.4 1.4L12 16l-5.4-5.600L8 9l3 3zM5 19h14v2H5z" },
  click: (figure) => window.Plotly.downloadImage(figure, { format, filename: "positions" }),
});

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

let at = null; // what is looked at
let chosen = false; // the width is the visitor's own choice; before, it is the model's
let encoding = null; // what the server last sent

export function mount({ element, props, server, signal }) {
  const { plotly: url, d_model: opening, longest } = props.value;
  at ??= { length: 50, d_model: opening, position: 10, dimension: 4 };

  const number = (name, label, max, change) => {
    const input = h("input", { type: "range", name, min: 0, max, value: at[name] });
    const out = h("output", {}, String(at[name]));
    input.addEventListener("input", () => {
      at[name] = input.valueAsNumber;
      change();
    });
    return { input, out, element: h("label", {}, h("span", {}, label, " ", out), input) };
  };
  const length = number("length", t("positions.shown"), longest, () => fetchSoon());
  length.input.min = 5;
  const position = number("position", t("figure.position"), at.length - 1, () => cross());
  const dimension = number("dimension", t("figure.dimension"), at.d_model - 1, () => cross());
  const size = h("select", { name: "d_model" });
  const offer = (own) =>
    size.replaceChildren(
      ...[...new Set([own, at.d_model, ...SIZES])]
        .sort((a, b) => a - b)
        .map((d) => h("option", { value: d, selected: d === at.d_model }, String(d))),
    );
  offer(opening);
  size.addEventListener("change", () => {
    at.d_model = Number(size.value);
    chosen = true;
    fetchSoon();
  });
  const stacks = ["encoder", "decoder"].map((name) => [name, t(`positions.${name}`)]);
  const stack = segmented(t("positions.which"), stacks, (value) => update({ stack: value }));

  const figure = (label) => h("div", { class: "figure", role: "figure", "aria-label": label });
  const [map, wave, alike, sum] = ["map", "wave", "alike", "sum"].map((name) => figure(t(`positions.figure.${name}`)));
  const [waveHeading, alikeHeading] = [h("h2"), h("h2")];
  const say = h("p", { class: "say", "aria-live": "polite" });
  const sumSay = h("p", { class: "hint" });
  const none = h("p", { class: "hint", hidden: true }, t("positions.none"));
  element.replaceChildren(
    say,
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { class: "card" },
        h("h2", {}, t("positions.rows")),
        none,
        map,
        h("div", { class: "sliders" }, length.element, h("label", {}, h("span", {}, t("positions.width")), size)),
      ),
      h(
        "section",
        { class: "card" },
        h("div", { class: "sliders" }, position.element, dimension.element),
        waveHeading,
        wave,
        alikeHeading,
        alike,
        h("p", { class: "hint" }, t("positions.hint")),
      ),
    ),
    h(
      "section",
      { class: "card below" },
      h("div", { class: "controls" }, h("h2", {}, t("positions.sum")), stack.element),
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
      if (!answer || answer.error) return fail(say);
      encoding = answer;
      encoding.values = decodeFloats(encoding.heatmap.data[0].z.bdata);
      encoding.cosines = decodeFloats(encoding.similarity);
      drawMap();
    }, 120);
  }
  const failed = new Set(); // the sentences that say so; each is tried again when its figure is next seen
  function fail(where) {
    failed.add(where);
    where.textContent = t("positions.failed");
  }

  const drawMap = () => mapFigure().catch(() => fail(say));
  async function mapFigure() {
    if (!encoding) return;
    const Plotly = await library(url);
    await Plotly.react(map, ...themed(encoding.heatmap, "map"), quiet());
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
    for (const [each, max] of [
      [position, count - 1],
      [dimension, width - 1],
    ]) {
      each.input.max = max;
      each.input.value = at[each.input.name];
      each.out.textContent = at[each.input.name];
    }
    const line = { line: { color: colours().ink, width: 1.5 }, layer: "above" };
    const vertical = (x, axes) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", ...axes, ...line });
    const horizontal = (y) => ({ type: "line", y0: y, y1: y, x0: 0, x1: 1, xref: "paper", ...line });
    Plotly.relayout(map, { shapes: [vertical(at.dimension), horizontal(at.position)] });

    const wavelength = short(encoding.wavelengths[at.dimension]);
    const wavy = {
      position: at.position,
      dimension: at.dimension,
      wave: t(at.dimension % 2 ? "positions.cosine" : "positions.sine"),
      wavelength,
    };
    waveHeading.textContent = t("positions.turn", wavy);
    const values = Array.from({ length: count }, (_, p) => encoding.values[p * width + at.dimension]);
    const cosines = Array.from(encoding.cosines.subarray(at.position * count, (at.position + 1) * count));
    alikeHeading.textContent = t("positions.similar", wavy);
    const marks = { shapes: [vertical(at.position)] };
    for (const [node, skeleton, y, name] of [
      [wave, encoding.curve, values, "curve"],
      [alike, encoding.similar, cosines, "similar"],
    ]) {
      const [data, layout] = themed(skeleton, name);
      await Plotly.react(node, [{ ...data[0], y }], { ...layout, ...marks }, quiet());
    }
    const next = at.position + 1 < count ? t("positions.next", { cosine: cosines[at.position + 1].toFixed(2) }) : "";
    say.replaceChildren(...joinSentences(t("positions.say", { ...wavy, value: values[at.position].toFixed(3) }), next));
    map.setAttribute("aria-label", say.textContent);
    wave.setAttribute("aria-label", waveHeading.textContent);
    alike.setAttribute("aria-label", alikeHeading.textContent);
  }

  let asked = null; // likewise
  const drawSum = () => sumFigure().catch(() => fail(sumSay));
  async function sumFigure() {
    const mine = (asked = {});
    const drawing = await server.input_sum({ ...runQuestion(), stack: state.stack });
    if (mine !== asked) return;
    if (!drawing || drawing.error) return fail(sumSay);
    const Plotly = await library(url);
    if (mine !== asked) return;
    const [data, layout] = themed(drawing.figure, "sum");
    const color = colours()[state.stack === "encoder" ? "source" : "target"]; // tokens keep their side's colour
    for (const axis of Object.keys(layout).filter((name) => name.startsWith("yaxis")))
      layout[axis].tickfont = { color };
    await Plotly.react(sum, data, layout, quiet());
    const places = { count: drawing.tokens.length, d_model: drawing.d_model, largest: data[0].zmax.toFixed(1) };
    const bare = { encoder: "positions.bare.encoder", decoder: "positions.bare.decoder" }; // without positions
    const changed = findChange({ do: "positions", stack: state.stack }, state.run.changes);
    const key = changed
      ? `positions.changed.${changed.how}`
      : state.run.model.positions
        ? `positions.sum.${state.stack}`
        : bare[state.stack];
    sumSay.textContent = t(key, places);
    sum.setAttribute("aria-label", sumSay.textContent);
  }

  let model = null; // whose width is offered
  function accompany(now) {
    if (model === now) return;
    model = now;
    none.hidden = now.positions;
    const other = !chosen && at.d_model !== now.d_model;
    if (other) at.d_model = now.d_model;
    offer(now.d_model);
    if (other) fetchSoon();
  }
  let shown = [];
  subscribe(element, () => {
    stack.set(state.stack);
    accompany(state.run.model);
    if (shown[0] === state.run && shown[1] === state.stack) return;
    shown = [state.run, state.stack];
    drawSum();
  });
  encoding ? drawMap() : fetchSoon();
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
  const theme = new MutationObserver(() => {
    drawMap();
    drawSum();
  });
  theme.observe(document.body, { attributeFilter: ["class"] });
  signal.addEventListener("abort", () => [sized, theme].forEach((each) => each.disconnect()));
}

const short = (value) => (value < 100 ? value.toFixed(1) : counted(Math.round(value)));

function colours() {
  const style = getComputedStyle(document.body);
  const names = ["ink", "muted", "line", "surface", "accent", "negative", "source", "target"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** A figure from the server in the page's present colours, size of type and language: [data, layout]. */
function themed({ data, layout }, name) {
  const { ink, muted, line, surface, accent, negative } = colours();
  const grown = typeScale();
  const font = { ...layout.font, size: layout.font.size * grown, color: ink };
  const scale = [
    [0, negative],
    [0.5, surface],
    [1, accent],
  ];
  const spoken = (text) => (hasText(`figure.${text}`) ? t(`figure.${text}`) : text);
  const traces = data.map((trace) => {
    const places = { x: "%{x}", y: "%{y}", z: "%{z:.3f}", value: "%{y:.3f}", token: "%{customdata}" };
    const hovertemplate = `${t(`positions.hover.${name}`, places)}<extra></extra>`;
    return {
      ...trace,
      hovertemplate,
      ...(trace.type === "heatmap" ? { colorscale: scale } : { line: { ...trace.line, color: accent } }),
    };
  });
  const quiet = (axis) => ({
    ...axis,
    color: muted,
    linecolor: line,
    title: { text: spoken(axis.title.text), font: { size: font.size } },
  });
  const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
  const margin = Object.fromEntries(Object.entries(layout.margin).map(([side, px]) => [side, px * grown]));
  const hoverlabel = { bgcolor: surface, bordercolor: line, font };
  const quieted = Object.fromEntries(axes.map((key) => [key, quiet(layout[key])]));
  const annotations = layout.annotations?.map((each) => ({ ...each, text: spoken(each.text) }));
  return [traces, { ...layout, ...quieted, annotations, margin, height: layout.height * grown, hoverlabel, font }];
}
