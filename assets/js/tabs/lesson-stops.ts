// The stops of the lesson: what each draws, and a question about this run that can be reasoned out, with its answer.

import type { ForcedRow } from "#schema";
import type { Stage } from "../charts/sublayer-stages.ts";
import { shapeChain } from "../charts/sublayer-stages.ts";
import { activationFloor, activationName } from "../charts/sublayer-view.ts";
import { isPresenting } from "../core/address.ts";
import { h, scrollBox, word } from "../core/dom.ts";
import { formatList, formatNumber, formatPercent, t } from "../core/i18n.ts";
import type { StopName } from "../core/lesson-plan.ts";
import { commonDigits, dot, fixed, products, sum } from "../core/numbers.ts";
import { askAboutRun, askOnce } from "../core/server-cache.ts";
import { argmax, attentionRow, decodeFloats } from "../core/state.ts";
import type { Child, Kind, Run } from "../core/types.ts";
import { alignmentFigure } from "./lesson-align.ts";
import { headMaps, map, strips, tokenIds, tokenStrips } from "./lesson-figures.ts";
import type { Choice, Quiz } from "./lesson-quiz.ts";
import { orderedQuiz, rounded, valueQuiz } from "./lesson-quiz.ts";
import type { LessonView } from "./lesson-view.ts";
import { encoderHead, encoderInput, highestCrossStep, wordInEveryLayer } from "./lesson-view.ts";
import { comparisonTable } from "./teacher-forcing.ts";
import { candidate, MAX_CANDIDATES } from "./translate.ts";

/** Keys of the texts of a stop; `more` follows the first, `figure` is the heading of what it draws. */
type Texts = Record<"text" | "question" | "reveal" | "more" | "figure", string>;
/**
 * A stop of the lesson. Its figure is a `stage` of a head, or drawn under a headline of its own: a formula and its
 * shapes. Until the question is answered a figure that would give the answer away is veiled (`hides`), or a table of
 * scores has fewer `columns`; with the answer come more `columns`, or what `answer` draws. A `wide` figure stands above
 * the text, another beside it; `colours` says what those in it mean. `texts` are those that differ from the usual for a
 * model.
 */
type Stop = {
  hides?: boolean;
  wide?: boolean;
  colours?: "strips" | Kind;
  captioned?: boolean;
  texts?: (view: LessonView) => Partial<Texts>;
  ask: (view: LessonView) => Quiz | Promise<Quiz>;
} & (
  | { stage: Stage; columns?: { asked: string[]; answered?: string[] } }
  | {
      headline: (view: LessonView) => [string, string];
      draw: (view: LessonView) => Child | Promise<Child>;
      answer?: (view: LessonView) => Promise<Child>;
    }
);

const MIN_FAR = 5; // positions, at least, to tell near from far
const MAX_CHOICES = 9; // as many as there are keys to choose by

