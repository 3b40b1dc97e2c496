// The stops of the lesson by name, a file each.

import type { StopName } from "../../state/lesson-plan.ts";
import type { Stop } from "./stop.ts";
import { align } from "./stops/align.ts";
import { cross } from "./stops/cross.ts";
import { embeddings } from "./stops/embeddings.ts";
import { ffn } from "./stops/ffn.ts";
import { heads } from "./stops/heads.ts";
import { logits } from "./stops/logits.ts";
import { loop } from "./stops/loop.ts";
import { masked } from "./stops/masked.ts";
import { positions } from "./stops/positions.ts";
import { qkv } from "./stops/qkv.ts";
import { recap } from "./stops/recap.ts";
import { residual } from "./stops/residual.ts";
import { scores } from "./stops/scores.ts";
import { since } from "./stops/since.ts";
import { softmax } from "./stops/softmax.ts";
import { stack } from "./stops/stack.ts";
import { tokens } from "./stops/tokens.ts";

export const STOPS: Record<StopName, Stop> = {
  tokens,
  embeddings,
  positions,
  qkv,
  scores,
  softmax,
  heads,
  residual,
  ffn,
  stack,
  masked,
  cross,
  logits,
  loop,
  align,
  recap,
  since,
};
