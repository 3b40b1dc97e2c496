// The lesson: from words to translation in 14 stops, each with a text, the live figure of the sentence at the top, and a
// question whose answer is computed from this run. It shows the network as it is: what is changed in the run at the top
// has no part in it.

import { describeLargestWeights, heatmap, markRow, thumbnail } from "../charts/attention-map.js";
import { pictureButtons } from "../charts/export.js";
import { formulaRow, shapeChain, stageFigure, stageHeadline } from "../charts/sublayer-stages.js";
import { fluidPicture, vectorStrips } from "../charts/vector-strip.js";
import { chip, h, isSpecial, scrollBox, word } from "../core/dom.js";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { commonDigits, dot, fixed, products, sum } from "../core/numbers.js";
import { askAboutRun, askOnce, fetchSublayer } from "../core/server-cache.js";
import {
  argmax,
  attentionRow,
  baselineRun,
  decodeFloats,
  LESSON_STOPS,
  state,
  subscribe,
  update,
} from "../core/state.js";
import { lessonLink } from "./lesson-links.js";
import { candidate, MAX_CANDIDATES } from "./translate.js";

const FAR = 5; // places, at least, to tell near from far
const PATTERN = "PE(pos, 2i) = sin(pos ÷ 10000^{2i/d})    PE(pos, 2i + 1) = cos(pos ÷ 10000^{2i/d})";
const UNLIKELY = 4; // choices of a question about one of many, at most

