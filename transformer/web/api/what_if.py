"""What if: what the page and other programs ask about parts that are taken away. Pure functions of one question."""

from typing import Any

import gradio as gr

from ...analysis import ablate_every_head, compare
from ...data.vocabulary import END, PAD, START
from ...inference.attention_maps import KINDS
from ...inference.interventions import Interventions
from ...network.cost import count_heads
from .models import cached_per_checkpoint, readable, translator
from .payload import for_programs
from .runs import reference, run

MAX_PAIRS = 50  # held-out sentences, so that the answer comes at once
MAX_WORDS = 2000  # of a list to choose from


def sweep(question: Any) -> dict[str, Any]:
    """What each head is worth to reference translations: `{"checkpoint", "sentence", "on"}`, or `{"error"}`.

    `on` is "sentence", for the one that is shown, or "held_out", for sentences that training never saw.
    """
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence), "on": "sentence" | "held_out" as on}:
            try:
                return _sweep(checkpoint, None if on == "held_out" else sentence)
            except ValueError as error:
                return {"error": str(error)}
    return {"error": "A checkpoint, a sentence and “on” (sentence or held_out) are needed."}


@cached_per_checkpoint(64, own=16)
def _sweep(checkpoint: str, sentence: str | None) -> dict[str, Any]:
    pairs = _held_out(checkpoint) if sentence is None else [_pair(checkpoint, sentence)]
    found = ablate_every_head(translator(checkpoint).checkpoint, pairs)
    return {
        "sentences": found.sentences,
        "unbroken": found.baseline,
        "reference": pairs[0][1] if sentence is not None else None,
        "drop": {kind: found.drop(kind).tolist() for kind in KINDS},
    }


def _pair(checkpoint: str, sentence: str) -> tuple[str, str]:
    """With the corpus's own translation; where it has none, what the model says."""
    own = run(checkpoint, sentence)
    pair = reference(checkpoint, own)
    return sentence, pair.target if pair else own.text


def _held_out(checkpoint: str) -> list[tuple[str, str]]:
    pairs = readable(checkpoint, 1 + count_heads(translator(checkpoint).checkpoint.model.config))[:MAX_PAIRS]
    if not pairs:
        raise ValueError("This model has no held-out sentences.")
    return [(pair.source, pair.target) for pair in pairs]


def vocabulary(question: Any) -> dict[str, Any]:
    """The words that a model reads, and those that it can say: `{"checkpoint"}`, or `{"error"}`."""
    match question:
        case {"checkpoint": str(checkpoint)}:
            try:
                known = translator(checkpoint).checkpoint
            except ValueError as error:
                return {"error": str(error)}
            words = {"source": sorted(known.src_vocab.tokens), "target": sorted(known.tgt_vocab.tokens)}
            never = {"source": (PAD, START, END), "target": (PAD, START)}
            return {side: [word for word in words[side] if word not in never[side]][:MAX_WORDS] for side in words}
    return {"error": "A checkpoint is needed."}


def what_if(sentence: str, changes: list[dict[str, Any]], checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a sentence with parts of the network changed, beside the unbroken run.

    Args:
        sentence: words that the checkpoint knows.
        changes: objects such as {"do": "silence", "kind": "cross", "layer": 0, "head": 3}; all numbers are from 0.
        checkpoint: a shipped checkpoint.

    Returns:
        unbroken and broken, each as /translate answers; same_text; steps (of the unbroken run's words: what the broken
        run gave each, and whether both had said the same so far); difference: broken minus unbroken weights, by kind,
        [layer][head][query][key].
    """
    if not isinstance(sentence, str) or not isinstance(checkpoint, str):
        raise gr.Error("sentence and checkpoint are texts.")
    try:
        return _what_if(checkpoint, sentence, Interventions.parse(changes))
    except ValueError as error:
        raise gr.Error(str(error)) from error


def _what_if(checkpoint: str, sentence: str, changes: Interventions) -> dict[str, Any]:
    """Not kept: a list of numbers takes eight times the memory of the runs that it is made of, which are."""
    unbroken, broken = run(checkpoint, sentence), run(checkpoint, sentence, changes)
    both = compare(unbroken, broken)
    return {
        "unbroken": for_programs(unbroken),
        "broken": for_programs(broken),
        "same_text": both.same_text,
        "steps": [
            {"word": step.baseline and step.baseline.token, "kept": step.kept, "same_input": step.same_input}
            for step in both.steps
        ],
        "difference": {kind: [each.weights.tolist() for each in both.maps if each.kind == kind] for kind in KINDS},
    }


def which_heads_matter(sentence: str = "", checkpoint: str = "toy") -> dict[str, Any]:
    """Silence every head of a network alone, and see what that costs.

    Args:
        sentence: words that the checkpoint knows; none for held-out sentences of its corpus.
        checkpoint: a shipped checkpoint.

    Returns:
        sentences: how many; unbroken: the probability of their reference translations, mean of all; drop: what is lost
        of it without each head, by kind, [layer][head].
    """
    if not isinstance(sentence, str) or not isinstance(checkpoint, str):
        raise gr.Error("sentence and checkpoint are texts.")
    try:
        return _sweep(checkpoint, sentence or None)
    except ValueError as error:
        raise gr.Error(str(error)) from error
