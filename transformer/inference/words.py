"""Attention between words, where a model's tokens are pieces of them.

Attention to a word is the sum over its pieces, and attention from a word the mean over its pieces (Clark et al., 2019,
"What Does BERT Look At?", §3.1). So the rows of a map of words sum to 1 as those of a map of pieces do.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ..data.vocabulary import SPECIAL
from .attention_maps import AttentionMap

SPACE = "▁"  # which sentencepiece writes where a word begins
# Of scripts without spaces between words: Thai and Lao, Burmese, Khmer, kana, Han.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class TokenWords:
    """The words that a series of tokens makes."""

    of: tuple[int, ...]  # the number of each token's word, from 0
    names: tuple[str, ...]  # the text of each; one that is called P, S or E, as special tokens are, stands in quotes


def words_of(tokens: Sequence[str], pieces: Sequence[str] = ()) -> TokenWords:
    """A word begins with a space; the punctuation before and after it is a word of its own, and so is every special
    token, and every piece of a script that writes no spaces.

    Args:
        tokens: pieces, and the special tokens P, S and E.
        pieces: the text of each, where that is another: of a piece that the model does not know.
    """
    texts = pieces or _texts(tokens)
    of: list[int] = []
    word = -1
    for chunk in _chunks(tokens, texts):
        letters = [i for i in chunk if _has_letters(texts[i])] or chunk
        first = chunk[0] if texts[chunk[0]] == SPACE and letters[0] == chunk[0] + 1 else letters[0]
        sides = [(i > letters[-1]) - (i < first) for i in chunk]  # -1: punctuation before, 1: after
        for _, part in groupby(sides):
            word += 1
            of += [word for _ in part]
    return TokenWords(tuple(of), names_of(tokens, of, texts))


def _texts(tokens: Sequence[str]) -> list[str]:
    """Without the quotes of a piece that is called as a special token is."""
    return [token[1:-1] if token[0] + token[-1] == "“”" and token[1:-1] in SPECIAL else token for token in tokens]


def _chunks(tokens: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Tokens between two spaces."""
    chunks: list[list[int]] = []
    for i, text in enumerate(texts):
        last = texts[i - 1]
        stands_alone = tokens[i] in SPECIAL or (bool(UNSPACED.search(text)) and last != SPACE)
        follows_alone = tokens[i - 1] in SPECIAL or UNSPACED.search(last)
        if i == 0 or text.startswith(SPACE) or stands_alone or follows_alone:
            chunks.append([])
        chunks[-1].append(i)
    return chunks


def _has_letters(text: str) -> bool:
    return any(unicodedata.category(char)[0] in "LMN" for char in text)


def names_of(tokens: Sequence[str], of: Sequence[int], texts: Sequence[str] = ()) -> tuple[str, ...]:
    """The text of each word, with the arguments of `words_of`; `of` is as in `TokenWords`."""
    names: list[str] = []
    texts = texts or _texts(tokens)
    for _, group in groupby(range(len(of)), lambda i: of[i]):
        found = list(group)
        text = "".join(texts[i] for i in found).replace(SPACE, " ").strip() or SPACE
        is_special = tokens[found[0]] in SPECIAL
        names.append(tokens[found[0]] if is_special else f"“{text}”" if text in SPECIAL else text)
    return tuple(names)


def map_of_words(pieces: AttentionMap, queries: TokenWords, keys: TokenWords) -> AttentionMap:
    """The heads of a map, from words to words; a cell is open where it is between any of their pieces."""
    to_key = np.eye(len(keys.names), dtype=np.float64)[list(keys.of)]  # (K, words)
    from_query = np.eye(len(queries.names), dtype=np.float64)[list(queries.of)]  # (Q, words)
    mean = from_query / from_query.sum(axis=0)
    weights = np.einsum("qv,hqk,kw->hvw", mean, pieces.weights.astype(np.float64), to_key, optimize=True)
    allowed = from_query.T @ pieces.allowed @ to_key > 0
    return AttentionMap(pieces.kind, pieces.layer, queries.names, keys.names, weights.astype(np.float32), allowed)
