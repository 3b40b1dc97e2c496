// A model's name and size, in one line.

import { modelName, models } from "../api/models.ts";
import { formatBytes, formatLanguages, t } from "../state/i18n.ts";

export function describeModel(checkpoint: string) {
  const { sentences, real } = models()[checkpoint];
  if (!real) return t("header.model_size", { name: modelName(checkpoint), sentences });
  const facts = [formatLanguages(real.languages), modelName(checkpoint), real.size ? formatBytes(real.size) : ""];
  return [...facts, real.licence].filter(Boolean).join(" · ");
}
