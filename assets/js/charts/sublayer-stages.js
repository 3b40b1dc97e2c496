// The stages of one head, from the query to the end of the layer: formula, shapes, numbers, and each number's arithmetic.
//
// A `look` is what is looked at: {run, data (from server-cache.js), kind, layer, head, query, server, signal, tell}. `tell(title,
// body)` shows the arithmetic of a cell.

import { findChange, isSilenced, temperatureOf } from "../core/changes.js";
import { h, scrollBox, word } from "../core/dom.js";
import { nodes, formatNumber, formatPercent, t } from "../core/i18n.js";
import { fetchParameters } from "../core/server-cache.js";
import {
  dot,
  fixed,
  attentionColumns as columns,
  mean,
  normalised,
  products,
  scaled,
  softmax,
  sum,
  commonDigits,
  variance,
} from "../core/numbers.js";
import { pictureButtons } from "./export.js";
import { fluidPicture, vectorStrips } from "./vector-strip.js";

export const STAGES = ["qkv", "scores", "values", "concat", "residual", "ffn", "ffn_residual"];

const FORMULAS = {
  qkv: "q = x W^Q + b^Q    K = X W^K + b^K    V = X W^V + b^V",
  scores: "w = softmax(q K^T ÷ √d_k)",
  values: "z = Σ_j w_j v_j",
  concat: "o = [z_1 … z_h] W^O + b^O",
  residual: "y = LayerNorm(x + o)",
  ffn: "FFN(y) = max(0, y W_1 + b_1) W_2 + b_2",
  ffn_residual: "LayerNorm(y + FFN(y))",
};

// Of a pre-norm network: a sublayer reads the LayerNorm of the stream, x̂ or ŷ, and is added to the stream as it is.
const NORM_FIRST = {
  qkv: "x̂ = LayerNorm(x)    q = x̂ W^Q + b^Q    K = X̂ W^K + b^K    V = X̂ W^V + b^V",
  residual: "x̂ = LayerNorm(x),  o = Attention(x̂),  y = x + o",
  ffn: "ŷ = LayerNorm(y),  FFN(ŷ) = max(0, ŷ W_1 + b_1) W_2 + b_2",
  ffn_residual: "ŷ = LayerNorm(y),  y + FFN(ŷ)",
};
const CROSS_FIRST = { qkv: "x̂ = LayerNorm(x)    q = x̂ W^Q + b^Q    K = X W^K + b^K    V = X W^V + b^V" }; // X left the encoder

// Of a run in which the way around a sublayer was dropped.
const DROPPED = { residual: "y = LayerNorm(o)", ffn_residual: "LayerNorm(FFN(y))" };
const DROPPED_FIRST = {
  residual: "x̂ = LayerNorm(x),  o = Attention(x̂),  y = o",
  ffn_residual: "ŷ = LayerNorm(y),  FFN(ŷ)",
};

// Stages of which there is something else to say: [title, text].
const TEXT_NORM_FIRST = {
  residual: ["inside.residual_first", "inside.residual_first.about"],
  ffn: ["inside.ffn", "inside.ffn_first.about"],
  ffn_residual: ["inside.ffn_residual_first", "inside.ffn_residual_first.about"],
};
const TEXT_ONLY_HEAD = { concat: ["inside.concat_alone", "inside.concat_alone.about"] }; // of the only head of a layer
const TEXT_DROPPED = { residual: "inside.residual_dropped.about", ffn_residual: "inside.ffn_residual_dropped.about" };

/** W_1 with a small 1 below, K^T with a small T above, e^{a + b} with all of it above. */
function formula(text) {
  const parts = text.split(/([_^](?:\w+|\{[^}]*\}))/).map((part) => {
    const tag = { _: "sub", "^": "sup" }[part[0]];
    return tag ? h(tag, {}, part.slice(1).replace(/[{}]/g, "")) : part;
  });
  return h("p", { class: "formula", lang: "zxx" }, parts);
}

