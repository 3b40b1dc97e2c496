// `node tests/js/bundle.ts` writes assets/dist, which is what a browser loads.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const esbuild: typeof import("esbuild") = createRequire(`${ROOT}.venv/js/`)("esbuild");

/** Each file of assets/dist: its path and its text. */
export const bundled = () =>
  esbuild
    .buildSync({
      absWorkingDir: ROOT,
      entryPoints: ["assets/web/app.ts"],
      outdir: "assets/dist",
      bundle: true,
      minifyWhitespace: true,
      minifyIdentifiers: true,
      // Not its syntax: Gradio writes its container before each selector, but not before each of a list with .dark in it,
      // and esbuild would make such lists.
      format: "esm",
      charset: "utf8",
      sourcemap: true,
      sourcesContent: false, // they are beside it
      logLevel: "warning",
      write: false,
    })
    .outputFiles.map(({ path, text }) => ({ path, text }));

if (import.meta.main) for (const { path, text } of bundled()) writeFileSync(path, text);
