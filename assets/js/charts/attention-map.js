// One head's attention map as pictures. A weight of 0 has the lightest colour of the scale; a masked cell has none.

import { h, isSpecial, svg, textWidth, typeScale, word } from "../core/dom.js";
import { formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";
import { columnHeading, rowHeading, table } from "../core/parts.js";
import { argmax, attentionRow, goldLink, SIDES, state, UNIFORM_MARGIN } from "../core/state.js";
import { strength } from "./map-canvas.js";

/** @import { DrawnRun, Kind, Side } from "../core/types.d.ts" */

/**
 * A cell of a map: whose tokens it joins, whether the mask is open there, and how the gold alignment links them.
 * @typedef {{ query: number, key: number, from: string, to: string, open: boolean, gold: "sure" | "possible" | null,
 *   difference: number | undefined, value: number }} Cell
 */

const GAP = 2;
const MAX_CELL = [120, 56]; // px a cell, across and down
const MIN_CELL = 14;
export const MIN_TAP = 26; // px of a cell and its gap that a finger hits
const VALUES_FROM = 28; // px a cell, so that a number fits
const ROUND_UP_TO = 400; // cells of a thumbnail: of more, nobody would see that their corners are round
const NARROW = 480; // px a map: in less, what a row predicts stands below what it reads
const TALL = 320; // px of rows: of more, the words of the columns stand above them as well
const MIN_CHANGE = 0.05; // of a weight, that has the strongest colour where all changes of a map are smaller
const ARROW = " → "; // between what a row reads and what it predicts
const PITCH = 56; // px between the words of Lines: as far as the rows of a heatmap

/** @param {number} value @param {number} [difference] */
const hue = (value, difference) => `${value < 0 ? "less" : "more"}-${Math.round(strength(value, difference))}`;

/** @type {CSSStyleSheet | null} */
let scale = null;

/**
 * What maps are painted with, once a page: their colours, and the pattern of masked cells, so that none is taken for a
 * zero. A class a per cent: cells share what the browser computes of a class, where styles of their own share nothing.
 */
export function mapPaint() {
  if (!scale) {
    scale = new CSSStyleSheet();
    const mixed = (/** @type {string} */ name, /** @type {string} */ hue) =>
      Array.from(
        { length: 101 },
        (_, i) => `.${name}-${i} { fill: color-mix(in oklab, var(--${hue}) ${i}%, var(--surface)); }`,
      );
    scale.replaceSync([...mixed("more", "accent"), ...mixed("less", "negative")].join(""));
    document.adoptedStyleSheets.push(scale);
  }
  return svg(
    "svg",
    { class: "visually-hidden", "aria-hidden": "true" },
    svg(
      "pattern",
      { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 6, height: 6, class: "hatch-ground" }),
      svg("line", { y2: 6, class: "hatch-line" }),
    ),
  );
}

/**
 * The text colour with a contrast of at least 4.5 : 1 on this share of a hue: black on faint and half in the light
 * theme, on half and full in the dark one.
 * @param {number} share @param {boolean} negative
 */
export function contrastClass(share, negative) {
  const [half, full] = negative ? [72.5, 84] : [61, 78.2];
  return share > full ? "full" : share > half ? "half" : "faint";
}

/** A weight, or by how much one has changed. @param {number} value @param {number} [difference] */
const formatWeight = (value, difference) => (difference && value > 0.005 ? "+" : "") + fixed(value, 2);

/**
 * Visit every cell of a head's map, row by row.
 * @param {DrawnRun} run @param {Kind} kind @param {number} layer @param {number} head @param {(cell: Cell) => void} visit
 */
function forEachCell(run, kind, layer, head, visit) {
  const { heads, queries, keys, values, allowed, difference } = run.attention[kind];
  const map = layer * heads + head;
  const largest = difference?.[map];
  let i = map * queries.length * keys.length;
  queries.forEach((from, query) => {
    keys.forEach((to, key) => {
      const gold = state.gold && kind === "cross" ? goldLink(query, key, run) : null;
      visit({ query, key, from, to, open: allowed[query][key], gold, difference: largest, value: values[i++] });
    });
  });
}

