// One head's map as pictures. A weight of 0 has the lightest colour of the scale; a masked cell has none.

import { UNIFORM_MARGIN, argmax, goldLink, attentionRow, state, attentionWeight, SIDES } from "../core/state.js";
import { h, isSpecial, svg, textWidth, typeScale, word } from "../core/dom.js";
import { nodes, formatPercent, t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";

const GAP = 2;
const MAX_CELL = [120, 56]; // px a cell, across and down
const MIN_CELL = 14;
const VALUES_FROM = 28; // px a cell, so that a number fits
const ROUND_UP_TO = 400; // cells of a thumbnail: of more, nobody would see that their corners are round
const PITCH = 56; // px between the words of Lines: as far as the rows of a heatmap

/** The scale: from the surface to the accent, the same 0 to 1 in every map; of a difference −1 to 1, the surface at 0. Dropout
 *  may leave more than 1. */
const strength = (value, difference) => (difference ? 96 * Math.abs(value) : 4 + 96 * Math.min(1, value)); // % of the hue
const hue = (value, difference = false) => `${value < 0 ? "less" : "more"}-${Math.round(strength(value, difference))}`;

// A class a per cent: cells that share one share what the browser works out of it, where styles of their own share nothing.
const scale = new CSSStyleSheet();
const mixed = (name, hue) =>
  Array.from(
    { length: 101 },
    (_, i) => `.${name}-${i} { fill: color-mix(in oklab, var(--${hue}) ${i}%, var(--surface)); }`,
  );
scale.replaceSync([...mixed("more", "accent"), ...mixed("less", "negative")].join(""));
document.adoptedStyleSheets.push(scale);

/** The type that can be read on so many per cent of a hue, at least 4.5 : 1: faint and half are black in the light theme, half and
 *  full are black in the dark one. */
export function contrastClass(share, negative) {
  const [half, full] = negative ? [72.5, 84] : [61, 78.2];
  return share > full ? "full" : share > half ? "half" : "faint";
}

/** A weight, or by how much one has changed. */
const formatWeight = (value, difference) => (difference && value > 0.005 ? "+" : "") + fixed(value, 2);

function forEachCell(run, kind, layer, head, visit) {
  const { heads, queries, keys, values, allowed, difference } = run.attention[kind];
  let i = (layer * heads + head) * queries.length * keys.length;
  queries.forEach((from, query) =>
    keys.forEach((to, key) => {
      const open = allowed[query][key];
      const stands = state.gold && kind === "cross" ? goldLink(query, key, run) : null; // does the key stand for what is said?
      visit({ query, key, from, to, open, stands, difference, value: values[i++] });
    }),
  );
}

const describeCell = ({ from, to, open, value, difference }) =>
  `${from} → ${to}: ${open ? formatWeight(value, difference) : t("masked")}`;

/** A token on an axis, in its side's colour; `anchor` is where x lies. Special tokens are outlined. */
function label(token, side, { x, y, anchor, size }, attributes = {}) {
  const style = `font-size: ${size}px`;
  const text = svg("text", { x, y, "text-anchor": anchor, class: `label ${side}`, style }, token);
  if (!isSpecial(token)) return svg("g", attributes, text);
  const width = textWidth(token, size) + 10;
  const left = { start: x - 5, middle: x - width / 2, end: x - width + 5 }[anchor];
  const outline = svg("rect", {
    x: left,
    y: y - size * 0.8,
    width,
    height: size * 1.5,
    rx: 4,
    class: `outline ${side}`,
  });
  return svg("g", attributes, outline, text);
}

const painters = new WeakMap(); // a heatmap -> what fills in the weights of a head
const pointedCells = new WeakMap(); // a cell -> what it shows, in words once somebody points at it

/** Of the run at the top, or of another one: of a snapshot, say. */
export function heatmap(kind, layer, head, { width, sides, run = state.run }) {
  const { queries, keys, difference } = run.attention[kind];
  const type = typeScale();
  const measure = (size) => {
    const left = Math.max(...queries.map((token) => textWidth(token, size))) + 20;
    const cell = Math.max(MIN_CELL, Math.min(MAX_CELL[0] * type, Math.floor((width - left - 4) / keys.length)));
    return { size, left, cell, fits: Math.max(...keys.map((token) => textWidth(token, size))) <= cell + 2 };
  };
  const sizes = [15, 13].map((size) => measure(size * type));
  const { size, left, cell, fits } = sizes.find((each) => each.fits) ?? sizes[1];
  const down = Math.min(MAX_CELL[1] * type, cell);
  const digits = `font-size: ${Math.min(13 * type, cell * (difference ? 0.29 : 0.37))}px`; // so that those of two cells do not touch
  const slant = fits ? 0 : Math.max(...keys.map((token) => textWidth(token, size)));
  const [w, height] = [left + keys.length * cell + 4, queries.length * down + (slant ? slant * 0.82 + 28 : 36)];
  const place = ({ query, key }) => [left + key * cell, query * down + 1];
  const inner = [cell - GAP, down - GAP];
  const corner = Math.min(4, down / 5);
  const picture = svg("svg", {
    viewBox: `0 -4 ${w} ${height + 4}`,
    width: w,
    height: height + 4,
    class: "heatmap",
    role: "img",
  });
  const written = cell >= VALUES_FROM * type;
  const colours = svg("g"); // of cells that are too small to be written in, of which there may be thousands: see `tiles`
  picture.append(colours);
  const cells = []; // {box, value} in the order of `each`
  forEachCell(run, kind, layer, head, (at) => {
    const [x, y] = place(at);
    const data = { "data-query": at.query, "data-key": at.key, "data-look": at.open ? null : describeCell(at) };
    const box = svg("rect", {
      x,
      y,
      width: inner[0],
      height: inner[1],
      rx: corner,
      ...data,
      ...(at.open ? { fill: "transparent" } : { class: "masked" }),
    });
    picture.append(box);
    if (at.stands) {
      const ring = { x: x + 2, y: y + 2, width: inner[0] - 4, height: inner[1] - 4, rx: corner };
      picture.append(svg("rect", { ...ring, class: "gold ground" })); // so that it shows on a dark cell and on a light one
      picture.append(svg("rect", { ...ring, class: `gold ${at.stands}`, "data-gold": `${at.query} ${at.key}` }));
    }
    const value = at.open && written ? svg("text", { x: x + inner[0] / 2, y: y + inner[1] / 2, style: digits }) : null;
    if (value) picture.append(value);
    cells.push({ box, value });
  });
  painters.set(picture, (layer, head) => {
    let i = 0;
    if (!written)
      colours.replaceChildren(...tiles(run, kind, layer, head, (at) => at.open && tile(place(at), inner, corner)));
    forEachCell(run, kind, layer, head, (at) => {
      const { box, value } = cells[i++];
      if (!at.open) return;
      box.setAttribute("data-weight", at.value);
      pointedCells.set(box, at);
      if (!value) return;
      box.setAttribute("class", hue(at.value, difference));
      value.setAttribute("class", `value ${contrastClass(strength(at.value, difference), at.value < 0)}`);
      value.textContent = formatWeight(at.value, difference);
    });
  });
  repaint(picture, layer, head);
  queries.forEach((token, i) => {
    const place = { x: left - 12, y: (i + 0.5) * down, anchor: "end", size };
    picture.append(label(token, sides[0], place, { "data-query": i }));
  });
  keys.forEach((token, i) => {
    const [x, y] = [left + i * cell + (cell - GAP) / 2, queries.length * down + 18];
    const turn = slant ? { transform: `rotate(-55 ${x} ${y})` } : {};
    picture.append(label(token, sides[1], { x, y, anchor: slant ? "end" : "middle", size }, turn));
  });
  const frame = { x: left - 3, width: keys.length * cell + 4, height: down + 4, rx: 7 };
  picture.append(svg("rect", { ...frame, class: "marked", "data-down": down }));
  return picture;
}

/** Another head of the same kind and run in a heatmap that is there: only what its cells say changes. */
export const repaint = (picture, layer, head) => painters.get(picture)(layer, head);

export function lineDrawing(kind, layer, head, { width, sides }) {
  const { queries, keys } = state.run.attention[kind];
  const size = 15 * typeScale();
  const [left, right] = [queries, keys].map(
    (tokens) => Math.max(...tokens.map((token) => textWidth(token, size))) + 24,
  );
  const pitch = PITCH * typeScale();
  const height = Math.max(queries.length, keys.length) * pitch;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "lines", role: "group" });
  const y = (i) => (i + 0.5) * pitch;
  const looks = { query: queries.map(() => []), key: keys.map(() => []) };
  forEachCell(state.run, kind, layer, head, (at) => {
    if (!at.open) return;
    looks.query[at.query].push(describeCell(at));
    looks.key[at.key].push(describeCell(at));
    const middle = (left + width - right) / 2;
    const d = `M${left} ${y(at.query)} C${middle} ${y(at.query)} ${middle} ${y(at.key)} ${width - right} ${y(at.key)}`;
    const stroke = `stroke-width: ${1 + 6 * at.value}; stroke-opacity: ${0.06 + 0.94 * at.value}`;
    const data = { "data-query": at.query, "data-key": at.key, "data-weight": at.value, "data-look": describeCell(at) };
    picture.append(svg("path", { d, style: stroke, ...data }));
    if (!at.stands) return;
    const ends = { "data-query": at.query, "data-key": at.key, "data-gold": `${at.query} ${at.key}` };
    picture.append(svg("path", { d, class: `gold ${at.stands}`, ...ends }));
  });
  /** Only these lines, or all (null). */
  const keep = (wanted) => {
    picture.classList.toggle("isolated", wanted !== null);
    picture
      .querySelectorAll("path")
      .forEach((path) => path.classList.toggle("kept", wanted !== null && path.matches(wanted)));
  };
  const focused = () => {
    const word = picture.querySelector("g:focus");
    return word && `[data-${word.dataset.query ? "query" : "key"}="${word.dataset.query ?? word.dataset.key}"]`;
  };
  const words = (tokens, side, anchor, x, axis) =>
    tokens.forEach((token, i) => {
      const isolate = () => keep(`[data-${axis}="${i}"]`);
      const read = looks[axis][i].join(", ") || `${token}: ${t("masked")}`;
      const data = { tabindex: 0, role: "img", "aria-label": read, [`data-${axis}`]: i };
      const text = label(token, side, { x, y: y(i), anchor, size }, data);
      for (const enter of ["pointerenter", "focus"]) text.addEventListener(enter, isolate);
      text.addEventListener("blur", () => keep(null));
      text.addEventListener("pointerleave", () => keep(focused()));
      picture.append(text);
    });
  words(queries, sides[0], "end", left - 14, "query");
  words(keys, sides[1], "start", width - right + 14, "key");
  return picture;
}

