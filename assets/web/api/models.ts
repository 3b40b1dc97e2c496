// Which models this visitor can ask: the shipped ones, real ones, and those trained here or brought as files.

import { readSession, writeSession } from "./session.ts";
import type { Model, OwnModel, RunRequest } from "./types.ts";

const MODELS_KEY = "attention-bitte-models"; // of this tab, so that a reload finds them again
const OWN = "own:"; // before a name in an address: the model's key is secret
const SHARED = "shared:"; // prefix of a shared model's token

let shipped: Record<string, Model> = {};
let own: OwnModel[] = [];
let lost: string[] = [];

export const models = (): Record<string, Model | OwnModel> => ({
  ...shipped,
  ...Object.fromEntries(own.map((each) => [each.checkpoint, each])),
});

export const firstRun = (checkpoint: string): RunRequest => ({
  checkpoint,
  sentence: models()[checkpoint].examples[0].sentence,
  changes: [],
});

export const ownModels = () => own;

/** Names of the models that had to go for the newest. */
export const lostModels = () => lost;
export const isOwn = (checkpoint: string) => !Object.hasOwn(shipped, checkpoint);
export const isReal = (checkpoint: string) => shipped[checkpoint]?.real !== undefined;
export const modelName = (checkpoint: string) => own.find((each) => each.checkpoint === checkpoint)?.name ?? checkpoint;
export const isShared = (checkpoint: string) => own.some((each) => each.checkpoint === checkpoint && each.shared);

export function modelAddress(checkpoint: string) {
  if (isShared(checkpoint)) return tokenAddress(checkpoint);
  return isOwn(checkpoint) ? `${OWN}${modelName(checkpoint)}` : checkpoint;
}

export const tokenAddress = (token: string) => `${SHARED}${token}`;

/** The token of a shared model that an address names and that this page does not know yet. */
export const unknownToken = (text: string) =>
  text.startsWith(SHARED) && !checkpointFromAddress(text) ? text.slice(SHARED.length) : null;

export const checkpointFromAddress = (text: string) =>
  Object.keys(models()).find((checkpoint) => modelAddress(checkpoint) === text) ?? null;

export function setShippedModels(known: Record<string, Model>) {
  shipped = known;
  if (!own.length) own = readSession(MODELS_KEY) ?? [];
}

function changed() {
  writeSession(MODELS_KEY, own);
  document.dispatchEvent(new Event("models:changed"));
}

export const useModel = (checkpoint: string) =>
  document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: checkpoint }));

/** @param answer `session_models`: the keys of all that the server has of this session; the oldest may have gone */
export function addModel({ model, session_models }: { model: OwnModel; session_models: string[] }) {
  const isKept = ({ checkpoint, shared }: OwnModel) => shared || session_models.includes(checkpoint);
  lost = own.filter((each) => !isKept(each)).map((each) => each.name);
  own = own.filter(isKept);
  add(model);
  useModel(model.checkpoint);
}

export const addSharedModel = (model: OwnModel) => add({ ...model, shared: true });

function add(model: OwnModel) {
  const taken = new Set([...Object.keys(shipped), ...own.map(({ name }) => name)]);
  let name = model.name; // two of one name are told apart by a number
  for (let i = 2; taken.has(name); i++) name = `${model.name} ${i}`;
  own = [...own, { ...model, name }];
  changed();
}

/** The server does not have it any more, or the visitor does not want it. */
export function forgetModel(checkpoint: string) {
  own = own.filter((each) => each.checkpoint !== checkpoint);
  changed();
}
