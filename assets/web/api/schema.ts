// The server's declarations for the page (transformer/web/schema.py).

import type { DecodingSettings, Opening, PageSchema, Parameter } from "#schema";
import type { Message } from "./types.ts";

export const opening: Opening = JSON.parse(document.getElementById("opening")?.textContent ?? "null");

export const schema: PageSchema = opening.schema;

/** Whether the page is a file that holds one run: nothing else can be asked for. */
export const isSavedRun = opening.home !== undefined;

/** The parameters of the address. In a file they stand behind #, because its address may have nothing else. */
export const parametersOf = ({ search, hash }: { search: string; hash: string }) =>
  isSavedRun ? hash.slice(1) || (opening.place ?? "") : search;

/** Why no answer comes: a page without a server asks nobody, so one of its files is missing. */
export const NO_ANSWER: Message = { key: opening.site ? "error.no_file" : "error.no_answer", values: {}, english: "" };

export const hasTab = (tab: string) => schema.parameters.tab.choices?.includes(tab) ?? false;

export const assetAddress = (path: string) => new URL(schema.assets + path, document.baseURI);

/** A file of the assets. A page without a server has some of them packed by gzip. */
export async function fetchAsset(path: string) {
  const answer = await fetch(assetAddress(path));
  const isPage = answer.headers.get("content-type")?.startsWith("text/html"); // of a host that has no other answer
  if (!answer.ok || isPage) throw new Error(`${path} could not be fetched`);
  if (!path.endsWith(".gz")) return answer;
  const content = await answer.blob();
  const [first, second] = new Uint8Array(await content.slice(0, 2).arrayBuffer());
  const isPacked = first === 0x1f && second === 0x8b; // else the host had the browser unpack it
  return new Response(isPacked ? content.stream().pipeThrough(new DecompressionStream("gzip")) : content);
}

type Setting = Required<Pick<Parameter, "min" | "max" | "step" | "strategy">>;

/** The settings of the decoding strategies: the parameters with a slider. */
export const DECODING_SETTINGS = Object.fromEntries(
  Object.entries(schema.parameters).filter(([, { kind }]) => kind === "number"),
) as unknown as Record<keyof DecodingSettings, Setting>;

export const settingsOf = (strategy: string) =>
  (Object.keys(DECODING_SETTINGS) as (keyof DecodingSettings)[]).filter(
    (name) => DECODING_SETTINGS[name].strategy === strategy,
  );

/** The exercises of Spot the bug in their order, each with the mistakes whose causes are offered beside its own. */
export const EXERCISES = schema.exercises;

/** The four causes to choose from, in the order of the exercises, so that the place of the right one tells nothing. */
export const offeredCauses = (name: string) =>
  Object.keys(EXERCISES).filter((each) => each === name || EXERCISES[name].includes(each));