/** @param {Cell} cell */
const describeCell = ({ from, to, open, value, difference }) =>
  `${from} → ${to}: ${open ? formatWeight(value, difference) : t("masked")}`;

/**
 * A token on an axis, in its side's colour; `anchor` is where x lies. Special tokens are outlined.
 * @param {string} token @param {Side} side
 * @param {{ x: number, y: number, anchor: "start" | "middle" | "end", size: number }} place
 */
function label(token, side, { x, y, anchor, size }, attributes = {}) {
  const style = `font-size: ${size}px`;
  const text = svg("text", { x, y, "text-anchor": anchor, class: `label ${side}`, style }, token);
  if (!isSpecial(token)) return svg("g", attributes, text);
  const width = textWidth(token, size) + 10;
  const left = { start: x - 5, middle: x - width / 2, end: x - width + 5 }[anchor];
  const box = { x: left, y: y - size * 0.8, width, height: size * 1.5, rx: 4 };
  return svg("g", attributes, svg("rect", { ...box, class: `outline ${side}` }), text);
}

/**
 * What paints another head's weights into a heatmap.
 * @type {WeakMap<SVGElement, (layer: number, head: number) => void>}
 */
const painters = new WeakMap();

/** Which cell an element shows, put in words once somebody points at it. @type {WeakMap<EventTarget, Cell>} */
const pointedCells = new WeakMap();

/** The widest of these labels, px. @param {string[]} tokens @param {number} size */
const widest = (tokens, size) => Math.max(...tokens.map((token) => textWidth(token, size)));

/**
 * What each row of a map outputs: a row of the decoder reads one word and predicts the next. The encoder's predict
 * nothing, nor does a difference of two runs whose outputs differ there.
 * @param {Kind} kind @param {DrawnRun} run @returns {(string | undefined)[]}
 */
const predictions = (kind, { attention, output }) =>
  attention[kind].queries.map((_, i) => (kind === "encoder" ? undefined : output[i]));

/**
 * The lines of rows' labels: what each row reads and, where it is known, what it predicts.
 * @param {string[]} queries @param {(string | undefined)[]} predicted @param {boolean} isNarrow in two lines
 */
const labelTexts = (queries, predicted, isNarrow) =>
  queries.flatMap((read, i) => {
    const said = predicted[i];
    if (!said) return [read];
    return isNarrow ? [read, ARROW.trimStart() + said] : [read + ARROW + said];
  });

/**
 * How large a heatmap's parts are in a place `width` px wide. A row's label stands in two lines where one would leave
 * the cells no room.
 * @param {string[]} queries @param {(string | undefined)[]} predicted @param {string[]} keys @param {number} width
 * @param {{ maxCell?: number, maxHeight?: number }} limits see `heatmap`
 */
function heatmapLayout(queries, predicted, keys, width, { maxCell, maxHeight = Infinity }) {
  const type = typeScale();
  const [across, most] = maxCell ? [maxCell, maxCell] : MAX_CELL;
  const isNarrow = width < NARROW * type;
  const names = labelTexts(queries, predicted, isNarrow);
  const measured = (maxCell ? [12, 11] : [15, 13]).map((points) => {
    const size = points * type;
    const left = widest(names, size) + 20;
    const least = !maxCell && width < NARROW ? MIN_TAP : MIN_CELL; // on a phone a finger hits it
    const cell = Math.max(least, Math.min(across * type, Math.floor((width - left - 4) / keys.length)));
    return { size, left, cell, fits: widest(keys, size) <= cell + 2 };
  });
  const { size, left, cell, fits } = measured.find((each) => each.fits) ?? measured[1];
  const slant = fits ? 0 : widest(keys, size); // px of a label that is turned, because it is wider than its cell
  const foot = slant ? slant * 0.82 + (maxCell ? 22 : 28) : 36;
  const room = Math.max(MIN_CELL * type, (maxHeight - 2 * foot) / queries.length);
  const down = Math.max(Math.min(most * type, cell, room), isNarrow && predicted[0] ? 2.3 * size : 0);
  const isTall = queries.length * down > TALL * type;
  return {
    size,
    left,
    cell,
    down,
    slant,
    isNarrow,
    isTall,
    isWritten: cell >= VALUES_FROM * type,
    digitSize: (share = 0.37) => Math.min(13 * type, cell * share),
    width: left + keys.length * cell + 4 + (slant && isTall ? slant * 0.6 : 0), // the last label above leans out
    top: isTall ? foot - 6 : 4,
    height: queries.length * down + foot,
  };
}

