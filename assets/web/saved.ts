// What a file holds, for the modules of its page.

import { addSource } from "./api/client.ts";
import { arrayReader, frozen, type Unpacked, withArrays } from "./api/frozen.ts";
import { opening } from "./api/schema.ts";
import { bringCatalogues } from "./state/i18n.ts";

const { unpacked } = globalThis as unknown as { unpacked: Unpacked };

addSource("file", frozen(unpacked));
bringCatalogues(unpacked.catalogues);
opening.shown = withArrays(unpacked.shown, arrayReader(unpacked.arrays, unpacked.content));
