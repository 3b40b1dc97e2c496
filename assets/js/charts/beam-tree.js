// The tree of a beam search: a column a step, a node a word, a line as thick as its word is probable.

import { isSpecial, svg, textWidth, typeScale } from "../core/dom.js";
import { formatPercent, t } from "../core/i18n.js";

const ROW = 48; // px from one node to the next
const NODE = 26; // px high
const LEAST = 48; // px a column, so that its small type fits
const [MIN_LINE, MAX_LINE] = [28, 72]; // px between two columns

/** Numbers of the branches from the first one to the n-th. */
export const branchPath = (branches, n) => (n === null ? [] : [...branchPath(branches, branches[n].parent), n]);

/** Columns of branches without lines that cross: children stand in their parents' order, the chosen way first. */
function treeColumns(branches, best) {
  const chosen = new Set(branchPath(branches, best));
  const below = (parent) =>
    branches.flatMap((each, n) => (each.parent === parent ? [n] : [])).sort((a, b) => chosen.has(b) - chosen.has(a));
  const found = [below(null)];
  while (found.at(-1).length) found.push(found.at(-1).flatMap(below));
  return found.slice(0, -1);
}

/** The row of every branch: beside its parent as far as there is room. */
function treeRows(branches, found) {
  const height = Math.max(...found.map((column) => column.length));
  const row = [];
  for (const column of found) {
    column.forEach(
      (n, i) =>
        (row[n] = Math.max(branches[n].parent === null ? i : row[branches[n].parent], i ? row[column[i - 1]] + 1 : 0)),
    );
    column.toReversed().forEach((n, i) => (row[n] = Math.min(row[n], i ? row[column.at(-i)] - 1 : height - 1)));
  }
  return { row, height };
}

/** `said` is the server's answer, `width` what there is room for; `read(n)` is called for the branch that is looked at, or null. */
export function beamTree({ branches, best, left_out }, width, read) {
  const found = treeColumns(branches, best);
  const { row, height } = treeRows(branches, found);
  const scale = typeScale();
  const size = 14 * scale;
  const wide = (token) => textWidth(token, size) + 18;
  const begin = wide("S");
  const columnWidths = found.map((column) => Math.max(LEAST * scale, ...column.map((n) => wide(branches[n].token))));
  const room = (width - begin - columnWidths.reduce((sum, each) => sum + each, 4)) / found.length;
  const line = Math.max(MIN_LINE, Math.min(room, MAX_LINE)) * scale;
  const left = (step) => columnWidths.slice(0, step).reduce((sum, each) => sum + each + line, begin + line);
  const [top, down] = [28 * scale, ROW * scale];
  const y = (n) => top + (row[n] + 0.5) * down - 8 * scale; // a line of small type is below the node
  const foot = left_out.some(Boolean) ? 24 * scale : 4;
  const [w, tall] = [left(found.length) - line + 4, top + height * down + foot];
  const chosen = new Set(branchPath(branches, best));
  const picture = svg("svg", {
    viewBox: `0 0 ${w} ${tall}`,
    width: w,
    height: tall,
    class: "tree",
    role: "group",
    "aria-label": t("roads.tree.spoken", { title: t("roads.tree"), count: branches.length, steps: found.length }),
  });
  const small = `font-size: ${11 * scale}px`;
  const label = (x, at, text, attributes) => svg("text", { x, y: at, style: small, ...attributes }, text);

  const start = y(branchPath(branches, best)[0]);
  const lines = branches.map(({ parent, step, probability, fate }, n) => {
    const from = parent === null ? [begin + 1, start] : [left(step - 1) + wide(branches[parent].token), y(parent)];
    const [to, middle] = [[left(step), y(n)], left(step) - line / 2];
    const d = `M${from.join(" ")} C${middle} ${from[1]} ${middle} ${to[1]} ${to.join(" ")}`;
    return svg("path", {
      d,
      class: `${fate} ${chosen.has(n) ? "best" : ""}`,
      "data-line": n,
      style: `stroke-width: ${1 + (fate === "dropped" ? 1 : 5) * probability}`,
    });
  });
  const box = (x, at, token, attributes) =>
    svg("rect", { x, y: at - (NODE * scale) / 2, width: wide(token), height: NODE * scale, rx: 7, ...attributes });
  const type = (x, at, token) =>
    svg(
      "text",
      { x: x + wide(token) / 2, y: at, "text-anchor": "middle", class: "label target", style: `font-size: ${size}px` },
      token,
    );
  const root = svg("g", { class: "root" }, box(1, start, "S", { class: "outline target" }), type(1, start, "S"));
  const nodes = branches.map(({ token, step, probability, fate }, n) => {
    const [x, at] = [left(step), y(n)];
    const share = formatPercent(probability);
    const spoken = t("roads.node", { word: token, share, step: step + 1, fate: t(`roads.fate.${fate}`) });
    const data = {
      "data-branch": n,
      "data-probability": probability,
      "data-fate": fate,
      role: "img",
      "aria-label": spoken,
      tabindex: n === best ? 0 : -1,
    };
    return svg(
      "g",
      { ...data, class: `node ${fate} ${chosen.has(n) ? "best" : ""} ${isSpecial(token) ? "special" : ""}` },
      svg("rect", { x, y: at - down / 2, width: wide(token), height: down, class: "hit" }),
      box(x, at, token),
      type(x, at, token),
      label(x + wide(token) / 2, at + (NODE / 2 + 10) * scale, share, { "text-anchor": "middle", class: "share" }),
    );
  });
  const heads = found.map((_, step) =>
    label(left(step), 10 * scale, t("step_n", { step: step + 1 }), { class: "head" }),
  );
  const feet = left_out.map((count, step) =>
    count ? label(left(step), tall - 12 * scale, t("roads.more", { count }), { class: "head" }) : null,
  );
  picture.append(...[heads, lines, root, nodes, feet].flat().filter(Boolean));

  const reading = () => picture.querySelector(".node:focus")?.dataset.branch ?? null;
  const number = (n) => (n === null ? null : Number(n));
  picture.addEventListener("pointerover", ({ target }) =>
    read(number(target.closest(".node")?.dataset.branch ?? reading())),
  );
  picture.addEventListener("pointerleave", () => read(number(reading())));
  picture.addEventListener("focusin", () => read(number(reading())));
  picture.addEventListener("focusout", () => read(null));
  picture.addEventListener("keydown", (event) => {
    const n = number(reading());
    if (n === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const column = found[branches[n].step];
    const beside = (by) => column[column.indexOf(n) + by];
    const child = found[branches[n].step + 1]?.find((each) => branches[each].parent === n);
    const ways = {
      ArrowLeft: branches[n].parent ?? n,
      ArrowRight: child ?? n,
      ArrowUp: beside(-1) ?? n,
      ArrowDown: beside(1) ?? n,
      Home: branchPath(branches, n)[0],
      End: best,
    };
    if (!(event.key in ways)) return;
    event.preventDefault();
    for (const each of nodes) each.setAttribute("tabindex", Number(each.dataset.branch) === ways[event.key] ? 0 : -1);
    nodes[ways[event.key]].focus();
  });
  return picture;
}

/** Show the way to one branch before all others, or all alike (null). */
export function highlightPath(picture, branches, n) {
  const way = new Set(branchPath(branches, n));
  picture.classList.toggle("isolated", n !== null);
  for (const each of picture.querySelectorAll("[data-line], [data-branch]"))
    each.classList.toggle("lit", way.has(Number(each.dataset.line ?? each.dataset.branch)));
}