// Every stop: its name in the catalogue, its headline (a formula and its shapes) and what to draw, or the stage of a head
// that is both; `asks` gives {choices, right, places}, with `right` the index of the right choice. The figure of a stop
// that `hides` would give the answer away. Where other things are true of some models, `says` gives the keys of other
// texts: {text, question, reveal}, or `more` for a paragraph below.
const LESSON = [
  {
    name: "tokens",
    headline: ({ run }) => ["word → id", shapeChain([1, run.source.length])],
    says: ({ run }) => (run.model.tied ? { text: "lesson.tokens.text_tied" } : {}),
    draw: ({ run }) => [
      ids("source", run.source, run.ids.source),
      ids("target", run.decoder_input, run.ids.decoder_input),
    ],
    asks({ run }) {
      const count = run.source.length;
      const words = run.source.filter((token) => token !== "P").length;
      return counted([count, words, run.model.source_words, run.output.length, count + 1], count, {
        count,
        words,
        last: run.ids.source.at(-1),
      });
    },
  },
  {
    name: "embeddings",
    headline: ({ run }) => [
      "x = √d_model · E[id]",
      shapeChain([1, run.source.length], [1, run.source.length, run.model.d_model]),
    ],
    says: ({ run }) => (run.model.positions ? {} : { text: "lesson.embeddings.text_bare" }),
    async draw(look) {
      const { embedding, tokens } = await look.input();
      return picture(
        look,
        tokens.map((token, i) => ({ label: token, side: "source", values: embedding[i] })),
        t("lesson.embeddings.figure"),
      );
    },
    async asks(look) {
      const { embedding, d_model } = await look.input();
      const factor = Math.sqrt(d_model);
      const length = Math.sqrt(dot(embedding[look.query], embedding[look.query]));
      const shown = products([length / factor], [factor], null, length);
      return counted([factor, d_model, d_model / 2, 1], factor, {
        ...look.words,
        d_model,
        factor: round(factor),
        sum: `${shown.terms[0][0]} × ${shown.terms[0][1]} = ${shown.result}`,
      });
    },
  },
  {
    name: "positions",
    headline: ({ run }) => [
      run.model.positions ? PATTERN : "x = √d_model · E[id] + 0",
      shapeChain([1, run.source.length, run.model.d_model]),
    ],
    says: ({ run }) =>
      run.model.positions
        ? {}
        : {
            text: "lesson.positions.text_bare",
            question: "lesson.positions.question_bare",
            reveal: "lesson.positions.reveal_bare",
          },
    async draw(look) {
      const { embedding, positions, input, tokens } = await look.input();
      if (!look.run.model.positions)
        return picture(
          look,
          tokens.map((token, i) => ({ label: token, side: "source", values: input[i] })),
          t("lesson.embeddings.figure"),
        );
      const rows = [
        ["embedding", embedding],
        ["+ position", positions],
        ["= input", input],
      ].map(([name, values]) => ({ label: t(`figure.${name}`), name, values: values[look.query] }));
      const digits = commonDigits(
        rows.slice(0, 2).map((row) => row.values),
        rows[2].values,
      );
      rows.forEach((row, i) => (row.digits = i < 2 || digits === null ? digits : 2));
      const choose = (_, i) => {
        const shown = sum(...[embedding, positions, input].map((values) => values[look.query][i]));
        look.tell(t("cell.input", { n: i + 1 }), [
          h(
            "p",
            { class: "arithmetic" },
            `${shown.terms[0]} + ${bracketed(shown.terms[1])} = `,
            h("b", { class: "result" }, shown.result),
          ),
        ]);
      };
      return picture(look, rows, t("lesson.positions.figure"), choose);
    },
    async asks(look) {
      if (!look.run.model.positions)
        return { choices: [t("lesson.positions.other"), t("lesson.positions.same")], right: 1, places: {} };
      const count = Math.max(FAR, look.run.source.length);
      const { similarity } = await askOnce(
        "positional_encoding",
        { length: count, d_model: look.run.model.d_model },
        look.server.positional_encoding,
      );
      const alike = decodeFloats(similarity); // of place 1 to place i
      const pair = (place) => t("lesson.positions.pair", { a: 1, b: place });
      const places = { near: alike[1].toFixed(2), far: alike[count - 1].toFixed(2), last: count };
      return { choices: [pair(2), pair(count)], right: alike[1] >= alike[count - 1] ? 0 : 1, places };
    },
  },
  {
    name: "qkv",
    stage: "qkv",
    says: ({ run }) =>
      run.model.heads > 1 ? {} : { question: "lesson.qkv.question_alone", reveal: "lesson.qkv.reveal_alone" },
    async asks(look) {
      const { heads, d_model } = look.run.model;
      return counted([d_model, d_model / heads, heads, 2 * d_model], d_model / heads, {
        d_model,
        heads,
        width: d_model / heads,
      });
    },
  },
  {
    name: "scores",
    hides: true,
    stage: "scores",
    columns: ["dot", "scaled"],
    async asks(look) {
      const { data, head, query } = await look.head();
      const scores = data.at("scores", head, query);
      const right = argmax(scores);
      return {
        choices: named(data.keys),
        right,
        places: {
          ...look.words,
          key: word(data.keys[right], "source"),
          score: fixed(scores[right], 2),
          padding: data.allowed[query][right] ? "" : t("lesson.scores.padding"),
        },
      };
    },
  },
  {
    name: "softmax",
    hides: true,
    stage: "scores",
    async asks(look) {
      const { data, head, query } = await look.head();
      const weights = data.at("weights", head, query);
      const key = argmax(weights);
      const open = data.allowed[query].filter(Boolean).length;
      const masked = data.allowed[query].length - open;
      const places = {
        ...look.words,
        key: word(data.keys[key], "source"),
        share: formatPercent(weights[key]),
        equal: formatPercent(1 / open),
        masked,
        open,
      };
      return choice(
        [weights[key], 1 / open, 1, weights[key] / 2].map((share) => [formatPercent(share), share]),
        formatPercent(weights[key]),
        places,
      );
    },
  },
  {
    name: "heads",
    headline: ({ run }) => [
      "head_i = softmax(Q_i K_i^T ÷ √d_k) V_i",
      shapeChain([1, run.model.heads, run.source.length, run.source.length]),
    ],
    hides: true,
    says: ({ run }) => (run.model.heads > 1 ? {} : { text: "lesson.heads.text_alone" }),
    draw: ({ run, layer }) =>
      h(
        "div",
        { class: "heads" },
        Array.from({ length: run.attention.encoder.heads }, (_, head) =>
          h(
            "figure",
            {
              "data-head": head,
              "aria-label": `${t("head_n", { head: head + 1 })}: ${describeLargestWeights("encoder", layer, head, run)}`,
            },
            thumbnail("encoder", layer, head, run),
            h("small", {}, t("head_n", { head: head + 1 })),
          ),
        ),
      ),
    asks({ run, layer }) {
      const { heads, queries } = run.attention.encoder;
      const hardest = Array.from({ length: heads }, (_, head) =>
        Math.max(...queries.flatMap((token, q) => (token === "P" ? [] : attentionRow("encoder", layer, head, q, run)))),
      );
      const right = argmax(hardest);
      const offered = few(
        hardest.map((_, head) => head),
        right,
      );
      return {
        choices: offered.map((head) => t("head_n", { head: head + 1 })),
        right: offered.indexOf(right),
        places: { heads, layer: layer + 1, head: right + 1, share: formatPercent(hardest[right]) },
      };
    },
  },
  {
    name: "residual",
    hides: true,
    stage: "residual",
    says: ({ run }) => (run.model.norm_first ? { text: "lesson.residual.text_first" } : {}),
    async asks(look) {
      const { data, query } = await look.head();
      const [own, change] = ["residual", "output"].map((name) =>
        Math.sqrt(dot(data.at(name, query), data.at(name, query))),
      );
      const places = { ...look.words, own: fixed(own, 2), change: fixed(change, 2) };
      return { choices: [t("lesson.residual.own"), t("lesson.residual.change")], right: own >= change ? 0 : 1, places };
    },
  },
  {
    name: "ffn",
    hides: true,
    stage: "ffn",
    async asks(look) {
      const { data, query } = await look.head();
      const hidden = data.at("ff_hidden", query);
      const firing = hidden.filter((value) => value > 0).length;
      const quarter = Math.min(3, Math.floor((4 * firing) / hidden.length));
      return {
        choices: [0, 1, 2, 3].map((n) => t(`lesson.ffn.quarter${n + 1}`)),
        right: quarter,
        places: {
          ...look.words,
          firing,
          of: hidden.length,
          share: formatPercent(firing / hidden.length),
          most: most(look.run.model),
        },
      };
    },
  },
  {
    name: "stack",
    headline: ({ run }) => [
      "x ← layer_n(x), n = 1 … N",
      `${shapeChain([1, run.source.length, run.model.d_model])} × ${run.attention.encoder.layers}`,
    ],
    hides: true,
    says: ({ run }) => ({
      ...(run.attention.encoder.layers > 1 ? {} : { text: "lesson.stack.text_alone" }),
      ...(run.model.final_norm ? { more: "lesson.stack.norm" } : {}),
    }),
    async draw(look) {
      const layers = await look.stream();
      const rows = layers.map((values, layer) => ({
        label: layer ? t("layer_n", { layer }) : t("lesson.stack.input"),
        values,
      }));
      return picture(look, rows, t("lesson.stack.figure"));
    },
    async asks(look) {
      const layers = await look.stream();
      const moves = layers
        .slice(1)
        .map((values, i) => Math.sqrt(values.reduce((total, value, n) => total + (value - layers[i][n]) ** 2, 0)));
      const right = argmax(moves);
      const offered = few(
        moves.map((_, layer) => layer),
        right,
      );
      return {
        choices: offered.map((layer) => t("layer_n", { layer: layer + 1 })),
        right: offered.indexOf(right),
        places: { ...look.words, layers: moves.length, layer: right + 1, distance: fixed(moves[right], 2) },
      };
    },
  },
  {
    name: "masked",
    headline: ({ run }) => [
      "softmax(Q K^T ÷ √d_k + M),  M = 0, −∞",
      shapeChain([1, run.model.heads, run.output.length, run.output.length]),
    ],
    draw: (look) => map(look, "decoder"),
    asks({ run }) {
      const { allowed, queries } = run.attention.decoder;
      const masked = allowed.flat().filter((open) => !open).length;
      const count = queries.length;
      return counted([masked, count, count * count, count * count - masked], masked, {
        masked,
        count,
        cells: count * count,
        first: word(run.decoder_input[0], "target"),
      });
    },
  },
  {
    name: "cross",
    headline: ({ run }) => [
      "softmax(Q_dec K_enc^T ÷ √d_k) V_enc",
      shapeChain([1, run.model.heads, run.output.length, run.source.length]),
    ],
    hides: true,
    draw: (look) => map(look, "cross", look.hardest()),
    asks(look) {
      const { run, crossLayer: layer, crossHead: head } = look;
      const query = look.hardest();
      const looks = attentionRow("cross", layer, head, query, run);
      const right = argmax(looks);
      const places = {
        said: word(run.output[query], "target"),
        read: word(run.decoder_input[query], "target"),
        layer: layer + 1,
        head: head + 1,
        key: word(run.source[right], "source"),
        share: formatPercent(looks[right]),
        step: query + 1,
      };
      return { choices: named(run.source), right, places };
    },
  },
  {
    name: "logits",
    hides: true,
    says: ({ run }) => (run.model.tied ? { text: "lesson.logits.text_tied" } : {}),
    headline: ({ run }) => [
      run.model.tied ? "p = softmax(x E^T + b)" : "p = softmax(x W + b)",
      shapeChain([1, run.output.length, run.model.d_model], [1, run.output.length, run.model.target_words]),
    ],
    draw: ({ run, step }) =>
      h(
        "ol",
        { class: "candidates" },
        run.steps[step].candidates
          .slice(0, MAX_CANDIDATES)
          .map((each) => candidate(each, each.token === run.output[step])),
      ),
    asks({ run, step }) {
      const { candidates } = run.steps[step];
      const [first, second] = candidates;
      const offered = candidates
        .slice(1, 1 + UNLIKELY)
        .map(({ token }) => token)
        .sort();
      const read = word(run.decoder_input.slice(0, step + 1).join(" "), "target");
      const places = {
        words: run.model.target_words,
        read,
        first: word(first.token, "target"),
        share: formatPercent(first.probability),
        second: word(second.token, "target"),
        second_share: formatPercent(second.probability),
      };
      return { choices: offered, right: offered.indexOf(second.token), places };
    },
  },
  {
    name: "loop",
    headline: ({ run }) => [
      "y_t = argmax p(y | S, y_1 … y_{t−1})",
      shapeChain([1, "t"], [1, "t", run.model.target_words], [1, 1]),
    ],
    hides: true,
    async draw(look) {
      const { teacher, free, slip } = await look.ways();
      const cells = (at, given) =>
        at
          ? [
              h("td", {}, word(at.read, "target")),
              h(
                "td",
                { "data-said": at.said },
                word(at.said, "target"),
                " ",
                h("small", {}, formatPercent(at.probability)),
                given ? h("small", {}, ` ${t("lesson.loop.slip")}`) : null,
              ),
            ]
          : [h("td"), h("td")];
      const column = (name, span) => h("th", { scope: "col", colspan: span }, t(`lesson.loop.${name}`));
      return scrollBox(
        h(
          "table",
          { class: "ways" },
          h(
            "thead",
            {},
            h("tr", {}, h("td"), column("teacher", 2), column("free", 2)),
            h("tr", {}, h("td"), ...["reads", "says", "reads", "says"].map((name) => column(name, 1))),
          ),
          h(
            "tbody",
            {},
            Array.from({ length: Math.max(teacher.length, free.length) }, (_, i) =>
              h(
                "tr",
                { class: i === slip ? "marked" : "" },
                h("th", { scope: "row" }, formatNumber(i + 1)),
                cells(teacher[i], i === slip),
                cells(free[i], i === slip),
              ),
            ),
          ),
        ),
      );
    },
    async asks(look) {
      const { teacher, free, slip } = await look.ways();
      const wanted = teacher
        .slice(slip + 1)
        .map((step) => step.wanted)
        .join(" ");
      const got = free
        .slice(slip + 1)
        .map((step) => step.said)
        .join(" ");
      const same = wanted === got;
      const places = {
        step: slip + 1,
        slipped: word(free[slip].said, "target"),
        right_word: word(teacher[slip].wanted, "target"),
        free: word(free.map((step) => step.said).join(" "), "target"),
        chance: formatPercent(free[slip].probability),
      };
      return { choices: [t("lesson.loop.yes"), t("lesson.loop.no")], right: same ? 0 : 1, places };
    },
  },
];

