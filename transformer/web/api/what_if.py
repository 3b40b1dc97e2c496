"""What if: two runs side by side, and what each head is worth."""

from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import ablate_every_head, compare
from ...data.vocabulary import END, PAD, START
from ...inference.attention_maps import KINDS, Kind
from ...messages import MessageError
from ...network.cost import count_heads
from ..schema import ChangedRunRequest, CheckpointRequest, RunRequest, SweepRequest
from .endpoints import action, server_function
from .models import cached_per_checkpoint, readable, translator
from .payload import for_programs
from .runs import reference, run, run_of

MAX_PAIRS = 50  # held-out sentences, so that the answer comes at once
MAX_WORDS = 2000  # of a list to choose from


class Sweep(TypedDict):
    """The probability of reference translations, and what each head's loss costs of it, by kind, [layer][head]."""

    sentences: int
    baseline: float
    reference: str | None
    drop: dict[Kind, list[list[float]]]


@server_function
def sweep(request: SweepRequest) -> Sweep:
    """What each head is worth to the sentence that is shown, or to held-out ones."""
    return _sweep(request.checkpoint, None if request.on == "held_out" else request.sentence)


@cached_per_checkpoint(16, own=16)
def _sweep(checkpoint: str, sentence: str | None) -> Sweep:
    pairs = _held_out(checkpoint) if sentence is None else [_pair(checkpoint, sentence)]
    found = ablate_every_head(translator(checkpoint).checkpoint, pairs)
    return {
        "sentences": found.sentences,
        "baseline": found.baseline,
        "reference": pairs[0][1] if sentence is not None else None,
        "drop": {kind: found.drop(kind).tolist() for kind in KINDS},
    }


def _pair(checkpoint: str, sentence: str) -> tuple[str, str]:
    """With the corpus's own translation; where it has none, with the model's, as much as the decoder can read."""
    own = run(checkpoint, sentence)
    pair = reference(checkpoint, own)
    words = own.text.split()[: translator(checkpoint).checkpoint.model.config.max_len - 1]  # after the start token
    return sentence, pair.target if pair else " ".join(words)


def _held_out(checkpoint: str) -> list[tuple[str, str]]:
    pairs = readable(checkpoint, 1 + count_heads(translator(checkpoint).checkpoint.model.config))[:MAX_PAIRS]
    if not pairs:
        raise MessageError("error.no_held_out")
    return [(pair.source, pair.target) for pair in pairs]


@server_function
def vocabulary(request: CheckpointRequest) -> dict[Literal["source", "target"], list[str]]:
    """The words that a model reads, and those that it can output."""
    known = translator(request.checkpoint).checkpoint

    def words(tokens: tuple[str, ...], *without: str) -> list[str]:
        return [word for word in sorted(tokens) if word not in without][:MAX_WORDS]

    return {
        "source": words(known.src_vocab.tokens, PAD, START, END),
        "target": words(known.tgt_vocab.tokens, PAD, START),
    }


@action
def what_if(sentence: str, changes: list[dict[str, Any]], checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a sentence with parts of the network changed, beside the original run.

    Args:
        sentence: words that the checkpoint knows.
        changes: objects such as {"do": "ablate", "kind": "cross", "layer": 0, "head": 3}; all numbers are from 0.
        checkpoint: a shipped checkpoint.

    Returns:
        baseline (the original run) and modified (with the changes), each as /translate answers; same_text; steps (of
        the original run's words: the probability that the modified run gave each, and whether both had output the same
        so far); difference: modified minus original weights, by kind, [layer][head][query][key].
    """
    # Not cached: a list of numbers takes eight times the memory of the runs that it is made of, which are.
    request = ChangedRunRequest(sentence=sentence, changes=changes, checkpoint=checkpoint)  # type: ignore[arg-type]
    baseline, modified = run(request.checkpoint, request.sentence), run_of(request)
    both = compare(baseline, modified)
    return {
        "baseline": for_programs(baseline),
        "modified": for_programs(modified),
        "same_text": both.same_text,
        "steps": [
            {"word": step.baseline and step.baseline.token, "kept": step.kept, "same_input": step.same_input}
            for step in both.steps
        ],
        "difference": {kind: [each.weights.tolist() for each in both.maps if each.kind == kind] for kind in KINDS},
    }


@action
def which_heads_matter(sentence: str = "", checkpoint: str = "toy") -> dict[str, Any]:
    """Ablate every head of a network alone, and measure what that costs.

    Args:
        sentence: words that the checkpoint knows; none for held-out sentences of its corpus.
        checkpoint: a shipped checkpoint.

    Returns:
        sentences: how many; baseline: the probability of their reference translations, mean of all; drop: what is lost
        of it without each head, by kind, [layer][head].
    """
    request = RunRequest(sentence=sentence, checkpoint=checkpoint)
    return dict(_sweep(request.checkpoint, request.sentence or None))
