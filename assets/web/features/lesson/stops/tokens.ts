import { t } from "../../../state/i18n.ts";
import { h } from "../../../ui/dom.ts";
import { tokenIds } from "../figures.ts";
import { type Stop, valueQuiz } from "../stop.ts";

export const tokens: Stop = {
  wide: true,
  headline: ({ run }) => ["word → id", [1, run.source.length]],
  variants: ({ run: { model } }) => [model.pieces && "pieces", model.one_vocabulary && "tied"],
  draw: ({ run }) =>
    h("div", { class: "both-sides" }, [
      tokenIds("source", run.source, run.ids.source),
      tokenIds("target", run.decoder_input, run.ids.decoder_input),
    ]),
  ask({ run }) {
    const count = run.source.length;
    const words = run.source.filter((token) => token !== "P" && token !== "E").length;
    const { pieces, one_vocabulary } = run.model;
    const vocabularies = t(one_vocabulary ? "lesson.tokens.one_vocabulary" : "lesson.tokens.two_vocabularies");
    const places = { count, words, vocabularies };
    const wrong: [number, string][] = [
      [words, pieces ? "lesson.tokens.why.pieces" : "lesson.tokens.why.words"],
      [run.output.length, "lesson.tokens.why.output"],
      [run.model.source_words, "lesson.tokens.why.vocabulary"],
      [count + 1, pieces ? "lesson.tokens.why.start" : "lesson.tokens.why.end"],
    ];
    return valueQuiz(count, wrong, places);
  },
};
