"""Suggestions after a sentence that a model cannot read."""

import re

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...data import CORPORA, AlignedPair, Pair, nearest_pairs
from ...data.classroom import lexicon
from ...storage.checkpoint import CheckpointError, available_checkpoints
from ..schema import RefusedRequest, RunRequest
from ..sessions.models import corpus_of, held_out, translator

SUGGESTED_PAIRS = 8  # beside the sentence, for a model that is to learn it
CAPITALISED = {  # of the classroom's English words, which are all in lower case
    "i",
    *(each.english.split()[-1] for each in (*lexicon.CITIES, *lexicon.COUNTRIES, *lexicon.NAMES, *lexicon.WEEKDAYS)),
    *(each.english for each in lexicon.NOUNS if each.kind == "language"),
    *(word for each in lexicon.group("titled") for word in each.english.split()),
}


class Alternatives(TypedDict):
    """`readers`: other checkpoints that know every word; `nearest`: a whole sentence that this one can translate."""

    readers: list[str]
    nearest: str | None


def alternatives(request: RefusedRequest) -> Alternatives:
    """Suggestions after a sentence that a checkpoint has refused."""
    translator(request.checkpoint)  # raises where there is none
    sentence, known = request.sentence, corpus_of(request.checkpoint)
    others = [name for name in (*available_checkpoints(), *dict.fromkeys(request.own)) if name != request.checkpoint]
    nearest = nearest_pairs(sentence, known, 1) if known else []
    return {
        "readers": [name for name in others if reads(name, sentence)],
        "nearest": nearest[0].spelling if nearest else None,
    }


def similar_pairs(request: RunRequest) -> list[Pair]:
    """Pairs to learn beside a sentence that a checkpoint has refused."""
    translator(request.checkpoint)  # raises where there is none
    corpora = [each for each in (corpus_of(request.checkpoint), CORPORA["classroom"]) if each]
    found = (nearest_pairs(request.sentence, corpus, SUGGESTED_PAIRS) for corpus in corpora)
    pairs = next(filter(None, found), None) or held_out("classroom")[:SUGGESTED_PAIRS]
    return [_spelled(pair) for pair in pairs]


def reads(checkpoint: str, sentence: str) -> bool:
    """Whether a checkpoint can read a sentence: one that is gone reads none."""
    try:
        return translator(checkpoint).reads(sentence)
    except CheckpointError:  # a visitor's own, which is gone
        return False


def _spelled(pair: AlignedPair) -> Pair:
    """Both sides as people write them."""
    words = [word.capitalize() if word in CAPITALISED else word for word in pair.target.split()]
    target = re.sub(r" (?=[.,?!])", "", " ".join(words))
    return pair.spelling, target[:1].upper() + target[1:]
