// A way from a run in which nothing changes to a sentence where it does.

import { word } from "../core/dom.js";
import { findExperiment, openExperiment } from "../core/experiments.js";
import { nodes } from "../core/i18n.js";
import { link } from "../core/parts.js";
import { baselineRun } from "../core/state.js";
import { describeChange } from "../shell/describe-change.js";

/** @import { Change } from "../core/types.d.ts" */

/** Nothing where it is shown already, or none was found. @param {string} name of the experiment */
export function experimentLink(name) {
  const experiment = findExperiment(name);
  const { checkpoint, sentence } = baselineRun();
  if (!experiment) return "";
  const isForced = "word" in (experiment.settings ?? {}); // this sentence has other words to force
  if (experiment.sentence === sentence && experiment.checkpoint === checkpoint && !isForced) return "";
  const changes = /** @type {Change[]} */ (/** @type {unknown} */ (experiment.changes));
  const what = changes.flatMap((change) => [...describeChange(change), " · "]);
  const open = link([...what, word(experiment.sentence, "source")], () => openExperiment(experiment, {}));
  return nodes("whatif.shows", { sentence: open });
}