export function weightTable(kind, layer, head, { sides }) {
  const { queries, keys } = state.run.attention[kind];
  const rows = queries.map((token) => h("tr", {}, h("th", { scope: "row" }, word(token, sides[0]))));
  forEachCell(state.run, kind, layer, head, (at) =>
    rows[at.query].append(
      at.open
        ? h(
            "td",
            {
              "data-weight": at.value,
              class: at.stands && `gold ${at.stands}`,
              "data-gold": at.stands && `${at.query} ${at.key}`,
            },
            at.value.toFixed(3),
          )
        : h("td", { class: "masked" }, t("masked")),
    ),
  );
  const columns = keys.map((token) => h("th", { scope: "col" }, word(token, sides[1])));
  return h("table", {}, h("thead", {}, h("tr", {}, h("td"), columns)), h("tbody", {}, rows));
}

/** Mark a row of a picture, or none (null), without drawing it anew. */
export function markRow(picture, query) {
  const frame = picture.querySelector("rect.marked");
  if (frame) {
    frame.setAttribute("visibility", query === null ? "hidden" : "visible");
    frame.setAttribute("y", (query ?? 0) * Number(frame.dataset.down) - 2);
  }
  picture.querySelectorAll("g[data-query]").forEach((each, i) => each.classList.toggle("now", i === query));
  picture.querySelectorAll("tbody tr").forEach((each, i) => each.classList.toggle("marked", i === query));
}

