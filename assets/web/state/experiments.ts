// Experiments that show something (transformer/analysis/experiments.py), for the run's model or the classroom's.

import type { Experiment } from "#schema";
import { models } from "../api/models.ts";
import type { Run, State } from "../api/types.ts";
import { askOnce } from "./server-cache.ts";
import { baselineRun, state, update } from "./state.ts";

export type WantedRun = { checkpoint: string; sentence: string; changes?: object[] };

const RICHEST = "classroom"; // the model of which every kind is found

/** The experiment of a name, such as "head" or "beam", and the model that shows it; null where none was found. */
export function findExperiment(name: string) {
  for (const checkpoint of [state.run.checkpoint, RICHEST]) {
    const experiment = models()[checkpoint]?.experiments?.[name];
    if (experiment) return { ...experiment, checkpoint };
  }
  return null;
}

/** The experiment of a name with the sentence in view if one changes its words, else as `findExperiment` finds it. */
export async function experimentHere(name: string) {
  const { checkpoint, sentence } = baselineRun();
  const found = models()[checkpoint]?.experiments ? await askOnce("starters", { checkpoint, sentence }) : {};
  return found[name] ? { ...found[name], checkpoint } : findExperiment(name);
}

/** Translate an experiment's sentence under its changes, and go where it shows. */
export function openExperiment(found: Experiment & { checkpoint: string }, place: Partial<State>) {
  const { checkpoint, sentence, changes, settings } = found;
  const { step, word, ...rest } = settings as any;
  const forcedMistake = word ? { step, word } : state.forcedMistake;
  openRun({ checkpoint, sentence, changes }, place, { ...rest, forcedMistake, ...place });
}

/** Ask for a run, and go to a place at once. @param there where one is when the run has come */
export function openRun(run: WantedRun, place: Partial<State>, there: Partial<State> = place) {
  update(place); // the place that is left keeps its run
  document.dispatchEvent(new CustomEvent("run:wanted", { detail: { run, place: there } }));
}

const shownRun = ({ checkpoint, sentence, changes }: Run): WantedRun => ({ checkpoint, sentence, changes });

let left = null as { stop: number; run: WantedRun } | null; // where and with which run the lesson was left

export function leaveLesson() {
  left = { stop: state.stop, run: shownRun(state.run) };
}

/** Back to the stop that led to another tab, and to its run. */
export function returnToLesson() {
  const stop = state.returnStop ?? state.stop;
  const place: Partial<State> = { tab: "lesson", stop, returnStop: null };
  const isSame = left?.stop !== stop || JSON.stringify(left.run) === JSON.stringify(shownRun(state.run));
  if (left && !isSame) openRun(left.run, place);
  else update(place);
}
