// The button that opens a class, or shows the code of the one that is open.

import { t } from "../core/i18n.ts";
import { button } from "../core/parts.ts";
import { schema } from "../core/schema.ts";

/** Null where this server has no classes. */
export const startButton = (id: string) =>
  schema.classes
    ? button("pill start-class", t("class.start"), () => document.dispatchEvent(new Event("class:wanted")), {
        id,
        title: t("class.start.about"),
      })
    : null;