/** A formula, and the shapes on the way through it. */
export const formulaRow = (text, shapes) =>
  h("div", { class: "formula-row" }, formula(text), h("p", { class: "shape" }, shapes));

/** The headline of a stage. */
export function stageHeadline(name, look) {
  const { data } = look;
  return formulaRow(
    equation(name, look),
    `${t("inside.of_queries", { count: data.queries.length })} ${shapes(name, data)}`,
  );
}

/** The formula of a stage, as this run computed it. */
function equation(name, look) {
  const { data, kind } = look;
  if (name === "scores" && temperatureIn(look) !== 1)
    return `w = softmax(q K^T ÷ √d_k ÷ τ),  τ = ${temperatureIn(look)}`;
  if (name === "values" && headIsSilenced(look)) return "z = 0";
  if (isDropped(name, look)) return (data.norm_first ? DROPPED_FIRST : DROPPED)[name];
  const first = data.norm_first && { ...NORM_FIRST, ...(kind === "cross" ? CROSS_FIRST : {}) };
  return { ...FORMULAS, ...first }[name];
}

/** What a stage draws. */
export const stageFigure = (name, look) => DRAW[name](look);

/** One stage as a section. */
export function stageSection(name, look) {
  const figure = h("div", { class: "stage-figure" }, DRAW[name](look));
  const [title, about] = (look.data.norm_first && TEXT_NORM_FIRST[name]) ||
    (isOnlyHead(look) && TEXT_ONLY_HEAD[name]) || [`inside.${name}`, `inside.${name}.about`];
  const more = {
    scores: !look.data.allowed[look.query].includes(true) && "inside.scores.closed",
    concat: anyQuiet(look) && "inside.concat.silent",
    ffn: look.kind === "decoder" && "inside.between",
  }[name];
  return h(
    "section",
    { class: "stage", id: `stage-${name}` },
    h("h3", {}, t(title)),
    stageHeadline(name, look),
    h("p", { class: "hint" }, nodes(textOf(name, look) || about, places(look)), more ? [" ", t(more)] : []),
    figure,
    pictureButtons(figure, () => `${look.kind}-layer-${look.layer + 1}-head-${look.head + 1}-${name}`),
  );
}

/** What is to be said of a stage instead where it was changed. */
function textOf(name, look) {
  if (name === "scores" && temperatureIn(look) !== 1) return "inside.scores_heated.about";
  if (name === "values" && headIsSilenced(look)) return "inside.values_silent.about";
  return isDropped(name, look) && TEXT_DROPPED[name];
}

function places(look) {
  const { data, head, layer, query } = look;
  const width = data.head_dim;
  return {
    word: word(data.queries[query], data.from),
    heads: data.arrays.q.shape[0],
    width,
    head: head + 1,
    layer: layer + 1,
    temperature: String(temperatureIn(look)),
  };
}

/** Whether a layer has no other head. */
const isOnlyHead = ({ data }) => data.arrays.q.shape[0] === 1;

export const shapeChain = (...shapes) => shapes.map((each) => `(${each.join(", ")})`).join(" → ");

function shapes(name, { arrays, head_dim: d, keys }) {
  const [heads, width, hidden] = [arrays.q.shape[0], arrays.x.shape[1], arrays.ff_hidden.shape[1]];
  const all = {
    qkv: [
      [1, width],
      [1, d],
    ],
    scores: [
      [1, d],
      [keys.length, d],
      [1, keys.length],
    ],
    values: [
      [1, keys.length],
      [keys.length, d],
      [1, d],
    ],
    concat: [
      [heads, d],
      [1, heads * d],
      [1, width],
    ],
    residual: [
      [1, width],
      [1, width],
    ],
    ffn: [
      [1, width],
      [1, hidden],
      [1, width],
    ],
    ffn_residual: [
      [1, width],
      [1, width],
    ],
  };
  return shapeChain(...all[name]);
}

