import { t } from "../../../state/i18n.ts";
import { h } from "../../../ui/dom.ts";
import { type Stop, tokenIds, valueQuiz } from "../stop.ts";

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
    const { output, model } = run;
    const wrong = { [pieces ? "pieces" : "words"]: words, output: output.length, vocabulary: model.source_words };
    return valueQuiz("tokens", count, { ...wrong, [pieces ? "start" : "end"]: count + 1 }, places);
  },
};