/**
 * A head's map as coloured cells, of the run at the top or of another one.
 * @param {Kind} kind @param {number} layer @param {number} head
 * @param {{ width: number, sides: [Side, Side], run?: DrawnRun, maxCell?: number, maxHeight?: number }} options
 *   `maxCell`: px of the cells of a small one; `maxHeight`: px of the whole, unless its rows would be too low to read
 */
export function heatmap(kind, layer, head, { width, sides, run = state.run, ...limits }) {
  const { queries, keys, difference } = run.attention[kind];
  const predicted = predictions(kind, run);
  const layout = heatmapLayout(queries, predicted, keys, width, limits);
  const { left, cell, down, isWritten } = layout;
  const boxOf = (/** @type {Cell} */ { query, key }) => ({
    ...{ x: left + key * cell, y: query * down + 1, width: cell - GAP, height: down - GAP },
    rx: Math.min(4, down / 5),
  });
  const picture = svg("svg", {
    viewBox: `0 ${-layout.top} ${layout.width} ${layout.height + layout.top}`,
    width: layout.width,
    height: layout.height + layout.top,
    class: "heatmap",
    role: "img",
  });
  const colours = svg("g"); // of cells too small for a number, of which there may be thousands: see `tiles`
  picture.append(colours);
  const digits = `font-size: ${layout.digitSize(difference ? 0.29 : 0.37)}px`; // so that those of two cells do not touch
  /** @type {{ box: SVGRectElement, value: SVGTextElement | null }[]} */
  const cells = []; // in the order of `forEachCell`
  forEachCell(run, kind, layer, head, (each) => {
    const place = boxOf(each);
    const box = cellBox(each, place);
    picture.append(box, ...goldRings(each, place));
    const middle = { x: place.x + place.width / 2, y: place.y + place.height / 2, style: digits };
    const value = each.open && isWritten ? svg("text", middle) : null;
    if (value) picture.append(value);
    cells.push({ box, value });
  });
  painters.set(picture, (layer, head) => {
    let i = 0;
    if (!isWritten)
      colours.replaceChildren(...tiles(run, kind, layer, head, (each) => (each.open ? tile(boxOf(each)) : "")));
    forEachCell(run, kind, layer, head, (each) => paintCell(each, cells[i++]));
  });
  repaint(picture, layer, head);
  picture.append(...heatmapLabels({ queries, predicted, keys }, sides, layout));
  const frame = { x: left - 3, width: keys.length * cell + 4, height: down + 4, rx: 7 };
  picture.append(svg("rect", { ...frame, class: "marked", "data-down": down }));
  return picture;
}

/** @typedef {{ x: number, y: number, width: number, height: number, rx: number }} Box */

/** @param {Cell} cell @param {Box} box */
const cellBox = (cell, box) =>
  svg("rect", {
    ...box,
    "data-query": cell.query,
    "data-key": cell.key,
    "data-look": cell.open ? null : describeCell(cell),
    ...(cell.open ? { fill: "transparent" } : { class: "masked" }),
  });

/**
 * A ring around a gold link, so that it shows on a dark cell and on a light one.
 * @param {Cell} cell @param {Box} box
 */
function goldRings({ query, key, gold }, { x, y, width, height, rx }) {
  if (!gold) return [];
  const ring = { x: x + 2, y: y + 2, width: width - 4, height: height - 4, rx };
  return [
    svg("rect", { ...ring, class: "gold ground" }),
    svg("rect", { ...ring, class: `gold ${gold}`, "data-gold": `${query} ${key}` }),
  ];
}