const picture = (look, rows, options = {}) =>
  fluidPicture(
    (width) => vectorStrips(rows, { width, choose: (name, i) => explainCell(look, name, i), ...options }),
    look.signal,
  );

const DRAW = {
  qkv(look) {
    const { data, head, query } = look;
    const token = { label: data.queries[query], side: data.from };
    const keys = (name) =>
      data.keys.map((key, j) => ({ label: key, side: data.to, name: `${name}:${j}`, values: data.at(name, head, j) }));
    return [
      h("h4", {}, t("inside.reads", places(look))),
      picture(look, [{ ...token, name: "x", values: data.at("x", query) }], { label: t("inside.reads", places(look)) }),
      h("h4", {}, t("inside.query")),
      picture(look, [{ ...token, name: "q", values: data.at("q", head, query) }], { label: t("inside.query") }),
      h("h4", {}, t("inside.keys")),
      picture(look, keys("k"), { label: t("inside.keys") }),
      h("h4", {}, t("inside.values_rows")),
      picture(look, keys("v"), { label: t("inside.values_rows") }),
    ];
  },

  scores(look) {
    const { data, head, query } = look;
    const q = data.at("q", head, query);
    const dots = data.keys.map((_, j) => dot(q, data.at("k", head, j)));
    const [scores, weights, open] = [
      data.at("scores", head, query),
      data.at("weights", head, query),
      data.allowed[query],
    ];
    const hot = temperatureIn(look);
    const shown = columns(dots, data.head_dim * hot ** 2, scores, open, weights);
    const cell = (name, j, text, exact) =>
      h(
        "td",
        {},
        h(
          "button",
          {
            type: "button",
            class: "cell",
            "data-name": name,
            "data-index": j,
            "data-value": exact,
            onclick: ({ currentTarget }) => choose(currentTarget, look, name, j),
          },
          text,
        ),
      );
    const wanted = look.columns ?? ["dot", "scaled", "mask", "softmax"];
    const cells = (made) => wanted.map((name) => made[name]());
    const head_row = ["key", ...wanted].map((name) =>
      h(
        "th",
        { scope: "col" },
        t(`inside.column.${name}`, { d: data.head_dim }),
        name === "scaled" && hot !== 1 ? ` ÷ ${hot}` : null,
      ),
    );
    return scrollBox(
      h(
        "table",
        { class: "look" },
        h("thead", {}, h("tr", {}, head_row)),
        h(
          "tbody",
          {},
          data.keys.map((key, j) =>
            h(
              "tr",
              { class: open[j] ? "" : "masked" },
              h("th", { scope: "row" }, word(key, data.to)),
              cells({
                dot: () => cell("dot", j, shown.dots[j], dots[j]),
                scaled: () => cell("score", j, shown.scores[j], scores[j]),
                mask: () => cell("mask", j, open[j] ? shown.scores[j] : "−∞", open[j] ? scores[j] : "-Infinity"),
                softmax: () => cell("weight", j, shown.weights[j], weights[j]),
              }),
            ),
          ),
        ),
        wanted.includes("softmax")
          ? h(
              "tfoot",
              {},
              h(
                "tr",
                {},
                h("th", { scope: "row" }, "Σ"),
                h("td"),
                h("td"),
                h("td"),
                h("td", { class: "total" }, shown.total),
              ),
            )
          : null,
      ),
    );
  },

  values(look) {
    const { data, head, query } = look;
    const weights = data.at("weights", head, query);
    const parts = data.keys.map((key, j) => ({
      label: key,
      side: data.to,
      name: `part:${j}`,
      values: data.at("v", head, j).map((v) => weights[j] * v),
    }));
    const headOutput = data.at("head_output", head, query);
    const digits = headIsSilenced(look)
      ? 2
      : commonDigits(
          parts.map((row) => row.values),
          headOutput,
        );
    const largest = Math.max(...[...parts.flatMap((row) => row.values), ...headOutput].map(Math.abs));
    return [
      h("h4", {}, t("inside.parts")),
      picture(
        look,
        parts.map((row) => ({ ...row, digits })),
        { label: t("inside.parts"), largest },
      ),
      h("h4", {}, t(headIsSilenced(look) ? "inside.silent" : "inside.head_output")),
      picture(look, [{ label: headIsSilenced(look) ? "z" : "Σ", name: "head_output", values: headOutput }], {
        label: t(headIsSilenced(look) ? "inside.silent" : "inside.head_output"),
        largest,
        labels: data.keys,
      }),
    ];
  },

  concat(look) {
    const { data, head, query } = look;
    const d = data.head_dim;
    const [label, mark] = isOnlyHead(look)
      ? [t("inside.concat_row_alone")]
      : [t("inside.concat_row", places(look)), [head * d, (head + 1) * d]];
    return [
      h("h4", {}, label),
      picture(look, [{ name: "concat", values: joined(look) }], { label, mark }),
      h("h4", {}, t("inside.output")),
      picture(look, [{ name: "output", values: data.at("output", query) }], { label: t("inside.output") }),
    ];
  },

  residual: (look) => added(look, ""),

  ffn(look) {
    const { data, query } = look;
    const hidden = data.at("ff_hidden", query);
    const firing = hidden.filter((value) => value > 0).length;
    const width = data.arrays.x.shape[1];
    return [
      h(
        "p",
        { class: "fact", "data-firing": firing },
        nodes("inside.firing", { count: firing, of: hidden.length, share: formatPercent(firing / hidden.length) }),
      ),
      picture(look, [{ name: "hidden", values: hidden }], { label: t("inside.hidden"), fold: width }),
      h("h4", {}, t("inside.ff_output")),
      picture(look, [{ name: "ff_output", values: data.at("ff_output", query) }], { label: t("inside.ff_output") }),
    ];
  },

  ffn_residual: (look) => added(look, "ff_"),
};

