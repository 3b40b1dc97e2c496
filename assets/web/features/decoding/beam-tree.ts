// The tree of a beam search: a column a step, a node a word, a line as thick as its word is probable.

import { formatPercent, t } from "../../state/i18n.ts";
import { type Attributes, isSpecial, svg, textWidth, typeScale } from "../../ui/dom.ts";
import { closest, rove } from "../../ui/parts.ts";

/** A word that was considered; `parent` is the number of the branch before it, null at the first step. */
type Branch = { parent: number | null; token: string; step: number; probability: number; fate: string };
type Search = { branches: Branch[]; best: number; left_out: number[] };

const ROW = 48; // px from one node to the next
const NODE = 26; // px high
const MIN_COLUMN = 48; // px, so that its small type fits
const [MIN_LINE, MAX_LINE] = [28, 72]; // px between two columns

export const branchPath = (branches: Pick<Branch, "parent">[], n: number | null): number[] =>
  n === null ? [] : [...branchPath(branches, branches[n].parent), n];

/** No lines cross: children stand in their parents' order, the chosen path first, beside them where they fit. */
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
    for (const [i, n] of column.entries()) {
      const { parent } = branches[n];
      row[n] = Math.max(parent === null ? i : row[parent], i ? row[column[i - 1]] + 1 : 0);
    }
    for (const [i, n] of column.toReversed().entries())
      row[n] = Math.min(row[n], i ? row[column[column.length - i]] - 1 : height - 1);
  }
  return { row, height };
}

/** @param search `left_out` counts what is not drawn of each step @param read called for a branch that is pointed at */
export function beamTree(search: Search, width: number, read: (n: number | null) => void) {
  const layout = pictureLayout(search, width);
  const { branches, columns, left, scale, height } = layout;
  const places = { title: t("decoding.tree"), count: branches.length, steps: columns.length };
  const nodes = branches.map((_, n) => drawNode(n, layout));
  const note = (step: number, y: number, text: string) => small(left(step), y, text, { class: "head" }, layout);
  const more = (count: number, step: number) =>
    count ? note(step, height - 12 * scale, t("decoding.more", { count })) : null;
  const size = { viewBox: `0 0 ${layout.width} ${height}`, width: layout.width, height };
  const name = t("decoding.tree.spoken", places);
  const picture = svg("svg", { ...size, class: "tree", role: "group", "aria-label": name }, [
    columns.map((_, step) => note(step, 10 * scale, t("step_n", { step: step + 1 }))),
    branches.map((_, n) => drawLine(n, layout)),
    svg("g", { class: "root" }, drawToken(1, layout.start, "S", layout, "outline target")),
    nodes,
    search.left_out.map(more),
  ]);
  followPointer(picture, read);
  followKeys(picture, nodes, layout);
  return picture;
}

function pictureLayout({ branches, best, left_out }: Search, width: number) {
  const { columns, row, height } = treeLayout(branches, best);
  const scale = typeScale();
  const size = 14 * scale;
  const wide = (token: string) => textWidth(token, size) + 18;
  const begin = wide("S");
  const widths = columns.map((column) => Math.max(MIN_COLUMN * scale, ...column.map((n) => wide(branches[n].token))));
  const free = (width - begin - widths.reduce((sum, each) => sum + each, 4)) / columns.length;
  const line = Math.max(MIN_LINE, Math.min(free, MAX_LINE)) * scale;
  const left = (step: number) => widths.slice(0, step).reduce((sum, each) => sum + each + line, begin + line);
  const [top, down] = [28 * scale, ROW * scale];
  const y = (n: number) => top + (row[n] + 0.5) * down - 8 * scale; // a line of small type is below the node
  const path = branchPath(branches, best);
  const foot = left_out.some(Boolean) ? 24 * scale : 4;
  return {
    ...{ branches, best, columns, scale, size, wide, begin, line, left, down, y },
    chosen: new Set(path),
    start: y(path[0]),
    width: left(columns.length) - line + 4,
    height: top + height * down + foot,
  };
}

type Layout = ReturnType<typeof pictureLayout>;

const small = (x: number, y: number, text: string, attributes: Attributes, { scale }: Layout) =>
  svg("text", { x, y, style: `font-size: ${11 * scale}px`, ...attributes }, text);

function drawToken(x: number, y: number, token: string, { scale, size, wide }: Layout, name: string | null = null) {
  const [width, height] = [wide(token), NODE * scale];
  const text = { "text-anchor": "middle", class: "label target", style: `font-size: ${size}px` };
  return [
    svg("rect", { x, y: y - height / 2, width, height, rx: 7, class: name }),
    svg("text", { x: x + width / 2, y, ...text }, token),
  ];
}

function drawLine(n: number, { branches, chosen, begin, start, left, wide, y, line }: Layout) {
  const { parent, step, probability, fate } = branches[n];
  const from = parent === null ? [begin + 1, start] : [left(step - 1) + wide(branches[parent].token), y(parent)];
  const [to, middle] = [[left(step), y(n)], left(step) - line / 2];
  const d = `M${from.join(" ")} C${middle} ${from[1]} ${middle} ${to[1]} ${to.join(" ")}`;
  const style = `stroke-width: ${1 + (fate === "dropped" ? 1 : 5) * probability}`;
  return svg("path", { d, class: `${fate} ${chosen.has(n) ? "best" : ""}`, "data-line": n, style });
}

function drawNode(n: number, layout: Layout) {
  const { branches, best, chosen, scale, down, wide } = layout;
  const { token, step, probability, fate } = branches[n];
  const [x, y, width] = [layout.left(step), layout.y(n), wide(token)];
  const share = formatPercent(probability);
  const attributes = {
    data: { branch: n, probability, fate },
    role: "img",
    "aria-label": t("decoding.node", { word: token, share, step: step + 1, fate: t(`decoding.fate.${fate}`) }),
    tabindex: n === best ? 0 : -1,
    class: `node ${fate} ${chosen.has(n) ? "best" : ""} ${isSpecial(token) ? "special" : ""}`,
  };
  const below = { "text-anchor": "middle", class: "share" };
  const target = svg("rect", { x, y: y - down / 2, width, height: down, class: "hit" });
  const type = small(x + width / 2, y + (NODE / 2 + 10) * scale, share, below, layout);
  return svg("g", attributes, target, drawToken(x, y, token, layout), type);
}

function followPointer(picture: SVGSVGElement, read: (n: number | null) => void) {
  const branch = (node: Element | null) =>
    node instanceof SVGElement && node.dataset.branch ? Number(node.dataset.branch) : null;
  const focused = () => branch(picture.querySelector(".node:focus"));
  picture.addEventListener("pointerover", (event) => read(branch(closest(event, ".node")) ?? focused()));
  picture.addEventListener("pointerleave", () => read(focused()));
  picture.addEventListener("focusin", () => read(focused()));
  picture.addEventListener("focusout", () => read(null));
}

function followKeys(picture: SVGSVGElement, nodes: SVGGElement[], { branches, best, columns }: Layout) {
  rove(picture, nodes, (key, n) => {
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
    return nodes[ways[key]];
  });
}

export function highlightPath(picture: Element, branches: Branch[], n: number | null) {
  const path = new Set(branchPath(branches, n));
  picture.classList.toggle("isolated", n !== null);
  for (const each of picture.querySelectorAll<SVGElement>("[data-line], [data-branch]"))
    each.classList.toggle("lit", path.has(Number(each.dataset.line ?? each.dataset.branch)));
}
