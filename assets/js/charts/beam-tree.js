// The tree of a beam search: a column a step, a node a word, a line as thick as its word is probable.

import { isSpecial, svg, textWidth, typeScale } from "../core/dom.js";
import { formatPercent, t } from "../core/i18n.js";

/**
 * A word that was considered; `parent` is the number of the branch before it, null at the first step.
 * @typedef {{ parent: number | null, token: string, step: number, probability: number, fate: string }} Branch
 */

const ROW = 48; // px from one node to the next
const NODE = 26; // px high
const MIN_COLUMN = 48; // px, so that its small type fits
const [MIN_LINE, MAX_LINE] = [28, 72]; // px between two columns

/**
 * Numbers of the branches from the first one to the n-th.
 * @param {Pick<Branch, "parent">[]} branches @param {number | null} n @returns {number[]}
 */
export const branchPath = (branches, n) => (n === null ? [] : [...branchPath(branches, branches[n].parent), n]);

/**
 * Where every branch stands: its column is its step, its row beside its parent's as far as there is room. No lines
 * cross: children stand in their parents' order, the chosen path first.
 * @param {Pick<Branch, "parent">[]} branches @param {number} best
 */
export function treeLayout(branches, best) {
  const columns = treeColumns(branches, best);
  return { columns, ...treeRows(branches, columns) };
}

/** @param {Pick<Branch, "parent">[]} branches @param {number} best */
function treeColumns(branches, best) {
  const chosen = new Set(branchPath(branches, best));
  const below = (/** @type {number | null} */ parent) =>
    branches
      .flatMap((each, n) => (each.parent === parent ? [n] : []))
      .sort((a, b) => Number(chosen.has(b)) - Number(chosen.has(a)));
  const columns = [];
  for (let column = below(null); column.length; column = column.flatMap(below)) columns.push(column);
  return columns;
}

/** @param {Pick<Branch, "parent">[]} branches @param {number[][]} columns */
function treeRows(branches, columns) {
  const height = Math.max(...columns.map((column) => column.length));
  /** @type {number[]} */
  const row = [];
  for (const column of columns) {
    column.forEach((n, i) => {
      const { parent } = branches[n];
      row[n] = Math.max(parent === null ? i : row[parent], i ? row[column[i - 1]] + 1 : 0);
    });
    column.toReversed().forEach((n, i) => {
      row[n] = Math.min(row[n], i ? row[column[column.length - i]] - 1 : height - 1);
    });
  }
  return { row, height };
}

/**
 * A tree as a picture.
 * @param {{ branches: Branch[], best: number, left_out: number[] }} search the server's answer; `left_out` counts the
 *   candidates of each step that are not drawn
 * @param {number} width what there is room for, px
 * @param {(n: number | null) => void} read is called for the branch that is pointed at or has the focus
 */
export function beamTree(search, width, read) {
  const { branches, best } = search;
  const layout = pictureLayout(search, width);
  const { columns } = layout;
  const picture = svg("svg", {
    viewBox: `0 0 ${layout.width} ${layout.height}`,
    width: layout.width,
    height: layout.height,
    class: "tree",
    role: "group",
    "aria-label": t("decoding.tree.spoken", {
      title: t("decoding.tree"),
      count: branches.length,
      steps: columns.length,
    }),
  });
  const isOnBest = new Set(branchPath(branches, best));
  const nodes = branches.map((branch, n) => drawNode(branch, n, n === best, isOnBest.has(n), layout));
  picture.append(
    ...stepHeads(columns.length, layout),
    ...branches.map((branch, n) => drawLine(branch, n, isOnBest.has(n), branches, layout)),
    drawRoot(layout),
    ...nodes,
    ...leftOut(search.left_out, layout),
  );
  followPointer(picture, read);
  followKeys(picture, nodes, search, columns);
  return picture;
}

/** @param {{ branches: Branch[], best: number, left_out: number[] }} search @param {number} width */
function pictureLayout({ branches, best, left_out }, width) {
  const { columns, row, height } = treeLayout(branches, best);
  const scale = typeScale();
  const size = 14 * scale;
  const wide = (/** @type {string} */ token) => textWidth(token, size) + 18;
  const begin = wide("S");
  const widths = columns.map((column) => Math.max(MIN_COLUMN * scale, ...column.map((n) => wide(branches[n].token))));
  const room = (width - begin - widths.reduce((sum, each) => sum + each, 4)) / columns.length;
  const line = Math.max(MIN_LINE, Math.min(room, MAX_LINE)) * scale;
  const left = (/** @type {number} */ step) =>
    widths.slice(0, step).reduce((sum, each) => sum + each + line, begin + line);
  const [top, down] = [28 * scale, ROW * scale];
  const y = (/** @type {number} */ n) => top + (row[n] + 0.5) * down - 8 * scale; // a line of small type is below the node
  const foot = left_out.some(Boolean) ? 24 * scale : 4;
  return {
    columns,
    scale,
    size,
    wide,
    begin,
    line,
    left,
    down,
    y,
    start: y(branchPath(branches, best)[0]),
    width: left(columns.length) - line + 4,
    height: top + height * down + foot,
  };
}

/** @typedef {ReturnType<typeof pictureLayout>} Layout */

/**
 * Small type.
 * @param {number} x @param {number} y @param {string} text @param {Record<string, unknown>} attributes
 * @param {Layout} layout
 */
const small = (x, y, text, attributes, { scale }) =>
  svg("text", { x, y, style: `font-size: ${11 * scale}px`, ...attributes }, text);

/**
 * @param {number} x @param {number} y @param {string} token @param {Layout} layout
 * @param {Record<string, unknown>} attributes
 */
