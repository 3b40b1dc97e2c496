// Train: choose pairs and a network, start, and watch it learn. The other files keep what was chosen and trained.

import { api, canAsk, isAborted, reasonOf } from "../../api/client.ts";
import { schema } from "../../api/schema.ts";
import { isTraining, restoreTraining, startTraining, training } from "../../api/training-stream.ts";
import type { View } from "../../api/types.ts";
import { joinSentences, t } from "../../state/i18n.ts";
import { state, subscribe } from "../../state/state.ts";
import { describeServer } from "../../ui/describe.ts";
import { h, isStill, namedChoice } from "../../ui/dom.ts";
import { changeDetector, hint, isOpen, onSight } from "../../ui/parts.ts";
import { CORPORA, chosen, isStale, limits, planned, problems, question, restoreChoices, sentences } from "./choices.ts";
import { dataCard } from "./data.ts";
import { liveCard } from "./live.ts";
import { ownModelList } from "./own-models.ts";
import { teachSentence } from "./own-pairs.ts";
import { trainingReplay } from "./replay.ts";
import { settingRow, textBox, trainSettings } from "./settings.ts";
import { startBar } from "./start-bar.ts";

const PAUSE_MS = 250; // after the last change, until the server is asked for a plan of it
const MAX_QUESTIONS = 3; // about what was changed a moment before Start

type Front = "data" | "replay";
let first: Front = "data";

function restore() {
  if (restoreChoices() && restoreTraining()) first = "replay";
}

/** Open on a sentence that a model is to learn: the visitor writes its translation. @param pairs beside it */
export function teach(sentence: string, pairs: [string, string][]) {
  restore();
  teachSentence(sentence, pairs);
  chosen.corpus = "own";
  chosen.watch.own = sentence;
  first = "data";
  document.dispatchEvent(new Event("train:taught"));
  setTimeout(() => {
    // By then the tab is open.
    const box = document.querySelector<HTMLElement>('.pairs [data-row="0"][data-column="1"]');
    box?.focus();
    box?.scrollIntoView({ block: "center" });
  });
}

export function mount({ element, signal }: View) {
  if (!canAsk("train")) {
    element.replaceChildren(h("p", { class: "card lead" }, joinSentences(t("train.elsewhere"), describeServer())));
    return;
  }
  restore();
  const live = liveCard(signal);
  const replay = trainingReplay(signal);
  const corpus = corpusPicker(() => {
    picture.bringToFront("data");
    changed();
  });
  const forms = formCard(changed);
  const data = dataCard(changed, () => picture.bringToFront("data"), signal);
  const own = h("section", { class: "card", id: "own-models" }, ownModelList(signal));
  const picture = pictureColumn(data.element, replay.element, own);
  const bar = startBar(begin);
  const side = h("div", { class: "train-side" }, live.element, corpus.element, forms.element, bar.element);
  const whole = h("div", { class: "train" }, picture.element, side);
  const realNote = hint(t("train.real"));
  element.replaceChildren(realNote, whole);
  const plan = planner(element, draw, signal);
  const isNewPhase = changeDetector();

  function draw() {
    picture.arrange();
    corpus.set(chosen.corpus);
    forms.draw();
    data.draw();
    bar.draw();
    bar.element.classList.toggle("stale", isStale());
    whole.classList.toggle("unplanned", !planned.plan);
  }
  function drawTraining() {
    picture.arrange();
    whole.classList.toggle("trained", training.phase !== "idle");
    for (const each of [corpus.element, forms.element, data.element]) each.disabled = isTraining();
    live.draw();
    replay.draw();
    bar.draw();
    if (!isNewPhase(training.phase) || isTraining()) return;
    planned.question = ""; // an estimate learns from what has ended
    plan.askSoon();
  }
  function changed() {
    draw();
    plan.askSoon();
  }
  async function begin() {
    for (let n = 0; n < MAX_QUESTIONS && isStale(); n++) await plan.ask(); // a newer one aborts an older one
    if (isTraining() || isStale() || !planned.plan) return;
    if (problems().length) return bar.showFirstProblem();
    startTraining(question(), planned.plan.uniform ?? 0);
    picture.bringToFront("replay");
    showTraining(whole, live.element);
  }
  function learnTaught() {
    drawTraining();
    changed();
  }

  subscribe(element, () => {
    realNote.hidden = !state.run.model.pieces;
  });
  document.addEventListener("training:changed", drawTraining, { signal });
  const warnOfLoss = (event: Event) => isTraining() && training.phase !== "developing" && event.preventDefault();
  addEventListener("beforeunload", warnOfLoss, { signal }); // a training ends with the page
  document.addEventListener("train:taught", learnTaught, { signal });
  draw();
  drawTraining();
}