/** @param {Cell} cell @param {{ box: SVGRectElement, value: SVGTextElement | null }} parts */
function paintCell(cell, { box, value }) {
  if (!cell.open) return;
  box.setAttribute("data-weight", String(cell.value));
  pointedCells.set(box, cell);
  if (!value) return;
  box.setAttribute("class", hue(cell.value, cell.difference));
  value.setAttribute("class", `value ${contrastClass(strength(cell.value, cell.difference), cell.value < 0)}`);
  value.textContent = formatWeight(cell.value, cell.difference);
}

/**
 * The words of the rows, and those of the columns below them; of a tall map above them as well.
 * @param {{ queries: string[], predicted: (string | undefined)[], keys: string[] }} words
 * @param {[Side, Side]} sides @param {ReturnType<typeof heatmapLayout>} layout
 */
function heatmapLabels({ queries, predicted, keys }, sides, { left, cell, down, size, slant, isNarrow, isTall }) {
  const rows = queries.map((read, i) => {
    const place = { x: left - 12, y: (i + 0.5) * down, anchor: /** @type {const} */ ("end"), size };
    return rowLabel(read, predicted[i], sides[0], place, isNarrow, { "data-query": i });
  });
  const column = (/** @type {string} */ token, /** @type {number} */ i, isAbove = false) => {
    const [x, y] = [left + i * cell + (cell - GAP) / 2, isAbove ? -16 : queries.length * down + 18];
    const turn = slant ? { transform: `rotate(-55 ${x} ${y})` } : {};
    const end = isAbove ? /** @type {const} */ ("start") : /** @type {const} */ ("end");
    const anchor = slant ? end : /** @type {const} */ ("middle");
    return label(token, sides[1], { x, y, anchor, size }, { ...turn, class: isAbove ? "above" : null });
  };
  const above = isTall ? keys.map((token, i) => column(token, i, true)) : [];
  return [...rows, ...above, ...keys.map((token, i) => column(token, i))];
}

/**
 * The words of a row, that end at x: what it reads and, where it is known, what it predicts.
 * @param {string} read @param {string | undefined} said @param {Side} side
 * @param {{ x: number, y: number, anchor: "end", size: number }} place @param {boolean} isNarrow in two lines
 */
function rowLabel(read, said, side, place, isNarrow, attributes = {}) {
  if (!said) return label(read, side, place, attributes);
  const { x, y, size } = place;
  const arrow = isNarrow ? ARROW.trimStart() : ARROW;
  const text = { "text-anchor": "end", style: `font-size: ${size}px` };
  const second = svg(
    "text",
    { x, y: isNarrow ? y + 0.6 * size : y, class: `label ${side} said`, ...text },
    arrow + said,
  );
  const first = isNarrow
    ? { ...place, y: y - 0.6 * size }
    : { ...place, x: x - textWidth(arrow + said, size) - (isSpecial(read) ? 5 : 0) };
  const group = label(read, side, first, attributes);
  group.append(second);
  return group;
}

/**
 * Another head of the same kind and run in a heatmap that is there: only what its cells say changes.
 * @param {SVGElement} picture @param {number} layer @param {number} head
 */
export const repaint = (picture, layer, head) => painters.get(picture)?.(layer, head);

/**
 * A head's map as lines from queries to keys, as wide as their weights.
 * @param {Kind} kind @param {number} layer @param {number} head @param {{ width: number, sides: [Side, Side] }} options
 */
