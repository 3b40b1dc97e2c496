// A formula as MathML, from a notation that a reader of the code knows: W_1, K^T, 10000^{2i/d}, √d_k.

const MATH = "http://www.w3.org/1998/Math/MathML";

/** A group in braces, a number, a name with its accent, a space or a sign. */
const TOKEN = /\{[^}]*\}|\d+(?:\.\d+)?|\p{L}+\u0302?|./gu;

function math(tag: string, ...children: (string | Node)[]) {
  const node = document.createElementNS(MATH, tag);
  node.append(...children);
  return node;
}

/** Formulas, each in one piece: a line breaks where two or more spaces stand between them. */
export const formulas = (text: string) => text.split(/(\s{2,})/).map((each, i) => (i % 2 ? each : formula(each)));

function formula(text: string) {
  const node = math("math", ...row(text.normalize("NFD")));
  node.setAttribute("alttext", text);
  return node;
}

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
  if (below && above) return math("msubsup", base, below, above);
  if (below) return math("msub", base, below);
  return above ? math("msup", base, above) : base;
}

function script(tokens: string[], sign: "_" | "^") {
  if (tokens[0] !== sign) return null;
  tokens.shift();
  return atom(tokens);
}

function atom(tokens: string[]): Element {
  const token = tokens.shift() ?? "";
  if (token === "√") return math("msqrt", scripted(tokens));
  if (token.startsWith("{")) return math("mrow", ...row(token.slice(1, -1)));
  if (token === " ") return space();
  if (/^\d/.test(token)) return math("mn", token);
  if (/^\p{L}\u0302$/u.test(token)) return accented(token[0]);
  return math(/^[^\P{L}Σ]/u.test(token) ? "mi" : "mo", token);
}

/** Between two factors. */
function space() {
  const node = math("mspace");
  node.setAttribute("width", "0.2em");
  return node;
}

function accented(letter: string) {
  const node = math("mover", math("mi", letter), math("mo", "ˆ"));
  node.setAttribute("accent", "true");
  return node;
}
