import { candidate, MAX_CANDIDATES } from "../../../charts/outputs.ts";
import { formatList, formatNumber, formatPercent, t } from "../../../state/i18n.ts";
import { h, word } from "../../../ui/dom.ts";
import { fixed } from "../../../ui/numbers.ts";
import { type Stop, valueQuiz } from "../stop.ts";

export const logits: Stop = {
  hides: true,
  variants: ({ run: { model } }) => [
    model.tied && "tied",
    model.tied_output && "tied_output",
    model.silent.length > 0 && "silent",
  ],
  headline: ({ run }) => [
    run.model.tied_output ? "p = softmax(x E^T + b)" : "p = softmax(x W + b)",
    [1, run.output.length, run.model.d_model],
    [1, run.output.length, run.model.target_words],
  ],
  draw({ run, step }) {
    const shown = run.steps[step].candidates.slice(0, MAX_CANDIDATES);
    const items = shown.map((each) => candidate(each, each.token === run.output[step]));
    return h("ol", { class: "candidates" }, items);
  },
  ask({ run, step }) {
    const [first, second] = run.steps[step].candidates;
    const ratio = first.probability / second.probability;
    const difference = Math.log(ratio); // of their logits
    const places = {
      words: run.model.target_words,
      silent: formatList(run.model.silent.map((token) => word(token, "target"))),
      step: step + 1,
      read: word(run.decoder_input.slice(0, step + 1).join(" "), "target"),
      first: word(first.token, "target"),
      share: formatPercent(first.probability),
      second: word(second.token, "target"),
      second_share: formatPercent(second.probability),
      difference: fixed(difference, 2),
      ratio: about(ratio),
    };
    const wrong = { difference, square: difference ** 2, two: 2 ** difference };
    return valueQuiz("logits", ratio, wrong, places, (value) => t("lesson.logits.times", { times: about(value) }));
  },
};

/** Two digits, which is enough to tell how large a number is. */
const about = (value: number) => formatNumber(Number(value.toPrecision(2)));
