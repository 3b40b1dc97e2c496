import { type Stop, valueQuiz } from "../stop.ts";

export const qkv: Stop = {
  stage: "qkv",
  colours: "strips",
  variants: ({ run }) => [run.model.heads === 1 && "alone"],
  ask({ run }) {
    const { heads, d_model } = run.model;
    const width = d_model / heads;
    const wrong: [number, string][] = [
      [d_model, "lesson.qkv.why.all"],
      [heads, "lesson.qkv.why.heads"],
      [2 * d_model, "lesson.qkv.why.wider"],
    ];
    return valueQuiz(width, wrong, { d_model, heads, width });
  },
};
