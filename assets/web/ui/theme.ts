// Light or dark, and whether things may move.

export const isDark = () => document.body.classList.contains("dark");

export function onThemeChange(react: () => void, signal?: AbortSignal) {
  let wasDark = isDark();
  const observer = new MutationObserver(() => {
    if (isDark() === wasDark) return; // another class
    wasDark = !wasDark;
    react();
  });
  observer.observe(document.body, { attributeFilter: ["class"] });
  signal?.addEventListener("abort", () => observer.disconnect());
}

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
