// The stops of the lesson by name, a file each.

export { align } from "./stops/align.ts";
export { cross } from "./stops/cross.ts";
export { embeddings } from "./stops/embeddings.ts";
export { explains } from "./stops/explains.ts";
export { ffn } from "./stops/ffn.ts";
export { heads } from "./stops/heads.ts";
export { knows } from "./stops/knows.ts";
export { logits } from "./stops/logits.ts";
export { loop } from "./stops/loop.ts";
export { masked } from "./stops/masked.ts";
export { positions } from "./stops/positions.ts";
export { qkv } from "./stops/qkv.ts";
export { recap } from "./stops/recap.ts";
export { residual } from "./stops/residual.ts";
export { scores } from "./stops/scores.ts";
export { since } from "./stops/since.ts";
export { softmax } from "./stops/softmax.ts";
export { stack } from "./stops/stack.ts";
export { tokens } from "./stops/tokens.ts";
