// A formula as MathML, from a notation that a reader of the code knows: W_1, K^T, 10000^{2i/d}, √d_k.

import { mathml } from "./dom.ts";

/** A group in braces, a number, a name with its accent, a space or a sign. */
const TOKEN = /\{[^}]*\}|\d+(?:\.\d+)?|\p{L}+\u0302?|./gu;

/** Formulas, each in one piece: a line breaks where two or more spaces stand between them. */
export const formulas = (text: string) => text.split(/(\s{2,})/).map((each, i) => (i % 2 ? each : formula(each)));
const formula = (text: string) => mathml("math", { alttext: text }, row(text.normalize("NFD")));

/** Signs have spaces of their own. */
function row(text: string): Element[] {
  const tokens = text.replace(/ ?([=+÷·←]) ?/g, "$1").match(TOKEN) ?? [];
  const nodes = [];
  while (tokens.length) nodes.push(scripted(tokens));
  return nodes;
}

/** The next thing of a row, with what stands below and above it; takes its tokens away. */
function scripted(tokens: string[]) {
  const base = atom(tokens);
  const below = script(tokens, "_");
  const above = script(tokens, "^");
  if (below && above) return mathml("msubsup", {}, base, below, above);
  if (below) return mathml("msub", {}, base, below);
  return above ? mathml("msup", {}, base, above) : base;
}

function script(tokens: string[], sign: "_" | "^") {
  if (tokens[0] !== sign) return null;
  tokens.shift();
  return atom(tokens);
}

function atom(tokens: string[]): Element {
  const token = tokens.shift() ?? "";
  if (token === "√") return mathml("msqrt", {}, scripted(tokens));
  if (token.startsWith("{")) return mathml("mrow", {}, row(token.slice(1, -1)));
  if (token === " ") return mathml("mspace", { width: "0.2em" }); // between two factors
  if (/^\d/.test(token)) return mathml("mn", {}, token);
  if (/^\p{L}\u0302$/u.test(token))
    return mathml("mover", { accent: "true" }, mathml("mi", {}, token[0]), mathml("mo", {}, "ˆ"));
  return mathml(/^[^\P{L}Σ]/u.test(token) ? "mi" : "mo", {}, token);
}
