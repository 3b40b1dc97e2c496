// The engine in a worker: it receives { load } with models, and questions as { id, name, request }, and posts
// { id, answer } or { id, error }.

import { type Engine, type Model, makeEngine, refusalOf } from "./engine.ts";

type Asked = { load: Record<string, Model> } | { load?: undefined; id: number; name: string; request: unknown };

const models: Record<string, Model> = {};
let engine: Engine | null = null; // once a question has come

addEventListener("message", ({ data: asked }: MessageEvent<Asked>) => {
  if (asked.load) {
    Object.assign(models, asked.load);
    engine = null;
    return;
  }
  try {
    engine ??= makeEngine(models);
    postMessage({ id: asked.id, answer: engine.answer(asked.name, asked.request) });
  } catch (error) {
    postMessage({ id: asked.id, ...refusalOf(error) });
  }
});
