// What a file holds, for the modules of its page.

import { askOf } from "./api/client.ts";
import { frozen, type Unpacked, withArrays } from "./api/frozen.ts";
import { notebook } from "./api/notebook.ts";
import { opening } from "./api/schema.ts";
import { bringCatalogues } from "./state/i18n.ts";

const { unpacked } = globalThis as unknown as { unpacked: Unpacked };

const file = frozen(unpacked);
askOf({
  answers: (name) => file.answers(name) || notebook.answers(name),
  answer: (name, ...asked) =>
    file.answer(name, ...asked).catch((error) => {
      if (!notebook.answers(name)) throw error;
      return notebook.answer(name, ...asked);
    }),
});
bringCatalogues(unpacked.catalogues);
opening.shown = withArrays(unpacked.shown, unpacked);