/** Whether some row of a kind may look at nothing: every cell of it was closed by hand. */
export const hasFullyMaskedRow = (run, kind) => run.attention[kind].allowed.some((row) => !row.includes(true));

/** Whether nobody may look at padding: so it is until somebody changes a mask. */
export function paddingMasked(run, kind) {
  const { keys, allowed } = run.attention[kind];
  return !keys.some((token, key) => token === "P" && allowed.some((row) => row[key]));
}

/** The whole heading of a large map: which head it is, and what its rows and columns are. */
export function mapHeading(kind, layer, head, key = "attention.axes") {
  const axis = (i, arrow) => word(`${t(`side.${SIDES[kind][i]}`)} ${arrow}`, SIDES[kind][i]);
  return nodes(key, { head: head + 1, layer: layer + 1, from: axis(0, "↓"), at: axis(1, "→") });
}

/** Where every row of a head looks hardest. */
export function describeLargestWeights(kind, layer, head, run = state.run) {
  const { queries, keys } = run.attention[kind];
  const looks = queries.map((from, query) => {
    const values = attentionRow(kind, layer, head, query, run);
    const key = argmax(values);
    return `${from} → ${keys[key]} ${formatPercent(values[key])}`;
  });
  return t("bugs.map", { looks: looks.join(", ") });
}

/** One row of a head read aloud; `said` is the word that is said on reading it, if one is. */
export function describeRow(kind, layer, head, query, said, run = state.run) {
  const { queries, keys, allowed } = run.attention[kind];
  const [from, at] = SIDES[kind];
  const looks = attentionRow(kind, layer, head, query, run);
  const key = argmax(looks);
  const open = allowed[query].filter(Boolean).length;
  const places = {
    reading: nodes(said ? "aloud.reading_and_saying" : "aloud.reading", {
      word: word(queries[query], from),
      said: said && word(said, "target"),
    }),
    head: head + 1,
    layer: layer + 1,
    count: open,
    word: word(keys[key], at),
    share: formatPercent(looks[key]),
    equal: formatPercent(1 / open),
  };
  if (open === 0) return nodes("aloud.nothing", places);
  if (open === 1) return nodes("aloud.only", places);
  return nodes(looks[key] - 1 / open < UNIFORM_MARGIN ? "aloud.evenly" : "aloud.mostly", places);
}

