// The tree of a beam search: a column a step, a node a word, a line as thick as its word is probable.

import { formatPercent, t } from "../../state/i18n.ts";
import { isSpecial, svg, textWidth, typeScale } from "../../ui/dom.ts";

/** A word that was considered; `parent` is the number of the branch before it, null at the first step. */
type Branch = { parent: number | null; token: string; step: number; probability: number; fate: string };

const ROW = 48; // px from one node to the next
const NODE = 26; // px high
const MIN_COLUMN = 48; // px, so that its small type fits
const [MIN_LINE, MAX_LINE] = [28, 72]; // px between two columns

/** Numbers of the branches from the first one to the n-th. */
export const branchPath = (branches: Pick<Branch, "parent">[], n: number | null): number[] =>
  n === null ? [] : [...branchPath(branches, branches[n].parent), n];

/**
 * Where every branch stands: its column is its step, its row beside its parent's as far as there is room. No lines
 * cross: children stand in their parents' order, the chosen path first.
 */
export function treeLayout(branches: Pick<Branch, "parent">[], best: number) {
  const columns = treeColumns(branches, best);
  return { columns, ...treeRows(branches, columns) };
}

function treeColumns(branches: Pick<Branch, "parent">[], best: number) {
  const chosen = new Set(branchPath(branches, best));
  const below = (parent: number | null) =>
    branches
      .flatMap((each, n) => (each.parent === parent ? [n] : []))
      .sort((a, b) => Number(chosen.has(b)) - Number(chosen.has(a)));
  const columns = [];
  for (let column = below(null); column.length; column = column.flatMap(below)) columns.push(column);
  return columns;
}

function treeRows(branches: Pick<Branch, "parent">[], columns: number[][]) {
  const height = Math.max(...columns.map((column) => column.length));
  const row: number[] = [];
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
 * @param search the server's answer; `left_out` counts the candidates of each step that are not drawn @param width what
 * there is room for, px @param read is called for the branch that is pointed at or has the focus
 */
export function beamTree(
  search: { branches: Branch[]; best: number; left_out: number[] },
  width: number,
  read: (n: number | null) => void,
) {
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

function pictureLayout(
  { branches, best, left_out }: { branches: Branch[]; best: number; left_out: number[] },
  width: number,
) {
  const { columns, row, height } = treeLayout(branches, best);
  const scale = typeScale();
  const size = 14 * scale;
  const wide = (token: string) => textWidth(token, size) + 18;
  const begin = wide("S");
  const widths = columns.map((column) => Math.max(MIN_COLUMN * scale, ...column.map((n) => wide(branches[n].token))));
  const room = (width - begin - widths.reduce((sum, each) => sum + each, 4)) / columns.length;
  const line = Math.max(MIN_LINE, Math.min(room, MAX_LINE)) * scale;
  const left = (step: number) => widths.slice(0, step).reduce((sum, each) => sum + each + line, begin + line);
  const [top, down] = [28 * scale, ROW * scale];
  const y = (n: number) => top + (row[n] + 0.5) * down - 8 * scale; // a line of small type is below the node
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

export type Layout = ReturnType<typeof pictureLayout>;

/** Small type. */
const small = (x: number, y: number, text: string, attributes: Record<string, unknown>, { scale }: Layout) =>
  svg("text", { x, y, style: `font-size: ${11 * scale}px`, ...attributes }, text);

const box = (x: number, y: number, token: string, { scale, wide }: Layout, attributes: Record<string, unknown> = {}) =>
  svg("rect", { x, y: y - (NODE * scale) / 2, width: wide(token), height: NODE * scale, rx: 7, ...attributes });

const name = (x: number, y: number, token: string, { size, wide }: Layout) =>
  svg(
    "text",
    { x: x + wide(token) / 2, y, "text-anchor": "middle", class: "label target", style: `font-size: ${size}px` },
    token,
  );

const drawRoot = (layout: Layout) =>
  svg(
    "g",
    { class: "root" },
    box(1, layout.start, "S", layout, { class: "outline target" }),
    name(1, layout.start, "S", layout),
  );

/** The line that leads to a branch. */
function drawLine(
  { parent, step, probability, fate }: Branch,
  n: number,
  isBest: boolean,
  branches: Branch[],
  { begin, start, left, wide, y, line }: Layout,
) {
  const from = parent === null ? [begin + 1, start] : [left(step - 1) + wide(branches[parent].token), y(parent)];
  const [to, middle] = [[left(step), y(n)], left(step) - line / 2];
  const d = `M${from.join(" ")} C${middle} ${from[1]} ${middle} ${to[1]} ${to.join(" ")}`;
  const style = `stroke-width: ${1 + (fate === "dropped" ? 1 : 5) * probability}`;
  return svg("path", { d, class: `${fate} ${isBest ? "best" : ""}`, "data-line": n, style });
}

function drawNode(
  { token, step, probability, fate }: Branch,
  n: number,
  isEnd: boolean,
  isBest: boolean,
  layout: Layout,
) {
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

const stepHeads = (steps: number, layout: Layout) =>
  Array.from({ length: steps }, (_, step) =>
    small(layout.left(step), 10 * layout.scale, t("step_n", { step: step + 1 }), { class: "head" }, layout),
  );

/** How many candidates of a step are not drawn. */
const leftOut = (counts: number[], layout: Layout) =>
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

function followPointer(picture: SVGSVGElement, read: (n: number | null) => void) {
  const branch = (node: Element | null) =>
    node instanceof SVGElement && node.dataset.branch ? Number(node.dataset.branch) : null;
  const focused = () => branch(picture.querySelector(".node:focus"));
  picture.addEventListener("pointerover", ({ target }) =>
    read(branch((target as Element).closest(".node")) ?? focused()),
  );
  picture.addEventListener("pointerleave", () => read(focused()));
  picture.addEventListener("focusin", () => read(focused()));
  picture.addEventListener("focusout", () => read(null));
}

/** The arrow keys go from node to node. */
function followKeys(
  picture: SVGSVGElement,
  nodes: SVGGElement[],
  { branches, best }: { branches: Branch[]; best: number },
  columns: number[][],
) {
  picture.addEventListener("keydown", (event) => {
    const n = nodes.findIndex((node) => node.matches(":focus"));
    if (n < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const column = columns[branches[n].step];
    const beside = (by: number) => column[column.indexOf(n) + by] ?? n;
    const ways: Record<string, number> = {
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

/** Show the path to one branch before all others, or all alike (null). */
export function highlightPath(picture: Element, branches: Branch[], n: number | null) {
  const path = new Set(branchPath(branches, n));
  picture.classList.toggle("isolated", n !== null);
  for (const each of picture.querySelectorAll<SVGElement>("[data-line], [data-branch]"))
    each.classList.toggle("lit", path.has(Number(each.dataset.line ?? each.dataset.branch)));
}
