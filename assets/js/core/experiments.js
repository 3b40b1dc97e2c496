// Experiments that show something: sentences found by search (transformer/analysis/experiments.py), for the run's model or
// else for the classroom's.

import { models } from "../net/models.js";
import { state, update } from "./state.js";

/** @import { Experiment } from "#schema" */
/** @import { State } from "./types.d.ts" */

const RICHEST = "classroom"; // the model of which every kind is found

/**
 * The experiment of a name, such as "head" or "beam", and the model that shows it; null where none was found.
 * @param {string} name
 */
export function findExperiment(name) {
  for (const checkpoint of [state.run.checkpoint, RICHEST]) {
    const experiment = models()[checkpoint]?.experiments?.[name];
    if (experiment) return { ...experiment, checkpoint };
  }
  return null;
}

/**
 * Translate an experiment's sentence under its changes, and go where it shows.
 * @param {Experiment & { checkpoint: string }} experiment @param {Partial<State>} place
 */
export function openExperiment({ checkpoint, sentence, changes, settings }, place) {
  const { step, word, ...rest } = /** @type {any} */ (settings);
  const forcedMistake = word ? { step, word } : state.forcedMistake;
  update(place); // the place that is left keeps its run
  const detail = { run: { checkpoint, sentence, changes }, place: { ...rest, forcedMistake, ...place } };
  document.dispatchEvent(new CustomEvent("run:wanted", { detail }));
}