/** What a cell that is pointed at says, beside it: an element to put into the frame that `picture` stands in. */
export function cellTips(picture, signal) {
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  picture.addEventListener("pointerover", ({ target }) => {
    const text = pointedCells.has(target) ? describeCell(pointedCells.get(target)) : target.dataset?.look;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const [cell, frame] = [target.getBoundingClientRect(), tip.parentElement.getBoundingClientRect()];
    const left = cell.left - frame.left + cell.width / 2;
    tip.style.left = `${Math.max(tip.offsetWidth / 2, Math.min(left, frame.width - tip.offsetWidth / 2))}px`;
    tip.style.top = `${cell.top - frame.top}px`;
  });
  // A finger leaves as soon as it lifts; what it touched is read until the next touch.
  picture.addEventListener("pointerleave", ({ pointerType }) => pointerType === "touch" || (tip.hidden = true));
  document.addEventListener("pointerdown", ({ target }) => picture.contains(target) || (tip.hidden = true), { signal });
  return tip;
}

/** A run's maps minus another's, as a run that `heatmap` draws; on the rows and columns that both have. */
export function mapDifference(run, whole) {
  const attention = Object.fromEntries(
    Object.entries(whole.attention).map(([kind, before]) => {
      const after = run.attention[kind];
      const both = (axis) =>
        before[axis]
          .slice(0, after[axis].length)
          .map((token, i) => (token === after[axis][i] ? token : `${token}→${after[axis][i]}`));
      const [queries, keys] = [both("queries"), both("keys")];
      const allowed = queries.map((_, query) =>
        keys.map((_, key) => before.allowed[query][key] || after.allowed[query][key]),
      );
      const values = [];
      for (let layer = 0; layer < before.layers; layer++)
        for (let head = 0; head < before.heads; head++)
          queries.forEach((_, query) =>
            keys.forEach((_, key) =>
              values.push(
                attentionWeight(kind, layer, head, query, key, run) -
                  attentionWeight(kind, layer, head, query, key, whole),
              ),
            ),
          );
      return [kind, { ...before, queries, keys, allowed, values, difference: true }];
    }),
  );
  return { ...whole, attention, reference: null };
}

/** A map without words, small. */
export function thumbnail(kind, layer, head, run = state.run) {
  const { queries, keys } = run.attention[kind];
  const picture = svg("svg", { viewBox: `0 0 ${keys.length * 8} ${queries.length * 8}`, "aria-hidden": "true" });
  const corner = queries.length * keys.length > ROUND_UP_TO ? 0 : 1;
  picture.append(...tiles(run, kind, layer, head, ({ query, key }) => tile([key * 8, query * 8], [7.4, 7.4], corner)));
  forEachCell(run, kind, layer, head, (at) => {
    if (at.stands)
      picture.append(
        svg("circle", { cx: at.key * 8 + 3.7, cy: at.query * 8 + 3.7, r: 1.6, class: `gold ${at.stands}` }),
      );
  });
  return picture;
}

/** Cells as paths, one a colour: the longest sentence then takes a hundred elements a head, not thousands. `outline` is called
 *  for the path of a cell. */
function tiles(run, kind, layer, head, outline) {
  const paths = new Map(); // class -> path
  forEachCell(run, kind, layer, head, (at) => {
    const name = at.open ? hue(at.value, at.difference) : "masked";
    const d = outline(at);
    if (d) paths.set(name, (paths.get(name) ?? "") + d);
  });
  return [...paths].map(([name, d]) => svg("path", { d, class: name }));
}

/** A rectangle with round corners, as a path. */
function tile([x, y], [width, height], r) {
  const [across, down] = [width - 2 * r, height - 2 * r];
  if (!r) return `M${x} ${y}h${across}v${down}h${-across}z`;
  const turn = (dx, dy) => `a${r} ${r} 0 0 1 ${dx * r} ${dy * r}`;
  return `M${x + r} ${y}h${across}${turn(1, 1)}v${down}${turn(-1, 1)}h${-across}${turn(-1, -1)}v${-down}${turn(1, -1)}z`;
}

/** Masked cells are hatched, so that none is taken for a zero; the page has this once. */
export const hatching = () =>
  svg(
    "svg",
    { class: "visually-hidden", "aria-hidden": "true" },
    svg(
      "pattern",
      { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 6, height: 6, class: "hatch-ground" }),
      svg("line", { y2: 6, class: "hatch-line" }),
    ),
  );
