// A way from a run in which nothing changes to a sentence where it does.

import type { Change } from "../api/types.ts";
import { findExperiment, openExperiment } from "../state/experiments.ts";
import { nodes } from "../state/i18n.ts";
import { baselineRun } from "../state/state.ts";
import { describeChange } from "./describe-change.ts";
import { word } from "./dom.ts";
import { link } from "./parts.ts";

/** Nothing where it is shown already, or none was found. @param name of the experiment */
export function experimentLink(name: string) {
  const experiment = findExperiment(name);
  const { checkpoint, sentence } = baselineRun();
  if (!experiment) return "";
  const isForced = "word" in (experiment.settings ?? {}); // this sentence has other words to force
  if (experiment.sentence === sentence && experiment.checkpoint === checkpoint && !isForced) return "";
  const changes = experiment.changes as unknown as Change[];
  const what = changes.flatMap((change) => [...describeChange(change), " · "]);
  const open = link([...what, word(experiment.sentence, "source")], () => openExperiment(experiment, {}));
  return nodes("whatif.shows", { sentence: open });
}
