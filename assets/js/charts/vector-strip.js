// Vectors as rows of coloured cells: indigo above 0, red below, the surface colour at 0. A cell can be chosen.

import { h, isSpecial, svg, textWidth, typeScale } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { contrastClass } from "./attention-map.js";
import { fixed } from "../core/numbers.js";

const ROW = 26; // px a row
const NUMBERS_FROM = 42; // px a cell, so that a number with two digits fits
const DIGIT = 8; // px more for each further digit
const MAX_CELL = 64;
const MIN_CELL = 3;

/** The scale: from one hue over the surface to the other. `largest` is the strongest colour. */
const strength = (value, largest) => (largest ? 96 * Math.min(1, Math.abs(value) / largest) : 0); // % of the hue
const colour = (value, largest) =>
  `fill: color-mix(in oklab, var(--${value < 0 ? "negative" : "accent"}) ${strength(value, largest).toFixed(1)}%, var(--surface))`;

/** What a picture of rows is called, and between what its numbers are. */
function describeStrips(label, rows) {
  const range = ({ label: name, values }) => {
    const places = { count: values.length, least: fixed(Math.min(...values), 2), most: fixed(Math.max(...values), 2) };
    return [name, t("strips.range", places)].filter(Boolean).join(": ");
  };
  return [label, ...rows.map(range)].filter(Boolean).join(" · ");
}

/**
 * `rows`: [{label, side, values, name, digits}]; all have one length and one scale, and 2 digits unless they say
 * otherwise (null: no numbers). `labels`: make room for these as well. `choose(name, index)` is called on a
 * cell that was clicked or that the arrow keys moved to. `mark` outlines the cells [from, to) of every row.
 */
export function vectorStrips(rows, { width, choose, label, largest, mark, fold = Infinity, labels = [] }) {
  const size = 13 * typeScale();
  const left = Math.max(
    0,
    ...[...labels, ...rows.map((row) => row.label ?? "")].filter(Boolean).map((text) => textWidth(text, size) + 24),
  );
  const across = Math.min(fold, rows[0].values.length);
  const cell = Math.max(MIN_CELL, Math.min(MAX_CELL * typeScale(), (width - left - 4) / across));
  const lines = Math.ceil(rows[0].values.length / across);
  const pitch = ROW * typeScale();
  const most = largest ?? Math.max(...rows.flatMap((row) => Array.from(row.values, Math.abs)));
  const [w, height] = [left + across * cell + 4, rows.length * lines * pitch + 2];
  const picture = svg("svg", {
    viewBox: `0 0 ${w} ${height}`,
    width: w,
    height,
    class: "strips",
    role: "group",
    tabindex: choose ? 0 : null,
    "aria-label": describeStrips(label, rows),
  });
  const fits = ({ digits = 2 }) => digits !== null && cell >= (NUMBERS_FROM + DIGIT * (digits - 2)) * typeScale();
  const numbered = rows.every(fits);
  const gap = cell > 8 ? 1.5 : 0;
  rows.forEach((row, r) => {
    const y = r * lines * pitch + 1;
    if (row.label) {
      const side = row.side ?? "plain";
      const text = svg(
        "text",
        { x: left - 14, y: y + pitch / 2, "text-anchor": "end", class: `label ${side}`, style: `font-size: ${size}px` },
        row.label,
      );
      picture.append(text);
      if (row.side && isSpecial(row.label)) {
        const wide = textWidth(row.label, size) + 10;
        picture.append(
          svg("rect", {
            x: left - 9 - wide,
            y: y + 3,
            width: wide,
            height: pitch - 6,
            rx: 4,
            class: `outline ${side}`,
          }),
        );
      }
    }
    row.values.forEach((value, i) => {
      const at = { x: left + (i % across) * cell, y: y + Math.floor(i / across) * pitch };
      const box = { ...at, width: cell - gap, height: pitch - (lines > 1 ? gap : 3), rx: gap ? 3 : 0 };
      const data = { "data-name": row.name, "data-index": i, "data-value": value };
      picture.append(
        svg("rect", { ...box, ...data, class: "cell", style: colour(value, most) }, svg("title", {}, fixed(value, 3))),
      );
      if (!numbered) return;
      const middle = { x: at.x + (cell - gap) / 2, y: at.y + (pitch - 3) / 2 };
      picture.append(
        svg(
          "text",
          { ...middle, class: `value ${contrastClass(strength(value, most), value < 0)}` },
          fixed(value, row.digits ?? 2),
        ),
      );
    });
    if (mark) {
      const [from, to] = mark;
      const frame = { x: left + from * cell - 1, y: y - 1, width: (to - from) * cell, height: pitch - 1, rx: 4 };
      picture.append(svg("rect", { ...frame, class: "part" }));
    }
  });
  if (choose)
    selectable(
      picture,
      choose,
      rows.map((row) => row.name),
      across,
    );
  return picture;
}

/** Clicking a cell chooses it; in a focused picture the arrow keys do. */
function selectable(picture, choose, names, across) {
  picture.classList.add("choosable");
  const cells = [...picture.querySelectorAll(".cell")];
  const count = cells.length / names.length;
  const pick = (cell) => {
    for (const each of document.querySelectorAll(".cell.chosen")) each.classList.remove("chosen");
    cell.classList.add("chosen");
    choose(cell.dataset.name, Number(cell.dataset.index));
  };
  picture.addEventListener("click", ({ target }) => target.matches(".cell") && pick(target));
  picture.addEventListener("keydown", (event) => {
    const now = cells.findIndex((cell) => cell.matches(".chosen"));
    const down = count > across ? across : count;
    const to = {
      ArrowLeft: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now - down,
      ArrowDown: now + down,
      Enter: now,
      Home: now - (now % count),
      End: now - (now % count) + count - 1,
    }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (now < 0) pick(cells[0]);
    else if (cells[to]) pick(cells[to]);
  });
}

/** A picture that grows with its place: `draw(width)` is called again when there is another width. */
export function fluidPicture(draw, signal) {
  const place = h("div", { class: "fluid" });
  let drawn = 0;
  const sized = new ResizeObserver(([{ contentRect }]) => {
    if (!contentRect.width || Math.abs(contentRect.width - drawn) < 1) return;
    drawn = contentRect.width;
    place.replaceChildren(draw(drawn));
  });
  sized.observe(place);
  signal?.addEventListener("abort", () => sized.disconnect());
  return place;
}
