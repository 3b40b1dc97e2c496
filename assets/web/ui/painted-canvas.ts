// Canvases that paint themselves again: in the colours of a new theme, and finer for paper and saved pictures.

import { h, onThemeChange } from "./dom.ts";

const FINE = 2; // pixels a px, even if the screen has fewer
const MAX_FINE = 4e6; // pixels of a canvas that is finer than the screen
const MAX_PIXELS = 16e6; // of any canvas

let isFine = false; // a frame of a finer canvas takes longer, so only as long as it is wanted
let isWatching = false;

export const contextOf = (canvas: HTMLCanvasElement) => canvas.getContext("2d") as CanvasRenderingContext2D;

/** A canvas of this size in px, painted now and whenever the page wants. */
export function paintedCanvas(width: number, height: number, paint: (context: CanvasRenderingContext2D) => void) {
  const canvas = h("canvas", { class: "painted" });
  const context = contextOf(canvas);
  const most = (pixels: number) => Math.sqrt(pixels / (width * height));
  const repaint = () => {
    const wanted = isFine ? Math.max(devicePixelRatio, Math.min(FINE, most(MAX_FINE))) : devicePixelRatio;
    const pixels = Math.min(wanted, most(MAX_PIXELS));
    const size = { width: Math.ceil(width * pixels), height: Math.ceil(height * pixels) };
    if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
    context.setTransform(size.width / width, 0, 0, size.height / height, 0, 0);
    context.clearRect(0, 0, width, height);
    paint(context);
  };
  canvas.addEventListener("repaint", repaint);
  watch();
  repaint();
  return { canvas, repaint };
}

function watch() {
  if (isWatching) return;
  isWatching = true;
  onThemeChange(repaintAll);
  for (const name of ["beforeprint", "afterprint"])
    addEventListener(name, () => {
      isFine = name === "beforeprint";
      repaintAll();
    });
}

function repaintAll() {
  for (const each of document.querySelectorAll("canvas.painted")) each.dispatchEvent(new Event("repaint"));
}
