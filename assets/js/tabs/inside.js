// Inside a head: one query's way through one attention sublayer, stage by stage, with the arithmetic of every number.

import { STAGES, stageSection } from "../charts/sublayer-stages.js";
import { chip, h, replaceKeepingFocus, scrollBox, word } from "../core/dom.js";
import { formatPercent, nodes, t } from "../core/i18n.js";
import { button, changeDetector, drawInSight, isOpen, kindPicker, link, rowHeading, table } from "../core/parts.js";
import { askAboutRun, fetchSublayer } from "../core/server-cache.js";
import { argmax, selectQuery, state, update } from "../core/state.js";
import { headPicker } from "./head-picker.js";

/** @import { ShapeRow } from "#schema" */
/** @import { Child, Run, Server, State, View } from "../core/types.d.ts" */
/** @import { SublayerView } from "../charts/sublayer-view.js" */
/** @typedef {ReturnType<typeof build>} Parts */

/** @param {View} view */
export function mount({ element, server, signal }) {
  const parts = build(element, server);
  const { say, kind, picker, queries, stages, panel, shapes } = parts;
  element.replaceChildren(
    say,
    h(
      "section",
      { class: "card" },
      h("div", { class: "controls" }, kind.element, picker.element),
      h("div", { class: "pickers" }, t("inside.from"), queries),
    ),
    h(
      "div",
      { class: "columns inside" },
      h("section", { class: "card below" }, h("h2", { class: "visually-hidden" }, t("tab.inside")), stages),
      panel,
    ),
    shapes,
  );
  drawInSight(element, () => draw(parts), signal);
  signal.addEventListener("abort", () => parts.drawn.abort());
}

/** @param {HTMLElement} element @param {Server} server */
function build(element, server) {
  const title = h("h3");
  const body = h("div", { class: "worked" });
  const close = button("pill", t("close"), () => panel.classList.remove("open"));
  const panel = h(
    "aside",
    { class: "card arithmetic-panel", "aria-live": "polite" },
    h("div", { class: "panel-title" }, title, close),
    body,
  );
  return {
    element,
    server,
    kind: kindPicker(),
    picker: headPicker(),
    queries: h("p", { class: "queries" }),
    say: h("p", { class: "say", "aria-live": "polite" }),
    stages: h("div", { class: "stages" }),
    panel,
    showArithmetic: (/** @type {string} */ heading, /** @type {Child[]} */ parts, isOpen = true) => {
      title.textContent = heading;
      body.replaceChildren(...h("div", {}, parts).childNodes);
      panel.classList.toggle("open", isOpen);
    },
    shapes: h("section", { class: "card below", id: "shapes" }),
    shapesOf: /** @type {Run | null} */ (null),
    drawn: new AbortController(), // ends what belongs to the stages that are drawn
    isNew: changeDetector(),
  };
}

/** @param {Parts} parts */
async function draw(parts) {
  const { element, server, kind, picker, say, stages, isNew } = parts;
  const { run, layer, head, query } = state;
  kind.set(state.kind);
  picker.draw(run.attention[state.kind]);
  if (!isOpen(element) || !isNew(run, state.kind, layer, head, query)) return;
  parts.drawn.abort();
  const drawn = new AbortController();
  parts.drawn = drawn;
  const data = await fetchSublayer(server, state.kind, layer).catch(() => null);
  if (drawn.signal.aborted) return; // another head is wanted by now
  if (!data) {
    isNew.forget();
    say.textContent = t("positions.failed");
    return;
  }
  const view = {
    run,
    data,
    kind: data.kind,
    layer,
    head,
    query,
    server,
    signal: drawn.signal,
    showArithmetic: parts.showArithmetic,
  };
  drawQueries(parts.queries, view);
  stages.replaceChildren(...STAGES.map((name) => stageSection(name, view)));
  say.replaceChildren(...describeHead(view));
  const invitation = ["inside.invite", "inside.digits"].map((key) => h("p", { class: "hint" }, t(key)));
  parts.showArithmetic(t("inside.arithmetic"), invitation, false);
  drawShapes(parts);
}

/** @param {Element} element @param {SublayerView} view */
const drawQueries = (element, { data, query }) =>
  replaceKeepingFocus(
    element,
    data.queries.map((token, i) =>
      chip("button", token, data.from, {
        type: "button",
        "aria-pressed": i === query,
        onclick: () => selectQuery(i),
      }),
    ),
  );

