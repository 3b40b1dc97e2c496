// One head's attention map as a table, tinted like the picture of it.

import type { Side } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { SIDES } from "../state/state.ts";
import { h, word } from "../ui/dom.ts";
import { columnHeading, rowHeading, table } from "../ui/parts.ts";
import { type Shown, strength } from "./map-canvas.ts";
import { ARROW, type Cell, cellReader, contrastClass, MANY_CELLS, predictions, shortened } from "./map-parts.ts";

export function weightTable(shown: Shown) {
  const { run, kind } = shown;
  const { queries, keys } = run.attention[kind];
  const [from, at] = SIDES[kind];
  const predicted = predictions(kind, run);
  const isLong = queries.length * keys.length > MANY_CELLS;
  const named = (token: string, side: Side) => word(isLong ? shortened(token) : token, side);
  const read = cellReader(shown);
  const rows = queries.map((token, query) => {
    const output = predicted[query];
    const heading = rowHeading([named(token, from), output ? [ARROW, named(output, from)] : null]);
    heading.setAttribute("data-query", String(query));
    return h("tr", {}, heading);
  });
  const complete = (query: number) => {
    const hasOnlyHeading = rows[query].children.length === 1;
    if (hasOnlyHeading) rows[query].append(...keys.map((_, key) => tableCell(read(query, key), isLong)));
  };
  const completeAll = () => [...rows.keys()].forEach(complete);
  const headings = keys.map((token, i) => columnHeading(named(token, at), { "data-key": i }));
  const drawn = table({ class: isLong ? "weights long" : "weights" }, [h("td"), ...headings], rows);
  if (isLong) completeInSight(rows, complete);
  else completeAll();
  return { element: drawn, complete, completeAll };
}

function tableCell({ query, key, open, value, share, gold }: Cell, isLong: boolean) {
  if (!open) return h("td", { class: "masked" }, t("masked"));
  const tint = strength(share);
  const name = `tint ${contrastClass(tint, false)}${gold ? ` gold ${gold}` : ""}`;
  const data = { weight: value, gold: gold ? `${query} ${key}` : null };
  return h("td", { class: name, style: `--tint: ${tint}%`, data }, value.toFixed(isLong ? 2 : 3));
}

/** The thousands of cells of a long table are drawn once their rows are in sight. */
function completeInSight(rows: Element[], complete: (query: number) => void) {
  const look = (seen: IntersectionObserverEntry[]) => {
    for (const { target } of seen.filter(({ isIntersecting }) => isIntersecting)) {
      complete(rows.indexOf(target));
      observer.unobserve(target);
    }
  };
  const observer = new IntersectionObserver(look, { scrollMargin: "160px" } as IntersectionObserverInit);
  for (const row of rows) observer.observe(row);
}
