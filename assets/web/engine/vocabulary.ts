// Text to ids and back, as transformer/data/vocabulary.py: words between spaces, which may differ from their tokens in
// case, umlauts and the punctuation at their edges.

import type { ListedJSON } from "#schema";
import { refusal } from "../api/source.ts";

export const [PAD, START, END] = ["P", "S", "E"];
export const SPECIAL = [PAD, START, END];
export const PAD_ID = 0;

const MARKS = new Set(".,;:!?…¿¡\"'„“”‚‘’«»‹›()–—-。，、！？；：「」『』《》（）؟،؛");
const UNSPACED = /\s*([\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])\s*/g; // Han, kana
/** Fillers and variation selectors, which Unicode counts as printable although they are invisible; and what it does not. */
const INVISIBLE = /[\u115f\u1160\u17b4\u17b5\u3164\uffa0]|\u034f|[\ufe00-\ufe0f]|(?![\t\n\r])\p{C}/u;

const quote = (word: string) => (SPECIAL.includes(word) ? `“${word}”` : word);
const unquote = (word: string) => SPECIAL.find((token) => word === `“${token}”`) ?? word;
/** Python's str.casefold, of letters that people type here: "ß" as "ss", but "ı" as it is. */
const casefold = (text: string) => text.split("ı").map(casefoldPart).join("ı").replaceAll("ς", "σ");
const casefoldPart = (text: string) => text.toLowerCase().toUpperCase().toLowerCase();
const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text);
const splitAtSpaces = (text: string) => text.split(/\s+/).filter(Boolean);

/** Lower case, umlauts without their dots, ß as ss, and each Chinese or Japanese character a word. */
export function fold(text: string) {
  if (isAscii(text)) return text.toLowerCase();
  const folded = casefold(text.normalize("NFD"))
    .normalize("NFD")
    .replace(/([aou])\u0308/g, "$1")
    .normalize("NFC");
  return folded.replace(UNSPACED, " $1 ").trim();
}

const lower = (text: string) => text.normalize("NFC").toLowerCase().normalize("NFC");

export function stripPunctuation(word: string) {
  const letters = [...word];
  const first = letters.findIndex((letter) => !MARKS.has(letter));
  return first < 0 ? "" : letters.slice(first, letters.findLastIndex((letter) => !MARKS.has(letter)) + 1).join("");
}

/** A punctuation mark at the edge of a word stands apart: "Beer!" -> Beer, ! */
function marksApart(word: string) {
  if (unquote(word) !== word) return [word];
  const core = stripPunctuation(word);
  const start = core ? word.indexOf(core) : word.length;
  return [...word.slice(0, start), ...(core ? [quote(core)] : []), ...word.slice(start + core.length)];
}

/** As one types German without a German keyboard: "schön" -> "schoen". */
const speltOut = (word: string) =>
  lower(word).replaceAll("ä", "ae").replaceAll("ö", "oe").replaceAll("ü", "ue").replaceAll("ß", "ss");

/** A folded word that was typed in that way, as the umlauts themselves fold: "moechte" -> "mochte". */
const withoutSpeltUmlauts = (folded: string) => folded.replace(/(?<![aeouq])([aou])e/g, "$1");

export class Vocabulary {
  readonly tokens: string[];
  readonly ids: Map<string, number>;
  /** All tokens but P, S and E. */
  readonly words: string[];
  private readonly isFolded: boolean;
  private readonly byLetters = new Map<string, string[]>(); // folded or spelt-out word -> the tokens that it can mean

