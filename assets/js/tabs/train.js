// Train: choose pairs and a network, start, and watch it learn. What outlives a mounting stands in this module, in
// training-stream.js (the training), training-replay.js and own-pairs.js.

import { trainingReplay } from "../charts/training-replay.js";
import { h, segmented } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { isOpen } from "../core/parts.js";
import { readSession, saveOnLeave } from "../net/session.js";
import { isTraining, onTrainingChange, startTraining, training } from "../net/training-stream.js";
import { ownModelList } from "./own-models.js";
import { ownPairs, unsettledPairs } from "./own-pairs.js";
import { dataCard } from "./train-data.js";
import { liveCard } from "./train-live.js";
import { problemLine, trainSettings } from "./train-settings.js";
import { startBar } from "./train-start.js";

/** @import { Problem, TrainingPlan } from "#schema" */
/** @import { View, RequestOf } from "../core/types.d.ts" */
/** @import { Settings } from "./train-settings.js" */
/** @typedef {ReturnType<typeof build>} Parts */
/**
 * The server's plan of a training, or why there is none.
 * @typedef {Pick<TrainingPlan, "problems"> & Partial<TrainingPlan>} Plan
 */

const PAUSE_MS = 250; // after the last change, until the server is asked for a plan of it
const RETRY_MS = 4000;
const MAX_NAME_LENGTH = 40;
const MAX_SENTENCE_LENGTH = 500;
const CORPORA = ["toy", "classroom", "own"];
const SESSION_KEY = "attention-bitte-train";

/** What the visitor has chosen: one of the corpora, and of each the sentence to watch and the settings. */
const chosen = {
  corpus: "toy",
  name: "",
  watch: /** @type {Record<string, string>} */ ({ toy: "", classroom: "", own: "" }),
  settings: /** @type {Record<string, Settings>} */ ({}),
};
/** What stands first in the large column. @type {"data" | "replay"} */
let first = "data";
/** The latest plan, and the question (as text) that it answers. @type {{ plan: Plan | null, question: string }} */
const planned = { plan: null, question: "" };

const question = () =>
  /** @type {RequestOf<"plan">} */ (
    /** @type {unknown} */ ({
      name: chosen.name.trim() || t("train.name.default"),
      corpus: chosen.corpus,
      pairs: chosen.corpus === "own" ? ownPairs() : [],
      watch: chosen.watch[chosen.corpus].trim(),
      ...settings(),
    })
  );
const settings = () => chosen.settings[chosen.corpus];

/** Whether the server has not answered yet about what is chosen now. */
const isStale = () => planned.question !== JSON.stringify(question());

/**
 * Why it cannot be started: the server's reasons, and rows that the visitor has not decided about.
 * @returns {Problem[]}
 */
function problems() {
  const count = chosen.corpus === "own" ? unsettledPairs() : 0;
  const message = { key: "train.undecided", values: { count }, english: "" };
  return [...(count ? [{ field: "rows", message }] : []), ...(planned.plan?.problems ?? [])];
}

/** @param {View} view */
export function mount(view) {
  restore(view.props.value.defaults);
  const parts = build(view);
  const { element, signal } = view;
  element.replaceChildren(parts.whole);
  onTrainingChange(() => follow(parts), signal);
  const warn = (/** @type {Event} */ event) => {
    if (isTraining() && training.phase !== "developing") event.preventDefault(); // it would end with the page
  };
  addEventListener("beforeunload", warn, { signal });
  const observer = new IntersectionObserver(() => askForPlan(parts));
  observer.observe(element);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    clearTimeout(parts.timer);
  });
  draw(parts);
  follow(parts);
}

/**
 * Once: the defaults, and over them what was chosen before a reload, as far as there still is such a choice.
 * @param {Record<string, Settings>} defaults
 */
function restore({ toy, classroom, own }) {
  if (chosen.settings.toy) return;
  Object.assign(chosen, overlay({ ...chosen, settings: { toy, classroom, own } }, readSession(SESSION_KEY)));
  if (!CORPORA.includes(chosen.corpus)) chosen.corpus = "toy";
  saveOnLeave(SESSION_KEY, () => chosen);
}

