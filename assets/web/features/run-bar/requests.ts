// Requests for runs, of which the newest counts, and the handling of their answers.

import type { TranslateRequest } from "#schema";
import { api, NO_ANSWER, reasonOf } from "../../api/client.ts";
import { addSharedModel, forgetModel, isOwn, models, unknownToken } from "../../api/models.ts";
import { whenLoaded } from "../../api/real-models.ts";
import { opening } from "../../api/schema.ts";
import type { Example, Message, OwnModel, Run, RunRequest, State } from "../../api/types.ts";
import { expectRun, formatAddress, holdAddress, openingTab, parseAddress, restorePlace } from "../../state/address.ts";
import { changes, lastingChanges, settleChanges } from "../../state/changes.ts";
import { formatList, t } from "../../state/i18n.ts";
import { showRun, state, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";

type Answer = { run: Run | null; baseline: Run | null; refused: Message | null };
/** `fillsBox`: its sentence goes into the box; `place` is where its run is looked at. */
type Manner = { isSurprise?: boolean; fillsBox?: boolean; place?: Partial<State> };
/** The run bar's callbacks for a request. */
type Reactions = {
  complain: (error: Message | null, sentence: string, wrongLink?: string) => void | Promise<void>;
  showBusy: (isBusy: boolean) => void;
  focusSteps: () => void;
};

const OPENING_MS = 3000; // after which a run that a link asks for is no longer waited for with an empty page

/** State that outlives a mounting. */
const session = {
  requests: null as RunRequests | null, // of the mounting that is shown
  isOpened: false, // the address that the page was opened with has been followed
  example: null as Example | null, // that was asked for last
  checkpoint: null as string | null, // likewise
  sentence: "", // likewise
  asked: null as Partial<TranslateRequest> | null, // the question that is on its way
  answer: opening.shown as unknown as Answer, // the latest
};

/** The example that a run is of, if it was chosen as one. */
export const exampleOf = (run: Run) => (session.example?.sentence === run.sentence ? session.example : null);

/** A word as a model reads it. */
export const plainText = (text: string) =>
  text.toLowerCase().normalize("NFD").replaceAll("\u0308", "").replaceAll("ß", "ss");

export class RunRequests {
  box: HTMLInputElement;
  reactions: Reactions;
  signal: AbortSignal;
  /** While the page is on its way to what its address asks for. It is shown once what it complains of is. */
  showPlace: ((complained?: void | Promise<void>) => Promise<void>) | null = null;

  /** @param box for the sentence */
  constructor(box: HTMLInputElement, reactions: Reactions, signal: AbortSignal) {
    this.box = box;
    this.reactions = reactions;
    this.signal = signal;
    session.requests = this;
    for (const [name, react] of Object.entries({
      "translate:wanted": this.askSentence,
      "changes:wanted": this.askChanges,
      "run:wanted": this.askRun,
      "checkpoint:wanted": this.askCheckpoint,
      "place:wanted": this.openPlace,
    }))
      document.addEventListener(name, (event) => react.call(this, (event as CustomEvent).detail), { signal });
  }

  /** Take the answer that is there, and go where the address leads: not again when another language is spoken. */
  begin() {
    this.takeAnswer();
    this.box.value ||= state.run.sentence;
    addEventListener("popstate", () => this.followAddress(true), { signal: this.signal });
    if (!session.isOpened) this.openPlace(location.search, false);
    session.isOpened = true;
  }

  async ask(wanted: Partial<TranslateRequest>, { isSurprise, fillsBox, place }: Manner = {}) {
    const asked = { checkpoint: state.run.checkpoint, sentence: "", changes: lastingChanges(), ...wanted };
    const typed = this.box.value;
    Object.assign(session, { asked, sentence: asked.sentence });
    // Where a link leads, the address is that link.
    if (asked.sentence && !this.showPlace) expectRun(asked as RunRequest);
    this.reactions.showBusy(true);
    const answer = await (isSurprise ? api.surprise(asked) : api.translate(asked)).catch((error) => ({
      run: null,
      baseline: null,
      refused: reasonOf(error),
    }));
    if (session.asked !== asked) return; // a newer question was asked
    Object.assign(session, { asked: null, answer });
    const shown = session.requests ?? this; // by now another language may be spoken
    if (answer.run && fillsBox && shown.box.value === typed)
      shown.box.value = answer.refused ? asked.sentence : answer.run.sentence; // what is being typed stays
    shown.onAnswered(place);
  }

  askExample(example: Example) {
    session.example = example;
    this.ask({ sentence: example.sentence, or_example: true }, { fillsBox: true });
  }

  askSurprise() {
    this.ask({}, { isSurprise: true, fillsBox: true });
  }

  askSentence(sentence: string) {
    this.ask({ sentence: sentence ?? "", ...(sentence === state.run.sentence ? { changes: changes() } : {}) });
  }

  /** Ask for the changes of the sentence that is shown, or of the one that is on its way. */
  askChanges() {
    this.ask({ sentence: state.run.sentence, ...session.asked, changes: changes() });
  }

  askRun({ run, place }: { run: RunRequest; place: Partial<State> }) {
    this.withModel(run.checkpoint, (requests) => {
      session.checkpoint = run.checkpoint;
      requests.ask({ ...run, or_example: true }, { fillsBox: true, place });
    });
  }

  askCheckpoint(checkpoint: string) {
    this.withModel(checkpoint, (requests) => requests.chooseCheckpoint(checkpoint));
  }

  /**
   * Ask about a model, when the server has it: by then another mounting may be shown. Until then, and where it cannot
   * be had, the page keeps its run.
   */
  withModel(checkpoint: string, ask: (requests: RunRequests) => void, giveUp?: (requests: RunRequests) => void) {
    const act = (then: (requests: RunRequests) => void) => then(session.requests ?? this);
    const complain = (error: Message) =>
      act((requests) => {
        giveUp?.(requests);
        requests.reactions.complain(error, session.sentence);
      });
    whenLoaded(checkpoint, () => act(ask), complain);
  }

  /** The visitor's own sentence stays; an example gives way to the checkpoint's first. */
  chooseCheckpoint(checkpoint: string) {
    const isExample = models()[state.run.checkpoint]?.examples.some(({ sentence }) => sentence === this.box.value);
    const [example] = models()[checkpoint].examples;
    Object.assign(session, { example, checkpoint });
    const sentence = isExample ? example.sentence : this.box.value;
    // Another model's heads are other heads, so changes are not taken along.
    this.ask({ checkpoint, sentence, changes: [], or_example: true }, { fillsBox: isExample });
  }

  onAnswered(place?: Partial<State>) {
    if (session.answer.refused !== NO_ANSWER) expectRun(null); // else the page asks again when it is loaded again
    settleChanges();
    this.reactions.showBusy(false);
    const complained = this.takeAnswer();
    document.dispatchEvent(new Event("translate:answered"));
    this.showPlace?.(complained);
    // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
    const isInBox = document.activeElement === this.box;
    if (isInBox && !session.answer.refused && this.box.value === state.run.sentence) this.reactions.focusSteps();
    if (place) update(place);
  }

  takeAnswer() {
    const { answer, checkpoint } = session;
    const { run, baseline, refused } = answer;
    if (refused?.key === "error.model_gone" && checkpoint && isOwn(checkpoint)) forgetModel(checkpoint);
    if (run && run !== tokenRun(state.run)) {
      const example = run.changes.length ? null : exampleOf(run);
      showRun(run, baseline, example && plainText(example.watch));
    }
    return this.reactions.complain(refused, session.sentence);
  }

  /**
   * A link may name a shared model, whose description this page has to fetch first.
   * @param isBack whether the page shows something already
   */
  async openPlace(search: string = location.search, isBack: boolean = true) {
    const checkpoint = unknownToken(new URLSearchParams(search).get("checkpoint") ?? "");
    const found = checkpoint && (await api.shared_model({ checkpoint }).catch(() => null));
    if (found) addSharedModel(found as OwnModel);
    this.followAddress(isBack, search);
  }

  /** @param isBack whether the page shows something already */
  followAddress(isBack: boolean = false, search: string = location.search) {
    holdAddress(isBack);
    const { run, place, wrong } = parseAddress(search);
    const isShown =
      run &&
      !session.asked &&
      formatAddress(location.href, false, run) === formatAddress(location.href, false, state.run);
    this.showPlace = async (complained) => {
      const error = session.answer.refused;
      const less = run && error && withoutWhatIsWrong(run, error, wrong);
      if (less) {
        this.ask({ ...less, or_example: true }, { fillsBox: true });
        return;
      }
      this.showPlace = null;
      const missing = [...wrong, ...restorePlace({ ...openingTab(search), ...place }, isBack)].map((name) =>
        t(`link.${name}`),
      );
      if (missing.length)
        this.reactions.complain(error, session.sentence, t("link.wrong", { what: formatList(missing) }));
      await complained;
      document.body.classList.remove("opening");
    };
    if (!run || isShown) {
      this.showPlace();
      return;
    }
    const follow = (requests: RunRequests) => {
      document.body.classList.toggle("opening", !isBack); // until the run is there, none is shown
      setTimeout(() => document.body.classList.remove("opening"), OPENING_MS);
      requests.ask({ ...run, or_example: true }, { fillsBox: true });
    };
    this.withModel(run.checkpoint, follow, (requests) => requests.showPlace?.());
  }
}

/** Restore as much as possible of a refused run; adds the rest to `wrong`. */
function withoutWhatIsWrong(run: RunRequest, error: Message, wrong: string[]) {
  if (error.key !== "error.changes") return null;
  wrong.push("changes");
  return Object.assign(run, { changes: [] });
}
