// One head's map as pictures. A weight of 0 has the lightest colour of the scale; a masked cell has none.

import { state, weight } from "./store.js";
import { h, isSpecial, svg, word } from "./dom.js";

const GAP = 2;
const LABEL = 15; // px, font size of token labels
const LARGEST_CELL = [92, 56]; // px, across and down
const SMALLEST_CELL = 14;
const VALUES_FROM = 28; // px a cell, so that a number fits

/** The scale: from the surface to the accent, the same 0 to 1 in every map. */
const colour = (value) => `fill: color-mix(in oklab, var(--accent) ${(4 + 96 * value).toFixed(1)}%, var(--surface))`;

const textWidth = (token) => token.length * LABEL * 0.62;

function each(kind, layer, head, visit) {
  const { queries, keys, allowed } = state.run.attention[kind];
  queries.forEach((from, query) =>
    keys.forEach((to, key) => {
      const open = allowed[query][key];
      visit({ query, key, from, to, open, value: weight(kind, layer, head, query, key) });
    }),
  );
}

const spoken = ({ from, to, open, value }) => `${from} → ${to}: ${open ? value.toFixed(2) : "masked"}`;

/** A token on an axis, in its side's colour; `anchor` is where x lies. Special tokens are outlined. */
function label(token, side, x, y, anchor, attributes = {}) {
  const text = svg("text", { x, y, "text-anchor": anchor, class: `label ${side}` }, token);
  if (!isSpecial(token)) return svg("g", attributes, text);
  const width = textWidth(token) + 10;
  const left = { start: x - 5, middle: x - width / 2, end: x - width + 5 }[anchor];
  const outline = svg("rect", { x: left, y: y - 12, width, height: 23, rx: 4, class: `outline ${side}` });
  return svg("g", attributes, outline, text);
}

export function heatmap(kind, layer, head, { width, sides, marked }) {
  const { queries, keys } = state.run.attention[kind];
  const left = Math.max(...queries.map(textWidth)) + 20;
  const room = Math.floor((width - left - GAP) / keys.length);
  const cell = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL[0], room));
  const down = Math.min(LARGEST_CELL[1], cell);
  const longest = Math.max(...keys.map(textWidth));
  const slanted = longest > cell + 4;
  const w = left + keys.length * cell + (slanted ? longest * 0.5 : 4);
  const height = queries.length * down + (slanted ? longest * 0.75 + 24 : 34);
  const picture = svg("svg", { viewBox: `0 0 ${w} ${height}`, width: w, height, class: "heatmap" });
  each(kind, layer, head, (at) => {
    const [x, y] = [left + at.key * cell, at.query * down + 1];
    const data = { "data-query": at.query, "data-key": at.key, "data-look": spoken(at) };
    const fill = at.open ? { style: colour(at.value), "data-weight": at.value } : { class: "masked" };
    picture.append(svg("rect", { x, y, width: cell - GAP, height: down - GAP, rx: Math.min(4, down / 5), ...data, ...fill }));
    if (!at.open || cell < VALUES_FROM) return;
    const shade = at.value > 0.62 ? "full" : at.value > 0.5 ? "half" : "faint";
    const middle = { x: x + (cell - GAP) / 2, y: y + (down - GAP) / 2 };
    picture.append(svg("text", { ...middle, class: `value ${shade}` }, at.value.toFixed(2)));
  });
  queries.forEach((token, i) => picture.append(label(token, sides[0], left - 12, (i + 0.5) * down, "end", { "data-query": i })));
  keys.forEach((token, i) => {
    const [x, y] = [left + i * cell + (cell - GAP) / 2, queries.length * down + 18];
    const turn = slanted ? { transform: `rotate(40 ${x} ${y})` } : {};
    picture.append(label(token, sides[1], x, y, slanted ? "start" : "middle", turn));
  });
  if (marked !== null) {
    const frame = { x: left - 3, y: marked * down - 2, width: keys.length * cell + 4, height: down + 4, rx: 7 };
    picture.append(svg("rect", { ...frame, class: "marked" }));
  }
  return picture;
}

export function lines(kind, layer, head, { width, sides, marked }) {
  const { queries, keys } = state.run.attention[kind];
  const [left, right] = [queries, keys].map((tokens) => Math.max(...tokens.map(textWidth)) + 24);
  const pitch = 40;
  const w = Math.min(width, 560);
  const height = Math.max(queries.length, keys.length) * pitch;
  const picture = svg("svg", { viewBox: `0 0 ${w} ${height}`, width: w, height, class: "lines" });
  const y = (i) => i * pitch + pitch / 2;
  each(kind, layer, head, (at) => {
    if (!at.open) return;
    const middle = (left + w - right) / 2;
    const d = `M${left} ${y(at.query)} C${middle} ${y(at.query)} ${middle} ${y(at.key)} ${w - right} ${y(at.key)}`;
    const stroke = `stroke-width: ${1 + 6 * at.value}; stroke-opacity: ${0.06 + 0.94 * at.value}`;
    const data = { "data-query": at.query, "data-key": at.key, "data-weight": at.value, "data-look": spoken(at) };
    picture.append(svg("path", { d, style: stroke, ...data }));
  });
  const words = (tokens, end, anchor, x, axis) =>
    tokens.forEach((token, i) => {
      const isolate = (on) => () => {
        picture.classList.toggle("isolated", on);
        picture.querySelectorAll(`path[data-${axis}="${i}"]`).forEach((path) => path.classList.toggle("kept", on));
      };
      const text = label(token, end, x, y(i), anchor, { tabindex: 0, [`data-${axis}`]: i });
      for (const enter of ["pointerenter", "focus"]) text.addEventListener(enter, isolate(true));
      for (const leave of ["pointerleave", "blur"]) text.addEventListener(leave, isolate(false));
      if (axis === "query" && i === marked) text.classList.add("now");
      picture.append(text);
    });
  words(queries, sides[0], "end", left - 14, "query");
  words(keys, sides[1], "start", w - right + 14, "key");
  return picture;
}

export function table(kind, layer, head, { sides, marked }) {
  const { queries, keys } = state.run.attention[kind];
  const rows = queries.map((token, i) =>
    h("tr", { class: i === marked ? "marked" : "" }, h("th", { scope: "row" }, word(token, sides[0]))),
  );
  each(kind, layer, head, (at) =>
    rows[at.query].append(
      at.open ? h("td", { "data-weight": at.value }, at.value.toFixed(3)) : h("td", { class: "masked" }, "masked"),
    ),
  );
  const columns = keys.map((token) => h("th", { scope: "col" }, word(token, sides[1])));
  return h("table", {}, h("thead", {}, h("tr", {}, h("td"), columns)), h("tbody", {}, rows));
}

/** A map without words, small. */
export function thumbnail(kind, layer, head) {
  const { queries, keys } = state.run.attention[kind];
  const picture = svg("svg", { viewBox: `0 0 ${keys.length * 8} ${queries.length * 8}`, "aria-hidden": "true" });
  each(kind, layer, head, (at) => {
    const fill = at.open ? { style: colour(at.value) } : { class: "masked" };
    picture.append(svg("rect", { x: at.key * 8, y: at.query * 8, width: 7.4, height: 7.4, rx: 1, ...fill }));
  });
  return picture;
}
