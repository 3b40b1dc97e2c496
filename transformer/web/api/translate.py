"""The run that the page shows: of a sentence under changes, beside the same without them."""

import random

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import compare
from ...data import CORPORA
from ...data.vocabulary import SentenceError
from ...inference.interventions import NOTHING, Interventions
from ...messages import MessageError, MessageJSON
from ..schema import SurpriseRequest, TranslateRequest
from ..sessions.models import cached_per_checkpoint, examples_of, held_out, translator
from .payload import Run, for_page
from .refusals import reads
from .runs import reference, run


class ShownRun(TypedDict):
    """`baseline` is the same run without its changes; None where it has none. A run beside a
    refusal stands in for one whose sentence was refused."""

    run: Run
    baseline: Run | None
    refused: MessageJSON | None


def translate(request: TranslateRequest) -> ShownRun:
    """The run of a sentence. Where the checkpoint cannot read it, `or_other_model` asks a shipped one that can, without
    the changes, which are of the checkpoint's own heads; `or_example` asks for the checkpoint's first example instead,
    with the reason."""
    checkpoint, changes = request.checkpoint, request.changes
    try:
        return show(checkpoint, request.sentence, changes)
    except SentenceError as error:
        if request.or_other_model and checkpoint in CORPORA:
            for other in CORPORA:
                if other != checkpoint and reads(other, request.sentence):
                    return show(other, request.sentence)
        if not request.or_example:
            raise
        lasting = Interventions(tuple(each for each in changes.changes if not each.of_sentence))
        return show(checkpoint, examples_of(checkpoint)[0].sentence, lasting) | {"refused": error.message.for_page()}


def surprise(request: SurpriseRequest) -> ShownRun:
    """The run of a sentence that the checkpoint's training never saw, drawn at random."""
    pairs = held_out(request.checkpoint)
    if not pairs:
        raise MessageError("error.no_held_out")
    return show(request.checkpoint, random.choice(pairs).spelling, request.changes)


def show(checkpoint: str, sentence: str, changes: Interventions = NOTHING) -> ShownRun:
    """The run of a sentence for the page, and if it has changes the baseline."""
    baseline = _page(checkpoint, sentence, NOTHING)
    if not changes.changes:
        return {"run": baseline, "baseline": None, "refused": None}
    return {"run": _page(checkpoint, sentence, changes), "baseline": baseline, "refused": None}


@cached_per_checkpoint(256)
def _page(checkpoint: str, sentence: str, changes: Interventions) -> Run:
    translation = run(checkpoint, sentence, changes)
    shown = for_page(translation, reference(checkpoint, translation), translator(checkpoint).checkpoint)
    if changes.changes:
        shown["comparison"] = compare(run(checkpoint, sentence), translation).steps
    return shown
