// What a stop of the lesson draws and asks: see stops/.

import type { Child, Kind } from "../../api/types.ts";
import type { Stage } from "../../charts/sublayer-stages.ts";
import type { Quiz } from "./quiz.ts";
import type { LessonView } from "./view.ts";

/** Keys of the texts of a stop; `more` follows the first, `figure` is the heading of what it draws. */
type Texts = Record<"text" | "question" | "reveal" | "more" | "figure", string>;

/**
 * A stop of the lesson. Its figure is a `stage` of a head, or drawn under a headline of its own: a formula and its
 * shapes. Until the question is answered a figure that would give the answer away is veiled (`hides`), or a table of
 * scores has fewer `columns`; with the answer come more `columns`, or what `answer` draws. A `wide` figure stands above
 * the text, another beside it; `colours` says what those in it mean. `texts` are those that differ from the usual for a
 * model.
 */
export type Stop = {
  hides?: boolean;
  wide?: boolean;
  colours?: "strips" | Kind;
  captioned?: boolean;
  texts?: (view: LessonView) => Partial<Texts>;
  ask: (view: LessonView) => Quiz | Promise<Quiz>;
} & (
  | { stage: Stage; columns?: { asked: string[]; answered?: string[] } }
  | {
      headline: (view: LessonView) => [string, string];
      draw: (view: LessonView) => Child | Promise<Child>;
      answer?: (view: LessonView) => Promise<Child>;
    }
);