export const STOPS: Record<StopName, Stop> = {
  tokens: {
    wide: true,
    headline: ({ run }) => ["word → id", shapeChain([1, run.source.length])],
    texts({ run: { model } }) {
      if (!model.pieces) return model.one_vocabulary ? { text: "lesson.tokens.text_tied" } : {};
      const [text, reveal] = ["text", "reveal"].map((name) => `lesson.tokens.${name}_pieces`);
      return { text, reveal, more: "lesson.tokens.more_pieces" };
    },
    draw: ({ run }) =>
      h("div", { class: "both-sides" }, [
        tokenIds("source", run.source, run.ids.source),
        tokenIds("target", run.decoder_input, run.ids.decoder_input),
      ]),
    ask({ run }) {
      const count = run.source.length;
      const words = run.source.filter((token) => token !== "P" && token !== "E").length;
      const { pieces, one_vocabulary } = run.model;
      const vocabularies = t(one_vocabulary ? "lesson.tokens.one_vocabulary" : "lesson.tokens.two_vocabularies");
      const places = { count, words, vocabularies };
      const wrong: [number, string][] = [
        [words, pieces ? "lesson.tokens.why.pieces" : "lesson.tokens.why.words"],
        [run.output.length, "lesson.tokens.why.output"],
        [run.model.source_words, "lesson.tokens.why.vocabulary"],
        [count + 1, pieces ? "lesson.tokens.why.start" : "lesson.tokens.why.end"],
      ];
      return valueQuiz(count, wrong, places);
    },
  },
  embeddings: {
    wide: true,
    captioned: true,
    colours: "strips",
    headline: ({ run }) => [
      run.model.scaled ? "x = √d_model · E[id]" : "x = E[id]",
      shapeChain([1, run.source.length], [1, run.source.length, run.model.d_model]),
    ],
    texts({ run: { model } }) {
      if (model.scaled) return model.positions ? {} : { text: "lesson.embeddings.text_bare" };
      const [text, reveal] = ["text", "reveal"].map((name) => `lesson.embeddings.${name}_unscaled`);
      return { text, reveal };
    },
    draw: (view) => tokenStrips(view, "embedding", t("lesson.embeddings.figure")),
    async ask(view) {
      const { embedding, d_model } = await encoderInput(view);
      const { scaled } = view.run.model;
      const root = Math.sqrt(d_model);
      const factor = scaled ? root : 1;
      const length = norm(embedding[view.query]);
      const shown = products([length / factor], [factor], null, length);
      const [[a, b]] = shown.terms;
      const places = { ...view.places, d_model, factor: rounded(factor), sum: `${a} × ${b} = ${shown.result}` };
      const wrong: [number, string][] = [
        scaled ? [1, "lesson.embeddings.why.one"] : [root, "lesson.embeddings.why.root"],
        [d_model, "lesson.embeddings.why.all"],
        [d_model / 2, "lesson.embeddings.why.half"],
      ];
      return valueQuiz(factor, wrong, places);
    },
  },
  positions: {
    wide: true,
    captioned: true,
    colours: "strips",
    headline: ({ run }) => [positionFormula(run.model), shapeChain([1, run.source.length, run.model.d_model])],
    texts({ run }) {
      if (run.model.positions) return run.model.sinusoid === "halves" ? { more: "lesson.positions.halves" } : {};
      const [text, question, reveal] = ["text", "question", "reveal"].map((name) => `lesson.positions.${name}_bare`);
      return { text, question, reveal, figure: "lesson.embeddings.figure" };
    },
    async draw(view) {
      if (!view.run.model.positions) return tokenStrips(view, "input", t("lesson.embeddings.figure"));
      const { embedding, positions, input } = await encoderInput(view);
      const vectors = [embedding, positions, input].map((values) => values[view.query]);
      const digits = commonDigits(vectors.slice(0, 2), vectors[2]);
      const rows = ["embedding", "+ position", "= input"].map((name, i) => ({
        label: t(`figure.${name}`),
        name,
        values: vectors[i],
        digits: i < 2 || digits === null ? digits : 2,
      }));
      const explain = (i: number) => {
        const [a, b, result] = vectors.map((values) => values[i]);
        const shown = sum(a, b, result);
        const addend = shown.terms[1].startsWith("−") ? `(${shown.terms[1]})` : shown.terms[1];
        const line = [`${shown.terms[0]} + ${addend} = `, h("b", { class: "result" }, shown.result)];
        view.showArithmetic(t("cell.input", { n: i + 1 }), [h("p", { class: "arithmetic" }, line)]);
      };
      return strips(view, rows, t("lesson.positions.sum"), explain);
    },
    async answer(view) {
      if (!view.run.model.positions) return null;
      const { positions } = await encoderInput(view);
      const compared = new Set([0, 1, Math.max(MIN_FAR, positions.length) - 1]);
      const rows = positions.map((values, i) => ({ label: t("lesson.positions.pattern", { n: i + 1 }), values }));
      const title = t("lesson.positions.patterns");
      const shown = rows.filter((_, i) => compared.has(i)); // a short sentence may not have the last
      return [h("h4", {}, title), strips(view, shown, title)];
    },
    async ask({ run, places: usual }) {
      if (!run.model.positions) {
        const other = { text: t("lesson.positions.other"), why: "lesson.positions.why.other" };
        return orderedQuiz([other, { text: t("lesson.positions.same") }], usual);
      }
      const length = Math.max(MIN_FAR, run.source.length);
      const question = { length, d_model: run.model.d_model };
      const { similarity } = await askOnce("positional_encoding", question);
      const toFirst = decodeFloats(similarity); // of position 1 to position i
      const [near, far] = [toFirst[1], toFirst[length - 1]];
      const places = { ...usual, near: near.toFixed(2), far: far.toFixed(2), last: length };
      const choice = (position: number, isRight: boolean) => ({
        text: t("lesson.positions.pair", { a: 1, b: position }),
        ...(isRight ? {} : { why: "lesson.positions.why.other_pair" }),
      });
      return orderedQuiz([choice(length, far > near), choice(2, near >= far)], places);
    },
  },
  qkv: {
    stage: "qkv",
    colours: "strips",
    texts: ({ run }) =>
      run.model.heads > 1 ? {} : { question: "lesson.qkv.question_alone", reveal: "lesson.qkv.reveal_alone" },
    ask({ run }) {
      const { heads, d_model } = run.model;
      const width = d_model / heads;
      const wrong: [number, string][] = [
        [d_model, "lesson.qkv.why.all"],
        [heads, "lesson.qkv.why.heads"],
        [2 * d_model, "lesson.qkv.why.wider"],
      ];
      return valueQuiz(width, wrong, { d_model, heads, width });
    },
  },
  scores: {
    hides: true,
    captioned: true,
    stage: "scores",
    columns: { asked: ["dot", "scaled"] },
    async ask(view) {
      const { data, head, query } = await encoderHead(view);
      const row = data.at("scores", head, query);
      const right = argmax(row);
      const key = (i: number) => word(data.keys[i], "source");
      const places = {
        ...view.places,
        key: key(right),
        score: fixed(row[right], 2),
        padding: data.allowed[query][right] ? "" : t("lesson.scores.padding"),
      };
      return largestWordQuiz(data.keys, row, places, (i) => ({
        why: "lesson.scores.why",
        places: { chosen: key(i), own: fixed(row[i], 2) },
      }));
    },
  },
  softmax: {
    stage: "scores",
    captioned: true,
    columns: { asked: ["dot", "scaled"], answered: ["dot", "scaled", "mask", "softmax"] },
    async ask(view) {
      const { data, head, query } = await encoderHead(view);
      const weights = data.at("weights", head, query);
      const key = argmax(weights);
      const highest = weights[key];
      const open = data.allowed[query].filter(Boolean).length;
      const places = {
        ...view.places,
        key: word(data.keys[key], "source"),
        share: formatPercent(highest),
        equal: formatPercent(1 / open),
        masked: data.allowed[query].length - open,
        open,
      };
      const wrong: [number, string][] = [
        [1 / open, "lesson.softmax.why.equal"],
        [1, "lesson.softmax.why.all"],
        [highest / 2, "lesson.softmax.why.half"],
      ];
      return valueQuiz(highest, wrong, places, formatPercent);
    },
  },
  heads: {
    get wide() {
      return !isPresenting(); // a room reads larger maps, in rows beside the question
    },
    captioned: true,
    colours: "encoder",
    headline: ({ run }) => [
      "head_i = softmax(Q_i K_i^T ÷ √d_k) V_i",
      shapeChain([1, run.model.heads, run.source.length, run.source.length]),
    ],
    texts: ({ run }) =>
      run.model.heads > 1
        ? {}
        : {
            text: "lesson.heads.text_alone",
            question: "lesson.heads.question_alone",
            reveal: "lesson.heads.reveal_alone",
          },
    draw: headMaps,
    ask(view) {
      const { run, layer } = view;
      const { heads, keys, queries } = run.attention.encoder;
      const highest = Array.from({ length: heads }, (_, head) =>
        Math.max(...queries.flatMap((token, q) => (token === "P" ? [] : attentionRow("encoder", layer, head, q, run)))),
      );
      const sharpest = argmax(highest);
      const places = {
        ...view.places,
        heads,
        words: keys.length,
        sharpest: sharpest + 1,
        share: formatPercent(highest[sharpest]),
      };
      const wrong: [number, string][] = [
        [1, "lesson.heads.why.one"],
        [heads * keys.length, "lesson.heads.why.cells"],
        [keys.length, "lesson.heads.why.words"],
        [1 / heads, "lesson.heads.why.shared"],
      ];
      return valueQuiz(heads, wrong, places);
    },
  },
  residual: {
    hides: true,
    wide: true,
    captioned: true,
    colours: "strips",
    stage: "residual",
    texts: ({ run }) => (run.model.norm_first ? { text: "lesson.residual.text_first" } : {}),
    async ask(view) {
      const { data, query } = await encoderHead(view);
      const [own, change] = ["residual", "output"].map((name) => norm(data.at(name, query)));
      const places = { ...view.places, own: fixed(own, 2), change: fixed(change, 2) };
      const choice = (name: "own" | "change", isRight: boolean) => ({
        text: t(`lesson.residual.${name}`),
        ...(isRight ? {} : { why: "lesson.residual.why" }),
      });
      return orderedQuiz([choice("own", own >= change), choice("change", own < change)], places);
    },
  },
  ffn: {
    wide: true,
    captioned: true,
    colours: "strips",
    stage: "ffn",
    texts: ({ run }) =>
      run.model.activation === "relu" ? {} : { text: "lesson.ffn.text_smooth", reveal: "lesson.ffn.reveal_smooth" },
    async ask(view) {
      const { data, query } = await encoderHead(view);
      const { d_model, d_ff } = view.run.model;
      const hidden = data.at("ff_hidden", query);
      const firing = hidden.filter((value) => value > 0).length;
      const isRelu = view.run.model.activation === "relu";
      const isMost = 2 * d_model * d_ff > 4 * d_model ** 2; // of the weights of an encoder layer
      const places = {
        ...view.places,
        activation: activationName(view.run.model),
        floor: activationFloor(view.run.model),
        firing,
        silent: hidden.length - firing,
        of: hidden.length,
        share: formatPercent(firing / hidden.length),
        most: isMost ? t("lesson.ffn.most") : "",
      };
      const choices = ["same", "one", "mixing"].map((name) => ({
        text: t(`lesson.ffn.${name}`),
        ...(name === "one"
          ? {}
          : { why: name === "same" && !isRelu ? "lesson.ffn.why.same_smooth" : `lesson.ffn.why.${name}` }),
      }));
      return orderedQuiz(choices, places);
    },
  },
  stack: {
    wide: true,
    captioned: true,
    colours: "strips",
    headline: ({ run }) => [
      "x ← layer_n(x), n = 1 … N",
      `${shapeChain([1, run.source.length, run.model.d_model])} × ${run.attention.encoder.layers}`,
    ],
    texts: (view) => ({
      ...(view.run.attention.encoder.layers > 1 ? {} : { text: "lesson.stack.text_alone" }),
      ...(farthestWord(view) === null ? { reveal: "lesson.stack.reveal_alone" } : {}),
      ...(view.run.model.final_norm ? { more: "lesson.stack.norm" } : {}),
    }),
    async draw(view) {
      const vectors = await wordInEveryLayer(view);
      const label = (layer: number) => (layer ? t("layer_n", { layer }) : t("lesson.stack.input"));
      const rows = vectors.map((values, layer) => ({ label: label(layer), values }));
      return strips(view, rows, t("lesson.stack.figure", { word: view.run.source[view.query] }));
    },
    async ask(view) {
      const { run, query } = view;
      const vectors = await wordInEveryLayer(view);
      const moves = vectors.slice(1).map((values, i) => norm(values.map((value, n) => value - vectors[i][n])));
      const moved = argmax(moves);
      const layers = moves.length;
      const other = farthestWord(view);
      const places = { ...view.places, layers, moved: moved + 1, distance: fixed(moves[moved], 2) };
      const first = { text: t("lesson.stack.after", { layer: 1 }) };
      if (other === null) return orderedQuiz([first], places);
      const apart = Math.abs(query - other);
      const { allowed } = run.attention.encoder;
      if (!allowed[query][other]) throw new Error("The farthest word is masked."); // no layer would read it
      const largest = Math.max(
        ...Array.from(
          { length: run.attention.encoder.heads },
          (_, head) => attentionRow("encoder", 0, head, query, run)[other],
        ),
      );
      const choices = [
        first,
        { text: t("lesson.stack.between", { layers: apart }), why: "lesson.stack.why.between" },
        { text: t("lesson.stack.last", { layer: layers }), why: "lesson.stack.why.last" },
      ];
      const offered = choices.filter((_, i) => (i !== 1 || apart > 1) && (i !== 2 || layers > 1));
      return orderedQuiz(offered.length > 1 ? offered : choices.slice(0, 2), {
        ...places,
        other: word(run.source[other], "source"),
        apart,
        share: formatPercent(largest),
      });
    },
  },
  masked: {
    colours: "decoder",
    headline: ({ run }) => [
      "softmax(Q K^T ÷ √d_k + M),  M = 0, −∞",
      shapeChain([1, run.model.heads, run.output.length, run.output.length]),
    ],
    texts: ({ run }) => (run.model.start_is_padding ? { more: "lesson.masked.start" } : {}),
    draw: (view) => map(view, "decoder", view.decoderLayer, view.head, null),
    ask({ run }) {
      const { allowed, queries } = run.attention.decoder;
      const closed = allowed.flat().filter((open) => !open).length;
      const count = queries.length;
      const cells = count * count;
      const places = {
        masked: closed,
        count,
        cells,
        open: cells - closed,
        first: word(run.decoder_input[0], "target"),
      };
      const wrong: [number, string][] = [
        [count, "lesson.masked.why.rows"],
        [cells, "lesson.masked.why.all"],
        [cells - closed, "lesson.masked.why.open"],
      ];
      return valueQuiz(closed, wrong, places);
    },
  },
  cross: {
    hides: true,
    colours: "cross",
    headline: ({ run }) => [
      "softmax(Q_dec K_enc^T ÷ √d_k) V_enc",
      shapeChain([1, run.model.heads, run.output.length, run.source.length]),
    ],
    draw: (view) => map(view, "cross", view.decoderLayer, view.crossHead, highestCrossStep(view)),
    ask(view) {
      const { run, decoderLayer: layer, crossHead: head } = view;
      const step = highestCrossStep(view);
      const weights = attentionRow("cross", layer, head, step, run);
      const right = argmax(weights);
      const key = (i: number) => word(run.source[i], "source");
      const places = {
        output: word(run.output[step], "target"),
        read: word(run.decoder_input[step], "target"),
        layer: layer + 1,
        head: head + 1,
        key: key(right),
        share: formatPercent(weights[right]),
        step: step + 1,
      };
      return largestWordQuiz(run.source, weights, places, (i) => ({
        why: "lesson.cross.why",
        places: { chosen: key(i), own: formatPercent(weights[i]) },
      }));
    },
  },
  logits: {
    hides: true,
    captioned: true,
    texts: ({ run: { model } }) => ({
      ...(model.tied ? { text: "lesson.logits.text_tied" } : {}),
      ...(model.tied_output && !model.tied ? { text: "lesson.logits.text_tied_output" } : {}),
      ...(model.silent.length ? { more: "lesson.logits.silent" } : {}),
    }),
    headline: ({ run }) => [
      run.model.tied_output ? "p = softmax(x E^T + b)" : "p = softmax(x W + b)",
      shapeChain([1, run.output.length, run.model.d_model], [1, run.output.length, run.model.target_words]),
    ],
    draw({ run, step }) {
      const shown = run.steps[step].candidates.slice(0, MAX_CANDIDATES);
      const items = shown.map((each) => candidate(each, each.token === run.output[step]));
      return h("ol", { class: "candidates" }, items);
    },
    ask({ run, step }) {
      const [first, second] = run.steps[step].candidates;
      const ratio = first.probability / second.probability;
      const difference = Math.log(ratio); // of their logits
      const places = {
        words: run.model.target_words,
        silent: formatList(run.model.silent.map((token) => word(token, "target"))),
        step: step + 1,
        read: word(run.decoder_input.slice(0, step + 1).join(" "), "target"),
        first: word(first.token, "target"),
        share: formatPercent(first.probability),
        second: word(second.token, "target"),
        second_share: formatPercent(second.probability),
        difference: fixed(difference, 2),
        ratio: about(ratio),
      };
      const wrong: [number, string][] = [
        [difference, "lesson.logits.why.difference"],
        [difference ** 2, "lesson.logits.why.square"],
        [2 ** difference, "lesson.logits.why.two"],
      ];
      return valueQuiz(ratio, wrong, places, (value) => t("lesson.logits.times", { times: about(value) }));
    },
  },
  loop: {
    hides: true,
    headline: ({ run }) => [
      "y_t = argmax p(y | S, y_1 … y_{t−1})",
      shapeChain([1, "t"], [1, "t", run.model.target_words], [1, 1]),
    ],
    texts({ run }) {
      if (run.output.length < 2) return { text: "lesson.loop.text_alone", reveal: "lesson.loop.reveal_alone" };
      if (run.reference) return {};
      const [text, question, reveal] = ["text", "question", "reveal"].map((name) => `lesson.loop.${name}_own`);
      return { text, question, reveal };
    },
    draw: async (view) => {
      const comparison = await divergingRun(view);
      return comparison.mistake === null ? null : scrollBox(comparisonTable(comparison, false));
    },
    async ask(view) {
      const { teacher, free, mistake } = await divergingRun(view);
      if (mistake === null) return orderedQuiz([{ text: "" }], { forced: "" });
      const isRight = (steps: ForcedRow[]) =>
        steps.length === teacher.length && steps.slice(mistake + 1).every(({ output, wanted }) => output === wanted);
      const outcome = { teacher: isRight(teacher), free: isRight(free) };
      const places = {
        step: mistake + 1,
        forced: word(free[mistake].output, "target"),
        right_word: word(teacher[mistake].wanted ?? "", "target"),
        free: word(free.map(({ output }) => output).join(" "), "target"),
        chance: formatPercent(free[mistake].probability),
        recovers: outcome.free ? t("lesson.loop.recovers") : "",
      };
      const right = outcome.teacher ? (outcome.free ? "both" : "only_teacher") : outcome.free ? "only_free" : "neither";
      const choices = ["both", "only_teacher", "only_free", "neither"].map((name) => ({
        text: t(`lesson.loop.${name}`),
        ...(name === right ? {} : { why: whyNot(name, outcome) }),
      }));
      return orderedQuiz(choices, places);
    },
  },
  align: {
    get wide() {
      return !isPresenting(); // as the heads
    },
    headline: ({ run }) => [
      "argmax_j w_{tj}",
      shapeChain([run.attention.cross.layers, run.model.heads, run.output.length, run.source.length]),
    ],
    texts: ({ run }) => ({ more: run.reference?.gold ? "lesson.align.from_gold" : "lesson.align.from_nothing" }),
    draw: ({ run }) => alignmentFigure(run),
    ask(view) {
      const { run } = view;
      const step = stepOfTwoWords(view);
      const [read, output, next] = [run.decoder_input[step], run.output[step], run.output[step + 1]];
      const places = { step: step + 1, read: word(read, "target"), output: word(output, "target") };
      const choices = [
        { text: read, why: "lesson.align.why.read" },
        { text: output },
        { text: next, why: "lesson.align.why.next" },
      ];
      const others = choices.filter(
        ({ text, why }, i) => !why || (text && text !== output && (i < 2 || text !== read)),
      );
      return orderedQuiz(others, places);
    },
  },
};

