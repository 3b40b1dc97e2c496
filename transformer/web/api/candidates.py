"""The candidates of a decoding step, from a vocabulary that is too large to send with every run."""

import math

import numpy as np
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis.sublayer import record
from ...inference.translator import read_only
from ...inference.words import SPACE
from ..schema import CandidatesRequest
from ..sessions.models import cached_per_checkpoint, translator
from .runs import run_of

MAX_FOUND = 10


class FoundCandidate(TypedDict):
    """A token, its rank from 1 on, its probability and its logit at a step; a logit of −∞ is None."""

    token: str
    rank: int
    probability: float
    logit: float | None


class FoundCandidates(TypedDict):
    """How many tokens match a text, and the first of them."""

    count: int
    found: list[FoundCandidate]


def candidates(request: CandidatesRequest) -> FoundCandidates:
    """The tokens that contain a text: exact matches first, then those that begin with it, then the likeliest."""
    tokens = translator(request.checkpoint).checkpoint.tgt_vocab.tokens
    logits = _logits(request.model_copy(update={"text": ""}))
    order = np.argsort(-logits, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    powers = np.exp(logits.astype(np.float64) - logits.max())
    wanted = _plain(request.text)
    matching = [i for i, token in enumerate(tokens) if wanted in _plain(token)]

    def place(i: int) -> tuple[bool, bool, int]:
        text = _plain(tokens[i])
        return text != wanted, not text.startswith(wanted), int(ranks[i])

    return {
        "count": len(matching),
        "found": [
            {
                "token": tokens[i],
                "rank": int(ranks[i]) + 1,
                "probability": float(powers[i] / powers.sum()),
                "logit": float(logits[i]) if math.isfinite(logits[i]) else None,
            }
            for i in sorted(matching, key=place)[:MAX_FOUND]
        ],
    }


def _plain(text: str) -> str:
    return text.replace(SPACE, " ").strip().casefold()


@cached_per_checkpoint(16, own=16)
def _logits(request: CandidatesRequest) -> np.ndarray:
    """The logit of every token at the step of a request, (V,). Raises ValueError if the run has no such step."""
    run = run_of(request)
    if not 0 <= request.step < len(run.steps):
        raise ValueError(f"The steps of this run are 0 to {len(run.steps) - 1}.")
    seen = record(translator(request.checkpoint), run, "logits".__eq__)
    return read_only(seen["logits"][0, request.step])