/** Whether the network has more weights than the attention of its encoder layer, said if so. */
const most = ({ d_model, d_ff }) => (2 * d_model * d_ff > 4 * d_model ** 2 ? t("lesson.ffn.most") : "");

const bracketed = (text) => (text.startsWith("−") ? `(${text})` : text);
const round = (value) => formatNumber(Math.round(value * 100) / 100);

/** Words as choices; of several alike each says its place. */
const named = (tokens) =>
  tokens.map((token, i) => (tokens.filter((each) => each === token).length > 1 ? `${token} (${i + 1})` : token));

/** The right one of a list and so many of the others that few are to choose from, in order. */
const few = (all, right) => [right, ...all.filter((each) => each !== right)].slice(0, UNLIKELY).sort((a, b) => a - b);

/** [text, value] as choices in the order of their values, each text once. */
function choice(options, right, places) {
  const ordered = [...new Map(options)]
    .sort((a, b) => a[1] - b[1])
    .map(([text]) => text)
    .slice(0, UNLIKELY + 1);
  return { choices: ordered, right: ordered.indexOf(right), places };
}
const counted = (values, right, places) =>
  choice(
    values.map((value) => [round(value), value]),
    round(right),
    places,
  );

const picture = (look, rows, label, choose) =>
  fluidPicture((width) => vectorStrips(rows, { width, label, choose }), look.signal);