/** Whether this head was silenced. */
const headIsSilenced = ({ run, kind, layer, head }) => isSilenced(kind, layer, head, run.changes);

/** Whether any head of this layer was. */
const anyQuiet = (look) =>
  Array.from({ length: look.data.arrays.q.shape[0] }, (_, head) => headIsSilenced({ ...look, head })).includes(true);

/** What the scores were divided by, besides √d: a product of two numbers of four digits, without what binary adds to it. */
const temperatureIn = ({ run, kind }) => Number(temperatureOf(kind, run.changes).toFixed(8));

/** Whether the stream that a sublayer is added to was dropped; `part` is as below. */
function dropped({ run, kind, layer }, part) {
  const stack = kind === "encoder" ? "encoder" : "decoder";
  const sublayer = part ? (stack === "encoder" ? 2 : 3) : kind === "cross" ? 2 : 1;
  return findChange({ do: "drop_residual", stack, layer, sublayer }, run.changes);
}

/** Whether that was dropped which a stage adds to. */
const isDropped = (name, look) => Object.hasOwn(DROPPED, name) && dropped(look, name === "residual" ? "" : "ff_");

/** All heads' outputs of one query, side by side. */
const joined = ({ data, query }) =>
  Array.from({ length: data.arrays.head_output.shape[0] }, (_, head) => data.at("head_output", head, query)).flat();

