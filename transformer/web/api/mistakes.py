"""Spot the bug: what each mistake does, for the page and for programs. Mistakes of training train small models."""

import asyncio
import json
import secrets
from contextlib import aclosing
from typing import Any

import gradio as gr

from ...data import CORPORA
from ...inference.translator import CheckpointError, SentenceError
from ...live.mistake_training import for_page
from ...messages import Message
from ...mistakes import MISTAKES, DecodingMistake, Symptom
from ..server.request_queue import release_turn
from ..sessions.training_queue import BusyError, training_queue
from .models import CorruptCheckpointError, ModelExpiredError, cached_per_checkpoint, title, translator


class NoVisibleEffectError(ValueError):
    """A mistake that makes no difference in a model; `message` says why, for visitors."""

    def __init__(self, message: Message) -> None:
        self.message = message
        super().__init__(str(message))


def opening() -> list[dict[str, str]]:
    """What the page knows of every mistake before it is shown."""
    return [
        {"name": each.name, "kind": each.kind, "right": each.right, "wrong": each.wrong} for each in MISTAKES.values()
    ]


def mistake(question: Any) -> dict[str, Any]:
    """A mistake of decoding in a run: `{"checkpoint", "sentence", "name"}`; `{"error": a message}` where it cannot be.

    Where the run's model shows too little of it, `model` and `sentence` of the answer are of one that shows it.
    """
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence), "name": str(name)}:
            if isinstance(MISTAKES.get(name), DecodingMistake):
                try:
                    return _page(checkpoint, sentence, name)
                except (SentenceError, ModelExpiredError, CorruptCheckpointError, NoVisibleEffectError) as error:
                    return {"error": error.message.for_page()}
                except CheckpointError:
                    pass  # no page asks for one that was never there
    return {"error": Message("error.request").for_page()}


@cached_per_checkpoint(64)
def _page(checkpoint: str, sentence: str, name: str) -> dict[str, Any]:
    symptom, shown_on = _shown(checkpoint, sentence, name)
    return {"model": title(shown_on), "elsewhere": shown_on != checkpoint, **for_page(symptom)}


def _shown(checkpoint: str, sentence: str, name: str) -> tuple[Symptom, str]:
    """A mistake of decoding, and the checkpoint that shows it.

    Raises:
        CheckpointError, SentenceError: there is no such checkpoint, or it cannot take the sentence.
        NoVisibleEffectError: it makes no difference there.
    """
    mistake = MISTAKES[name]
    assert isinstance(mistake, DecodingMistake)
    if mistake.shown_on not in (None, checkpoint):
        checkpoint = mistake.shown_on
        sentence = CORPORA[checkpoint].examples[0].sentence
    config = translator(checkpoint).checkpoint.model.config
    if name == "one_head" and config.num_decoder_layers * config.n_heads == 1:
        raise NoVisibleEffectError(Message("bugs.one_head_only"))
    if name == "unscaled" and config.head_dim == 1:
        raise NoVisibleEffectError(Message("bugs.nothing_to_scale"))
    return mistake.run(translator(checkpoint), sentence), checkpoint


async def spot_the_bug(name: str, sentence: str = "Ich möchte ein Bier", checkpoint: str = "toy") -> dict[str, Any]:
    """Show one of the mistakes that circulate in tutorials: the same thing done right and wrong.

    Args:
        name: of the mistake, e.g. causal_mask, padding_rows or rank_collapse; a wrong one is answered with all of them.
        sentence: German words that the checkpoint knows. A mistake of training has a sentence of its own.
        checkpoint: a shipped checkpoint. A mistake of training trains small models of its own, which takes seconds.

    Returns:
        name, kind (training or decoding), right_code, wrong_code, sentence, checkpoint (None where models were
        trained), and of right and wrong: numbers, text and losses.
    """
    if not all(isinstance(each, str) for each in (name, sentence, checkpoint)):
        raise gr.Error("name, sentence and checkpoint are texts.")
    if name not in MISTAKES:
        raise gr.Error(f"There is no such mistake. There is: {', '.join(MISTAKES)}.")
    mistake = MISTAKES[name]
    told = {"name": name, "kind": mistake.kind, "right_code": mistake.right, "wrong_code": mistake.wrong}
    try:
        if isinstance(mistake, DecodingMistake):
            symptom, shown_on = await asyncio.to_thread(_shown, checkpoint, sentence, name)
            return {**told, "checkpoint": shown_on, **_sides(for_page(symptom), {})}
        release_turn()  # what trains waits in the training queue
        return {**told, "checkpoint": None, **await _retrained(name)}
    except (SentenceError, CheckpointError, NoVisibleEffectError, BusyError) as error:
        raise gr.Error(str(error)) from error


async def _retrained(name: str) -> dict[str, Any]:
    losses: dict[str, list[float]] = {}
    async with aclosing(training_queue().train_mistake(name, secrets.token_hex(16))) as events:
        async for line in events:
            event = json.loads(line) if isinstance(line, str) else line
            if event["event"] == "progress":
                losses.setdefault(event["side"], []).extend(loss for _, loss in event["points"])
            if event["event"] == "error":
                raise gr.Error(event["message"]["english"])
            if event["event"] == "symptom":
                return _sides(event, losses)
    raise gr.Error("The server is going down.")


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
