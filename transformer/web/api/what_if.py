"""What if: two runs side by side, and how much each head contributes."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from itertools import zip_longest
from typing import Any, Literal, cast

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import compare
from ...analysis.experiments import Experiment, on_sentence, shipped
from ...analysis.head_ablation import (
    Head,
    HeadAblation,
    ablate_cross_attention,
    ablations,
    cross_attention_ablations,
    pairs_as_data,
    run_as_data,
    sweep_heads,
)
from ...data import Batch
from ...data.vocabulary import END, PAD, START
from ...inference.attention_maps import KINDS, Kind
from ...messages import MessageError
from ...network.cost import count_heads
from ...training.evaluation import alignment_scores
from ..client import Client
from ..schema import ChangedRunRequest, CheckpointRequest, HeadsRequest, RunRequest, SweepRequest
from ..sessions.models import cached_per_checkpoint, is_large, readable, translator
from .payload import for_programs
from .runs import reference, run, run_of
from .turns import turn

MAX_PAIRS = 50  # held-out sentences: few enough for an immediate answer
HEADS_AT_ONCE = 8  # of a real model, after which its page hears of them
MAX_WORDS = 2000  # of a list to choose from


class Sweep(TypedDict):
    """The probability of reference translations, and what each head's loss costs of it, by kind, [layer][head]."""

    sentences: int
    baseline: float
    reference: str | None
    drop: dict[Kind, list[list[float]]]


class HeadDrop(TypedDict):
    """The loss of probability when a head is ablated."""

    kind: Kind
    layer: int
    head: int
    drop: float


class SweptHeads(TypedDict):
    """More heads of a sweep: `done` of all have been measured."""

    event: Literal["swept"]
    done: int
    of: int
    baseline: float
    reference: str
    tokens: int  # of it, with its end
    drops: list[HeadDrop]


class AblatedHeads(TypedDict):
    """More heads of cross-attention: `done` of all have been ablated."""

    event: Literal["ablated"]
    done: int
    of: int
    ablations: list[HeadAblation]


class HeldOutScores(TypedDict):
    """The alignment error rate of each cross-attention head, [layer][head], over the held-out sentences."""

    sentences: int
    error_rates: list[list[float]]


class Heads(TypedDict):
    """How well each cross-attention head aligns words, and the run without it."""

    held_out: HeldOutScores | None
    ablations: list[HeadAblation]


def sweep(request: SweepRequest) -> Sweep:
    """How much each head contributes to the sentence shown, or to held-out sentences."""
    return _sweep(request.checkpoint, None if request.on == "held_out" else request.sentence)


@cached_per_checkpoint(256)
def starters(request: RunRequest) -> dict[str, Experiment]:
    """Changes to begin with, one of every kind: of this sentence's translation, or of another sentence's. None of a
    model for which no search was made."""
    known = {} if is_large(request.checkpoint) else shipped(request.checkpoint)
    return on_sentence(translator(request.checkpoint), run(request.checkpoint, request.sentence), known)


@cached_per_checkpoint(16, own=16)
def _sweep(checkpoint: str, sentence: str | None) -> Sweep:
    model = translator(checkpoint).checkpoint
    data, wanted = _data(checkpoint, sentence)
    found = sweep_heads(model, data)
    return {
        "sentences": found.sentences,
        "baseline": found.baseline,
        "reference": wanted,
        "drop": {kind: found.drop(kind).tolist() for kind in KINDS},
    }


def _data(checkpoint: str, sentence: str | None) -> tuple[Batch, str | None]:
    """The pairs of a sweep: held-out ones, or one sentence with its translation in words. Where the corpus has no
    translation, the model's own output stands in for it."""
    asked = translator(checkpoint)
    if sentence is None:
        return pairs_as_data(asked.checkpoint, _held_out(checkpoint)), None
    own = run(checkpoint, sentence)
    if pair := reference(checkpoint, own):
        return pairs_as_data(asked.checkpoint, [(sentence, pair.target)]), pair.target
    return run_as_data(asked, own), own.text


async def head_events(request: HeadsRequest, client: Client) -> AsyncGenerator[SweptHeads | AblatedHeads]:
    """Each head's contribution to a sentence, as heads are ablated. A turn for every part, so that others who wait have
    theirs between two."""
    parts: Iterator[SweptHeads | AblatedHeads] = (_swept if request.what == "sweep" else _ablated)(
        request.checkpoint, request.sentence
    )
    while True:
        async with turn(request.checkpoint, client):
            event = await asyncio.to_thread(next, parts, None)
        if event is None:
            return
        yield event