export function lineDrawing(kind, layer, head, { width, sides }) {
  const { queries, keys } = state.run.attention[kind];
  const predicted = predictions(kind, state.run);
  const size = 15 * typeScale();
  const isNarrow = width < NARROW * typeScale();
  const names = labelTexts(queries, predicted, isNarrow);
  const [left, right] = [widest(names, size) + 24, widest(keys, size) + 24];
  const pitch = PITCH * typeScale();
  const height = Math.max(queries.length, keys.length) * pitch;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "lines", role: "group" });
  const y = (/** @type {number} */ i) => (i + 0.5) * pitch;
  /** @type {{ query: string[][], key: string[][] }} */
  const described = { query: queries.map(() => []), key: keys.map(() => []) };
  forEachCell(state.run, kind, layer, head, (cell) => {
    if (!cell.open) return;
    const { query, key, value, gold } = cell;
    described.query[query].push(describeCell(cell));
    described.key[key].push(describeCell(cell));
    const middle = (left + width - right) / 2;
    const d = `M${left} ${y(query)} C${middle} ${y(query)} ${middle} ${y(key)} ${width - right} ${y(key)}`;
    const style = `stroke-width: ${1 + 6 * value}; stroke-opacity: ${0.06 + 0.94 * value}`;
    const ends = { "data-query": query, "data-key": key };
    picture.append(svg("path", { d, style, ...ends, "data-weight": value, "data-look": describeCell(cell) }));
    if (gold) picture.append(svg("path", { d, class: `gold ${gold}`, ...ends, "data-gold": `${query} ${key}` }));
  });
  for (const axis of /** @type {const} */ (["query", "key"]))
    (axis === "query" ? queries : keys).forEach((token, i) => {
      const read = described[axis][i].join(", ") || `${token}: ${t("masked")}`;
      const attributes = { tabindex: 0, role: "img", "aria-label": read, [`data-${axis}`]: i };
      const x = axis === "query" ? left - 14 : width - right + 14;
      const place = { x, y: y(i), size };
      const text =
        axis === "query"
          ? rowLabel(token, predicted[i], sides[0], { ...place, anchor: "end" }, isNarrow, attributes)
          : label(token, sides[1], { ...place, anchor: "start" }, attributes);
      isolateOnPointing(picture, text, `[data-${axis}="${i}"]`);
      picture.append(text);
    });
  return picture;
}

/**
 * Show only the lines of a word while it is pointed at or has the focus.
 * @param {SVGElement} picture @param {SVGElement} text @param {string} lines
 */
function isolateOnPointing(picture, text, lines) {
  const keep = (/** @type {string | null} */ wanted) => {
    picture.classList.toggle("isolated", wanted !== null);
    for (const path of picture.querySelectorAll("path"))
      path.classList.toggle("kept", wanted !== null && path.matches(wanted));
  };
  const focused = () => {
    const { query, key } = /** @type {SVGElement | null} */ (picture.querySelector("g:focus"))?.dataset ?? {};
    if (query) return `[data-query="${query}"]`;
    return key ? `[data-key="${key}"]` : null;
  };
  for (const enter of ["pointerenter", "focus"]) text.addEventListener(enter, () => keep(lines));
  text.addEventListener("blur", () => keep(null));
  text.addEventListener("pointerleave", () => keep(focused()));
}

/**
 * A head's map as a table.
 * @param {Kind} kind @param {number} layer @param {number} head @param {{ sides: [Side, Side] }} options
 */
export function weightTable(kind, layer, head, { sides }) {
  const { queries, keys } = state.run.attention[kind];
  const predicted = predictions(kind, state.run);
  const rows = queries.map((token, i) => {
    const said = predicted[i];
    return h("tr", {}, rowHeading([word(token, sides[0]), said ? [ARROW, word(said, sides[0])] : null]));
  });
  forEachCell(state.run, kind, layer, head, ({ query, key, open, value, gold }) => {
    const linked = gold ? { class: `gold ${gold}`, "data-gold": `${query} ${key}` } : {};
    rows[query].append(
      open ? h("td", { "data-weight": value, ...linked }, value.toFixed(3)) : h("td", { class: "masked" }, t("masked")),
    );
  });
  return table({}, [h("td"), ...keys.map((token) => columnHeading(word(token, sides[1])))], rows);
}

/**
 * Mark a row of a picture, or none (null), without drawing it again.
 * @param {Element} picture @param {number | null} query
 */
export function markRow(picture, query) {
  const frame = /** @type {SVGElement | null} */ (picture.querySelector("rect.marked"));
  if (frame) {
    frame.setAttribute("visibility", query === null ? "hidden" : "visible");
    frame.setAttribute("y", String((query ?? 0) * Number(frame.dataset.down) - 2));
  }
  [...picture.querySelectorAll("g[data-query]")].forEach((each, i) => {
    each.classList.toggle("now", i === query);
  });
  [...picture.querySelectorAll("tbody tr")].forEach((each, i) => {
    each.classList.toggle("marked", i === query);
  });
}