  constructor(tokens: string[]) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.words = tokens.filter((token) => !SPECIAL.includes(token));
    this.isFolded = this.words.every((word) => fold(word) === word);
    for (const word of this.words)
      for (const key of new Set([fold(word), speltOut(word)]))
        this.byLetters.set(key, [...(this.byLetters.get(key) ?? []), word]);
  }

  /** The words of a sentence as they were typed, each with its token, null where it is unknown. */
  read(text: string): { typed: string; token: string | null }[] {
    const spaced = isAscii(text) ? text : text.normalize("NFC").replace(UNSPACED, " $1 ");
    return splitAtSpaces(spaced)
      .map(quote)
      .flatMap((word) => (this.token(word) ? [word] : marksApart(word)))
      .map((piece) => ({ piece, token: this.token(piece) }))
      .filter(({ piece, token }) => token || stripPunctuation(piece))
      .map(({ piece, token }) => ({ typed: unquote(piece), token }));
  }

  /** The words of a sentence: their tokens, and in lower case those that are unknown. */
  split = (text: string) => this.read(text).map(({ typed, token }) => token ?? lower(typed));

  /** Ids of the words of a sentence. Throws a refusal where it is empty, or has an unknown word or invisible letter. */
  encode(text: string): number[] {
    const hidden = INVISIBLE.exec(text)?.[0].codePointAt(0);
    if (hidden !== undefined)
      throw refusal("error.invisible", { code: `U+${hidden.toString(16).toUpperCase().padStart(4, "0")}` });
    const read = this.read(text);
    if (!read.length) throw refusal("error.empty", { known: this.someWords() });
    const unknown = new Map<string, string>();
    for (const { typed, token } of read)
      if (token === null && !unknown.has(lower(typed))) unknown.set(lower(typed), typed);
    if (unknown.size) throw this.unknown([...unknown.values()]);
    return read.map(({ token }) => this.ids.get(token as string) as number);
  }

  /** The sentence behind ids, up to E. */
  decode(ids: number[]) {
    const tokens = ids.map((id) => this.tokens[id]);
    const end = tokens.indexOf(END);
    return tokens.filter((token, at) => (end < 0 || at < end) && !SPECIAL.includes(token)).join(" ");
  }

  someWords = (most = 20): ListedJSON => ({
    shown: this.words.slice(0, most),
    rest: Math.max(0, this.words.length - most),
  });

  /** The token that a typed word is read as: "geht’s" is *geht's* where no token has a ’. */
  private token = (word: string) => this.tokenOfLetters(word) ?? this.tokenOfLetters(word.replaceAll("’", "'"));

  /** By its letters, else by its letters in another case, else without its umlauts where no other word could be meant. */
  private tokenOfLetters(word: string): string | null {
    if (this.ids.has(word)) return SPECIAL.includes(word) ? null : word;
    const folded = fold(word);
    if (this.isFolded) return [folded, withoutSpeltUmlauts(folded)].find((each) => this.ids.has(each)) ?? null;
    const alike = this.byLetters.get(folded) ?? [];
    for (const letters of [lower, casefold]) {
      const same = alike.filter((token) => letters(token) === letters(word));
      if (same.length) return same.includes(lower(word)) ? lower(word) : same[0];
    }
    const hasUmlaut = folded !== casefold(word);
    return new Set(alike.map(lower)).size === 1 && !hasUmlaut ? alike[0] : null;
  }

  /** The refusal suggests known words: all where they are few, else those nearest to the unknown ones. */
  private unknown(words: string[]) {
    const first = (word: string, most: number) => [...word].slice(0, most).join("");
    const shown = words.slice(0, 3).map((word) => `“${first(word, 30)}${first(word, 30) === word ? "" : "…"}”`);
    const unknown = { shown, rest: Math.max(0, words.length - 3) };
    const most = this.words.length <= 20 ? 20 : 10;
    const near = [...new Set(words.slice(0, 3).flatMap((word) => this.near(first(word, 40))))];
    if (near.length && most < 20) return refusal("error.unknown_near", { unknown, near: { shown: near, rest: 0 } });
    return refusal("error.unknown", { unknown, known: this.someWords(most) });
  }

  private near(word: string) {
    const tokens = closeMatches(fold(word), this.byLetters.keys()).flatMap((near) => this.byLetters.get(near) ?? []);
    return [...new Set(tokens)].slice(0, 3);
  }
}

/** Python's difflib.get_close_matches: the three most similar, at least 0.6. */
function closeMatches(word: string, known: Iterable<string>) {
  const { length } = [...word];
  return [...known]
    .map((each) => ({ each, ratio: (2 * matching(each, word)) / (each.length + length) }))
    .filter(({ ratio }) => ratio >= 0.6)
    .sort((one, two) => two.ratio - one.ratio || (one.each < two.each ? 1 : -1))
    .slice(0, 3)
    .map(({ each }) => each);
}

/** Ratcliff and Obershelp: the letters of the longest common part, and of those before and after it. */
function matching(one: string, two: string): number {
  for (let size = Math.min(one.length, two.length); size; size--)
    for (let from = 0; from + size <= one.length; from++) {
      const to = two.indexOf(one.slice(from, from + size));
      if (to < 0) continue;
      const before = matching(one.slice(0, from), two.slice(0, to));
      return before + size + matching(one.slice(from + size), two.slice(to + size));
    }
  return 0;
}