def _swept(checkpoint: str, sentence: str) -> Iterator[SweptHeads]:
    """A sweep over the heads of one sentence, as it is computed."""
    model = translator(checkpoint).checkpoint
    data, wanted = _data(checkpoint, sentence)
    heads, done, baseline = count_heads(model.model.config), 0, 0.0
    for part in ablations(model, data, HEADS_AT_ONCE):
        baseline = part.pop(None, baseline)
        done += len(part)
        drops: list[HeadDrop] = [
            {"kind": kind, "layer": layer, "head": head, "drop": baseline - left}
            for (kind, layer, head), left in cast(dict[Head, float], part).items()
        ]
        yield {
            "event": "swept",
            "done": done,
            "of": heads,
            "baseline": baseline,
            "reference": wanted or "",
            "tokens": data.target_length,
            "drops": drops,
        }


def _ablated(checkpoint: str, sentence: str) -> Iterator[AblatedHeads]:
    """A run without each cross-attention head, as it is computed."""
    asked, own = translator(checkpoint), run(checkpoint, sentence)
    config, done = asked.checkpoint.model.config, 0
    for part in cross_attention_ablations(asked, own, HEADS_AT_ONCE):
        done += len(part)
        yield {"event": "ablated", "done": done, "of": config.num_decoder_layers * config.n_heads, "ablations": part}


def _held_out(checkpoint: str) -> list[tuple[str, str]]:
    pairs = readable(checkpoint, 1 + count_heads(translator(checkpoint).checkpoint.model.config))[:MAX_PAIRS]
    if not pairs:
        raise MessageError("error.no_held_out")
    return [(pair.source, pair.target) for pair in pairs]


@cached_per_checkpoint(16)
def heads(request: RunRequest) -> Heads:
    """Each head's alignment error rate over the held-out set, if there is one, and the run without each head."""
    return {
        "held_out": _held_out_scores(request.checkpoint),
        "ablations": ablate_cross_attention(translator(request.checkpoint), run(request.checkpoint, request.sentence)),
    }


@cached_per_checkpoint(16, own=16)
def _held_out_scores(checkpoint: str) -> HeldOutScores | None:
    pairs = readable(checkpoint)
    if not pairs:
        return None
    return {"sentences": len(pairs), "error_rates": alignment_scores(translator(checkpoint).checkpoint, pairs).heads}


def vocabulary(request: CheckpointRequest) -> dict[Literal["source", "target"], list[str]]:
    """The words that a model reads, and those that it can output."""
    known = translator(request.checkpoint).checkpoint

    def in_order(tokens: tuple[str, ...], *without: str) -> list[str]:
        return [token for token in sorted(tokens) if token not in without][:MAX_WORDS]

    return {
        "source": in_order(known.src_vocab.tokens, PAD, START, END),
        "target": in_order(known.tgt_vocab.tokens, PAD, START),
    }


def what_if(sentence: str, changes: list[dict[str, Any]], checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a sentence with parts of the network changed, beside the original run.

    Args:
        sentence: words that the checkpoint knows.
        changes: objects such as {"do": "ablate", "kind": "cross", "layer": 0, "head": 3}; all numbers are from 0.
        checkpoint: a shipped checkpoint, or a real model that the server lists.

    Returns:
        baseline (the original run) and modified (with the changes), each as /translate answers; same_text; steps (of
        the original run's words: the probability that the modified run gave each, and whether both had output the same
        so far); difference: modified minus original weights, by kind, [layer][head][query][key].
    """
    # Not cached, unlike its runs: as a list of numbers it takes eight times their memory.
    request = ChangedRunRequest(sentence=sentence, changes=changes, checkpoint=checkpoint)  # type: ignore[arg-type]
    baseline, modified = run(request.checkpoint, request.sentence), run_of(request)
    both = compare(baseline, modified)
    return {
        "baseline": for_programs(baseline),
        "modified": for_programs(modified),
        "same_text": baseline.text == modified.text,
        "steps": [{"word": word, **vars(step)} for word, step in zip_longest(baseline.output, both.steps)],
        "difference": both.maps,
    }


def which_heads_matter(sentence: str = "", checkpoint: str = "toy") -> dict[str, Any]:
    """Ablate every head of a network alone, and measure what that costs.

    Args:
        sentence: words that the checkpoint knows; none for held-out sentences of its corpus.
        checkpoint: a shipped checkpoint, or a real model that the server lists.

    Returns:
        sentences: how many; baseline: the probability of their reference translations, mean of all; reference: that of
        a given sentence; drop: what is lost of the probability without each head, by kind, [layer][head].
    """
    request = RunRequest(sentence=sentence, checkpoint=checkpoint)
    return dict(_sweep(request.checkpoint, request.sentence or None))