/** Stream + change = sum, and the norm that goes with it; `part` is "" or "ff_". */
function added(look, part) {
  const { data, query } = look;
  const rows = ["residual", "output", "sum"].map((name) => ({
    label: t(name === "residual" && dropped(look, part) ? "inside.row.dropped" : `inside.row.${part}${name}`),
    name: `${part}${name}`,
    values: data.at(`${part}${name}`, query),
  }));
  const digits = commonDigits([rows[0].values, rows[1].values], rows[2].values);
  const named = t(data.norm_first ? "inside.row.norm_first" : "inside.row.norm");
  const labels = [...rows.map((row) => row.label), named];
  const normed = data.at(`${part}norm_input`, query);
  const norm = data.at(`${part}norm`, query);
  const facts = {
    before: fixed(mean(normed), 2),
    spread: fixed(variance(normed), 2),
    after: fixed(mean(norm), 2),
    kept: fixed(variance(norm), 2),
  };
  const bare = normed.map((value) => (value - mean(normed)) / Math.sqrt(variance(normed) + data.eps));
  const strips = [
    picture(
      look,
      rows.map((row, i) => ({ ...row, digits: i < 2 || digits === null ? digits : 2 })),
      { labels },
    ),
    picture(look, [{ label: named, name: `${part}norm`, values: norm }], { labels }),
  ];
  return [
    ...(data.norm_first ? strips.reverse() : strips), // as they come about
    h(
      "p",
      {
        class: "fact",
        "data-mean": mean(normed),
        "data-variance": variance(normed),
        "data-after": mean(norm),
        "data-kept": variance(norm),
      },
      nodes("inside.norm", { ...facts, bare_mean: fixed(mean(bare), 2), bare_variance: fixed(variance(bare), 2) }),
    ),
  ];
}

function choose(button, look, name, j) {
  for (const each of document.querySelectorAll(".cell.chosen")) each.classList.remove("chosen");
  button.classList.add("chosen");
  explainCell(look, name, j);
}

/** Show how one number came about. */
export async function explainCell(look, name, i) {
  const [what, j] = name.split(":");
  try {
    const { title, body } = await ARITHMETIC[what](look, i, Number(j));
    look.tell(title, body);
  } catch (error) {
    look.tell(t("inside.failed"), []);
    throw error;
  }
}

const factor = (text) => (text.startsWith("−") ? `(${text})` : text);
const expression = (...parts) => h("p", { class: "arithmetic" }, parts);

/** a × b + … (+ bias) = result, every term of it. */
function sumOfProducts({ terms, bias, result }, asked) {
  const list = terms.flatMap(([a, b], n) => [
    n ? " + " : "",
    h("span", { class: "term", "data-a": a, "data-b": b }, `${factor(a)} × ${factor(b)}`),
  ]);
  const tail =
    bias === null
      ? []
      : [" + ", h("span", { class: "bias", "data-bias": bias, title: t("inside.bias") }, factor(bias))];
  return expression(list, tail, " = ", h("b", { class: "result", "data-result": result }, result), asked ?? "");
}

/** A row of numbers times a row of a matrix, plus a bias. */
async function linear({ kind, layer, server }, input, part, row, result) {
  const { weights, bias } = await fetchParameters(server, kind, layer, part, row);
  return sumOfProducts(products(input, weights, bias, result));
}

