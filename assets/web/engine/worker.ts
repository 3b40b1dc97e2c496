// The engine in a worker: it receives { load } with models, and questions as { id, name, request }, and posts
// { id, answer } or { id, error }.

import { type Engine, type Model, makeEngine, refusalOf } from "./engine.ts";

type Asked = { load: Record<string, Model> } | { load?: undefined; id: number; name: string; request: unknown };

const models: Record<string, Model> = {};
let engine: Engine;

addEventListener("message", ({ data: asked }: MessageEvent<Asked>) => {
  if (asked.load) {
    engine = makeEngine(Object.assign(models, asked.load));
    return;
  }
  try {
    postMessage({ id: asked.id, answer: engine.answer(asked.name, asked.request) });
  } catch (error) {
    postMessage({ id: asked.id, ...refusalOf(error) });
  }
});
