// Which models this visitor can ask: the shipped ones, real ones that the server lists, and those of this session, trained
// here or brought as files.

import { readSession, writeSession } from "./session.js";

/** @import { Model, OwnModel } from "../core/types.d.ts" */

const MODELS_KEY = "attention-bitte-models"; // of this tab, so that a reload finds them again
const SESSION_KEY = "attention-bitte-visit";
const OWN = "own:"; // before a name in an address: the model's key is secret
const SHARED = "shared:"; // prefix of a shared model's token

/** @type {Record<string, Model>} */
let shipped = {};
/** @type {OwnModel[]} */
let own = [];
/** @type {string[]} */
let lost = [];
/** @type {string | null} */
let session = null;

/** Every model, by checkpoint. @returns {Record<string, Model | OwnModel>} */
export const models = () => ({ ...shipped, ...Object.fromEntries(own.map((each) => [each.checkpoint, each])) });

/** This session's models, oldest first. */
export const ownModels = () => own;

/** Names of the models that had to make room for the newest. */
export const lostModels = () => lost;

/** @param {string} checkpoint */
export const isOwn = (checkpoint) => !Object.hasOwn(shipped, checkpoint);

/** Whether a model is a published translator. @param {string} checkpoint */
export const isReal = (checkpoint) => shipped[checkpoint]?.real !== undefined;

/** A model's name for people. @param {string} checkpoint */
export const modelName = (checkpoint) => own.find((each) => each.checkpoint === checkpoint)?.name ?? checkpoint;

/** Whether a model is another visitor's, who has shared it. @param {string} checkpoint */
export const isShared = (checkpoint) => own.some((each) => each.checkpoint === checkpoint && each.shared);

/** A model in an address. @param {string} checkpoint */
export function modelAddress(checkpoint) {
  if (isShared(checkpoint)) return tokenAddress(checkpoint);
  return isOwn(checkpoint) ? `${OWN}${modelName(checkpoint)}` : checkpoint;
}

/** @param {string} token of a model */
export const tokenAddress = (token) => `${SHARED}${token}`;

/** The token of a shared model that an address names and that this page does not know yet. @param {string} text */
export const unknownToken = (text) =>
  text.startsWith(SHARED) && !checkpointFromAddress(text) ? text.slice(SHARED.length) : null;

/** The checkpoint that an address names; null for one that is not here. @param {string} text */
export function checkpointFromAddress(text) {
  if (Object.hasOwn(shipped, text)) return text;
  if (text.startsWith(SHARED)) return own.find((each) => tokenAddress(each.checkpoint) === text)?.checkpoint ?? null;
  return text.startsWith(OWN) ? (own.find(({ name }) => name === text.slice(OWN.length))?.checkpoint ?? null) : null;
}

/** The same for every request of this tab: a server keeps a limited number of models a session. */
export function sessionId() {
  const id = session ?? readSession(SESSION_KEY) ?? crypto.randomUUID?.() ?? String(Math.random());
  if (id !== session) writeSession(SESSION_KEY, id);
  session = id;
  return String(id);
}

/** @param {Record<string, Model>} known */
export function setShippedModels(known) {
  shipped = known;
  if (!own.length) own = readSession(MODELS_KEY) ?? [];
}

function changed() {
  writeSession(MODELS_KEY, own);
  document.dispatchEvent(new Event("models:changed"));
}

/** @param {string} checkpoint */
export const useModel = (checkpoint) =>
  document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: checkpoint }));

/**
 * The page uses a model that was trained or brought from now on. Two of one name are told apart by a number.
 *
 * @param {{ model: OwnModel, kept: string[] }} answer `kept` are the keys of all models that the server has of this
 *   session: the oldest may have gone for a new one.
 */
export function addModel({ model, kept }) {
  const isKept = (/** @type {OwnModel} */ { checkpoint, shared }) => shared || kept.includes(checkpoint);
  lost = own.filter((each) => !isKept(each)).map((each) => each.name);
  own = own.filter(isKept);
  add(model);
  useModel(model.checkpoint);
}

/** Add a shared model to the models that can be chosen. @param {OwnModel} model */
export const addSharedModel = (model) => add({ ...model, shared: true });

/** @param {OwnModel} model */
function add(model) {
  const taken = new Set([...Object.keys(shipped), ...own.map(({ name }) => name)]);
  let name = model.name;
  for (let i = 2; taken.has(name); i++) name = `${model.name} ${i}`;
  own = [...own, { ...model, name }];
  changed();
}

/** The server does not have it any more, or the visitor does not want it. @param {string} checkpoint */
export function forgetModel(checkpoint) {
  own = own.filter((each) => each.checkpoint !== checkpoint);
  changed();
}

/** Add every model that a training of this page makes. */
export const listenForModels = () =>
  document.addEventListener("model:trained", (event) => addModel(/** @type {CustomEvent} */ (event).detail));