/** @param {Parts} parts */
async function drawShapes(parts) {
  const { run } = state;
  if (parts.shapesOf === run) return;
  const answer = await askAboutRun("shapes", parts.server).catch(() => null);
  if (!answer || run !== state.run) return;
  parts.shapesOf = run;
  parts.shapes.replaceChildren(...shapeTable(answer.rows), h("p", { class: "hint" }, t("shapes.click")));
}

/** The whole way in one sentence. @param {SublayerView} view */
function describeHead({ data, kind, layer, head, query }) {
  const weights = data.at("weights", head, query);
  const scores = data.at("scores", head, query);
  const key = argmax(weights);
  const hidden = data.at("ff_hidden", query);
  return nodes(data.allowed[query].includes(true) ? "inside.say" : "inside.say_nothing", {
    word: word(data.queries[query], data.from),
    layer: layer + 1,
    head: head + 1,
    kind: t(`inside.kind.${kind}`),
    key: word(data.keys[key], data.to),
    score: scores[key].toFixed(2),
    share: formatPercent(weights[key]),
    firing: hidden.filter((value) => value > 0).length,
    of: hidden.length,
  });
}

/**
 * Where each row of the table of shapes is drawn: a place of the page, and the stage of Inside a head.
 * @type {Record<string, Partial<State> & { stage?: string }>}
 */
const PLACES = {
  source_ids: { tab: "lesson", stop: 0 },
  source_embedding: { tab: "lesson", stop: 1 },
  source_input: { tab: "positions", stack: "encoder" },
  encoder_qkv: { tab: "inside", kind: "encoder", stage: "qkv" },
  encoder_attention: { tab: "attention", kind: "encoder" },
  encoder_hidden: { tab: "inside", kind: "encoder", stage: "ffn" },
  memory: { tab: "lesson", stop: 9 },
  target_ids: { tab: "lesson", stop: 0 },
  target_embedding: { tab: "lesson", stop: 1 },
  target_input: { tab: "positions", stack: "decoder" },
  decoder_qkv: { tab: "inside", kind: "decoder", stage: "qkv" },
  decoder_attention: { tab: "attention", kind: "decoder" },
  cross_q: { tab: "inside", kind: "cross", stage: "qkv" },
  cross_kv: { tab: "inside", kind: "cross", stage: "qkv" },
  cross_attention: { tab: "attention", kind: "cross" },
  decoder_hidden: { tab: "inside", kind: "decoder", stage: "ffn" },
  logits: { tab: "lesson", stop: 12 },
  loss_logits: { tab: "lesson", stop: 13 },
};

/** Rows that are called otherwise in a model without positions. @type {Record<string, string>} */
const NAMES_WITHOUT_POSITIONS = { source_input: "shapes.bare_encoder", target_input: "shapes.bare_decoder" };

/** A heading, the table and what its letters mean. @param {ShapeRow[]} rows */
export function shapeTable(rows) {
  const { positions } = state.run.model;
  const name = (/** @type {string} */ stage) => t((!positions && NAMES_WITHOUT_POSITIONS[stage]) || `shapes.${stage}`);
  const shape = (/** @type {number[]} */ sizes) => h("td", {}, `(${sizes.join(", ")})`);
  const row = (/** @type {ShapeRow} */ { stage, layers, here, paper }) =>
    h(
      "tr",
      { "data-stage": stage },
      rowHeading([
        link(name(stage), () => openPlace(PLACES[stage])),
        layers > 1 ? h("small", {}, ` × ${layers}`) : null,
      ]),
      shape(here),
      shape(paper),
    );
  const headings = ["stage", "here", "paper"].map((each) => t(`shapes.${each}`));
  return [
    h("h2", {}, t("shapes.title")),
    scrollBox(table({ class: "shapes" }, headings, rows.map(row))),
    h("p", { class: "hint" }, t("shapes.letters")),
  ];
}

/** @param {Partial<State> & { stage?: string }} place */
function openPlace({ stage, ...place }) {
  update(place);
  if (stage) requestAnimationFrame(() => document.getElementById(`stage-${stage}`)?.scrollIntoView({ block: "start" }));
}
