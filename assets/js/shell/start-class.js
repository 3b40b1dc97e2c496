// The button that opens a class, or shows the code of the one that is open.

import { t } from "../core/i18n.js";
import { button } from "../core/parts.js";
import { schema } from "../core/schema.js";

/** Null where this server has no classes. @param {string} id */
export const startButton = (id) =>
  schema.rooms
    ? button("pill start-class", t("class.start"), () => document.dispatchEvent(new Event("class:wanted")), {
        id,
        title: t("class.start.about"),
      })
    : null;