const box = (x, y, token, { scale, wide }, attributes = {}) =>
  svg("rect", { x, y: y - (NODE * scale) / 2, width: wide(token), height: NODE * scale, rx: 7, ...attributes });

/** @param {number} x @param {number} y @param {string} token @param {Layout} layout */
const name = (x, y, token, { size, wide }) =>
  svg(
    "text",
    { x: x + wide(token) / 2, y, "text-anchor": "middle", class: "label target", style: `font-size: ${size}px` },
    token,
  );

/** @param {Layout} layout */
const drawRoot = (layout) =>
  svg(
    "g",
    { class: "root" },
    box(1, layout.start, "S", layout, { class: "outline target" }),
    name(1, layout.start, "S", layout),
  );

/**
 * The line that leads to a branch.
 * @param {Branch} branch @param {number} n @param {boolean} isBest @param {Branch[]} branches @param {Layout} layout
 */
function drawLine({ parent, step, probability, fate }, n, isBest, branches, { begin, start, left, wide, y, line }) {
  const from = parent === null ? [begin + 1, start] : [left(step - 1) + wide(branches[parent].token), y(parent)];
  const [to, middle] = [[left(step), y(n)], left(step) - line / 2];
  const d = `M${from.join(" ")} C${middle} ${from[1]} ${middle} ${to[1]} ${to.join(" ")}`;
  const style = `stroke-width: ${1 + (fate === "dropped" ? 1 : 5) * probability}`;
  return svg("path", { d, class: `${fate} ${isBest ? "best" : ""}`, "data-line": n, style });
}

/** @param {Branch} branch @param {number} n @param {boolean} isEnd @param {boolean} isBest @param {Layout} layout */
function drawNode({ token, step, probability, fate }, n, isEnd, isBest, layout) {
  const { scale, down, wide } = layout;
  const [x, y] = [layout.left(step), layout.y(n)];
  const share = formatPercent(probability);
  const attributes = {
    "data-branch": n,
    "data-probability": probability,
    "data-fate": fate,
    role: "img",
    "aria-label": t("decoding.node", { word: token, share, step: step + 1, fate: t(`decoding.fate.${fate}`) }),
    tabindex: isEnd ? 0 : -1,
    class: `node ${fate} ${isBest ? "best" : ""} ${isSpecial(token) ? "special" : ""}`,
  };
  const below = [x + wide(token) / 2, y + (NODE / 2 + 10) * scale];
  return svg(
    "g",
    attributes,
    svg("rect", { x, y: y - down / 2, width: wide(token), height: down, class: "hit" }),
    box(x, y, token, layout),
    name(x, y, token, layout),
    small(below[0], below[1], share, { "text-anchor": "middle", class: "share" }, layout),
  );
}

/** @param {number} steps @param {Layout} layout */
const stepHeads = (steps, layout) =>
  Array.from({ length: steps }, (_, step) =>
    small(layout.left(step), 10 * layout.scale, t("step_n", { step: step + 1 }), { class: "head" }, layout),
  );

/** How many candidates of a step are not drawn. @param {number[]} counts @param {Layout} layout */
const leftOut = (counts, layout) =>
  counts.flatMap((count, step) =>
    count
      ? small(
          layout.left(step),
          layout.height - 12 * layout.scale,
          t("decoding.more", { count }),
          { class: "head" },
          layout,
        )
      : [],
  );

/** @param {SVGSVGElement} picture @param {(n: number | null) => void} read */
function followPointer(picture, read) {
  const branch = (/** @type {Element | null} */ node) =>
    node instanceof SVGElement && node.dataset.branch ? Number(node.dataset.branch) : null;
  const focused = () => branch(picture.querySelector(".node:focus"));
  picture.addEventListener("pointerover", ({ target }) =>
    read(branch(/** @type {Element} */ (target).closest(".node")) ?? focused()),
  );
  picture.addEventListener("pointerleave", () => read(focused()));
  picture.addEventListener("focusin", () => read(focused()));
  picture.addEventListener("focusout", () => read(null));
}

/**
 * The arrow keys go from node to node.
 * @param {SVGSVGElement} picture @param {SVGGElement[]} nodes @param {{ branches: Branch[], best: number }} search
 * @param {number[][]} columns
 */
function followKeys(picture, nodes, { branches, best }, columns) {
  picture.addEventListener("keydown", (event) => {
    const n = nodes.findIndex((node) => node.matches(":focus"));
    if (n < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const column = columns[branches[n].step];
    const beside = (/** @type {number} */ by) => column[column.indexOf(n) + by] ?? n;
    /** @type {Record<string, number>} */
    const ways = {
      ArrowLeft: branches[n].parent ?? n,
      ArrowRight: columns[branches[n].step + 1]?.find((each) => branches[each].parent === n) ?? n,
      ArrowUp: beside(-1),
      ArrowDown: beside(1),
      Home: branchPath(branches, n)[0],
      End: best,
    };
    const to = ways[event.key];
    if (to === undefined) return;
    event.preventDefault();
    nodes.forEach((node, i) => {
      node.setAttribute("tabindex", i === to ? "0" : "-1");
    });
    nodes[to].focus();
  });
}

/**
 * Show the path to one branch before all others, or all alike (null).
 * @param {Element} picture @param {Branch[]} branches @param {number | null} n
 */
export function highlightPath(picture, branches, n) {
  const path = new Set(branchPath(branches, n));
  picture.classList.toggle("isolated", n !== null);
  for (const each of /** @type {NodeListOf<SVGElement>} */ (picture.querySelectorAll("[data-line], [data-branch]")))
    each.classList.toggle("lit", path.has(Number(each.dataset.line ?? each.dataset.branch)));
}
