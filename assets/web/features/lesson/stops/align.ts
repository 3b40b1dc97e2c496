import { isPresenting } from "../../../state/address.ts";
import { word } from "../../../ui/dom.ts";
import { alignmentFigure } from "../align.ts";
import { type Choice, type LessonView, orderedQuiz, type Stop } from "../stop.ts";

export const align: Stop = {
  get wide() {
    return !isPresenting(); // as the heads
  },
  headline: ({ run }) => [
    "argmax_j w_{tj}",
    [run.attention.cross.layers, run.model.heads, run.output.length, run.source.length],
  ],
  variants: ({ run }) => [run.reference?.gold ? "from_gold" : "from_nothing"],
  draw: ({ run }) => alignmentFigure(run),
  ask(view) {
    const { run } = view;
    const step = stepOfTwoWords(view);
    const [read, output, next] = [run.decoder_input[step], run.output[step], run.output[step + 1]];
    const places = { step: step + 1, read: word(read, "target"), output: word(output, "target") };
    const choices: Choice[] = [
      { text: read, why: "lesson.align.why.read" },
      { text: output },
      { text: next, why: "lesson.align.why.next" },
    ];
    const others = choices.filter(({ text, why }, i) => !why || (text && text !== output && (i < 2 || text !== read)));
    return orderedQuiz(others, places);
  },
};

/** A step in which the decoder reads a word and outputs another, the one in view if it does; else the first. */
const stepOfTwoWords = ({ run, step }: LessonView) =>
  [step, ...run.output.keys()].find((at) => at > 0 && run.decoder_input[at] !== run.output[at]) ?? 0;