/**
 * Whether some query of a kind can attend to nothing: every cell of its row was closed by hand.
 * @param {DrawnRun} run @param {Kind} kind
 */
export const hasFullyMaskedRow = (run, kind) => run.attention[kind].allowed.some((row) => !row.includes(true));

/**
 * Whether padding is masked for every query: so it is until somebody changes a mask.
 * @param {DrawnRun} run @param {Kind} kind
 */
export function paddingMasked(run, kind) {
  const { keys, allowed } = run.attention[kind];
  return !keys.some((token, key) => token === "P" && allowed.some((row) => row[key]));
}

/**
 * The heading of a large map: which head it is, and what its rows and columns are.
 * @param {Kind} kind @param {number} layer @param {number} head
 */
export function mapHeading(kind, layer, head, key = "attention.axes") {
  const axis = (/** @type {0 | 1} */ i, /** @type {string} */ arrow) =>
    word(`${t(`side.${SIDES[kind][i]}`)} ${arrow}`, SIDES[kind][i]);
  return nodes(key, { head: head + 1, layer: layer + 1, from: axis(0, "↓"), at: axis(1, "→") });
}

/**
 * The largest weight of every row of a head, in words.
 * @param {Kind} kind @param {number} layer @param {number} head @param {DrawnRun} run
 */
export function describeLargestWeights(kind, layer, head, run = state.run) {
  const { queries, keys } = run.attention[kind];
  const largest = queries.map((from, query) => {
    const values = attentionRow(kind, layer, head, query, run);
    const key = argmax(values);
    return `${from} → ${keys[key]} ${formatPercent(values[key])}`;
  });
  return t("mistakes.map", { looks: largest.join(", ") });
}

/**
 * One row of a head in words.
 * @param {Kind} kind @param {number} layer @param {number} head @param {number} query
 * @param {string | null} output the word that the model outputs there, if it does
 * @param {DrawnRun} run
 */
export function describeRow(kind, layer, head, query, output, run = state.run) {
  const { queries, keys, allowed } = run.attention[kind];
  const [from, at] = SIDES[kind];
  const weights = attentionRow(kind, layer, head, query, run);
  const key = argmax(weights);
  const open = allowed[query].filter(Boolean).length;
  const places = {
    head: head + 1,
    layer: layer + 1,
    count: open,
    word: word(keys[key], at),
    share: formatPercent(weights[key]),
    equal: formatPercent(1 / open),
  };
  const reading = nodes(output ? "aloud.reading_and_saying" : "aloud.reading", {
    word: word(queries[query], from),
    said: output && word(output, "target"),
  });
  const uniform = weights[key] - 1 / open < UNIFORM_MARGIN;
  const attends = open === 0 ? "nothing" : open === 1 ? "only" : uniform ? "evenly" : "mostly";
  return joinSentences(reading, nodes(`aloud.${attends}`, places));
}

/**
 * What a cell that is pointed at says, beside it: an element to put into the frame that `picture` stands in.
 * @param {Element} picture @param {AbortSignal} signal
 */
export function cellTips(picture, signal) {
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const hide = () => {
    tip.hidden = true;
  };
  picture.addEventListener("pointerover", ({ target }) => {
    if (!(target instanceof SVGElement)) return hide();
    const cell = pointedCells.get(target);
    const text = cell ? describeCell(cell) : target.dataset.look;
    tip.hidden = !text;
    if (!text || !tip.parentElement) return;
    tip.textContent = text;
    const [box, frame] = [target.getBoundingClientRect(), tip.parentElement.getBoundingClientRect()];
    const left = box.left - frame.left + box.width / 2;
    tip.style.left = `${Math.max(tip.offsetWidth / 2, Math.min(left, frame.width - tip.offsetWidth / 2))}px`;
    tip.style.top = `${box.top - frame.top}px`;
  });
  // A finger leaves as soon as it lifts; what it touched is read until the next touch.
  picture.addEventListener("pointerleave", (event) => {
    if (/** @type {PointerEvent} */ (event).pointerType !== "touch") hide();
  });
  document.addEventListener(
    "pointerdown",
    ({ target }) => {
      if (!picture.contains(/** @type {Node} */ (target))) hide();
    },
    { signal },
  );
  return tip;
}

