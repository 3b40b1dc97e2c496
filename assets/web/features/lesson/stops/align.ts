// A stop of the lesson: which layers align? The visitor draws an alignment, and every head of cross-attention is scored
// against it, with its rows taken for the token that they predict and for the one that the decoder reads.

import { sessionMap } from "../../../api/session.ts";
import type { Run } from "../../../api/types.ts";
import { scoreGrid } from "../../../charts/head-grids.ts";
import { isPresenting } from "../../../state/address.ts";
import { bestHead, type HeadScores, type Links, type Reading, scoreHeads } from "../../../state/alignment.ts";
import { joinSentences, nodes, t } from "../../../state/i18n.ts";
import { h, scrollBox, word } from "../../../ui/dom.ts";
import { button, closest, columnHeading, rove, rowHeading, table } from "../../../ui/parts.ts";
import { type Choice, type LessonView, orderedQuiz, type Stop } from "../stop.ts";

export const align: Stop = {
  get wide() {
    return !isPresenting(); // as the heads
  },
  headline: ({ run }) => [
    "argmax_j w_{tj}",
    [run.attention.cross.layers, run.model.heads, run.output.length, run.source.length],
  ],
  variants: ({ run }) => [run.reference?.gold ? "from_gold" : "from_nothing"],
  draw: ({ run }) => alignmentFigure(run),
  ask(view) {
    const { run } = view;
    const step = stepOfTwoWords(view);
    const [read, output, next] = [run.decoder_input[step], run.output[step], run.output[step + 1]];
    const places = { step: step + 1, read: word(read, "target"), output: word(output, "target") };
    const choices: Choice[] = [
      { text: read, why: "lesson.align.why.read" },
      { text: output },
      { text: next, why: "lesson.align.why.next" },
    ];
    const others = choices.filter(({ text, why }, i) => !why || (text && text !== output && (i < 2 || text !== read)));
    return orderedQuiz(others, places);
  },
};

/** A step in which the decoder reads a word and outputs another, the one in view if it does; else the first. */
const stepOfTwoWords = ({ run, step }: LessonView) =>
  [step, ...run.output.keys()].find((at) => at > 0 && run.decoder_input[at] !== run.output[at]) ?? 0;

const READINGS = ["predicted", "read"] as Reading[];
const FEW = 5; // aligned words, below which a head may find them all by chance

const keyOf = (run: Run) => JSON.stringify([run.checkpoint, run.sentence, run.output]);

const drawn = sessionMap<number[][]>("alignments", 20);

const goldLinks = ({ output, reference }: Run): Links =>
  output.map((_, token) => new Set(reference?.gold?.sure[token]));

const drawnLinks = (run: Run): Links => drawn.get(keyOf(run))?.map((keys) => new Set(keys)) ?? goldLinks(run);

function alignmentFigure(run: Run) {
  const links = drawnLinks(run);
  const scores = h("div", { class: "pair-of-scores" });
  const verdict = h("p", { class: "say", "aria-live": "polite" });
  const onChange = () => {
    const stored = links.map((keys) => [...keys]);
    drawn.set(keyOf(run), stored);
    grid.draw();
    drawScores();
  };
  const grid = alignmentGrid(run, links, onChange);
  const start = (from: Links) => {
    links.splice(0, links.length, ...from);
    onChange();
  };
  const clear = button("pill", t("lesson.align.clear"), () => start(run.output.map(() => new Set())));
  const gold = run.reference?.gold && button("pill", t("lesson.align.gold"), () => start(goldLinks(run)));
  function drawScores() {
    const found = READINGS.map((reading) => ({ reading, ...scoreHeads(run, links, reading) }));
    const grids = found.map(({ reading, right, count }) => {
      const values = right.map((row) => row.map((each) => (count ? each / count : 0)));
      const heading = h("h3", {}, t(`lesson.align.by_${reading}`, { count }));
      return h("div", { class: "scores" }, heading, scoreGrid(values, reading));
    });
    scores.replaceChildren(...grids);
    verdict.replaceChildren(...describe(found));
  }
  drawScores();
  const drawing = h("div", { class: "drawing" }, grid.element, h("p", { class: "controls" }, clear, gold));
  return h("div", { class: "alignment" }, drawing, h("div", { class: "alignment-scores" }, scores, verdict));
}

/** Output tokens by source tokens: a click or the space bar links the two. @param links changed in place */
function alignmentGrid(run: Run, links: Links, onChange: () => void) {
  const cells = run.output.map((token, row) =>
    run.source.map((source, column) => {
      const name = t("lesson.align.cell", { target: token, source });
      return h("td", { role: "gridcell", tabindex: -1, "aria-label": name, "data-row": row, "data-column": column });
    }),
  );
  const draw = () => {
    for (const [row, each] of cells.entries())
      for (const [column, cell] of each.entries()) cell.ariaSelected = String(links[row].has(column));
  };
  const grid = gridTable(run, cells);
  listenToCells(grid, cells, ({ dataset }) => {
    const [row, column] = [Number(dataset.row), Number(dataset.column)];
    if (!links[row].delete(column)) links[row].add(column);
    onChange();
  });
  draw();
  return { element: scrollBox(grid), draw };
}

function gridTable(run: Run, cells: HTMLElement[][]) {
  const sources = run.source.map((token) => columnHeading(h("span", {}, word(token, "source"))));
  const rows = run.output.map((token, row) => h("tr", { role: "row" }, rowHeading(word(token, "target")), cells[row]));
  const attributes = { class: "alignment-grid", role: "grid", "aria-multiselectable": "true" };
  return table({ ...attributes, "aria-label": t("lesson.align.grid") }, [h("td"), ...sources], rows);
}

const STEPS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

function listenToCells(grid: HTMLElement, cells: HTMLElement[][], toggle: (cell: HTMLElement) => void) {
  const [columns, last] = [cells[0].length, cells[0].length - 1];
  cells[0][0].tabIndex = 0;
  rove(grid, cells.flat(), (key, at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    const step = STEPS[key];
    return step && (cells[row + step[0]] ?? cells[row])[Math.min(Math.max(column + step[1], 0), last)];
  });
  const toggleCell = (event: Event) => {
    const cell = closest(event, "td[data-row]");
    if (!cell) return;
    event.preventDefault();
    toggle(cell);
  };
  grid.addEventListener("click", toggleCell);
  grid.addEventListener("keydown", (event) => [" ", "Enter"].includes(event.key) && toggleCell(event));
}

function describe(found: ({ reading: Reading } & HeadScores)[]) {
  if (!found[0].count) return nodes("lesson.align.nothing");
  const best = found.map((scores) => ({ ...scores, best: bestHead(scores) }));
  const said = best.map(({ reading, count, best: { layer, head, right } }) =>
    count
      ? t(`lesson.align.${right ? "best" : "none"}_${reading}`, { layer: layer + 1, head: head + 1, right, count })
      : "",
  );
  const [predicted, read] = best.map(({ count, best: { right } }) => (count ? right / count : 0));
  const verdict = predicted === read ? "even" : predicted > read ? "predicted" : "read";
  const few = found[0].count < FEW ? t("heads.luck") : "";
  return joinSentences(...said, t(`lesson.align.verdict_${verdict}`), few);
}
