// Requests for runs, of which the newest counts, and the handling of their answers.

import type { TranslateRequest } from "#schema";
import { api, NO_ANSWER, reasonOf } from "../../api/client.ts";
import { addSharedModel, forgetModel, isOwn, models, unknownToken } from "../../api/models.ts";
import { whenLoaded } from "../../api/real-models.ts";
import { opening, parametersOf } from "../../api/schema.ts";
import type { Example, Message, OwnModel, Run, RunRequest, State } from "../../api/types.ts";
import { expectRun, formatAddress, holdAddress, openingTab, parseAddress, restorePlace } from "../../state/address.ts";
import { changes, lastingChanges, settleChanges } from "../../state/changes.ts";
import { formatList, t } from "../../state/i18n.ts";
import { HOME, showRun, state, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";

/** `asked`: the model that the question was put to. */
type Answer = { run: Run | null; baseline: Run | null; refused: Message | null; asked?: string };
/** `fillsBox`: its sentence goes into the box; `place` is where its run is looked at. */
type Manner = { isSurprise?: boolean; fillsBox?: boolean; place?: Partial<State> };
type Bar = {
  box: HTMLInputElement;
  complain: (error: Message | null, sentence: string, wrongLink?: string) => void | Promise<void>;
  showBusy: (isBusy: boolean) => void;
  focusSteps: () => void;
};

const OPENING_MS = 3000; // after which a run that a link asks for is no longer waited for with an empty page

let bar: Bar; // as it was mounted last
let isOpened = false; // the address that the page was opened with has been followed
const last = { example: null as Example | null, sentence: "" }; // that were asked for
let pending: Partial<TranslateRequest> | null = null; // the question that is on its way
let answer = opening.shown as unknown as Answer; // the latest
/** While the page is on its way to what its address asks for. It is shown once what it complains of is. */
let showPlace: ((complained?: void | Promise<void>) => Promise<void>) | null = null;

const REACTIONS: Record<string, (detail: any) => void> = {
  "changes:wanted": () => ask({ sentence: state.run.sentence, ...pending, changes: changes() }),
  "run:wanted": ({ run, place }) =>
    withModel(run.checkpoint, () => ask({ ...run, or_example: true }, { fillsBox: true, place })),
  "checkpoint:wanted": (checkpoint) => withModel(checkpoint, () => chooseCheckpoint(checkpoint)),
  "place:wanted": openPlace,
};

export const exampleOf = (run: Run) => (last.example?.sentence === run.sentence ? last.example : null);

/** The model that was asked, where it could not read the sentence and another one answered. */
export const askedModel = (run: Run) =>
  answer.asked && answer.asked !== run.checkpoint && answer.run === tokenRun(run) ? answer.asked : null;

export const plainText = (text: string) =>
  text.toLowerCase().normalize("NFD").replaceAll("\u0308", "").replaceAll("ß", "ss");

export function serveRequests(mounted: Bar, signal: AbortSignal) {
  bar = mounted;
  for (const [name, react] of Object.entries(REACTIONS))
    document.addEventListener(name, (event) => react((event as CustomEvent).detail), { signal });
}

/** Take the answer that is there, and go where the address leads: not again when another language is spoken. */
export function begin(signal: AbortSignal) {
  if (!isOpened && parseAddress(parametersOf(location)).run) state.tab = ""; // until its own run is there
  takeAnswer();
  bar.box.value ||= state.run.sentence;
  addEventListener("popstate", () => followAddress(true), { signal });
  if (!isOpened) openPlace(parametersOf(location), false);
  isOpened = true;
}

async function ask(wanted: Partial<TranslateRequest>, { isSurprise, fillsBox, place }: Manner = {}) {
  const asked = { checkpoint: state.run.checkpoint, sentence: "", changes: lastingChanges(), ...wanted };
  const typed = bar.box.value;
  pending = asked;
  last.sentence = asked.sentence;
  if (asked.sentence && !showPlace) expectRun(asked as RunRequest); // where a link leads, the address is that link
  bar.showBusy(true);
  const given = await (isSurprise ? api.surprise(asked) : api.translate(asked)).catch((error) => ({
    run: null,
    baseline: null,
    refused: reasonOf(error),
  }));
  if (pending !== asked) return; // a newer question was asked
  pending = null;
  answer = { ...(given as Answer), asked: asked.checkpoint };
  if (fillsBox && bar.box.value === typed)
    bar.box.value = (answer.refused ? asked.sentence : answer.run?.sentence) || typed; // what is being typed stays
  const isLost = answer.refused === NO_ANSWER && asked.sentence; // then the page asks again when it is loaded again
  expectRun(isLost ? (asked as RunRequest) : null);
  onAnswered(place);
}

export function askExample(example: Example) {
  last.example = example;
  ask({ sentence: example.sentence, or_example: true }, { fillsBox: true });
}

export const askSurprise = () => ask({}, { isSurprise: true, fillsBox: true });

export function askSentence(sentence: string) {
  const own = sentence === state.run.sentence ? { changes: changes() } : {};
  ask({ sentence, or_other_model: true, ...own });
}

/** Ask about a model, when the server has it. Until then, and where it cannot be had, the page keeps its run. */
const withModel = (checkpoint: string, ask: () => void, giveUp = () => {}) =>
  whenLoaded(checkpoint, ask, (error) => {
    giveUp();
    bar.complain(error, last.sentence);
  });

/** The visitor's own sentence stays; an example gives way to the checkpoint's first. */
function chooseCheckpoint(checkpoint: string) {
  const isExample = models()[state.run.checkpoint]?.examples.some(({ sentence }) => sentence === bar.box.value);
  const [example] = models()[checkpoint].examples;
  last.example = example;
  const sentence = isExample ? example.sentence : bar.box.value;
  // Another model's heads are other heads, so changes are not taken along.
  ask({ checkpoint, sentence, changes: [], or_example: true }, { fillsBox: isExample });
}

function onAnswered(place?: Partial<State>) {
  settleChanges();
  bar.showBusy(false);
  const complained = takeAnswer();
  document.dispatchEvent(new Event("translate:answered"));
  showPlace?.(complained);
  // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
  const isInBox = document.activeElement === bar.box;
  if (isInBox && !answer.refused && bar.box.value === state.run.sentence) bar.focusSteps();
  if (place) update(place);
}

function takeAnswer() {
  const { run, baseline, refused, asked } = answer;
  if (refused?.key === "error.model_gone" && asked && isOwn(asked)) forgetModel(asked);
  if (run && run !== tokenRun(state.run)) {
    const { sentence, checkpoint } = state.run ?? {};
    const isOther = run.sentence !== sentence || run.checkpoint !== checkpoint; // else its changes were undone
    const example = isOther && !run.changes.length ? exampleOf(run) : null;
    showRun(run, baseline, example && plainText(example.watch));
  }
  return bar.complain(refused, last.sentence);
}

/** A link may name a shared model, to be fetched first. @param isBack whether the page shows something already */
async function openPlace(search: string, isBack = true) {
  const checkpoint = unknownToken(new URLSearchParams(search).get("checkpoint") ?? "");
  const found = checkpoint && (await api.shared_model({ checkpoint }).catch(() => null));
  if (found) addSharedModel(found as OwnModel);
  followAddress(isBack, search);
}

/** @param isBack whether the page shows something already */
export function followAddress(isBack: boolean, search = parametersOf(location)) {
  holdAddress(isBack);
  const { run, place, wrong } = parseAddress(search);
  const isShown =
    run && !pending && formatAddress(location.href, false, run) === formatAddress(location.href, false, state.run);
  showPlace = async (complained) => {
    const error = answer.refused;
    if (run && error?.key === "error.changes") {
      wrong.push("changes");
      run.changes = [];
      ask({ ...run, or_example: true }, { fillsBox: true });
      return;
    }
    showPlace = null;
    const missing = [...wrong, ...restorePlace({ ...openingTab(search), ...place }, isBack)];
    const names = missing.map((name) => t(`link.${name}`));
    if (names.length) bar.complain(error, last.sentence, t("link.wrong", { what: formatList(names) }));
    await complained;
    document.body.classList.remove("opening");
  };
  if (!run || isShown) {
    showPlace();
    return;
  }
  const showTab = () => state.tab || update({ tab: HOME.tab });
  const follow = () => {
    document.body.classList.toggle("opening", !isBack); // until the run is there, none is shown
    setTimeout(() => {
      document.body.classList.remove("opening");
      showTab();
    }, OPENING_MS);
    ask({ ...run, or_example: true }, { fillsBox: true });
  };
  withModel(run.checkpoint, follow, () => {
    if (run.sentence && bar.box.value === state.run.sentence) bar.box.value = run.sentence; // for another model
    showPlace?.();
  });
  if (!pending) showTab(); // its model is on the way
}
