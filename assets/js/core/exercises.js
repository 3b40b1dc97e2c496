// The exercises of Spot the bug in their order, each with the mistakes whose causes are offered beside its own: none that
// would show the same.

/** @type {Record<string, string[]>} */
export const EXERCISES = {
  causal_mask: ["rank_collapse", "never_stops", "positions_from_ids"],
  rank_collapse: ["cross_padding", "unscaled", "after_dropout"],
  output_in_forward: ["causal_mask", "no_eval", "unscaled"],
  teacher_forced_test: ["never_stops", "unscaled", "after_dropout"],
  padding_rows: ["causal_mask", "cross_padding", "norm_in_forward"],
  cross_padding: ["rank_collapse", "padding_rows", "axes_swapped"],
  no_eval: ["causal_mask", "never_stops", "positions_from_ids"],
  never_stops: ["causal_mask", "padding_rows", "no_eval"],
  unscaled: ["rank_collapse", "after_dropout", "one_head"],
  axes_swapped: ["padding_rows", "after_dropout", "one_head"],
  after_dropout: ["cross_padding", "unscaled", "axes_swapped"],
  one_head: ["rank_collapse", "axes_swapped", "after_dropout"],
  positions_from_ids: ["causal_mask", "teacher_forced_test", "cross_padding"],
  norm_in_forward: ["rank_collapse", "teacher_forced_test", "no_eval"],
};

/** The four causes to choose from, in the order of the exercises, so that the place of the right one tells nothing. @param {string} name */
export const offeredCauses = (name) =>
  Object.keys(EXERCISES).filter((each) => each === name || EXERCISES[name].includes(each));
