// Inside a head: one query's way through one attention sublayer, stage by stage, with the arithmetic of every number.

import type { ShapeRow } from "#schema";
import { canAsk } from "../../api/client.ts";
import { hasTab } from "../../api/schema.ts";
import type { Child, State, View } from "../../api/types.ts";
import { cellExplainer } from "../../charts/arithmetic.ts";
import { areMany } from "../../charts/key-order.ts";
import { type Stage, type SublayerView, shapeTable, wanted } from "../../charts/sublayer-stages.ts";
import { chooseCell } from "../../charts/vector-strip.ts";
import { argmax } from "../../engine/arrays.ts";
import { formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { askOnce, failureText, fetchSublayer } from "../../state/server-cache.ts";
import { selectQuery, state, update } from "../../state/state.ts";
import { chip, h, reachable, replaceKeepingFocus, scrollToMiddle, word } from "../../ui/dom.ts";
import { fixed } from "../../ui/numbers.ts";
import { button, changeDetector, drawInSight, headPicker, hint, isOpen, kindPicker, link } from "../../ui/parts.ts";
import { stageList } from "./stages.ts";

const MAX_NAMED = 5;

export function mount({ element, signal }: View) {
  const say = h("p", { class: "say", "aria-live": "polite" });
  const kind = kindPicker();
  const picker = headPicker();
  const queries = h("p", { class: "queries" });
  const strongest = h("p", { class: "attended" });
  const stages = stageList(signal);
  const opened: Set<string> = new Set();
  const arithmetic = arithmeticPanel();
  const shapes = shapeCard();
  const isNew = changeDetector();
  let drawn = new AbortController(); // ends what belongs to the stages that are drawn
  let isShown = false; // the answer is there

  async function draw() {
    const { run, layer, head, query } = state;
    kind.set(state.kind);
    picker.draw(run.attention[state.kind]);
    if (!isOpen(element)) return;
    if (!isNew(run, state.kind, layer, head, query)) {
      if (isShown) openWanted(stages);
      return;
    }
    isShown = false;
    drawn.abort();
    drawn = new AbortController();
    const mine = drawn.signal;
    const data = await fetchSublayer(state.kind, layer).catch(failureText);
    if (mine.aborted) return; // another head is wanted by now
    const isMissing = typeof data === "string";
    for (const each of [from, columns]) each.hidden = isMissing;
    if (isMissing) {
      isNew.forget();
      say.textContent = data;
      return;
    }
    show({ run, data, kind: data.kind, layer, head, query, signal: mine, explain: arithmetic.explain, opened });
    isShown = true;
    openWanted(stages);
    shapes.draw();
  }
  function show(view: SublayerView) {
    const { data, query } = view;
    const buttons = data.queries.map((token, i) =>
      chip("button", token, data.from, { type: "button", "aria-pressed": i === query, onclick: () => selectQuery(i) }),
    );
    replaceKeepingFocus(queries, buttons);
    strongest.replaceChildren(...strongestKeys(view, () => stages.open("scores")));
    say.replaceChildren(...describeHead(view));
    stages.show(view);
    arithmetic.begin(view, stages.element);
    queries.classList.toggle("many", areMany(buttons));
    scrollToMiddle(queries, buttons[query]);
  }

  const controls = h("div", { class: "controls" }, kind.element, picker.element);
  const from = h("div", { class: "pickers" }, t("inside.from"), queries, t("inside.to"), strongest);
  const title = h("h2", { class: "visually-hidden" }, t("tab.inside"));
  const way = h("section", { class: "card below" }, title, stages.index, stages.element);
  const columns = h("div", { class: "columns inside" }, way, arithmetic.element);
  element.replaceChildren(say, h("section", { class: "card" }, controls, from), columns, shapes.element);
  drawInSight(element, draw, signal);
  signal.addEventListener("abort", () => drawn.abort());
}

function openWanted(stages: { open: (stage: Stage) => void }) {
  if (wanted.stage) stages.open(wanted.stage);
  wanted.stage = null;
}

function shapeCard() {
  const element = h("section", { class: "card below", id: "shapes" });
  const isNewRun = changeDetector();
  async function draw() {
    const { run } = state;
    if (!isNewRun(run)) return;
    const rows = await askOnce("shapes", { checkpoint: run.checkpoint }).catch(() => null);
    if (run !== state.run) return;
    if (rows) element.replaceChildren(...shapeSection(rows));
    else isNewRun.forget();
  }
  return { element, draw };
}

function arithmeticPanel() {
  const title = h("h3");
  const body = h("div", { class: "worked" });
  const close = button("pill", t("close"), () => element.classList.remove("open"));
  const answer = h("output", { class: "answer" });
  const head = h("div", { class: "panel-title" }, title, answer, close);
  const element = reachable(h("section", { class: "card arithmetic-panel", "aria-live": "polite" }, head, body));
  let isAsked = false; // by a click: where the panel would lie over the stages, it opens for nothing else
  const show = (heading: string, parts: Child[], isOpen = isAsked) => {
    title.textContent = heading;
    body.replaceChildren(...h("div", {}, parts).childNodes);
    const result = [...body.querySelectorAll(".result")].at(-1);
    answer.textContent = result ? `= ${result.textContent}` : "";
    element.classList.toggle("open", isOpen);
    element.scrollTop = 0;
    if (isOpen) uncover(document.querySelector("#inside .cell.chosen"));
  };
  /** Where the panel lies over the stages, the cell that it is about is above it. */
  const uncover = (cell: Element | null) => {
    if (!cell || getComputedStyle(element).position !== "fixed") return;
    const covered = cell.getBoundingClientRect().bottom + 8 - element.getBoundingClientRect().top;
    if (covered > 0) scrollBy(0, covered);
  };
  const explainer = cellExplainer(show);
  const explain: typeof explainer = (...cell) => {
    isAsked = true;
    return explainer(...cell);
  };
  const begin = (view: SublayerView, stages: Element) => {
    const invitation = ["inside.invite", "inside.digits"].map((key) => hint(t(key)));
    show(t("inside.arithmetic"), invitation, false);
    if (!canAsk("parameters")) return; // of which the first number would be made
    const largest = argmax(view.data.at("q", view.head, view.query).map(Math.abs));
    const cell = stages.querySelector(`.cell[data-name=q][data-index="${largest}"]`);
    if (!cell) return;
    isAsked = false;
    chooseCell(cell);
    explainer(view, "q", largest);
  };
  return { element, explain, begin };
}

function strongestKeys({ data, head, query }: SublayerView, open: () => void) {
  const weights = data.at("weights", head, query);
  const attended = [...weights.keys()].filter((key) => data.allowed[query][key]);
  return attended
    .toSorted((a, b) => weights[b] - weights[a])
    .slice(0, MAX_NAMED)
    .map((key) => {
      const name = chip("button", data.keys[key], data.to, { type: "button", "data-key": key, onclick: open });
      name.style.setProperty("--share", String(weights[key]));
      return h("span", { class: "pair" }, name, h("small", {}, formatPercent(weights[key])));
    });
}

function describeHead({ run: { model }, data, kind, layer, head, query }: SublayerView) {
  const weights = data.at("weights", head, query);
  const scores = data.at("scores", head, query);
  const key = argmax(weights);
  const hidden = data.at("ff_hidden", query);
  const units = model.activation === "relu" ? "inside.say_active" : "inside.say_above";
  const places = {
    word: word(data.queries[query], data.from),
    layer: layer + 1,
    head: head + 1,
    kind: t(`inside.kind.${kind}`),
    key: word(data.keys[key], data.to),
    score: fixed(scores[key], 2),
    share: formatPercent(weights[key]),
    firing: hidden.filter((value) => value > 0).length,
    of: hidden.length,
  };
  const scored = nodes(data.allowed[query].includes(true) ? "inside.say" : "inside.say_nothing", places);
  return joinSentences(scored, nodes(units, places));
}

const PLACES: Record<string, Partial<State> & { stage?: Stage }> = {
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

function shapeSection(rows: ShapeRow[]) {
  const opener = (name: string, row: string) => {
    const { stage = null, ...place } = PLACES[row];
    const open = () => {
      wanted.stage = stage;
      update(place);
    };
    return hasTab(place.tab ?? "") ? link(name, open) : name;
  };
  return [h("h2", {}, t("shapes.title")), ...shapeTable(rows, opener), hint(t("shapes.click"))];
}
