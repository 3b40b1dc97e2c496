// Inside a head: one query's way through one attention sublayer, stage by stage, with the arithmetic of every number.

import { STAGES, stageSection } from "../charts/sublayer-stages.js";
import { chip, h, replaceKeepingFocus, scrollBox, word } from "../core/dom.js";
import { formatPercent, nodes, t } from "../core/i18n.js";
import { button, changeDetector, drawInSight, isOpen, kindPicker, link, rowHeading, table } from "../core/parts.js";
import { askAboutRun, fetchSublayer } from "../core/server-cache.js";
import { argmax, selectQuery, state, update } from "../core/state.js";
import { headPicker } from "./head-picker.js";

/** @import { ShapeRow } from "#schema" */
/** @import { Child, Run, State, View } from "../core/types.d.ts" */
/** @import { SublayerView } from "../charts/sublayer-view.js" */

/** @param {View} view */
export function mount({ element, server, signal }) {
  const say = h("p", { class: "say", "aria-live": "polite" });
  const kind = kindPicker();
  const picker = headPicker();
  const queries = h("p", { class: "queries" });
  const stages = h("div", { class: "stages" });
  const arithmetic = arithmeticPanel();
  const shapes = h("section", { class: "card below", id: "shapes" });
  const isNew = changeDetector();
  const isNewRun = changeDetector();
  let drawn = new AbortController(); // ends what belongs to the stages that are drawn

  async function draw() {
    const { run, layer, head, query } = state;
    kind.set(state.kind);
    picker.draw(run.attention[state.kind]);
    if (!isOpen(element) || !isNew(run, state.kind, layer, head, query)) return;
    drawn.abort();
    drawn = new AbortController();
    const mine = drawn.signal;
    const data = await fetchSublayer(server, state.kind, layer).catch(() => null);
    if (mine.aborted) return; // another head is wanted by now
    if (!data) {
      isNew.forget();
      say.textContent = t("positions.failed");
      return;
    }
    const { show: showArithmetic } = arithmetic;
    const view = { run, data, kind: data.kind, layer, head, query, server, signal: mine, showArithmetic };
    replaceKeepingFocus(
      queries,
      data.queries.map((token, i) => queryButton(token, i, view)),
    );
    stages.replaceChildren(...STAGES.map((name) => stageSection(name, view)));
    say.replaceChildren(...describeHead(view));
    arithmetic.invite();
    if (isNewRun(run)) drawShapes(run);
  }
  async function drawShapes(/** @type {Run} */ run) {
    const answer = await askAboutRun("shapes", server).catch(() => null);
    if (run !== state.run) return;
    if (answer) shapes.replaceChildren(...shapeTable(answer.rows), h("p", { class: "hint" }, t("shapes.click")));
    else isNewRun.forget();
  }

  const controls = h("div", { class: "controls" }, kind.element, picker.element);
  const from = h("div", { class: "pickers" }, t("inside.from"), queries);
  const title = h("h2", { class: "visually-hidden" }, t("tab.inside"));
  const way = h("section", { class: "card below" }, title, stages);
  const columns = h("div", { class: "columns inside" }, way, arithmetic.element);
  element.replaceChildren(say, h("section", { class: "card" }, controls, from), columns, shapes);
  drawInSight(element, draw, signal);
  signal.addEventListener("abort", () => drawn.abort());
}

/** The arithmetic of a number that is clicked. */
function arithmeticPanel() {
  const title = h("h3");
  const body = h("div", { class: "worked" });
  const close = button("pill", t("close"), () => element.classList.remove("open"));
  const head = h("div", { class: "panel-title" }, title, close);
  const element = h("aside", { class: "card arithmetic-panel", "aria-live": "polite" }, head, body);
  const show = (/** @type {string} */ heading, /** @type {Child[]} */ parts, isOpen = true) => {
    title.textContent = heading;
    body.replaceChildren(...h("div", {}, parts).childNodes);
    element.classList.toggle("open", isOpen);
  };
  const invite = () => {
    const invitation = ["inside.invite", "inside.digits"].map((key) => h("p", { class: "hint" }, t(key)));
    show(t("inside.arithmetic"), invitation, false);
  };
  return { element, show, invite };
}

/** @param {string} token @param {number} i @param {SublayerView} view */
const queryButton = (token, i, { data, query }) =>
  chip("button", token, data.from, { type: "button", "aria-pressed": i === query, onclick: () => selectQuery(i) });

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
  const tableRows = rows.map(({ stage, layers, here, paper }) => {
    const opener = link(name(stage), () => openPlace(PLACES[stage]));
    const heading = rowHeading([opener, layers > 1 ? h("small", {}, ` × ${layers}`) : null]);
    return h("tr", { "data-stage": stage }, heading, shape(here), shape(paper));
  });
  const headings = ["stage", "here", "paper"].map((each) => t(`shapes.${each}`));
  return [
    h("h2", {}, t("shapes.title")),
    scrollBox(table({ class: "shapes" }, headings, tableRows)),
    h("p", { class: "hint" }, t("shapes.letters")),
  ];
}

/** @param {Partial<State> & { stage?: string }} place */
function openPlace({ stage, ...place }) {
  update(place);
  if (stage) requestAnimationFrame(() => document.getElementById(`stage-${stage}`)?.scrollIntoView({ block: "start" }));
}
