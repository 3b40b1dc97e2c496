// A press counts, although an answer that comes before its release draws the button again: a browser drops such a click.

import { closest } from "./parts.ts";

const BUTTONS = "button, summary, a[href]";

export function keepPresses() {
  let pressed: HTMLElement | null = null;
  const forget = () => {
    pressed = null;
  };
  const press = (event: PointerEvent) => {
    pressed = event.isPrimary && event.button === 0 ? closest(event, BUTTONS) : null;
  };
  const release = ({ clientX, clientY }: PointerEvent) => {
    const before = pressed;
    forget();
    if (!before || before.isConnected) return;
    const now = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>(BUTTONS);
    if (now && isSame(now, before)) now.click();
  };
  document.addEventListener("pointerdown", press, { capture: true });
  document.addEventListener("pointerup", release, { capture: true });
  document.addEventListener("pointercancel", forget, { capture: true });
}

/** Whether one button is the other, drawn again. */
const isSame = (one: HTMLElement, other: HTMLElement) =>
  one.tagName === other.tagName &&
  one.id === other.id &&
  one.dataset.place === other.dataset.place &&
  one.textContent === other.textContent;
