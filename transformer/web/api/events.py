"""Answers to the page's clicks: pure functions of their requests, except `surprise`, which draws a sentence."""

import random
from collections.abc import Callable
from typing import Any

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import compare
from ...inference.interventions import NOTHING, Interventions
from ...inference.translator import SentenceError
from ...messages import MessageError, MessageJSON
from ..schema import ChangedRunRequest, ChooseRequest, SurpriseRequest
from ..sessions.models import cached_per_checkpoint, examples_of, held_out, translator
from .endpoints import message, validated
from .payload import Run, for_page
from .runs import reference, run


class ShownRun(TypedDict):
    """The answer to an event. `baseline` is the same run without its changes; None where it has none. A run
    beside an error stands in for one whose sentence was refused."""

    run: Run | None
    baseline: Run | None
    error: MessageJSON | None


Shown = tuple[str | None, ShownRun]  # with the sentence that goes into the box, None to leave it alone


def event(answer: Callable[[Any], Shown]) -> Callable[[Any], tuple[str | None, Any]]:
    """The answer to a click, also where its request is refused."""
    return validated(answer, lambda error: (None, {"run": None, "baseline": None, "error": message(error).for_page()}))


def show(checkpoint: str, sentence: str, changes: Interventions = NOTHING) -> ShownRun:
    """The run of a sentence for the page, and if it has changes the baseline.

    Raises:
        CheckpointError, SentenceError, ChangesError
    """
    baseline = _page(checkpoint, sentence, NOTHING)
    if not changes.changes:
        return {"run": baseline, "baseline": None, "error": None}
    return {"run": _page(checkpoint, sentence, changes), "baseline": baseline, "error": None}


def _show_or_open(checkpoint: str, sentence: str, changes: Interventions = NOTHING) -> ShownRun:
    """The same; of a sentence that the checkpoint cannot read why, over the checkpoint's first example.

    Raises:
        CheckpointError, ChangesError
    """
    try:
        return show(checkpoint, sentence, changes)
    except SentenceError as error:
        lasting = Interventions(tuple(each for each in changes.changes if not each.of_sentence))
        return show(checkpoint, examples_of(checkpoint)[0].sentence, lasting) | {"error": error.message.for_page()}


@cached_per_checkpoint(256)
def _page(checkpoint: str, sentence: str, changes: Interventions) -> Run:
    translation = run(checkpoint, sentence, changes)
    shown = for_page(translation, reference(checkpoint, translation), translator(checkpoint).checkpoint)
    if changes.changes:
        steps = compare(run(checkpoint, sentence), translation).steps
        shown["beside"] = [{"kept": step.kept, "same_input": step.same_input} for step in steps]
    return shown


@event
def ask(request: ChangedRunRequest) -> Shown:
    """Translate what the visitor typed, or the same sentence under other changes."""
    return None, show(request.checkpoint, request.sentence, request.changes)


@event
def example(request: ChangedRunRequest) -> Shown:
    """An example that was clicked, or where a link leads."""
    return request.sentence, _show_or_open(request.checkpoint, request.sentence, request.changes)


@event
def surprise(request: SurpriseRequest) -> Shown:
    """A sentence that the checkpoint's training never saw, drawn at random."""
    pairs = held_out(request.checkpoint)
    if not pairs:
        raise MessageError("error.no_held_out")
    sentence = random.choice(pairs).spelling
    return sentence, show(request.checkpoint, sentence, request.changes)


@event
def choose(request: ChooseRequest) -> Shown:
    """Another checkpoint: the visitor's own sentence stays; an example gives way to the checkpoint's first."""
    if not request.example:
        return None, _show_or_open(request.checkpoint, request.sentence)
    sentence = examples_of(request.checkpoint)[0].sentence
    return sentence, show(request.checkpoint, sentence)
