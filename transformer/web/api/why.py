"""Why this word: what each source word has to do with a step's output, by three measures, and what each layer says."""

from contextlib import suppress

import numpy as np
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis.contribution import integrated_gradients, logit_lens
from ...analysis.head_ablation import scores_without
from ...data.vocabulary import PAD
from ...training.evaluation import MEASURED
from ..schema import ChangedRunRequest, CheckpointRequest, WhyRequest
from ..sessions.models import cached_per_checkpoint, card, found_in_card, is_large, translator
from .runs import run_of


class Why(TypedDict):
    """Why a step outputs its token, or prefers it to another one: measures of each source word, padding only where it
    is attended to."""

    keys: list[int]  # the words' numbers, from 0
    attribution: list[float]  # integrated gradients, in logits
    complete: float  # their sum, with those of the decoder's inputs, as a share of what it should be
    attention: list[float]  # the mean weight of all layers and heads of cross-attention
    score: float  # the token's probability, or by how much its logit leads
    without: list[float]  # the same where no layer's cross-attention may attend to the word


class Lens(TypedDict):
    """The token that each decoder layer would output at each step, and its probability, [layer][step]."""

    tokens: tuple[tuple[str, ...], ...]
    probabilities: list[list[float]]


class Scored(TypedDict):
    """How well three measures do on held-out `sentences`, as the checkpoint's card says; empty where it has nothing."""

    sentences: int
    error_rate: dict[str, float]  # of alignments with gold
    correlation: dict[str, float]  # Spearman's, with the effect of masking a source word


SCORED = {  # as the card names them
    "attribution": "integrated gradients",
    "attention": "attention",
    "contribution": "value-weighted",
}


def _end_if_left() -> None:
    """End the work of a visitor who has left."""
    with suppress(ImportError, RuntimeError):  # the library alone has no server; a program is not in its threads
        from anyio.from_thread import check_cancelled

        check_cancelled()


@cached_per_checkpoint(64, own=64)
def why(request: WhyRequest) -> Why:
    """What each source word has to do with a step's output: attribution, attention, and the effect of masking it."""
    model, run = translator(request.checkpoint), run_of(request)
    found = integrated_gradients(model, run, request.step, request.other, _end_if_left)
    of = run.words()[0].of if request.words else range(len(run.source))
    attention = np.mean([m.weights[:, request.step].mean(axis=0) for m in run.attention.cross], axis=0)
    words: dict[int, list[int]] = {}
    for position, word in enumerate(of):
        if run.source[position] != PAD or attention[position]:
            words.setdefault(word, []).append(position)
    scores = scores_without(model, run, [*words.values()], request.step, request.other)[:, 0]
    score, *without = (scores if request.other else np.exp(scores)).tolist()
    explained = found.logit - found.baseline
    return {
        "keys": [*words],
        "attribution": [float(found.source[positions].sum()) for positions in words.values()],
        "complete": found.total / explained if explained else 1.0,
        "attention": [float(attention[positions].sum()) for positions in words.values()],
        "score": score,
        "without": without,
    }


@cached_per_checkpoint(256, own=16)
def lens(request: ChangedRunRequest) -> Lens:
    """The token that each decoder layer would output if it were the last: the logit lens."""
    found = logit_lens(translator(request.checkpoint), run_of(request))
    return {"tokens": found.tokens, "probabilities": found.probabilities.astype(float).tolist()}


def scored(request: CheckpointRequest) -> Scored:
    """How well attribution, attention and contribution do on held-out sentences."""
    translator(request.checkpoint)  # a model that is gone has no scores
    about = "" if is_large(request.checkpoint) else card(request.checkpoint)

    def row(of: str) -> dict[str, float]:
        cells = {name: found_in_card(rf"^\| {of}, {each} \| (\S+) \|", about) for name, each in SCORED.items()}
        return {name: float(cell) for name, cell in cells.items() if cell}

    return {"sentences": MEASURED, "error_rate": row("AER"), "correlation": row("rank correlation, source words")}
