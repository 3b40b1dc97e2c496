// The shipped networks in this browser: a worker runs them (assets/web/engine), and answers as a server would.

import type { Site } from "#schema";
import { joinPlanes } from "./bytes.ts";
import { assetAddress, fetchAsset, NO_ANSWER } from "./schema.ts";
import { Refused, type Source } from "./source.ts";

const WEIGHT_BYTES = 4;

type Waiting = { resolve: (answer: unknown) => void; reject: (error: unknown) => void };

export function browserSource({ models, questions }: Site): Source {
  const waiting: Map<number, Waiting> = new Map();
  let asked = 0;
  let worker: Worker | null = null;
  let loaded: Record<string, Promise<void>> = {}; // by model
  const missing: Set<string> = new Set(); // models that did not come

  function start() {
    const made = new Worker(assetAddress("/engine.js"), { type: "module" });
    made.onmessage = ({ data: { id, answer, error } }) => {
      const { resolve, reject } = waiting.get(id) as Waiting;
      waiting.delete(id);
      if (error) reject(new Refused(error));
      else resolve(answer);
    };
    // Its program has not come, or broke off: the next question tries again.
    made.onerror = (error) => {
      made.terminate();
      [worker, loaded] = [null, {}];
      for (const asked of waiting.values()) asked.reject(error);
      waiting.clear();
    };
    return made;
  }

  async function load(name: string, into: Worker) {
    const files = [fetchAsset(`/${name}.json.gz`), fetchAsset(`/${name}.planes.gz`)];
    const [data, packed] = await Promise.all(files);
    const weights = joinPlanes(new Uint8Array(await packed.arrayBuffer()), WEIGHT_BYTES).buffer;
    into.postMessage({ load: { [name]: { data: await data.json(), weights } } }, [weights]);
  }

  return {
    answers: (name) => questions.includes(name),
    async answer(name, request, signal) {
      worker ??= start();
      const mine = worker;
      const { checkpoint = models[0] } = request as { checkpoint?: string }; // with which recordings come
      for (const each of models) {
        // A question about it tries again, and so does a sentence, which another model may have to read.
        if ((each === checkpoint || name === "translate") && missing.delete(each)) delete loaded[each];
        loaded[each] ??= load(each, mine).catch((error) => {
          missing.add(each);
          throw error;
        });
      }
      const all = loaded;
      await Promise.allSettled(Object.values(all));
      await all[checkpoint];
      signal.throwIfAborted();
      if (mine !== worker) throw new Refused(NO_ANSWER);
      asked += 1;
      mine.postMessage({ id: asked, name, request });
      return new Promise((resolve, reject) => waiting.set(asked, { resolve, reject }));
    },
  };
}