const ARITHMETIC = {
  x: (look, i) => ({
    title: t("cell.x", { n: i + 1 }),
    body: [
      expression(fixed(look.data.at("x", look.query)[i], 4)),
      h("p", { class: "hint" }, t(look.data.norm_first ? "cell.x.about_first" : "cell.x.about")),
    ],
  }),
  q: (look, i) => projected(look, "q", look.query, i),
  k: (look, i, j) => projected(look, "k", j, i),
  v: (look, i, j) => projected(look, "v", j, i),
  dot: (look, j) => scored(look, j, "dot"),
  score: (look, j) => scored(look, j, "score"),
  mask: (look, j) => scored(look, j, "mask"),
  weight: (look, j) => scored(look, j, "weight"),

  part({ data, head, query }, i, j) {
    const [weight, value] = [data.at("weights", head, query)[j], data.at("v", head, j)[i]];
    return {
      title: t("cell.part", { token: data.keys[j], n: i + 1 }),
      body: [sumOfProducts(products([weight], [value], null, weight * value))],
    };
  },

  head_output(look, i) {
    const { data, head, query } = look;
    if (headIsSilenced(look))
      return {
        title: t("cell.head_output", { n: i + 1 }),
        body: [expression(h("b", { class: "result" }, "0")), h("p", { class: "hint" }, t("inside.silent"))],
      };
    const values = data.keys.map((_, j) => data.at("v", head, j)[i]);
    const body = sumOfProducts(
      products(data.at("weights", head, query), values, null, data.at("head_output", head, query)[i]),
    );
    const about = h("p", { class: "hint" }, t("cell.head_output.about"));
    return { title: t("cell.head_output", { n: i + 1 }), body: [body, about] };
  },

  concat(look, i) {
    const { data, query } = look;
    const [head, n] = [Math.floor(i / data.head_dim), i % data.head_dim];
    const value = data.at("head_output", head, query)[n];
    return {
      title: t("cell.concat", { n: i + 1 }),
      body: [
        expression("z", h("sub", {}, head + 1), `, ${n + 1} = `, h("b", { class: "result" }, fixed(value, 4))),
        h(
          "p",
          { class: "hint" },
          t(headIsSilenced({ ...look, head }) ? "cell.concat.silent" : "cell.concat.about", {
            head: head + 1,
            n: n + 1,
          }),
        ),
      ],
    };
  },

  async output(look, i) {
    return {
      title: t("cell.output", { n: i + 1 }),
      body: [await linear(look, joined(look), "out_proj", i, look.data.at("output", look.query)[i])],
    };
  },

  residual: (look, i) => streamCell(look, "", i),
  sum: (look, i) => addition(look, "", i),
  norm: (look, i) => normalisation(look, "", i),

  async hidden(look, i) {
    const [input, value] = [look.data.at("ff_input", look.query), look.data.at("ff_hidden", look.query)[i]];
    const { weights, bias } = await fetchParameters(look.server, look.kind, look.layer, "linear1", i);
    const before = dot(input, weights) + (bias ?? 0);
    const shown = products(input, weights, bias, value > 0 ? value : before);
    const kept = h(
      "p",
      { class: "arithmetic" },
      `max(0, ${shown.result}) = `,
      h("b", { class: "result" }, value > 0 ? shown.result : "0"),
    );
    return { title: t("cell.hidden", { n: i + 1 }), body: [sumOfProducts(shown), kept] };
  },

  async ff_output(look, i) {
    const { data, query, kind, layer, server } = look;
    const { weights, bias } = await fetchParameters(server, kind, layer, "linear2", i);
    const hidden = data.at("ff_hidden", query);
    const firing = hidden.flatMap((value, n) => (value > 0 ? [n] : [])); // the others add 0
    const shown = products(
      firing.map((n) => hidden[n]),
      firing.map((n) => weights[n]),
      bias,
      data.at("ff_output", query)[i],
    );
    const silent = hidden.length - firing.length;
    return {
      title: t("cell.ff_output", { n: i + 1 }),
      body: [sumOfProducts(shown), h("p", { class: "hint" }, t("cell.ff_output.about", { silent }))],
    };
  },

  ff_residual: (look, i) => streamCell(look, "ff_", i),
  ff_sum: (look, i) => addition(look, "ff_", i),
  ff_norm: (look, i) => normalisation(look, "ff_", i),
};

async function projected(look, name, row, i) {
  const { data, head, query } = look;
  const input = name === "q" ? data.at("x", query) : data.at("memory", row);
  const token = name === "q" ? data.queries[query] : data.keys[row];
  const body = await linear(look, input, `${name}_proj`, head * data.head_dim + i, data.at(name, head, row)[i]);
  return { title: t(`cell.${name}`, { token, n: i + 1 }), body: [body] };
}

