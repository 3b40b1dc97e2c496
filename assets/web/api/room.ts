// A class: a teacher's page leads, the others follow and vote. The room's state outlives a mounting.

import type { ClassEnded, ClassEvent, LeadRequest, RevealRequest, ShownQuestion, ShowRequest } from "#schema";
import type { RequestOf } from "./client.ts";
import { api, NO_ANSWER, Refused, reasonOf } from "./client.ts";
import { readPreference, readSession, writePreference, writeSession } from "./session.ts";
import type { Message } from "./types.ts";

type Ask = { do: "ask"; about: string; choices: string[]; seconds: number | null };
/** A teacher's request without the secret. */
type Lead =
  | Ask
  | Omit<LeadRequest, "secret" | "code">
  | Omit<RevealRequest, "secret" | "code">
  | Omit<ShowRequest, "secret" | "code">;

const CLASS_KEY = "attention-bitte-class"; // the teacher's, in this browser
const STUDENT_KEY = "attention-bitte-student"; // a random id, in this tab
const JOINED_KEY = "attention-bitte-room"; // the room that this tab has been in
const SILENCE_MS = 25_000; // without a heartbeat: the connection is gone
const DOUBT_MS = 12_000; // the same, when a phone wakes up
const MAX_PAUSE_MS = 5000; // between two attempts

const nothing = () => ({
  role: null as "teacher" | "student" | null,
  // none, joining, connected, broken (it tries again) or ended
  phase: "none",
  code: "",
  secret: "",
  isJoined: false, // another page has opened the room that this one leads
  address: null as string | null,
  qr: null as string | null,
  shown: null as ClassEvent | null,
  heard: 0, // when `shown` came, ms
  earlier: [] as ShownQuestion[], // revealed in the rooms that this one continues
  message: null as Message | null,
});

export const room = nothing();

/** The listening that goes on; aborted when the page leaves the room. */
let listening = new AbortController();
/** One of its attempts; aborted when nothing came for too long. */
let attempt = new AbortController();
let lastBeat = 0;
let wake = () => {}; // ends the pause between two attempts

const changed = () => document.dispatchEvent(new Event("room:changed"));

/** The revealed questions of this class, those of the rooms before included, oldest first. */
export function revealedQuestions() {
  const { past = [], question } = room.shown ?? {};
  return [...room.earlier, ...(past ?? []), ...(question?.state === "revealed" ? [question] : [])];
}

/** The question that the class is asked, until it is revealed. */
export const pendingQuestion = () =>
  room.phase !== "ended" && room.shown?.question && room.shown.question.state !== "revealed"
    ? room.shown.question
    : null;

/** Seconds until the vote closes by itself, now; null without a timer. */
export function secondsLeft() {
  const { state, seconds } = room.shown?.question ?? {};
  if (state !== "open" || seconds === null || seconds === undefined) return null;
  return Math.max(0, Math.ceil(seconds - (performance.now() - room.heard) / 1000));
}

/** The room that this page was in is gone. */
const LOST: Message = { key: "room.lost", values: {}, english: "" };

/** Open a class, and lead it from this page. Returns whether there is one. */
export async function openRoom() {
  try {
    const opened = await api.open_class({ page: document.baseURI });
    enter({ ...nothing(), ...opened, role: "teacher", phase: "joining", earlier: room.earlier });
    return true;
  } catch (error) {
    room.message = reasonOf(error);
    changed();
    return false;
  }
}

/** After the server has lost the room: another one, with the question that was not revealed yet. */
export async function reopenRoom() {
  const pending = room.shown?.question?.state === "revealed" ? null : room.shown?.question;
  room.earlier = revealedQuestions();
  if ((await openRoom()) && pending) await ask(pending.about, pending.choices, null);
}

export const joinRoom = (code: string) =>
  enter({ ...nothing(), role: "student", phase: "joining", code: code.toUpperCase() });

/** Lead a room that is there, as its teacher or another who has the secret. */
export function leadRoom(code: string, secret: string) {
  const kept = keptRoom();
  const known = kept?.code === code && kept.secret === secret ? kept : { code, secret, isJoined: true };
  enter({ ...nothing(), ...known, role: "teacher", phase: "joining" });
}

/** The room that this browser leads. */
export function keptRoom(): Pick<typeof room, "code" | "secret" | "address" | "qr" | "earlier" | "shown"> | null {
  try {
    return JSON.parse(readPreference(CLASS_KEY) ?? "null");
  } catch {
    return null;
  }
}

function keepRoom() {
  const { code, secret, address, qr, earlier, shown } = room;
  writePreference(CLASS_KEY, JSON.stringify(code ? { code, secret, address, qr, earlier, shown } : null));
}

