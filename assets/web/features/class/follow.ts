// A class goes where its teacher goes: a place is sent as the parameters of a link, and followed as Back is.

import { api } from "../../api/client.ts";
import { isGoingOn, isTrainingMistake, mistakeTraining, trainMistake } from "../../api/mistake-training.ts";
import { isOwn, isShared, tokenAddress } from "../../api/models.ts";
import { lead, room } from "../../api/room.ts";
import { EXERCISES } from "../../api/schema.ts";
import { placeParameters } from "../../state/address.ts";
import { state, subscribe } from "../../state/state.ts";

const SEND_MS = 150; // between two places
const SETTLE_MS = 1500; // in which a page that has been moved does not move the others
const KEEP_MS = 300_000; // between two uses of the teacher's own model, which the server then keeps

const follow = {
  isOn: true, // a student may leave
  sent: [] as string[], // the latest places of this page
  own: null as string | null, // the place that this page is at, as it would send it
  reached: "", // the place of the teacher's that this page has gone to
  movedAt: -Infinity,
  timer: undefined as ReturnType<typeof setTimeout> | undefined,
};

const tokens: Map<string, string> = new Map();

export const isFollowing = () => follow.isOn;

export function setFollowing(wanted: boolean) {
  follow.isOn = wanted;
  follow.reached = "";
  goToTeacher();
  document.dispatchEvent(new Event("room:changed"));
}

export function followRoom(element: Element, signal: AbortSignal) {
  subscribe(element, () => {
    if (room.role === "teacher") sendSoon();
    if (room.role) setTimeout(goToTeacher); // who came before the page's first run goes there now
  });
  document.addEventListener("room:changed", () => onRoom(), { signal });
  document.addEventListener("mistake:changed", () => room.role === "teacher" && sendSoon(), { signal });
  const onInput = () => {
    follow.movedAt = -Infinity; // the visitor moves from here on
  };
  for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, onInput, { signal, capture: true });
  const keep = setInterval(() => tokens.size && room.phase === "connected" && shareModel(), KEEP_MS);
  signal.addEventListener("abort", () => clearInterval(keep));
}

function onRoom() {
  if (room.role === null) Object.assign(follow, { isOn: true, sent: [], own: null, reached: "" });
  if (room.phase !== "connected" || !room.shown) return;
  const isNew = !room.shown.place || follow.own === null; // the room, or this page in it
  if (room.role === "teacher" && isNew && state.run) sendSoon();
  goToTeacher();
}

function goToTeacher() {
  const { role, shown } = room;
  const place = shown?.place;
  if (!place || !state.run || !follow.isOn || place === follow.reached) return;
  follow.reached = place;
  if (role === "teacher") {
    if (follow.sent.includes(place)) return; // its own
    if (!follow.sent.length && !room.isJoined && !isNotesPage()) return; // a reload stays where it was
  }
  follow.movedAt = performance.now();
  document.dispatchEvent(new CustomEvent("place:wanted", { detail: place }));
  joinTraining(new URLSearchParams(place));
}

const LIVE = "live"; // parameter of a place: the training of its exercise goes on

/** The teacher's live run of a mistake is the whole class's: the server has one for all who listen. */
function joinTraining(place: URLSearchParams) {
  const name = place.get("exercise") ?? "";
  if (!place.has(LIVE) || !Object.hasOwn(EXERCISES, name) || isTrainingMistake()) return;
  if (mistakeTraining(name).phase === "idle") trainMistake(name);
}

/** A place, without whether a training goes on there. */
export const withoutLive = (place: string) => place.replace(`&${LIVE}=yes`, "");

function classPlace() {
  const isLive = state.tab === "break" && state.part === "mistakes" && isGoingOn(mistakeTraining(state.exercise));
  return `${placeParameters()}${isLive ? `&${LIVE}=yes` : ""}`;
}

export const isNotesPage = () => new URLSearchParams(location.search).get("notes") === "yes";

function sendSoon() {
  follow.timer ??= setTimeout(sendPlace, SEND_MS);
}

async function sendPlace() {
  follow.timer = undefined;
  if (room.role !== "teacher" || room.phase !== "connected") return;
  const now = classPlace();
  const isNew = !room.shown?.place;
  if (now === follow.own && !isNew) return;
  const isFirst = follow.own === null;
  follow.own = now;
  const isMoved = performance.now() - follow.movedAt < SETTLE_MS;
  if ((isFirst || isMoved) && !isNew) return; // the teacher has not moved
  const place = await withToken(now);
  follow.sent = [...follow.sent, place].slice(-20);
  await lead({ do: "show", place });
  if (classPlace() !== follow.own) sendSoon(); // what has changed meanwhile
}

/** A class opens the teacher's own model by its token. */
async function withToken(place: string) {
  const token = tokens.get(state.run.checkpoint) ?? (await shareModel());
  if (!token) return place;
  const parameters = new URLSearchParams(place);
  parameters.set("checkpoint", tokenAddress(token));
  return `?${parameters}`;
}

async function shareModel() {
  const { checkpoint } = state.run;
  if (!isOwn(checkpoint) || isShared(checkpoint)) return null;
  const answer = await api.share_model({ checkpoint }).catch(() => null);
  if (answer) tokens.set(checkpoint, answer.checkpoint);
  return answer?.checkpoint;
}
