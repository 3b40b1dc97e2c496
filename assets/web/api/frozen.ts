// A saved run answers the page's questions with what the file holds: see transformer/web/api/frozen.py.

import { encodeBytes, joinPlanes } from "./bytes.ts";
import { refusal, type Source } from "./source.ts";

/** What the file's shell has unpacked. `arrays`: bytes of each array in `content`, and of each of its numbers. */
export type Unpacked = {
  shown: unknown; // the run, as an opening has it
  answers: [question: string, request: unknown, answer: unknown][];
  arrays: [bytes: number, size: number][];
  content: Uint8Array;
  catalogues: Record<string, Record<string, string>>;
};

export function frozen({ answers, arrays, content }: Pick<Unpacked, "answers" | "arrays" | "content">): Source {
  const known = new Map(answers.map(([name, request, answer]) => [keyOf(name, request), answer]));
  const names = new Set(answers.map(([name]) => name));
  const read = arrayReader(arrays, content);
  return {
    answers: (name) => names.has(name),
    async answer(name, request) {
      const answer = known.get(keyOf(name, request));
      if (answer === undefined) throw refusal("error.not_in_file");
      return withArrays(answer, read);
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

/** An array by its number, or the sum of two, as the server sends it. */
export function arrayReader(arrays: Unpacked["arrays"], content: Uint8Array) {
  const starts: number[] = [];
  let end = 0;
  for (const [bytes] of arrays) {
    starts.push(end);
    end += bytes;
  }
  const bytesOf = (array: number) => {
    const [length, size] = arrays[array];
    return joinPlanes(content.subarray(starts[array], starts[array] + length), size);
  };
  return (array: number | [number, number]) => {
    if (typeof array === "number") return encodeBytes(bytesOf(array));
    const [one, other] = array.map((each) => new Float32Array(bytesOf(each).buffer));
    return encodeBytes(new Uint8Array(one.map((value, i) => value + other[i]).buffer));
  };
}

/** An answer, or a part of one, with its arrays in their places. */
export function withArrays(answer: any, read: ReturnType<typeof arrayReader>): any {
  if (Array.isArray(answer)) return answer.map((each) => withArrays(each, read));
  if (!answer || typeof answer !== "object") return answer;
  if ("array" in answer) return read(answer.array);
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, withArrays(value, read)]));
}
