// In front of a class, what would end below the screen is drawn smaller.

import { isPresenting } from "../state/address.ts";
import { narrow } from "./frame.ts";
import { onResize } from "./parts.ts";

const MIN_SCALE = 0.6; // what is smaller no back row reads

export function fitToScreen(element: HTMLElement, figure: HTMLElement, signal: AbortSignal) {
  const fit = () => {
    for (const each of [element, figure]) scale(each, 1);
    if (!isPresenting() || narrow.matches) return; // a small screen scrolls
    const { top, width } = element.getBoundingClientRect();
    const height = innerHeight - (top + scrollY) - 24;
    const drawn = figure.getBoundingClientRect();
    const isWide = drawn.width > 0.75 * width; // nothing stands beside it
    const excess = isWide ? element.offsetHeight - height : drawn.bottom - top - height;
    scale(figure, 1 - excess / drawn.height, isWide);
    fitHeight(element, height);
    if (isWide || !element.style.transform) return;
    scale(figure, 1); // with all it has become smaller: by itself it need not be as small
    const beside = figure.getBoundingClientRect();
    scale(figure, 1 - (beside.bottom - top - height) / beside.height);
  };
  for (const each of [element, figure]) {
    each.style.transformOrigin = "top left";
    onResize(each, fit, signal);
  }
  for (const id of ["top", "class"]) {
    const above = document.getElementById(id); // a message or a vote there moves what is below
    if (above) onResize(above, fit, signal);
  }
  addEventListener("resize", fit, { signal });
}

/** By as little as need be, in steps of 2 %: its lines hold more words when they are smaller. @param height px */
function fitHeight(element: HTMLElement, height: number) {
  for (let by = 1; by * element.offsetHeight > height && by > MIN_SCALE; ) {
    by -= 0.02;
    scale(element, by, true);
  }
}

function scale(element: HTMLElement, wanted: number, keepsWidth: boolean = false) {
  const by = Math.min(1, Math.max(wanted, MIN_SCALE));
  const { style } = element;
  style.transform = by < 1 ? `scale(${by})` : "";
  style.width = by < 1 && keepsWidth ? `${100 / by}%` : "";
  style.marginBottom = by < 1 ? `${(by - 1) * element.offsetHeight}px` : "";
}