function showTraining(whole: Element, live: Element) {
  const isBeside = getComputedStyle(whole).display === "grid"; // else the columns stand below each other
  const behavior = isStill() ? "auto" : "smooth";
  (isBeside ? whole : live).scrollIntoView({ block: "start", behavior });
}

function planner(element: HTMLElement, draw: () => void, signal: AbortSignal) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const askSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE_MS);
  };
  async function ask() {
    if (!isStale() || !isOpen(element)) return;
    clearTimeout(timer); // a second question would abort this one, which Start may wait for
    const text = JSON.stringify(question()); // the settings in it change meanwhile
    const failed = (error: unknown) => ({ problems: [{ field: "", message: reasonOf(error) }] });
    const plan = await api.plan(JSON.parse(text)).catch((error) => (isAborted(error) ? null : failed(error)));
    // The same was asked once more, or something else is chosen by now.
    if (!plan || signal.aborted || text !== JSON.stringify(question())) return;
    Object.assign(planned, { plan, question: "parameters" in plan ? text : "" });
    draw();
  }
  onSight([element], ask, signal);
  signal.addEventListener("abort", () => clearTimeout(timer));
  return { ask, askSoon };
}

function corpusPicker(changed: () => void) {
  const title = t("train.corpus");
  const { element, set } = namedChoice(title, CORPORA, "train.corpus", (name) => {
    chosen.corpus = name;
    changed();
  });
  const legend = h("legend", { class: "visually-hidden" }, title);
  const controls = h("div", { class: "controls" }, h("h2", {}, title), element);
  return { element: h("fieldset", { class: "card forms-head" }, legend, controls), set };
}

function formCard(changed: () => void) {
  const form = trainSettings(changed);
  const name = settingRow("name", textBox(limits.name), (text) => {
    chosen.name = text;
    changed();
  });
  const watch = settingRow("watch", textBox(schema.max_sentence), (text) => {
    chosen.watch[chosen.corpus] = text;
    changed();
  });
  const legend = h("legend", { class: "visually-hidden" }, t("train.settings"));
  const rows = h("section", { class: "settings" }, h("h2", {}, t("train.group.this")), name.element, watch.element);
  return {
    element: h("fieldset", { class: "card forms" }, legend, form.element, rows),
    draw() {
      const watched = chosen.watch[chosen.corpus];
      form.draw();
      name.draw(chosen.name, t("train.name.default"));
      watch.draw(watched, (!watched && planned.plan?.watch) || sentences[chosen.corpus]);
    },
  };
}

/** The replay stands first, unless its training only waits, or the visitor is at the data again. */
function pictureColumn(data: HTMLElement, replay: HTMLElement, own: HTMLElement) {
  const element = h("div", { class: "train-picture" }, data, replay, own);
  const arrange = () => {
    replay.hidden = ["idle", "waiting"].includes(training.phase);
    const isReplayFirst = !replay.hidden && (isTraining() || first === "replay");
    const order = isReplayFirst ? [replay, own, data] : [data, replay, own];
    if (element.firstElementChild === order[0]) return;
    // The others move around what has the focus, or else it would lose it.
    const focused = order.findIndex((each) => each.contains(document.activeElement));
    const still = Math.max(0, focused);
    order[still].before(...order.slice(0, still));
    order[still].after(...order.slice(still + 1));
  };
  /** Whatever the visitor is at stays where it is on the screen. */
  const bringToFront = (what: Front) => {
    if (first === what) return;
    first = what;
    const { top } = data.getBoundingClientRect();
    arrange();
    if (data.contains(document.activeElement)) scrollBy(0, data.getBoundingClientRect().top - top);
  };
  return { element, arrange, bringToFront };
}
