// The run at the top of the page: its tokens, its steps, its changes, and what to do about a sentence that was refused.

import { canAsk } from "../../api/client.ts";
import { firstRun, isReal, modelName } from "../../api/models.ts";
import { isSavedRun, opening } from "../../api/schema.ts";
import type { Change, Message, Places, Run, View } from "../../api/types.ts";
import { hereButton } from "../../charts/overview-place.ts";
import { argmax } from "../../engine/arrays.ts";
import { isPresenting, updateAddressBar } from "../../state/address.ts";
import { attendsAhead, hasNoEffect, requestChanges, undoChange } from "../../state/changes.ts";
import { openRun } from "../../state/experiments.ts";
import { formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { attentionRow, canShowWords, shownHead, state, subscribe, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";
import { describeChange } from "../../ui/describe.ts";
import { chip, dialog, h, namedChoice, replaceKeepingFocus, scrollToMiddle, setChildren, word } from "../../ui/dom.ts";
import { fold, isFolded, stopPresenting } from "../../ui/frame.ts";
import { button, changeDetectors, hint, link, onResize } from "../../ui/parts.ts";
import { exampleBar } from "./examples.ts";
import { isRefusal, refusalNotice } from "./refusal.ts";
import { askedModel, askSentence, begin, exampleOf, plainText, serveRequests } from "./requests.ts";
import { stepControls } from "./steps.ts";

type Parts = ReturnType<typeof build>;

const PAGE = "Attention, bitte";
const MAX_SHOWN = 8; // until one asks for the others

export function mount({ element, signal }: View) {
  const parts = build(signal);
  const box = sentenceBox(element.querySelector("#sentence input"));
  const card = h("div", { class: "card", id: "top" });
  const bar = {
    box,
    complain: complaint(parts),
    showBusy: (isBusy: boolean) => void card.classList.toggle("busy", isBusy),
    focusSteps: () => parts.steps.slider.focus(),
  };
  const translate = (event: Event) => {
    event.preventDefault();
    askSentence(box.value);
    fold(true);
  };
  const send = h("button", { id: "translate" }, t("sentence.translate"));
  const ask = h("form", { id: "ask", onsubmit: translate }, h("div", { id: "sentence" }, box), send);
  const special = ["S", "E"].map((token) => h("span", {}, t(`legend.${token}`)));
  parts.legend.append(...special, parts.padding);
  const tokens = h("p", {}, parts.source, h("span", { class: "arrow" }, "→"), " ", parts.target, parts.doubt);
  parts.run.append(tokens, parts.steps.element, frameControls());
  const examples = isSavedRun ? null : exampleBar();
  const beside = h("div", { class: "beside-ask" }, examples, parts.note, parts.legend, parts.changed);
  card.append(
    h("div", { class: "progress", "aria-hidden": "true" }),
    h("div", { class: "ask-line" }, canAsk("translate") ? ask : savedRun(), beside),
    h("div", { class: "under" }, parts.refusal.elements, parts.queue, parts.unit.element),
    parts.run,
  );
  element.replaceChildren(card);
  onResize(card, () => stickToRun(parts.run), signal);
  parts.source.addEventListener("pointerover", (event) => nameToken(parts, event));
  subscribe(element, () => draw(parts));
  onResize(parts.run, () => fitTokens(parts), signal);
  const showQueue = (event: Event) => {
    const { detail: news } = event as CustomEvent<{ waiting: number; full?: boolean } | null>;
    parts.queue.hidden = !news;
    parts.queue.textContent = news && (news.full ? t("queue.full") : t("queue.waiting", { waiting: news.waiting }));
  };
  document.addEventListener("queue:changed", showQueue, { signal });
  serveRequests(bar, signal);
  begin(signal);
}

/** Stays beside the translation where the note is folded away or scrolled out of sight, and opens its sentence. */
function doubtfulMark() {
  const said = t("note.unlearned");
  const about = dialog({ id: "doubt", class: "plan", "aria-label": said }, "⚠ ", said);
  const words = ["⚠", h("span", {}, ` ${t("run.doubt")}`)];
  const mark = button(null, words, () => about.showModal(), { title: said, "aria-label": said });
  return h("span", { class: "doubt", hidden: true }, mark, about);
}

/** Says which model's run it is, and where others can be made. */
function savedRun() {
  const { home } = opening;
  const saved = nodes("file.saved", { model: h("b", {}, opening.shown.run.checkpoint) });
  const page = home && h("a", { class: "link", href: home, target: "_blank", rel: "noopener" }, PAGE);
  return h("p", { id: "saved" }, ...joinSentences(saved, page && nodes("file.home", { page })));
}

/** Keep the typed text when the language changes. */
const sentenceBox = (before: HTMLInputElement | null) => {
  const label = t("sentence.label");
  const value = before?.value ?? "";
  return h("input", { placeholder: label, "aria-label": label, value, autocomplete: "off", spellcheck: "false" });
};

// The arrow keys lead along it: see steps.ts.
const TARGET = { class: "tokens", id: "translation", role: "listbox", tabindex: 0, "aria-live": "polite" };

const build = (signal: AbortSignal) => ({
  run: h("div", { class: "run" }),
  source: h("span", { class: "tokens", role: "group", "aria-label": t("run.source") }),
  target: h("span", { ...TARGET, "aria-label": t("run.target") }),
  steps: stepControls(signal),
  unit: tokenUnit(),
  refusal: refusalNotice(),
  isRefused: false,
  queue: h("p", { class: "crowd", id: "crowd", role: "status", hidden: true }),
  note: h("p", { class: "note", hidden: true }),
  doubt: doubtfulMark(),
  legend: h("p", { class: "legend" }),
  padding: h("span", {}, t("legend.P")),
  changed: h("div", { class: "changed", hidden: true }),
  original: hint(),
  compare: link(t("changed.compare"), () => update({ tab: "break", part: "whatif" })),
  isNew: changeDetectors(),
  weights: [] as number[], // of the source words, at the step
});

/** A refused sentence leaves another one's run. @param wrongLink what was wrong with the page's address */
const complaint =
  (parts: Parts) =>
  async (error: Message | null, sentence: string, wrongLink = "") => {
    parts.isRefused = isRefusal(error);
    parts.run.classList.toggle("stale", parts.isRefused);
    showNote(parts);
    if (parts.isRefused) fold(false); // what leads on is in view
    await parts.refusal.draw(error, sentence, wrongLink);
  };

/** One line: what there is to note of the run and its changes, else what its special tokens mean. */
function showNote({ note, changed, legend, isRefused }: Parts) {
  note.hidden = isRefused || !note.hasChildNodes();
  legend.hidden = !note.hidden || !changed.hidden;
}

function draw(parts: Parts) {
  const { source, target, note, changed, original, steps } = parts;
  const { run, step, averaged } = state;
  updateAddressBar();
  if (parts.isNew("run", run)) drawRun(parts);
  const isInWhatIf = state.tab === "break" && state.part === "whatif";
  // There it or a note has its line, so that nothing jumps under a finger.
  changed.hidden = run.changes.length === 0 && (!isInWhatIf || note.hasChildNodes());
  original.hidden = isInWhatIf; // its verdict says it
  showNote(parts);
  const { layer, head } = shownHead("cross");
  const weights = attentionRow("cross", layer, averaged ? null : head, step);
  parts.weights = weights;
  // Only words that changed are written: each write costs a restyle, and a long sentence has many.
  for (const [key, { style }] of ([...source.children] as HTMLElement[]).entries()) {
    const share = weights[key].toFixed(2);
    if (style.getPropertyValue("--share") !== share) style.setProperty("--share", share);
  }
  for (const [i, token] of [...target.children].entries()) {
    const current = i === step ? "step" : "false";
    if (token.ariaCurrent === current) continue;
    token.ariaCurrent = current;
    token.ariaSelected = String(i === step);
  }
  const strongest = argmax(weights);
  const isNewWidth = parts.isNew("width", run, isPresenting());
  if (parts.isNew("sight", run, step, strongest, isPresenting()))
    requestAnimationFrame(() => {
      if (isNewWidth) fitTokens(parts); // it restyles the line twice: not at every switch
      scrollToMiddle(source, source.children[strongest]);
      scrollToMiddle(target, target.children[step]);
      scrollToMiddle(target.parentElement as HTMLElement, target.children[step]);
    });
  steps.draw();
  parts.unit.draw();
}

function nameToken({ source, weights }: Parts, { target }: Event) {
  if (!(target instanceof HTMLElement)) return;
  const key = [...source.children].indexOf(target);
  if (key < 0) return;
  const { run, step } = state;
  const look = t("run.look", { step: step + 1, share: formatPercent(weights[key]) });
  const isFolded = run.typed[key] !== run.source[key];
  target.title = isFolded ? `${t("run.read_as", { token: run.source[key] })} ${look}` : look;
}

const [MIN_ZOOM, MIN_ZOOM_PRESENTING] = [0.75, 0.6];
const STUCK_GAP = 6; // px above the run where it stays

/** Where a tab is scrolled, the run stays at the top of the screen as one line, and the tabs under it. */
function stickToRun(run: HTMLElement) {
  const card = run.parentElement as HTMLElement;
  const { style } = document.documentElement;
  style.setProperty("--above-run", `${run.offsetTop - STUCK_GAP}px`);
  style.setProperty("--run-line", `${card.offsetHeight - run.offsetTop + STUCK_GAP}px`);
}

function fitTokens({ source, target, changed }: Parts) {
  for (const each of [source, changed]) {
    const { clientWidth, scrollWidth } = each; // where it is inline 0 and, in Firefox, more
    const overflows = clientWidth && scrollWidth > clientWidth;
    if (overflows)
      each.tabIndex = 0; // so that a keyboard scrolls it
    else each.removeAttribute("tabindex");
  }
  const line = target.parentElement;
  const now = target.children[state.step];
  if (!line || !now) return;
  line.style.removeProperty("zoom");
  line.classList.remove("cut");
  const least = isPresenting() ? MIN_ZOOM_PRESENTING : MIN_ZOOM;
  let fitting = 1;
  while (fitting >= least && line.scrollWidth > line.clientWidth) {
    fitting = (fitting * line.clientWidth) / line.scrollWidth - 0.01; // again where type keeps to whole pixels
    line.style.setProperty("zoom", String(Math.max(least, fitting)));
  }
  line.classList.toggle("cut", fitting < least);
  if (fitting < 1) scrollToMiddle(line, now);
}

function drawRun(parts: Parts) {
  const { source, target, note, doubt, padding, changed } = parts;
  const { run, baseline } = state;
  doubt.hidden = !isDoubtful(run);
  padding.hidden = !run.source.includes("P");
  const typed = (token: string, i: number) =>
    Object.assign(chip("span", token, "source"), { textContent: run.typed[i] });
  setChildren(source, ...run.source.map((token, i) => [typed(token, i), " "]));
  const output = run.output.map((token, step) => {
    const { probability } = run.steps[step];
    const title = t("run.chip", { step: step + 1, share: formatPercent(probability) });
    const onclick = () => update({ step });
    return [chip("span", token, "target", { role: "option", title, style: `--share: ${probability}`, onclick }), " "];
  });
  setChildren(target, output);
  note.replaceChildren(...describeRun(run));
  const nothing = hint(t("changed.nothing"));
  replaceKeepingFocus(changed, baseline ? changeList(run, baseline, parts) : [nothing]);
}

function changeList(run: Run, baseline: Run, { original, compare }: Parts) {
  const undoAll = link(t("changed.undo_all"), () => requestChanges([]));
  const output = word(baseline.output.join(" "), "target");
  original.replaceChildren(isSavedRun ? "" : compare, " ", ...nodes("changed.original", { output }));
  return [
    h("b", {}, t("changed")),
    h("ul", { "aria-label": t("changed") }, changeItems(run.changes), isSavedRun ? null : h("li", {}, undoAll)),
    original,
  ];
}

/** A run that was drawn has one at every step. */
function changeItems(changes: Change[]) {
  if (changes.length <= MAX_SHOWN) return changes.map(changeItem);
  const more = h("li");
  const unfold = () => more.replaceWith(...changes.slice(MAX_SHOWN).map(changeItem));
  more.append(link(t("changed.more", { rest: changes.length - MAX_SHOWN }), unfold));
  return [...changes.slice(0, MAX_SHOWN).map(changeItem), more];
}

function changeItem(change: Change) {
  const isIdle = hasNoEffect(change);
  const text = h("span", {}, describeChange(change), isIdle ? ` ${t("changed.idle")}` : "");
  if (isSavedRun) return h("li", { class: "change" }, text);
  const content = [...text.childNodes, h("span", { "aria-hidden": "true" }, " ×")];
  const attributes = { title: t("changed.undo"), "aria-label": `${t("changed.undo")}: ${text.textContent}` };
  const undo = button(`change ${isIdle ? "idle" : ""}`, content, () => undoChange(change), attributes);
  return h("li", {}, undo);
}

/** A network translates whatever its words allow; of what no grammar gave it, nobody has said what is right. */
const isDoubtful = (run: Run) => !run.changes.length && !isReal(run.checkpoint) && !run.reference && !opening.site;

function describeRun(run: Run) {
  const notes: (string | Node)[][] = [];
  const add = (key: string, places: Places = {}) => notes.push(nodes(key, places));
  const example = run.changes.length ? null : exampleOf(run); // whose note is about the model as it is
  if (example?.name) {
    add(`example.${example.name}.shows`);
    if (example.watch) add("note.watch", { word: word(plainText(example.watch), "source") });
  }
  const asked = askedModel(run);
  if (asked) {
    const back = link(t("note.back_to", { name: modelName(asked) }), () => openRun(firstRun(asked), {}));
    add("note.instead", { asked: modelName(asked), name: modelName(run.checkpoint) });
    notes.push([back]);
  }
  if (run.changes.length && attendsAhead(run)) add("note.ahead");
  if (!run.complete) add("note.endless", { steps: tokenRun(run).steps.length });
  if (/(?<!\p{L})mochte(?!\p{L})/iu.test(run.sentence.normalize("NFC"))) {
    const [without, dotted, plain] = ["mochte", "möchte", "mochte"].map((text) => h("i", {}, text));
    add("note.mochte", { without, dotted, plain });
  }
  if (run.changes.length) return joinSentences(...notes); // the output is not what the model learned
  if (isReal(run.checkpoint)) return joinSentences(...notes); // its training data is unknown
  if (isDoubtful(run)) notes.push([h("span", { class: "warning" }, "⚠ ", t("note.unlearned"))]);
  else if (!run.reference) add("note.unknown");
  else if (!run.reference.same) add("note.mistake", { right: run.reference.text });
  else if (run.reference.held_out) add("note.held_out");
  return joinSentences(...notes);
}

function frameControls() {
  const named = (title: string) => ({ title, "aria-label": title });
  const open = { id: "unfold", ...named(t("frame.unfold")), "aria-expanded": !isFolded };
  const unfold = button("round", "☰", () => fold(!isFolded), open);
  const leave = button("round", "✕", stopPresenting, { id: "leave", ...named(t("present.leave")) });
  return h("span", { class: "frame-controls" }, hereButton(), unfold, leave);
}

const UNITS = ["pieces", "words"] as const;

function tokenUnit() {
  const choice = namedChoice(t("unit"), UNITS, "unit", (unit) => update({ inWords: unit === "words" }));
  const about = h("small", {});
  const element = h("div", { class: "unit", id: "unit", hidden: true }, choice.element, about);
  return {
    element,
    draw() {
      const { run, inWords } = state;
      element.hidden = !run.words;
      choice.set(inWords ? "words" : "pieces");
      about.textContent = t(!inWords ? "unit.pieces.about" : canShowWords() ? "unit.words.about" : "unit.elsewhere");
    },
  };
}