const ids = (side, tokens, numbers) =>
  h(
    "div",
    { class: "token-ids" },
    h("h4", {}, t(`side.${side}`)),
    h(
      "ol",
      {},
      tokens.map((token, i) =>
        h("li", { "data-id": numbers[i] }, chip("span", token, side), h("small", {}, String(numbers[i]))),
      ),
    ),
  );

function map(look, kind, query = null) {
  const [layer, head] = kind === "cross" ? [look.crossLayer, look.crossHead] : [look.layer, look.headIndex];
  const sides = { decoder: ["target", "target"], cross: ["target", "source"] }[kind];
  const heading = nodes("attention.axes", {
    head: head + 1,
    layer: layer + 1,
    from: word(`${t(`side.${sides[0]}`)} ↓`, sides[0]),
    at: word(`${t(`side.${sides[1]}`)} →`, sides[1]),
  });
  const figure = fluidPicture((width) => {
    const drawn = heatmap(kind, layer, head, { width, sides, run: look.run });
    markRow(drawn, query);
    drawn.setAttribute("aria-label", describeLargestWeights(kind, layer, head));
    return drawn;
  }, look.signal);
  return [h("h4", {}, heading), figure];
}

/** What a stop looks at: the unbroken run, and the step, layer, head and word that the visitor has chosen, as far as it has them. */
function looking(server, signal, tell) {
  const { kind, layer, head } = state;
  const run = baselineRun();
  const { encoder, cross } = run.attention;
  const step = Math.min(state.step, run.steps.length - 1); // a broken run may have more
  const query = kind === "encoder" ? state.query : run.source.findLastIndex((token) => token !== "P");
  const at = { layer: Math.min(layer, encoder.layers - 1), headIndex: Math.min(head, encoder.heads - 1) };
  const look = {
    run,
    server,
    signal,
    tell,
    step,
    query,
    ...at,
    crossLayer: Math.min(layer, cross.layers - 1),
    crossHead: Math.min(head, cross.heads - 1),
  };
  look.words = { word: word(run.source[query], "source") };
  look.head = async () => ({
    run,
    data: await fetchSublayer(server, "encoder", at.layer, run),
    kind: "encoder",
    layer: at.layer,
    head: at.headIndex,
    query,
    server,
    signal,
    tell,
  });
  look.input = async () => {
    const { figure, tokens, d_model } = await askAboutRun("input_sum", server, { stack: "encoder" }, run);
    const strip = (i) => rows(decodeFloats(figure.data[i].z.bdata), d_model);
    return { tokens, d_model, embedding: strip(0), positions: strip(1), input: strip(2) };
  };
  look.stream = async () => {
    const { encoder: streams } = await askAboutRun("stack", server, {}, run);
    const [layers, tokens, width] = streams.shape;
    const values = rows(decodeFloats(streams.data), width);
    return Array.from({ length: layers }, (_, l) => values[l * tokens + query]);
  };
  look.hardest = () =>
    argmax(run.steps.map((_, step) => Math.max(...attentionRow("cross", look.crossLayer, look.crossHead, step, run))));
  look.ways = () => {
    const words = run.reference?.text.split(" ") ?? run.output;
    const slip = Math.max(0, Math.min(step, run.steps.length - 2, words.length)); // after it there must be something to say
    const [, ...others] = run.steps[slip].candidates;
    const right = run.reference && words[slip];
    const { token } = others.find((each) => !isSpecial(each.token) && each.token !== right) ?? others[0];
    return askAboutRun("forced", server, { slip: { step: slip, word: token } }, run);
  };
  return look;
}