/** @param {any} usual @param {any} found @returns {any} */
const overlay = (usual, found) => {
  if (usual === null || typeof usual !== "object") return typeof found === typeof usual ? found : usual;
  return Object.fromEntries(Object.entries(usual).map(([name, value]) => [name, overlay(value, found?.[name])]));
};

/** @param {View} view */
function build({ element, props, server, signal }) {
  const { limits, defaults, sentences } = props.value;
  const changed = () => onChange(parts);
  const form = trainSettings({ settings, changed, presets: () => presets(defaults) });
  const bringToFront = (/** @type {"data" | "replay"} */ what) => putFirst(parts, what);
  const corpus = corpusPicker((name) => {
    chosen.corpus = name;
    bringToFront("data");
    changed();
  });
  const fields = [
    textField("name", MAX_NAME_LENGTH, (text) => {
      chosen.name = text;
      changed();
    }),
    textField("watch", MAX_SENTENCE_LENGTH, (text) => {
      chosen.watch[chosen.corpus] = text;
      changed();
    }),
  ];
  const forms = h(
    "fieldset",
    { class: "card forms" },
    h("legend", { class: "visually-hidden" }, t("train.settings")),
    form.element,
    h("section", { class: "settings" }, h("h2", {}, t("train.group.this")), ...fields.map((each) => each.element)),
  );
  const data = dataCard({ server, limits, settings, changed, touched: () => bringToFront("data"), signal });
  const live = liveCard(signal);
  const replay = trainingReplay(signal);
  const bar = startBar(() => begin(parts));
  const own = h("section", { class: "card", id: "own-models" }, ownModelList(signal));
  const picture = h("div", { class: "train-picture" });
  const side = h("div", { class: "train-side" }, live.element, corpus.element, forms, bar.element);
  const whole = h("div", { class: "train" }, picture, side);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const parts = {
    element,
    server,
    signal,
    sentences,
    form,
    corpus,
    fields,
    forms,
    data,
    live,
    replay,
    bar,
    own,
    picture,
    whole,
    timer,
  };
  return parts;
}

/** @param {(name: string) => void} choose */
function corpusPicker(choose) {
  const { element, set } = segmented(
    t("train.corpus"),
    CORPORA.map((name) => [name, t(`train.corpus.${name}`)]),
    choose,
  );
  const fieldset = h(
    "fieldset",
    { class: "card forms-head" },
    h("legend", { class: "visually-hidden" }, t("train.corpus")),
    h("div", { class: "controls" }, h("h2", {}, t("train.corpus")), element),
  );
  return { element: fieldset, set };
}

/** @param {"name" | "watch"} name @param {number} maxlength @param {(text: string) => void} change */
function textField(name, maxlength, change) {
  const id = `train-${name}`;
  const problem = problemLine(id);
  const input = h("input", {
    type: "text",
    id,
    class: "text",
    maxlength,
    autocomplete: "off",
    "aria-describedby": `${id}-about ${id}-problem`,
  });
  input.addEventListener("input", () => change(input.value));
  const element = h(
    "div",
    { class: "setting", "data-field": name },
    h("label", { class: "name", for: id }, t(`train.set.${name}`)),
    input,
    h("p", { class: "about", id: `${id}-about` }, t(`train.set.${name}.about`)),
    problem.element,
  );
  const draw = (/** @type {string} */ value, /** @type {string} */ placeholder) => {
    const message = problems().find(({ field }) => field === name)?.message;
    if (document.activeElement !== input) input.value = value;
    input.placeholder = placeholder;
    problem.draw(message);
    element.classList.toggle("wrong", Boolean(message));
  };
  return { element, draw };
}

/** @param {any} defaults */
function presets(defaults) {
  const shipped = defaults[chosen.corpus];
  // A learning rate that suits one width is too high for a wider one.
  const scaled = (shipped.training.learning_rate * shipped.model.d_model) / defaults.paper.d_model;
  const learning_rate = Number(scaled.toPrecision(3));
  return { shipped, paper: { model: defaults.paper, training: { ...settings().training, learning_rate } } };
}

