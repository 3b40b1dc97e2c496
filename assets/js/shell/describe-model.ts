// A model's name and size, in one line.

import { formatBytes, formatLanguages, t } from "../core/i18n.ts";
import { modelName, models } from "../net/models.ts";

export function describeModel(checkpoint: string) {
  const { sentences, real } = models()[checkpoint];
  if (!real) return t("header.model_size", { name: modelName(checkpoint), sentences });
  const facts = [formatLanguages(real.languages), modelName(checkpoint), real.size ? formatBytes(real.size) : ""];
  return [...facts, real.licence].filter(Boolean).join(" · ");
}
