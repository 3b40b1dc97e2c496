// `node tests/js/bundle.ts` writes assets/dist, which is what a browser loads.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const esbuild: typeof import("esbuild") = createRequire(`${ROOT}.venv/js/`)("esbuild");

/** Each file of assets/dist: its path and its text. A saved run has its program in itself, and takes app.css. */
export const bundled = () => [
  ...built("assets/web/app.ts", { sourcemap: "external", sourcesContent: false }), // files.py says where it is
  ...built("assets/web/file.ts", { format: "iife" }),
  ...built("assets/web/engine/worker.ts", { outdir: undefined, outfile: "assets/dist/engine.js" }),
];

const built = (entry: string, options: import("esbuild").BuildOptions) =>
  esbuild
    .buildSync({
      absWorkingDir: ROOT,
      entryPoints: [entry],
      outdir: "assets/dist",
      bundle: true,
      minifyWhitespace: true,
      minifyIdentifiers: true,
      // Not its syntax: Gradio writes its container before each selector, but not before each of a list with .dark in it,
      // and esbuild would make such lists.
      format: "esm",
      charset: "utf8",
      logLevel: "warning",
      ...options,
      write: false,
    })
    .outputFiles?.map(({ path, text }) => ({ path, text }));

if (import.meta.main) for (const { path, text } of bundled()) writeFileSync(path, text);
