// A saved run answers the page's questions with what the file holds: see transformer/web/api/frozen.py.

import { encodeBytes, joinPlanes } from "./bytes.ts";
import { refusal, type Source } from "./source.ts";

/** What the file's shell has unpacked. `arrays`: where each begins and ends in `content`, and bytes of its numbers. */
export type Unpacked = {
  shown: unknown; // the run, as an opening has it
  answers: [question: string, request: unknown, answer: unknown][];
  arrays: [start: number, end: number, size: number][];
  content: Uint8Array;
  catalogues: Record<string, Record<string, string>>;
};

export function frozen(unpacked: Unpacked): Source {
  const known = new Map(unpacked.answers.map(([name, request, answer]) => [keyOf(name, request), answer]));
  const names = new Set(unpacked.answers.map(([name]) => name));
  return {
    answers: (name) => names.has(name),
    async answer(name, request) {
      const answer = known.get(keyOf(name, request));
      if (answer === undefined) throw refusal("error.not_in_file");
      return withArrays(answer, unpacked);
    },
  };
}

/** The key of a question, whatever the order of its request's fields. */
const keyOf = (name: string, request: unknown) =>
  JSON.stringify([name, request], (_, value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

/** An answer, or a part of one, with its arrays in their places: one by its number, or the sum of two. */
export function withArrays(answer: unknown, { arrays, content }: Pick<Unpacked, "arrays" | "content">) {
  const bytesOf = (array: number) => {
    const [start, end, size] = arrays[array];
    return joinPlanes(content.subarray(start, end), size);
  };
  const read = (array: number | [number, number]) => {
    if (typeof array === "number") return encodeBytes(bytesOf(array));
    const [one, other] = array.map((each) => new Float32Array(bytesOf(each).buffer));
    return encodeBytes(new Uint8Array(one.map((value, i) => value + other[i]).buffer));
  };
  return JSON.parse(JSON.stringify(answer), (_, part) => (part?.array === undefined ? part : read(part.array)));
}
