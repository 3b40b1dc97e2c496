import { type Stop, valueQuiz } from "../stop.ts";

export const qkv: Stop = {
  stage: "qkv",
  colours: "strips",
  variants: ({ run }) => [run.model.heads === 1 && "alone"],
  ask({ run }) {
    const { heads, d_model } = run.model;
    const width = d_model / heads;
    return valueQuiz("qkv", width, { all: d_model, heads, wider: 2 * d_model }, { d_model, heads, width });
  },
};
