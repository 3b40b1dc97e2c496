"""Spot the bug: what each mistake does, for the page and for programs. Mistakes of training train small models."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...data import CORPORA
from ...live import mistake_training
from ...live.mistake_training import for_page
from ...live.recordings import Recording, recordings
from ...messages import MessageError
from ...mistakes import MISTAKES, DecodingMistake, Symptom
from ..client import NOBODY, Client
from ..schema import AnyMistakeRequest, MistakeRequest, TrainingMistakeRequest
from ..sessions.models import cached_per_checkpoint, translator
from ..sessions.training_queue import MistakeTrainingEvent, training_queue
from .turns import turn


class MistakeCode(TypedDict):
    """A mistake as the page has it before the mistake is shown."""

    name: str
    kind: Literal["training", "decoding"]
    right: str
    wrong: str
    seconds: float | None  # that its trainings take of one processor, where they were recorded


class DecodingSymptom(mistake_training.Symptom):
    """A mistake of decoding, and the shipped model that shows it, where that is not the requested one."""

    model: str | None


def opening() -> list[MistakeCode]:
    """Every mistake as the page has it before one is shown."""
    seconds = {name: each["seconds"] for name, each in recordings().items()}
    return [
        {"name": name, "kind": each.kind, "right": each.right, "wrong": each.wrong, "seconds": seconds.get(name)}
        for name, each in MISTAKES.items()
    ]


def train_mistake(request: TrainingMistakeRequest, client: Client) -> AsyncGenerator[MistakeTrainingEvent]:
    """Small models that are trained with a mistake and without it."""
    return training_queue().train_mistake(request.name, client)  # type: ignore[return-value]  # dicts


def recorded(request: TrainingMistakeRequest) -> Recording:
    """A training mistake as it was recorded, for a lesson without the time to train."""
    return recordings()[request.name]


@cached_per_checkpoint(16)
def mistake(request: MistakeRequest) -> DecodingSymptom:
    """A mistake of decoding in a run, or, if this run hardly shows it, in another model's run that does."""
    symptom, checkpoint = _shown(request)
    return {"model": None if checkpoint == request.checkpoint else checkpoint, **for_page(symptom)}


def _shown(request: MistakeRequest) -> tuple[Symptom, str]:
    """A mistake of decoding, and the checkpoint that shows it. Raises CheckpointError, SentenceError if the
    checkpoint does not exist, or it cannot translate the sentence; MessageError if it makes no difference there."""
    mistake = MISTAKES[request.name]
    assert isinstance(mistake, DecodingMistake)
    checkpoint, sentence = request.checkpoint, request.sentence
    if mistake.shown_on not in (None, checkpoint):
        checkpoint = mistake.shown_on
        sentence = CORPORA[checkpoint].examples[0].sentence
    if request.name == "unscaled" and translator(checkpoint).checkpoint.model.config.head_dim == 1:
        raise MessageError("mistakes.nothing_to_scale")
    return mistake.run(translator(checkpoint), sentence), checkpoint


async def spot_the_bug(
    name: str, sentence: str = "Ich möchte ein Bier", checkpoint: str = "toy", *, client: Client = NOBODY
) -> dict[str, Any]:
    """Show one of the mistakes that circulate in tutorials: the same thing done right and wrong.

    Args:
        name: of the mistake, e.g. causal_mask, padding_rows or rank_collapse; a wrong one is answered with all of them.
        sentence: German words that the checkpoint knows. A mistake of training has a sentence of its own.
        checkpoint: a shipped checkpoint. A mistake of training trains small models of its own, which takes seconds.

    Returns:
        name, kind (training or decoding), right_code, wrong_code, sentence, checkpoint (None where models were
        trained), and of right and wrong: numbers, text and losses.
    """
    request = AnyMistakeRequest(name=name, sentence=sentence, checkpoint=checkpoint)
    mistake = MISTAKES[request.name]
    about = {"name": name, "kind": mistake.kind, "right_code": mistake.right, "wrong_code": mistake.wrong}
    if isinstance(mistake, DecodingMistake):
        async with turn(checkpoint, client):
            symptom, shown_on = await asyncio.to_thread(_shown, request)
        return {**about, "checkpoint": shown_on, **_sides(dict(for_page(symptom)), {})}
    return {**about, "checkpoint": None, **await _trained(name, client)}


async def _trained(name: str, client: Client) -> dict[str, Any]:
    losses: dict[str, list[float]] = {}
    async with aclosing(training_queue().train_mistake(name, Client(client.address))) as events:
        async for event in events:
            if event["event"] == "progress":
                losses.setdefault(event["side"], []).extend(loss for _, loss in event["points"])
            if event["event"] == "error":
                raise ValueError(event["message"]["english"])
            if event["event"] == "symptom":
                return _sides(event, losses)
    raise ValueError("The server is going down.")


def _sides(shown: dict[str, Any], losses: dict[str, list[float]]) -> dict[str, Any]:
    """Without maps. Where both sides are one model, it was trained once."""
    return {"sentence": shown["sentence"]} | {
        side: {
            "numbers": shown[side]["numbers"],
            "text": shown[side]["text"],
            "losses": losses.get(side, losses.get("wrong", [])),
        }
        for side in ("right", "wrong")
    }
