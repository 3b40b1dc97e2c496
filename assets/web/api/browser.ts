// The shipped networks in this browser: a worker runs them (assets/web/engine), and answers as a server would.

import type { Site } from "#schema";
import { joinPlanes } from "./bytes.ts";
import { assetAddress, fetchAsset } from "./schema.ts";
import { NO_ANSWER, Refused, type Source } from "./source.ts";

const WEIGHT_BYTES = 4;

type Waiting = { resolve: (answer: unknown) => void; reject: (error: unknown) => void };

export function browserSource({ models, questions }: Site): Source {
  NO_ANSWER.key = "error.no_file"; // nothing else keeps an answer from coming
  const waiting: Map<number, Waiting> = new Map();
  let asked = 0;
  let worker: Promise<Worker> | null = null;

  async function start() {
    const made = new Worker(assetAddress("/engine.js"), { type: "module" });
    made.onmessage = ({ data: { id, answer, error } }) => {
      const { resolve, reject } = waiting.get(id) as Waiting;
      waiting.delete(id);
      if (error) reject(new Refused(error));
      else resolve(answer);
    };
    const load = async (name: string) => {
      const answers = [fetchAsset(`/${name}.json.gz`), fetchAsset(`/${name}.planes.gz`)];
      const [data, packed] = await Promise.all(answers);
      const weights = joinPlanes(new Uint8Array(await packed.arrayBuffer()), WEIGHT_BYTES).buffer;
      return [name, { data: await data.json(), weights }] as const;
    };
    const post = (loaded: Awaited<ReturnType<typeof load>>[]) => {
      const all = loaded.map(([, { weights }]) => weights);
      made.postMessage({ load: Object.fromEntries(loaded) }, all);
    };
    await new Promise((resolve, reject) => {
      const end = (error: unknown) => {
        made.terminate();
        worker = null; // the next question tries again
        for (const asked of waiting.values()) asked.reject(error);
        waiting.clear();
        reject(error);
      };
      made.onerror = end; // its program has not come, or broke off
      Promise.all(models.map(load)).then(post).then(resolve, end);
    });
    return made;
  }

  return {
    answers: (name) => questions.includes(name),
    async answer(name, request, signal) {
      worker ??= start();
      const ready = await worker;
      signal.throwIfAborted();
      return new Promise((resolve, reject) => {
        asked += 1;
        waiting.set(asked, { resolve, reject });
        ready.postMessage({ id: asked, name, request });
      });
    },
  };
}