/** From q · k to the weight, as far as the cell that was asked for. */
function scored(look, j, asked) {
  const { data, head, query } = look;
  const [q, k] = [data.at("q", head, query), data.at("k", head, j)];
  const [scores, weights, open] = [
    data.at("scores", head, query),
    data.at("weights", head, query),
    data.allowed[query],
  ];
  const d = data.head_dim;
  const hot = temperatureIn(look);
  const divided = scaled(dot(q, k), d * hot ** 2, scores[j]);
  const body = [sumOfProducts(products(q, k, null, dot(q, k), divided.digits))];
  const line = (...parts) => body.push(h("p", { class: "arithmetic" }, parts));
  const result = (text) => h("b", { class: "result", "data-result": text }, text);
  if (asked !== "dot") line(`${divided.dot} ÷ √${d}${hot === 1 ? "" : ` ÷ ${hot}`} = `, result(divided.result));
  if (["mask", "weight"].includes(asked)) {
    if (!open[j]) line(t("cell.masked"), " −∞");
    else line(t("cell.open"));
  }
  if (asked === "weight" && open[j]) {
    const heard = scores.flatMap((_, n) => (open[n] ? [n] : []));
    const shown = softmax(
      heard.map((n) => scores[n]),
      heard.indexOf(j),
      weights[j],
    );
    const mine = heard.indexOf(j);
    const terms = shown.powers.flatMap((power, n) => [
      n ? " + " : "",
      h(
        "span",
        { class: "power", "data-power": power, "data-score": shown.scores[n] },
        "e",
        h("sup", {}, shown.scores[n]),
      ),
    ]);
    if (shown.shifted) line(t("cell.shifted"));
    line("softmax: e", h("sup", {}, shown.scores[mine]), " ÷ (", terms, ")");
    line(
      `= ${shown.powers[mine]} ÷ (${shown.powers.join(" + ")}) = ${shown.powers[mine]} ÷ ${shown.total} = `,
      result(shown.result),
    );
  } else if (asked === "weight") line("softmax: e", h("sup", {}, "−∞"), " = 0 → ", result("0"));
  return { title: t(`cell.${asked}`, { from: data.queries[query], to: data.keys[j] }), body };
}

function streamCell(look, part, i) {
  const value = fixed(look.data.at(`${part}residual`, look.query)[i], 4);
  return {
    title: t("cell.stream", { n: i + 1 }),
    body: [expression(value), ...(dropped(look, part) ? [h("p", { class: "hint" }, t("cell.stream.dropped"))] : [])],
  };
}

function addition({ data, query }, part, i) {
  const [a, b, result] = ["residual", "output", "sum"].map((name) => data.at(`${part}${name}`, query)[i]);
  const shown = sum(a, b, result);
  const terms = shown.terms.map((text, n) => [
    n ? " + " : "",
    h("span", { class: "addend", "data-addend": text }, factor(text)),
  ]);
  return {
    title: t("cell.sum", { n: i + 1 }),
    body: [expression(terms, " = ", h("b", { class: "result", "data-result": shown.result }, shown.result))],
  };
}

function normalisation({ data, query }, part, i) {
  const row = data.at(`${part}norm_input`, query);
  const deviation = Math.sqrt(variance(row) + data.eps);
  const shown = normalised(
    row[i],
    mean(row),
    deviation,
    data.at(`${part}norm_weight`)[i],
    data.at(`${part}norm_bias`)[i],
    data.at(`${part}norm`, query)[i],
  );
  const body = expression(
    h(
      "span",
      {
        class: "normal",
        "data-x": shown.x,
        "data-mean": shown.mean,
        "data-deviation": shown.deviation,
        "data-gain": shown.gain,
        "data-bias": shown.bias,
      },
      `(${shown.x} − ${factor(shown.mean)}) ÷ ${shown.deviation} × ${factor(shown.gain)} + ${factor(shown.bias)}`,
    ),
    " = ",
    h("b", { class: "result", "data-result": shown.result }, shown.result),
  );
  return {
    title: t("cell.norm", { n: i + 1 }),
    body: [body, h("p", { class: "hint" }, t("cell.norm.about", { n: formatNumber(row.length) }))],
  };
}