/** How positions are added. */
function positionFormula({ positions, scaled, sinusoid, d_model }: Run["model"]) {
  if (!positions) return `x = ${scaled ? "√d_model · " : ""}E[id] + 0`;
  const cosine = sinusoid === "halves" ? `i + ${Math.ceil(d_model / 2)}` : "2i + 1";
  const sine = sinusoid === "halves" ? "i" : "2i";
  return `PE(pos, ${sine}) = sin(pos ÷ 10000^{2i/d})    PE(pos, ${cosine}) = cos(pos ÷ 10000^{2i/d})`;
}

/** A step in which the decoder reads a word and outputs another, the one in view if it does; else the first. */
const stepOfTwoWords = ({ run, step }: LessonView) =>
  [step, ...run.output.keys()].find((at) => at > 0 && run.decoder_input[at] !== run.output[at]) ?? 0;

/** Explain a wrong choice: first teacher forcing, then free running. */
function whyNot(name: string, outcome: { teacher: boolean; free: boolean }) {
  const saysTeacher = name === "both" || name === "only_teacher";
  if (saysTeacher !== outcome.teacher) return outcome.teacher ? "lesson.loop.why.teacher" : "lesson.loop.why.astray";
  return outcome.free ? "lesson.loop.why.recovers" : "lesson.loop.why.free";
}

