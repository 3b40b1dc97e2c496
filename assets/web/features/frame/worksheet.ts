// The worksheet of a handout: three pages of questions about this run, and the answers on a page of their own.

import type { Lens } from "#schema";
import { revealedQuestions, room } from "../../api/room.ts";
import type { Child, Kind, Places, Side } from "../../api/types.ts";
import { isLongDrawing } from "../../charts/attention-lines.ts";
import { describedMap } from "../../charts/attention-map.ts";
import { around } from "../../charts/key-order.ts";
import { fetchLens, lensCaveat, lensTable, readings } from "../../charts/lens.ts";
import { thumbnail } from "../../charts/map-canvas.ts";
import { explainWord, findWhy, measuresOf } from "../../charts/why.ts";
import { argmax } from "../../engine/arrays.ts";
import { formatList, formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { fetchSublayer } from "../../state/server-cache.ts";
import { attentionRow, likelihood, shownHead, state } from "../../state/state.ts";
import { distinctWord, tokenIndex, tokenRun } from "../../state/words.ts";
import { summaryTable } from "../../ui/class-answers.ts";
import { explainLikelihood } from "../../ui/describe.ts";
import { h, word, wordAt } from "../../ui/dom.ts";
import { fixed } from "../../ui/numbers.ts";
import { cells, hint, rowHeading } from "../../ui/parts.ts";

/** A question of the catalogue with what stands under it, lines to write on, and its answer if that is another text. */
type Item = { name: string; places?: Places; figure?: Child; lines: number; answer?: Child };

const MAX_CELL = 44; // px, so that two maps and their questions go on a page
const MAX_HEIGHT = 300; // px: what is higher shrinks, with its words
const MAX_HEADS = 8; // small maps of a layer
const MAX_WORDS = 12; // rows and columns of a map that can be read on paper
const MAX_STEPS = 9; // rows of what layers say, which may take two lines
const MAX_TOKENS = 24; // that are listed
const CLEAR = 0.8; // a highest weight that leaves something to the other words

export async function worksheet(width: number) {
  const { run } = state;
  const place = crossPlace();
  const sublayer = await fetchSublayer("cross", place.layer);
  const scores = [...sublayer.at("scores", place.head, place.query)];
  const pages = [
    [
      shapes(),
      strongest(place, width),
      { name: "sum", places: { row: rowName(place.query) }, lines: 1 },
      ...(run.pieces ? [] : [softmax(place, scores)]), // which is one of pieces
    ],
    [mask(width), heads(place), ...(isLong() ? [] : [product()])], // a hundred factors are too many for pencil and paper
    [
      ...(run.attention.decoder.layers > 1 ? [knows(await fetchLens(run))] : []),
      ...(await explains()),
      { name: "guess", lines: 2 },
    ],
  ];
  const items: Item[] = pages.flat();
  const places = { source: word(run.sentence, "source"), target: word(run.text, "target"), checkpoint: run.checkpoint };
  const head = [
    h("p", { class: "named" }, h("span", {}, t("worksheet.name")), h("span", {}, t("worksheet.date"))),
    h("h1", {}, t("worksheet.title")),
    h("p", {}, nodes("worksheet.about", places)),
  ];
  const asked = (item: Item) => [
    h("h2", {}, t("worksheet.question", { n: items.indexOf(item) + 1 })),
    h("p", {}, nodes(`worksheet.${item.name}`, item.places)),
    item.figure,
    h("div", { class: "lines" }, ...Array.from({ length: item.lines }, () => h("div"))),
  ];
  const answered = items.map(({ name, places, answer }) =>
    h("li", {}, answer ?? nodes(`worksheet.${name}.answer`, places)),
  );
  return [
    pages.map((page: Item[], i) => h("section", { class: "page" }, i ? null : head, page.map(asked))),
    h("section", { class: "page answers" }, h("h1", {}, t("worksheet.answers")), h("ol", {}, answered)),
    classPage(),
  ];
}

function classPage() {
  const questions = room.role === "teacher" ? revealedQuestions() : [];
  if (!questions.length) return null;
  return h("section", { class: "page class" }, h("h1", {}, t("room.summary")), summaryTable(questions));
}

type Place = { layer: number; head: number; query: number };

/** The head of cross-attention that is in view, and a row of it that is worth computing. */
function crossPlace(): Place {
  const { layer, head } = shownHead("cross");
  const { queries } = state.run.attention.cross;
  const highest = queries.map((_, query) => Math.max(...attentionRow("cross", layer, head, query)));
  return { layer, head, query: argmax(highest.map((weight) => -Math.abs(weight - CLEAR))) };
}

const rowName = (query: number) => {
  const { decoder_input, output } = state.run;
  return h("span", {}, word(decoder_input[query], "target"), " → ", word(output[query], "target"));
};

/** A name and its value, as each language separates them. */
export const named = (name: string | Node, value: (string | Node)[]) => nodes("handout.setting", { name, value });

const isLong = () => isLongDrawing(state.run, "cross");

/** What is drawn: of a long sentence the rows around one, and the words that get most of their weight. */
function crossCells({ layer, head, query }: Place) {
  const { queries, keys } = state.run.attention.cross;
  if (!isLong()) return { rows: [...queries.keys()], columns: [...keys.keys()] };
  const rows = around(query, queries.length, MAX_WORDS);
  const weights = rows.map((row) => attentionRow("cross", layer, head, row));
  const weightOf = (key: number) => weights.reduce((sum, row) => sum + row[key], 0);
  const byWeight = [...keys.keys()].sort((a, b) => weightOf(b) - weightOf(a));
  return { rows, columns: byWeight.slice(0, MAX_WORDS).sort((a, b) => a - b) };
}

function figureOf(kind: Kind, layer: number, head: number, width: number, rows: number[], columns: number[]) {
  const { run } = state;
  const { queries, keys, allowed } = run.attention[kind];
  const options = { width, maxCell: MAX_CELL, maxHeight: MAX_HEIGHT, isOnPaper: true };
  if (!isLong()) return h("div", { class: "figure" }, describedMap({ run, kind, layer, head }, options));
  const maps = {
    layers: 1,
    heads: 1,
    queries: rows.map((row) => queries[row]),
    keys: columns.map((key) => keys[key]),
    allowed: rows.map((row) => columns.map((key) => allowed[row][key])),
    values: rows.flatMap((row) => columns.map((key) => attentionRow(kind, layer, head, row)[key])),
  };
  const attention = { ...run.attention, [kind]: maps };
  const excerpt = { attention, output: rows.map((row) => run.output[row]), reference: null };
  const places = { rows: rows.length, target: queries.length, columns: columns.length, source: keys.length };
  const figure = h("div", { class: "figure" }, describedMap({ run: excerpt, kind, layer: 0, head: 0 }, options));
  return [figure, h("p", {}, t("worksheet.excerpt", places))];
}

function shapes(): Item {
  const { source, decoder_input } = tokenRun(state.run);
  const tokens = (list: string[], side: Side) => {
    const shown = list.length > MAX_TOKENS ? [...list.slice(0, MAX_TOKENS), "…"] : list;
    return h("p", {}, ...shown.map((token) => [word(token, side), " "]));
  };
  return {
    name: "shapes",
    places: { source: source.length, target: decoder_input.length },
    figure: [tokens(source, "source"), tokens(decoder_input, "target")],
    lines: 2,
  };
}

function strongest(place: Place, width: number): Item {
  const { layer, head } = place;
  const { rows, columns } = crossCells(place);
  const found = rows.map((query) => named(rowName(query), strongestWord(layer, head, query)));
  return {
    name: "strongest",
    places: { layer: layer + 1, head: head + 1 },
    figure: figureOf("cross", layer, head, width, rows, columns),
    lines: 1,
    answer: formatList(found),
  };
}

function softmax(place: Place, scores: number[]): Item {
  const { source, attention } = state.run;
  const { layer, head, query } = place;
  const allowed = attention.cross.allowed[query];
  const weights = attentionRow("cross", layer, head, query);
  const { columns } = crossCells(place);
  const open = columns.filter((key) => allowed[key]);
  const others = [...source.keys()].filter((key) => allowed[key] && !columns.includes(key));
  const sum = others.reduce((total, key) => total + Math.exp(scores[key]), 0);
  const row = (name: string, contentOf: (key: number) => Child, rest: Child) =>
    h("tr", {}, rowHeading(name), cells([...open.map(contentOf), ...(others.length ? [rest] : [])]));
  const othersName = t("worksheet.others", { count: others.length });
  const rows = [
    row(t("worksheet.softmax.word"), (key) => word(source[key], "source"), othersName),
    row(t("worksheet.softmax.score"), (key) => fixed(scores[key], 2), ""),
    row("exp", () => "", sum.toPrecision(3)),
    row(t("worksheet.softmax.weight"), () => "", ""),
  ];
  const found = open.map((key) => [word(source[key], "source"), ` ${weights[key].toFixed(2)}`]);
  return {
    name: "softmax",
    places: { row: rowName(query), found: formatList(found) },
    figure: h("table", { class: "given" }, h("tbody", {}, rows)),
    lines: 0,
  };
}

function mask(width: number): Item {
  const { layer, head } = shownHead("decoder");
  const first = around(0, state.run.decoder_input.length, MAX_WORDS);
  return {
    name: "mask",
    places: { layer: layer + 1, head: head + 1 },
    figure: figureOf("decoder", layer, head, width, first, first),
    lines: 2,
  };
}

function heads({ layer, query }: Place): Item {
  const count = Math.min(state.run.attention.cross.heads, MAX_HEADS);
  const all = Array.from({ length: count }, (_, head) => ({ head, name: t("head_n", { head: head + 1 }) }));
  const picture = ({ head, name }: { head: number; name: string }) =>
    h("div", {}, thumbnail("cross", layer, head), h("small", {}, name));
  const found = all.map(({ head, name }) => named(name, strongestWord(layer, head, query)));
  return {
    name: "heads",
    places: { layer: layer + 1, row: rowName(query), found: formatList(found) },
    figure: h("div", { class: "small-maps" }, all.map(picture)),
    lines: 2,
  };
}

function product(): Item {
  const { run } = state;
  const found = run.steps.map(({ token, probability }) => wordWithShare(token, "target", probability));
  const whole = t("worksheet.product.answer", { whole: formatPercent(likelihood(run)) });
  return {
    name: "product",
    places: { found: formatList(found) },
    lines: 1,
    answer: joinSentences(whole, explainLikelihood(run)),
  };
}

function knows(lens: Lens): Item {
  const { run, step } = state;
  const steps = around(step, run.output.length, MAX_STEPS);
  const found = steps.map((each) => [word(run.output[each], "target"), ` ${readings(lens, run, each).turn + 1}`]);
  return {
    name: "knows",
    figure: lensTable(run, lens, steps),
    lines: 1,
    answer: joinSentences(nodes("worksheet.knows.answer", { found: formatList(found) }), lensCaveat(lens, run)),
  };
}

/** Why the output that is in view. */
async function explains(): Promise<Item[]> {
  const { run, step } = state;
  const at = tokenIndex(run, "cross", step);
  const answer = await findWhy(run, at);
  if (!answer) return [];
  const { said, shares, table, folded, warning } = explainWord(run, { step: at, answer, other: null });
  const found = measuresOf(shares).map((measure) => {
    const most = argmax(shares[measure]);
    const token = distinctWord(run.source, answer.keys[most]);
    return named(t(`why.${measure}`), wordWithShare(token, "source", shares[measure][most]));
  });
  const token = word(tokenRun(run).steps[at].token, "target");
  const linked = run.reference?.gold?.sure[step] ?? [];
  const gold = formatList(linked.map((key) => wordAt(run.source, key, "source")));
  const item: Item = {
    name: "explains",
    places: { step: step + 1, token },
    figure: [table, folded ? hint(t("inside.more", { count: folded })) : null, warning],
    lines: 2,
    answer: joinSentences(
      nodes("worksheet.explains.answer", { found: formatList(found) }),
      said,
      linked.length ? nodes("worksheet.explains.gold", { token, gold }) : "",
      t("worksheet.explains.needs"),
    ),
  };
  return [item];
}

export const wordWithShare = (token: string, side: Side, share: number) => [
  word(token, side),
  ` ${formatPercent(share)}`,
];

/** The source word with the highest weight in a row of cross-attention. @param head null for the mean of the layer */
export function strongestWord(layer: number, head: number | null, query: number) {
  const weights = attentionRow("cross", layer, head, query);
  const key = argmax(weights);
  return wordWithShare(state.run.source[key], "source", weights[key]);
}
