// A catalogue's text as ICU MessageFormat has it, as far as the page needs it: "{name}", and a plural,
// "{pairs, plural, one {# pair} other {# pairs}}". transformer/messages.py reads the same.

const FORM = String.raw`(\w+) \{((?:[^{}]|\{\w+\})*)\}`;
const PLURAL = new RegExp(String.raw`\{(\w+), plural, ((?:${FORM} ?)+)\}`, "g");

/** The text with one form of each plural, and its "{name}" for "#". */
export const withPlurals = (text: string, values: Record<string, unknown>, rules: Intl.PluralRules) =>
  text.replace(PLURAL, (_, name, forms) => {
    const found = [...forms.matchAll(new RegExp(FORM, "g"))].map(([, category, form]) => [category, form]);
    const byCategory: Record<string, string> = Object.fromEntries(found);
    const form = byCategory[rules.select(Number(values[name]))] ?? byCategory.other;
    return form.replaceAll("#", `{${name}}`);
  });

/** The names of a text that has no plurals (at odd places), between what stands around them. */
export const parts = (text: string) => text.split(/\{(\w+)\}/);

/** "97%", "99.4%", "0.03%": only 0 is "0%" and only 1 is "100%". A sign stays beside its number at a line's end. */
export function percentText(share: number, format: (share: number, digits: number) => string) {
  if (share > 0 && share < 0.0001) return `<\u00a0${format(0.0001, 2)}`;
  if (share >= 0.9995 && share < 1) return `>\u00a0${format(0.999, 1)}`;
  const digits = share === 0 || share === 1 ? 0 : share < 0.01 ? 2 : share < 0.1 || share > 0.99 ? 1 : 0;
  return format(share, digits);
}

export function percentTexts(one: number, other: number, format: (share: number, digits: number) => string) {
  const usual = [percentText(one, format), percentText(other, format)];
  if (one === other || Math.max(one, other) >= 0.9995) return usual;
  const finer = [1, 2].map((digits) => [format(one, digits), format(other, digits)]);
  return [usual, ...finer].find(([left, right]) => left !== right) ?? usual;
}
