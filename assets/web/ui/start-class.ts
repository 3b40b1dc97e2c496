// The button that opens a class, or shows the code of the one that is open.

import { schema } from "../api/schema.ts";
import { t } from "../state/i18n.ts";
import { button } from "./parts.ts";

/** Null where this server has no classes. */
export const startButton = (id: string) =>
  schema.classes
    ? button("pill start-class", t("class.start"), () => document.dispatchEvent(new Event("class:wanted")), {
        id,
        title: t("class.start.about"),
      })
    : null;