const rows = (values, width) =>
  Array.from({ length: values.length / width }, (_, i) => Array.from(values.subarray(i * width, (i + 1) * width)));

const answered = new Map(); // question about a sentence -> the choice that was made, -1 for none: a change and its end ask no other

export function mount({ element, server, signal }) {
  const dots = h(
    "ol",
    { class: "stops" },
    LESSON.map(({ name }, i) =>
      h(
        "li",
        {},
        h("button", {
          type: "button",
          title: `${i + 1}. ${t(`lesson.${name}`)}`,
          "aria-label": `${i + 1}. ${t(`lesson.${name}`)}`,
          onclick: () => open(i),
        }),
      ),
    ),
  );
  const title = h("h2", { id: "stop-title", tabindex: -1 });
  const text = h("div", { class: "lesson-text" });
  const question = h("section", { class: "question", "aria-live": "polite" });
  const figure = h("div", { class: "lesson-figure" });
  const aside = h("p", { class: "hint", hidden: true }, t("lesson.unbroken"));
  const told = h("div", { class: "told", "aria-live": "polite", hidden: true });
  const back = h(
    "button",
    { type: "button", class: "pill", id: "stop-back", onclick: () => open(state.stop - 1) },
    t("lesson.back"),
  );
  const next = h(
    "button",
    { type: "button", class: "pill primary", id: "stop-next", onclick: () => open(state.stop + 1) },
    t("lesson.next"),
  );
  element.replaceChildren(
    h(
      "section",
      { class: "card lesson" },
      aside,
      h(
        "div",
        { class: "lesson-head" },
        dots,
        h("span", { class: "space" }),
        h("span", { class: "keys hint" }, t("lesson.keys")),
        back,
        next,
      ),
      h(
        "div",
        { class: "columns" },
        h("div", {}, title, text, question),
        h(
          "div",
          {},
          h(
            "div",
            { class: "kept" },
            figure,
            pictureButtons(figure, () => `lesson-${state.stop + 1}`),
          ),
          told,
        ),
      ),
    ),
  );

  const open = (stop) => {
    update({ stop });
    title.focus({ preventScroll: true });
  };
  const tell = (heading, body) => {
    told.hidden = false;
    told.replaceChildren(h("h4", {}, heading), ...body);
  };

  let lifetime = null;
  let shown = [];
  let asked = null; // answers the question that is shown
  async function draw() {
    aside.hidden = !state.run.changes.length;
    const depends = [baselineRun(), state.stop, state.kind, state.layer, state.head, state.query, state.step];
    if (!element.offsetParent || depends.every((value, i) => value === shown[i])) return;
    shown = depends;
    lifetime?.abort();
    const mine = (lifetime = new AbortController());
    asked = null; // until its question is there, a key answers nothing
    const stop = LESSON[state.stop];
    const look = looking(server, mine.signal, tell);
    [...dots.querySelectorAll("button")].forEach((button, i) =>
      button.setAttribute("aria-current", i === state.stop ? "step" : "false"),
    );
    back.disabled = state.stop === 0;
    next.disabled = state.stop === LESSON_STOPS - 1;
    const heading = t("lesson.title", { n: state.stop + 1, of: LESSON_STOPS, name: t(`lesson.${stop.name}`) });
    let drawing, top, quiz;
    try {
      const head = stop.stage && { ...(await look.head()), columns: stop.columns };
      top = head ? stageHeadline(stop.stage, head) : formulaRow(...stop.headline(look));
      drawing = head ? stageFigure(stop.stage, head) : await stop.draw(look);
      quiz = await stop.asks(look);
    } catch {
      if (mine !== lifetime) return;
      shown = []; // the next look asks again
      figure.replaceChildren(h("p", { class: "hint" }, t("positions.failed")));
      title.textContent = heading;
      [text, question].forEach((each) => each.replaceChildren()); // of the stop before
      return;
    }
    if (mine !== lifetime) return; // something else is wanted by now
    title.textContent = heading;
    quiz.says = stop.says?.(look) ?? {};
    text.replaceChildren(
      top,
      h("p", {}, nodes(quiz.says.text ?? `lesson.${stop.name}.text`, quiz.places)),
      ...(quiz.says.more ? [h("p", {}, t(quiz.says.more))] : []),
    );
    figure.replaceChildren(...[drawing].flat());
    told.hidden = true;
    asked = ask(look.run, stop, quiz);
  }

  /** The question; the figure stays veiled until somebody has guessed or wants to see it. */
  function ask(run, stop, quiz) {
    const key = JSON.stringify([run.checkpoint, run.sentence, stop.name, quiz.choices, quiz.right]); // another step or head asks another question
    const alone = quiz.choices.length < 2; // nothing to guess: the answer stands there, and the figure is seen
    const made = () => (alone ? -1 : answered.get(key));
    const choose = (i) => {
      if (made() !== undefined || i >= quiz.choices.length) return;
      answered.set(key, i);
      draw();
    };
    const look = h("button", { type: "button", class: "link", onclick: () => choose(-1) }, t("lesson.show"));
    const veil = h("div", { class: "veil" }, h("p", {}, t("lesson.predict"), " ", look));
    const buttons = quiz.choices.map((text, i) =>
      h(
        "button",
        { type: "button", class: "choice", onclick: () => choose(i) },
        h("small", {}, String(i + 1)),
        " ",
        text,
      ),
    );
    const reveal = h("p", { class: "reveal", hidden: true });
    const further = h("p", { hidden: true }, lessonLink(stop.name));
    const asking = [
      h("h3", {}, nodes(quiz.says.question ?? `lesson.${stop.name}.question`, quiz.places)),
      h("div", { class: "choices" }, buttons),
    ];
    question.replaceChildren(...(alone ? [] : asking), reveal, further);
    function draw() {
      const choice = made();
      const open = choice !== undefined;
      figure.inert = Boolean(stop.hides) && !open;
      figure.classList.toggle("veiled", figure.inert);
      veil.remove();
      if (figure.inert) figure.after(veil);
      if (!open) return;
      question.dataset.right = quiz.right;
      buttons.forEach((button, i) => {
        button.disabled = true;
        button.classList.toggle("right", i === quiz.right);
        button.classList.toggle("wrong", i === choice && choice !== quiz.right);
      });
      reveal.hidden = false;
      const verdict = alone
        ? t("lesson.alone")
        : choice === -1
          ? ""
          : t(choice === quiz.right ? "lesson.right" : "lesson.wrong");
      const revealed = nodes(quiz.says.reveal ?? `lesson.${stop.name}.reveal`, quiz.places);
      reveal.replaceChildren(...joinSentences(verdict && [h("b", {}, verdict)], revealed));
      further.hidden = !further.hasChildNodes();
    }
    delete question.dataset.right;
    draw();
    return choose;
  }

  subscribe(element, draw);
  const seen = new IntersectionObserver(() => state.run && draw());
  seen.observe(element);
  signal.addEventListener("abort", () => {
    seen.disconnect();
    lifetime?.abort();
  });

  // Keys that neither typing nor the steps need; PageUp and PageDown are what a presenter's remote sends.
  document.addEventListener(
    "keydown",
    (event) => {
      if (!element.offsetParent || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.target.closest("input:not([type=range]), textarea, select, dialog")) return;
      const to = { PageDown: state.stop + 1, n: state.stop + 1, PageUp: state.stop - 1, b: state.stop - 1 }[event.key];
      if (to !== undefined) open(to);
      else if (/^[1-9]$/.test(event.key)) asked?.(Number(event.key) - 1);
      else if (event.key === "r") asked?.(-1);
      else return;
      event.preventDefault();
    },
    { signal },
  );
}
