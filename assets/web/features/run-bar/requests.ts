// Requests for runs, one at a time, and the handling of their answers.

import { addSharedModel, forgetModel, isOwn, models, unknownToken } from "../../api/models.ts";
import { whenLoaded } from "../../api/real-models.ts";
import { reconnect } from "../../api/reconnect.ts";
import type { Example, Message, OwnModel, Run, RunRequest, State, View } from "../../api/types.ts";
import { expectRun, formatAddress, holdAddress, openingTab, parseAddress, restorePlace } from "../../state/address.ts";
import { changes, lastingChanges, settleChanges } from "../../state/changes.ts";
import { formatList, t } from "../../state/i18n.ts";
import { showRun, state, update } from "../../state/state.ts";
import { tokenRun } from "../../state/words.ts";

/** `sentence` is what goes into the box; null leaves it alone. */
type Answer = { run: Run | null; baseline: Run | null; error: Message | null; sentence: string | null };
/** `data()` is called when the question is sent; `place` is where its run is looked at. */
type Question = {
  event: "ask" | "example" | "surprise" | "choose";
  data: () => Partial<RunRequest> & { example?: boolean };
  place?: Partial<State>;
};
/** The run bar's callbacks for a request. */
type Reactions = {
  complain: (error: Message | null, sentence: string, wrongLink?: string) => void | Promise<void>;
  showBusy: (isBusy: boolean) => void;
  focusSteps: () => void;
};

const UNHEARD_MS = 500; // after which a question is put once more
const DOUBT_MS = 3000; // a translation takes milliseconds; after this the page asks whether the server is there
const PATIENCE_MS = 20000; // and after this there is no answer

/** State that outlives a mounting. */
const session = {
  requests: null as RunRequests | null, // of the mounting that is shown
  isOpened: false, // the address that the page was opened with has been followed
  example: null as Example | null, // that was asked for last
  checkpoint: null as string | null, // likewise
  sentence: "", // likewise
  typed: null as string | null, // what the box had when the newest question was asked
  sent: null as Question | null, // the question that is on its way
  next: null as Question | null, // the newest question that came meanwhile
  // The latest.
  answer: { text: "", read: { run: null, baseline: null, error: null, sentence: null } as Answer },
};

/** The example that a run is of, if it was chosen as one. */
export const exampleOf = (run: Run) => (session.example?.sentence === run.sentence ? session.example : null);

/** A word as a model reads it. */
export const plainText = (text: string) =>
  text.toLowerCase().normalize("NFD").replaceAll("\u0308", "").replaceAll("ß", "ss");

export class RunRequests {
  view: View;
  box: HTMLInputElement;
  reactions: Reactions;
  /** While the page is on its way to what its address asks for. It is shown once what it complains of is. */
  arrive: ((complained?: void | Promise<void>) => Promise<void>) | null = null;
  unheard: ReturnType<typeof setInterval> | undefined;
  doubt: ReturnType<typeof setTimeout> | undefined;
  patience: ReturnType<typeof setTimeout> | undefined;

  /** @param box for the sentence */
  constructor(view: View, box: HTMLInputElement, reactions: Reactions) {
    this.view = view;
    this.box = box;
    this.reactions = reactions;
    session.requests = this;
    const { signal } = view;
    for (const [name, react] of Object.entries({
      "translate:wanted": this.askSentence,
      "changes:wanted": this.askChanges,
      "run:wanted": this.askRun,
      "checkpoint:wanted": this.askCheckpoint,
      "place:wanted": this.openPlace,
      "queue:changed": this.waitInQueue,
      "translate:asked": this.onAsked,
      "translate:answered": this.onAnswered,
    }))
      document.addEventListener(name, (event) => react.call(this, (event as CustomEvent).detail), {
        signal,
      });
    signal.addEventListener("abort", () => clearInterval(this.unheard));
  }

  /** Take the answer that is there, and go where the address leads: not again when another language is spoken. */
  begin() {
    this.takeAnswer();
    this.view.watch("value", () => this.takeAnswer());
    addEventListener("popstate", () => this.followAddress(true), { signal: this.view.signal });
    if (!session.isOpened) this.openPlace(location.search, false);
    session.isOpened = true;
  }

  ask(event: Question["event"], data: Question["data"], place?: Question["place"]) {
    session.next = { event, data, place };
    session.typed = this.box.value;
    if (!session.sent) this.send();
  }

  send() {
    const question = session.next;
    if (!question) return;
    Object.assign(session, { sent: question, next: null });
    const asked = { checkpoint: state.run.checkpoint, changes: lastingChanges(), ...question.data() };
    session.sentence = asked.sentence ?? "";
    // Where a link leads, the address is that link.
    if (asked.sentence && !this.arrive) expectRun(asked as RunRequest);
    const trigger = () => this.view.trigger(question.event, asked);
    clearInterval(this.unheard);
    this.unheard = setInterval(trigger, UNHEARD_MS); // Gradio may not listen yet
    trigger();
  }

  askExample(example: Example) {
    session.example = example;
    this.ask("example", () => ({ sentence: example.sentence }));
  }

  askSentence(sentence: string) {
    const isShown = () => sentence === state.run.sentence;
    this.ask("ask", () => ({ sentence: sentence ?? "", ...(isShown() ? { changes: changes() } : {}) }));
  }