/**
 * A run's maps minus its baseline's, as a run that `heatmap` draws; on the rows and columns that both have.
 * @param {DrawnRun} run @param {DrawnRun} baseline
 * @returns {DrawnRun}
 */
export function mapDifference(run, baseline) {
  const kinds = /** @type {Kind[]} */ (Object.keys(baseline.attention));
  const maps = kinds.map((kind) => [kind, mapsDifference(kind, run, baseline)]);
  const output = baseline.output.map((token, i) => (token === run.output[i] ? token : ""));
  return { ...baseline, attention: Object.fromEntries(maps), reference: null, output };
}

/** @param {Kind} kind @param {DrawnRun} run @param {DrawnRun} baseline */
function mapsDifference(kind, run, baseline) {
  const [before, after] = [baseline.attention[kind], run.attention[kind]];
  const both = (/** @type {"queries" | "keys"} */ axis) =>
    before[axis]
      .slice(0, after[axis].length)
      .map((token, i) => (token === after[axis][i] ? token : `${token}→${after[axis][i]}`));
  const [queries, keys] = [both("queries"), both("keys")];
  const allowed = queries.map((_, query) =>
    keys.map((_, key) => before.allowed[query][key] || after.allowed[query][key]),
  );
  const heads = Array.from({ length: before.layers * before.heads }, (_, i) => i);
  const changes = heads.map((i) =>
    queries.flatMap((_, query) => {
      const row = (/** @type {DrawnRun} */ each) =>
        attentionRow(kind, Math.floor(i / before.heads), i % before.heads, query, each);
      const [old, now] = [row(baseline), row(run)];
      return keys.map((_, key) => now[key] - old[key]);
    }),
  );
  const difference = changes.map((each) => Math.max(MIN_CHANGE, ...each.map(Math.abs)));
  return { ...before, queries, keys, allowed, values: changes.flat(), difference };
}

/** A map without words, small. @param {Kind} kind @param {number} layer @param {number} head @param {DrawnRun} run */
export function thumbnail(kind, layer, head, run = state.run) {
  const { queries, keys } = run.attention[kind];
  const picture = svg("svg", { viewBox: `0 0 ${keys.length * 8} ${queries.length * 8}`, "aria-hidden": "true" });
  const size = { width: 7.4, height: 7.4, rx: queries.length * keys.length > ROUND_UP_TO ? 0 : 1 };
  picture.append(...tiles(run, kind, layer, head, ({ query, key }) => tile({ x: key * 8, y: query * 8, ...size })));
  forEachCell(run, kind, layer, head, ({ query, key, gold }) => {
    if (gold) picture.append(svg("circle", { cx: key * 8 + 3.7, cy: query * 8 + 3.7, r: 1.6, class: `gold ${gold}` }));
  });
  return picture;
}

/**
 * Cells as paths, one a colour: the longest sentence then takes a hundred elements a head, not thousands.
 * @param {DrawnRun} run @param {Kind} kind @param {number} layer @param {number} head
 * @param {(cell: Cell) => string} outline the path of a cell
 */
function tiles(run, kind, layer, head, outline) {
  /** @type {Map<string, string>} */
  const paths = new Map(); // class -> path
  forEachCell(run, kind, layer, head, (cell) => {
    const name = cell.open ? hue(cell.value, cell.difference) : "masked";
    const d = outline(cell);
    if (d) paths.set(name, (paths.get(name) ?? "") + d);
  });
  return [...paths].map(([name, d]) => svg("path", { d, class: name }));
}

/** A rectangle with round corners, as a path. @param {Box} box */
function tile({ x, y, width, height, rx: r }) {
  const [across, down] = [width - 2 * r, height - 2 * r];
  if (!r) return `M${x} ${y}h${across}v${down}h${-across}z`;
  const turn = (/** @type {number} */ dx, /** @type {number} */ dy) => `a${r} ${r} 0 0 1 ${dx * r} ${dy * r}`;
  return `M${x + r} ${y}h${across}${turn(1, 1)}v${down}${turn(-1, 1)}h${-across}${turn(-1, -1)}v${-down}${turn(1, -1)}z`;
}