/** Neither lead nor follow any more. */
export function leaveRoom() {
  listening.abort();
  const { role } = room;
  Object.assign(room, nothing());
  if (role === "teacher") keepRoom();
  else writeSession(JOINED_KEY, null);
  changed();
}

function enter(begun: typeof room) {
  listening.abort();
  listening = new AbortController();
  Object.assign(room, begun);
  if (room.role === "teacher") keepRoom();
  changed();
  listen(listening.signal);
}

/** Random without a secure context: a class in a local network has no https. */
function studentId() {
  const known = readSession(STUDENT_KEY);
  if (typeof known === "string") student = known;
  if (!student) {
    student = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
      "",
    );
    writeSession(STUDENT_KEY, student);
  }
  return student;
}
let student = ""; // lasts as long as the page where there is no storage

const guest = () => (room.role === "teacher" ? { secret: room.secret } : { student: studentId() });

/** Hear of the room until it ends, again after every break. */
async function listen(signal: AbortSignal) {
  const awake = () => {
    if (!document.hidden && performance.now() - lastBeat > DOUBT_MS) attempt.abort();
    wake();
  };
  document.addEventListener("visibilitychange", awake, { signal });
  addEventListener("online", awake, { signal });
  for (let failures = 0; !signal.aborted && room.phase !== "ended"; failures++) {
    if (failures) await pause(failures);
    if (signal.aborted) return;
    attempt = new AbortController();
    const stop = AbortSignal.any([signal, attempt.signal]);
    const refusal = await receiveStream(stop, () => {
      failures = 0;
    });
    if (signal.aborted) return;
    if (refusal) refuse(refusal);
    else if (room.phase === "connected") room.phase = "broken";
    changed();
  }
}

/** Longer after each failure, and never all pages at once. */
const pause = (failures: number) =>
  new Promise((done: (value?: unknown) => void) => {
    wake = () => done();
    setTimeout(done, Math.min(MAX_PAUSE_MS, 250 * 2 ** failures) * (0.5 + Math.random() / 2));
  });

function refuse(refusal: Message) {
  const wasIn = room.shown !== null || room.role === "teacher" || readSession(JOINED_KEY) === room.code;
  room.phase = "ended";
  room.message = refusal.key === "room.unknown" && wasIn ? LOST : refusal;
}

/** One connection. @param heard after an event @returns why the server refused */
async function receiveStream(signal: AbortSignal, heard: () => void): Promise<Message | null> {
  let watch = setTimeout(() => attempt.abort(), SILENCE_MS);
  const beat = () => {
    clearTimeout(watch);
    watch = setTimeout(() => attempt.abort(), SILENCE_MS);
    lastBeat = performance.now();
    heard();
  };
  try {
    for await (const event of api.follow_class({ code: room.code, ...guest() }, { signal })) {
      if (event.event === "error") return event.message;
      if (event.event !== "beat") receive(event);
      beat();
    }
    return null;
  } catch (error) {
    return error instanceof Refused && error.reason !== NO_ANSWER ? error.reason : null; // else broken off, or aborted
  } finally {
    clearTimeout(watch);
  }
}

/** How far the questions are. */
const stage = (shown: ClassEvent | null) =>
  `${shown?.question?.id} ${shown?.question?.state} ${shown?.question?.round}`;

function receive(event: ClassEvent | ClassEnded) {
  if (event.event === "ended") {
    Object.assign(room, { phase: "ended", message: null });
  } else {
    const isNews = stage(event) !== stage(room.shown);
    Object.assign(room, { phase: "connected", shown: event, heard: performance.now(), message: null });
    // To the teacher's replica, which has the teacher's own models and live runs.
    // biome-ignore lint/suspicious/noDocumentCookie: cookieStore needs https, which a class in a local network lacks
    if (event.replica) document.cookie = `replica=${event.replica}; Path=/; SameSite=Lax`;
    if (room.role === "student") writeSession(JOINED_KEY, room.code);
    else if (isNews) keepRoom(); // a server that restarts makes the page reload
  }
  changed();
}

/** Send a teacher's request; show a refusal. */
export async function lead(action: Lead) {
  try {
    await api.lead_class({ code: room.code, secret: room.secret, ...action } as RequestOf<"lead_class">);
  } catch (error) {
    room.message = reasonOf(error);
    changed();
  }
}

export const ask = (about: string, choices: string[], seconds: number | null) =>
  lead({ do: "ask", about, choices, seconds });

/** This student's choice of the question that is open. */
export async function vote(choice: number) {
  const { question } = room.shown ?? {};
  if (question?.state !== "open") return;
  const { id, round, mine } = question;
  const before = mine[round];
  mine[round] = choice; // as it will be
  changed();
  try {
    await api.vote({ code: room.code, student: studentId(), question: id, round, choice });
  } catch (error) {
    if (mine[round] === choice) mine[round] = before;
    room.message = reasonOf(error);
    changed();
  }
}
