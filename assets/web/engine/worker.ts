// The engine in a worker: it receives { load } for every model and then questions as { id, name, request }, and posts
// { id, answer } or { id, error }.

import { type Engine, type Model, makeEngine, refusalOf } from "./engine.ts";

type Asked = { load: Model & { name: string } } | { load?: undefined; id: number; name: string; request: unknown };

const models: Record<string, Model> = {};
let engine: Engine | undefined;

addEventListener("message", ({ data: asked }: MessageEvent<Asked>) => {
  if (asked.load) {
    const { name, ...model } = asked.load;
    models[name] = model;
    engine = undefined; // made by the next question, which needs all of them
    return;
  }
  try {
    engine ??= makeEngine(models);
    postMessage({ id: asked.id, answer: engine.answer(asked.name, asked.request) });
  } catch (error) {
    postMessage({ id: asked.id, ...refusalOf(error) });
  }
});
