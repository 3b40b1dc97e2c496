// A formula as MathML, from a notation that a reader of the code knows: W_1, K^T, 10000^{2i/d}, √d_k.

const MATH = "http://www.w3.org/1998/Math/MathML";

/** A group in braces, a number, a name with its accent, a space or a sign. */
const TOKEN = /\{[^}]*\}|\d+(?:\.\d+)?|\p{L}+\u0302?|./gu;

/** @param {string} tag @param {(string | Node)[]} children */
function math(tag, ...children) {
  const node = document.createElementNS(MATH, tag);
  node.append(...children);
  return node;
}

/** Formulas, each in one piece: a line breaks where two or more spaces stand between them. @param {string} text */
export const formulas = (text) => text.split(/(\s{2,})/).map((each, i) => (i % 2 ? each : formula(each)));

/** @param {string} text */
function formula(text) {
  const node = math("math", ...row(text.normalize("NFD")));
  node.setAttribute("alttext", text);
  return node;
}

/** Signs have spaces of their own. @param {string} text @returns {Element[]} */
function row(text) {
  const tokens = text.replace(/ ?([=+÷·←]) ?/g, "$1").match(TOKEN) ?? [];
  const nodes = [];
  while (tokens.length) nodes.push(scripted(tokens));
  return nodes;
}

/** The next thing of a row, with what stands below and above it; takes its tokens away. @param {string[]} tokens */
function scripted(tokens) {
  const base = atom(tokens);
  const below = script(tokens, "_");
  const above = script(tokens, "^");
  if (below && above) return math("msubsup", base, below, above);
  if (below) return math("msub", base, below);
  return above ? math("msup", base, above) : base;
}

/** @param {string[]} tokens @param {"_" | "^"} sign */
function script(tokens, sign) {
  if (tokens[0] !== sign) return null;
  tokens.shift();
  return atom(tokens);
}

/** @param {string[]} tokens @returns {Element} */
function atom(tokens) {
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

/** @param {string} letter */
function accented(letter) {
  const node = math("mover", math("mi", letter), math("mo", "ˆ"));
  node.setAttribute("accent", "true");
  return node;
}