/** @param {Parts} parts */
function onChange(parts) {
  draw(parts);
  clearTimeout(parts.timer);
  parts.timer = setTimeout(() => askForPlan(parts), PAUSE_MS);
}

/** @param {Parts} parts */
async function askForPlan(parts) {
  const asked = question();
  const text = JSON.stringify(asked);
  if (text === planned.question || !isOpen(parts.element)) return;
  const answer = await parts.server.plan(asked).catch(() => null);
  if (parts.signal.aborted || text !== JSON.stringify(question())) return; // something else is chosen by now
  const failed = (/** @type {object} */ message) => ({ problems: [{ field: "", message }] });
  const plan = answer ?? failed({ key: "error.no_answer", values: {} });
  Object.assign(planned, { plan: "error" in plan ? failed(plan.error) : plan, question: answer ? text : "" });
  if (!answer) parts.timer = setTimeout(() => askForPlan(parts), RETRY_MS);
  draw(parts);
}

/** @param {Parts} parts */
async function begin(parts) {
  await askForPlan(parts); // about what was changed a moment ago
  if (isTraining() || isStale() || !planned.plan) return;
  if (problems().length) {
    parts.bar.showFirstProblem();
    return;
  }
  startTraining(question(), planned.plan.uniform ?? 0);
  putFirst(parts, "replay");
  const isBeside = getComputedStyle(parts.whole).display === "grid"; // else the columns stand below each other
  const behavior = matchMedia("(prefers-reduced-motion)").matches ? "auto" : "smooth";
  (isBeside ? parts.whole : parts.live.element).scrollIntoView({ block: "start", behavior });
}

/**
 * Bring the data or the replay to the front; what the visitor is at stays where it is on the screen.
 * @param {Parts} parts @param {"data" | "replay"} what
 */
function putFirst(parts, what) {
  if (first === what) return;
  first = what;
  const { element } = parts.data;
  const { top } = element.getBoundingClientRect();
  arrange(parts);
  if (element.contains(document.activeElement)) scrollBy(0, element.getBoundingClientRect().top - top);
}

/**
 * The replay of a training stands first in the large column, unless it only waits, or the visitor is at the data again.
 * @param {Parts} parts
 */
function arrange({ live, replay, own, data, picture }) {
  const { phase } = training;
  live.element.hidden = phase === "idle";
  const hasReplay = phase !== "idle" && phase !== "waiting";
  const isReplayFirst = hasReplay && (isTraining() || first === "replay");
  const replayed = hasReplay ? [replay.element] : [];
  const order = isReplayFirst ? [replay.element, own, data.element] : [data.element, ...replayed, own];
  if (order.every((each, i) => each === picture.children[i]) && order.length === picture.children.length) return;
  // The others move around what has the focus, or else it would lose it.
  const focused = order.findIndex((each) => each.contains(document.activeElement));
  const still = Math.max(0, focused);
  if (order[still].parentElement !== picture) picture.replaceChildren(order[still]);
  for (const each of [...picture.children]) if (!order.some((one) => one === each)) each.remove();
  order[still].before(...order.slice(0, still));
  order[still].after(...order.slice(still + 1));
}

/** @param {Parts} parts */
function draw(parts) {
  const { sentences, form, corpus, fields, data, bar } = parts;
  const { plan } = planned;
  const list = problems();
  arrange(parts);
  form.draw(list);
  corpus.set(chosen.corpus);
  data.draw(chosen.corpus, plan, list);
  const watched = chosen.watch[chosen.corpus];
  fields[0].draw(chosen.name, t("train.name.default"));
  fields[1].draw(watched, (!watched && plan?.watch) || sentences[chosen.corpus] || "");
  bar.draw(plan, list);
  bar.element.classList.toggle("stale", isStale());
}

/** @param {Parts} parts */
function follow(parts) {
  arrange(parts);
  for (const each of [parts.corpus.element, parts.forms, parts.data.element]) each.disabled = isTraining();
  parts.live.draw();
  parts.replay.draw();
  parts.bar.draw(planned.plan, problems());
}
