// A class: a teacher's page leads, the others follow and vote.

import type { ClassEvent, ShownQuestion } from "#schema";
import { api, endless, type RequestOf, reasonOf } from "./client.ts";
import { attempt, readPreference, readSession, tabId, writePreference, writeSession } from "./session.ts";
import type { Message } from "./types.ts";

/** A teacher's request without what all have. */
type Lead = WithoutSecret<RequestOf<"lead_class">>;
type WithoutSecret<Request> = Request extends unknown ? Omit<Request, "secret" | "code"> : never;

const CLASS_KEY = "attention-bitte-class"; // the teacher's, in this browser
const STUDENT_KEY = "attention-bitte-student"; // a random id, in this tab
const JOINED_KEY = "attention-bitte-room"; // the room that this tab has been in

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

let listening = new AbortController(); // aborted when the page leaves the room

const changed = () => document.dispatchEvent(new Event("room:changed"));

function complain(error: unknown) {
  room.message = reasonOf(error);
  changed();
}

/** The revealed questions of this class, those of the rooms before included, oldest first. */
export function revealedQuestions() {
  const { past = [], question } = room.shown ?? {};
  return [...room.earlier, ...(past ?? []), ...(question?.state === "revealed" ? [question] : [])];
}

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

export async function openRoom() {
  try {
    const opened = await api.open_class({ page: document.baseURI });
    enter({ ...nothing(), ...opened, role: "teacher", phase: "joining", earlier: room.earlier });
    return true;
  } catch (error) {
    complain(error);
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
  const stored = storedRoom();
  const known = stored?.code === code && stored.secret === secret ? stored : { code, secret, isJoined: true };
  enter({ ...nothing(), ...known, role: "teacher", phase: "joining" });
}

type StoredRoom = Pick<typeof room, "code" | "secret" | "address" | "qr" | "earlier" | "shown">;

export const storedRoom = (): StoredRoom | null => attempt(() => JSON.parse(readPreference(CLASS_KEY) ?? "null"));

function storeRoom() {
  const { code, secret, address, qr, earlier, shown } = room;
  writePreference(CLASS_KEY, JSON.stringify(code ? { code, secret, address, qr, earlier, shown } : null));
}

export function leaveRoom() {
  listening.abort();
  const { role } = room;
  Object.assign(room, nothing());
  if (role === "teacher") storeRoom();
  else writeSession(JOINED_KEY, null);
  changed();
}

function enter(begun: typeof room) {
  listening.abort();
  listening = new AbortController();
  Object.assign(room, begun);
  if (room.role === "teacher") storeRoom();
  changed();
  listen(listening.signal);
}

const guest = () => (room.role === "teacher" ? { secret: room.secret } : { student: tabId(STUDENT_KEY) });

async function listen(signal: AbortSignal) {
  try {
    for await (const event of endless("follow_class", { code: room.code, ...guest() }, signal)) {
      if (event?.event === "ended") Object.assign(room, { phase: "ended", message: null });
      else if (event?.event === "class") receive(event);
      else if (event === null && room.phase === "connected") room.phase = "broken";
      if (event?.event !== "beat") changed();
      if (room.phase === "ended") return;
    }
  } catch (error) {
    const wasIn = room.shown !== null || room.role === "teacher" || readSession(JOINED_KEY) === room.code;
    const message = reasonOf(error);
    const isLost = wasIn && message.key === "room.unknown"; // the room that this page was in is gone
    Object.assign(room, { phase: "ended", message: isLost ? { ...message, key: "room.lost" } : message });
    changed();
  }
}

function receive(event: ClassEvent) {
  Object.assign(room, { phase: "connected", shown: event, heard: performance.now(), message: null });
  // To the teacher's replica, which has the teacher's own models and live runs.
  // biome-ignore lint/suspicious/noDocumentCookie: cookieStore needs https, which a class in a local network lacks
  if (event.replica) document.cookie = `replica=${event.replica}; Path=/; SameSite=Lax`;
  if (room.role === "student") writeSession(JOINED_KEY, room.code);
  else storeRoom(); // for the window of the notes, and a server that restarts makes the page reload
}

export async function lead(action: Lead) {
  const request = { code: room.code, secret: room.secret, ...action } as RequestOf<"lead_class">;
  await api.lead_class(request).catch(complain);
}

export const ask = (about: string, choices: string[], seconds: number | null) =>
  lead({ do: "ask", about, choices, seconds });

export async function vote(choice: number) {
  const { question } = room.shown ?? {};
  if (question?.state !== "open") return;
  const { id, round, mine } = question;
  const before = mine[round];
  mine[round] = choice; // as it will be
  changed();
  try {
    await api.vote({ code: room.code, student: tabId(STUDENT_KEY), question: id, round, choice });
  } catch (error) {
    if (mine[round] === choice) mine[round] = before;
    complain(error);
  }
}