  askChanges() {
    if (session.next) return; // another sentence takes them along
    this.ask("ask", () => ({ sentence: state.run.sentence, changes: changes() }));
  }

  askRun({ run, place }: { run: RunRequest; place: Partial<State> }) {
    this.withModel(run.checkpoint, (requests) => {
      session.checkpoint = run.checkpoint;
      requests.ask("example", () => run, place);
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

  chooseCheckpoint(checkpoint: string) {
    const example = models()[state.run.checkpoint]?.examples.some(({ sentence }) => sentence === this.box.value);
    Object.assign(session, { example: models()[checkpoint].examples[0], checkpoint });
    // Another model's heads are other heads, so changes are not taken along.
    this.ask("choose", () => ({ checkpoint, sentence: this.box.value, example, changes: [] }));
  }

  /** A request in the queue is answered in the end. */
  waitInQueue(news: object | null) {
    if (news && session.sent) this.startPatience();
  }

  startPatience() {
    clearTimeout(this.patience);
    this.patience = setTimeout(() => this.giveUp(), PATIENCE_MS);
  }

  onAsked() {
    clearInterval(this.unheard);
    this.reactions.showBusy(true);
    clearTimeout(this.doubt);
    this.doubt = setTimeout(async () => (await reconnect()) && this.giveUp(), DOUBT_MS);
    this.startPatience();
  }

  giveUp() {
    holdAddress(false);
    document.body.classList.remove("opening");
    this.reactions.showBusy(false);
    session.sent = null;
    this.reactions.complain({ key: "error.no_answer", values: {}, english: "" }, session.sentence);
  }

  onAnswered() {
    clearTimeout(this.doubt);
    clearTimeout(this.patience);
    const place = session.sent?.place;
    session.sent = null;
    if (session.next) {
      this.send();
      return;
    }
    expectRun(null);
    settleChanges();
    const { showBusy, complain, focusSteps } = this.reactions;
    showBusy(false);
    const { error, sentence } = this.latestAnswer();
    if (sentence !== null && this.box.value === session.typed) this.box.value = sentence; // what is being typed stays
    const complained = complain(error, session.sentence); // `watch` does not hear of an answer that equals the last one
    this.arrive?.(complained);
    // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
    const isInBox = document.activeElement === this.box;
    if (isInBox && !error && this.box.value === state.run.sentence) focusSteps();
    if (place) update(place);
  }

  /** The latest answer, read once: it is large. */
  latestAnswer() {
    const text = this.view.props.value;
    if (session.answer.text !== text) session.answer = { text, read: JSON.parse(text) };
    return session.answer.read;
  }

  takeAnswer() {
    const { run, baseline, error } = this.latestAnswer();
    const { checkpoint } = session;
    if (error?.key === "error.model_gone" && checkpoint && isOwn(checkpoint)) forgetModel(checkpoint);
    if (run && run !== tokenRun(state.run)) {
      const example = run.changes.length ? null : exampleOf(run);
      showRun(run, baseline, example && plainText(example.watch));
    }
    this.reactions.complain(error, session.sentence);
  }

  /**
   * A link may name a shared model, whose description this page has to fetch first.
   * @param isBack whether the page shows something already
   */
  async openPlace(search: string = location.search, isBack: boolean = true) {
    const checkpoint = unknownToken(new URLSearchParams(search).get("checkpoint") ?? "");
    const found = checkpoint && (await this.view.server.shared_model({ checkpoint }).catch(() => null));
    if (found && !("error" in found)) addSharedModel(found as OwnModel);
    this.followAddress(isBack, search);
  }

  /** @param isBack whether the page shows something already */
  followAddress(isBack: boolean = false, search: string = location.search) {
    holdAddress(isBack);
    const { run, place, wrong } = parseAddress(search);
    const isShown =
      run &&
      !session.sent &&
      formatAddress(location.href, false, run) === formatAddress(location.href, false, state.run);
    this.arrive = async (complained) => {
      const { error } = this.latestAnswer();
      const less = run && error && withoutWhatIsWrong(run, error, wrong);
      if (less) {
        this.ask("example", () => less);
        return;
      }
      this.arrive = null;
      const missing = [...wrong, ...restorePlace({ ...openingTab(search), ...place }, isBack)].map((name) =>
        t(`link.${name}`),
      );
      if (missing.length)
        this.reactions.complain(error, session.sentence, t("link.wrong", { what: formatList(missing) }));
      await complained;
      document.body.classList.remove("opening");
    };
    if (!run || isShown) {
      this.arrive();
      return;
    }
    const follow = (requests: RunRequests) => {
      document.body.classList.toggle("opening", !isBack); // until the run is there, none is shown
      setTimeout(() => document.body.classList.remove("opening"), DOUBT_MS);
      setTimeout(() => requests.ask("example", () => run)); // Gradio listens by then
    };
    this.withModel(run.checkpoint, follow, (requests) => requests.arrive?.());
  }
}

/** Restore as much as possible of a refused run; adds the rest to `wrong`. */
function withoutWhatIsWrong(run: RunRequest, error: Message, wrong: string[]) {
  if (error.key !== "error.changes") return null;
  wrong.push("changes");
  return Object.assign(run, { changes: [] });
}
