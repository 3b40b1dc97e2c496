// Controls of which the Tab key reaches one, while other keys lead from it to the others.

type Control = HTMLElement | SVGElement;

/** @param next where a key leads from the one that has the focus; nothing for a key that leads nowhere */
export function rove<Each extends Control>(
  place: Control,
  all: Each[],
  next: (key: string, at: number) => Each | undefined,
) {
  const focused = () => all.indexOf(document.activeElement as Each);
  place.addEventListener("focusin", () => {
    if (focused() < 0) return;
    for (const each of all) if (each.tabIndex === 0) each.tabIndex = -1;
    all[focused()].tabIndex = 0;
  });
  place.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey } = event as KeyboardEvent;
    const at = focused();
    const to = at < 0 || ctrlKey || metaKey || altKey ? undefined : next(key, at);
    if (!to) return;
    event.preventDefault(); // elsewhere such keys change the step
    to.focus();
  });
}