/** Teacher forcing beside free running, after an error that free running does not recover from. */
const divergingRun = ({ run }: LessonView) => askAboutRun("diverging", {}, run);

/** The word of the source that is farthest from the chosen one; null where there is no other. */
function farthestWord({ run, query }: LessonView) {
  const others = run.source.flatMap((token, i) => (token === "P" || i === query ? [] : [i]));
  return others.length ? others[argmax(others.map((i) => Math.abs(i - query)))] : null;
}

/** Which word has the largest value? Of a long sentence, those with the largest are offered, in their order. */
function largestWordQuiz(
  words: string[],
  values: ArrayLike<number>,
  places: Quiz["places"],
  wrong: (i: number) => Partial<Choice>,
): Quiz {
  const right = argmax(values);
  const largest = [...words.keys()].sort((a, b) => values[b] - values[a] || a - b);
  const shown = largest.slice(0, MAX_CHOICES).sort((a, b) => a - b);
  const choices = shown.map((i) => ({ text: distinct(words, i), ...(i === right ? {} : wrong(i)) }));
  return { choices, right: shown.indexOf(right), places };
}

/** Two digits, which is enough to tell how large a number is. */
const about = (value: number) => formatNumber(Number(value.toPrecision(2)));

const norm = (vector: number[]) => Math.sqrt(dot(vector, vector));

/** A word as a choice; each of several equal ones with its position. */
const distinct = (words: string[], i: number) =>
  words.filter((each) => each === words[i]).length > 1 ? `${words[i]} (${i + 1})` : words[i];
