"""What clicks and calls do. Pure functions of what they are asked, but for `surprise`, which draws a sentence.

What was asked lately is not worked out again: see `cached_per_checkpoint`.
"""

import json
import random
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import gradio as gr

from ...analysis import ablate_cross_attention, compare
from ...data import AlignedPair
from ...data.vocabulary import PAD
from ...inference.interventions import NOTHING, Interventions
from ...inference.translator import CheckpointError, SentenceError, Translation, available_checkpoints
from ...inference.translator import positional_encoding as encode_positions
from ...messages import Message, Words
from ...training.evaluation import alignment_scores
from ..figures import positions
from .models import (
    CorruptCheckpointError,
    ModelExpiredError,
    cached_per_checkpoint,
    corpus_of,
    held_out,
    readable,
    translator,
)
from .payload import floats, for_page, for_programs

REFUSALS = (SentenceError, CheckpointError)  # their messages are for visitors; any other error is our own
LONGEST, WIDEST = 200, 1024  # of an encoding that a visitor may ask for


@cached_per_checkpoint(256, own=4)
def run(checkpoint: str, sentence: str, changes: Interventions = NOTHING) -> Translation:
    return translator(checkpoint).translate(sentence, interventions=changes)


def changes(question: Any) -> Interventions:
    """What is to be changed in the run that a question, of any kind, is about.

    Raises:
        ValueError: they are no changes.
    """
    return Interventions.parse(question.get("changes", []))


@cached_per_checkpoint(256)
def _page(checkpoint: str, sentence: str, changes: Interventions) -> dict[str, Any]:
    translation = run(checkpoint, sentence, changes)
    shown = for_page(translation, reference(checkpoint, translation), translator(checkpoint).checkpoint)
    if not changes.changes:
        return shown
    beside = compare(run(checkpoint, sentence), translation).steps
    return shown | {"beside": [{"kept": step.kept, "same_input": step.same_input} for step in beside]}


def reference(checkpoint: str, translation: Translation) -> AlignedPair | None:
    """The corpus's own translation of a run's sentence, if the sentence is one of the corpus's."""
    known = corpus_of(checkpoint)
    return known.find(" ".join(token for token in translation.source if token != PAD)) if known else None


def show(sentence: str, checkpoint: str = "toy", asked: Any = ()) -> dict[str, Any]:
    """The run of a sentence for the page, under the changes that are asked for, and then also the `whole` one without
    them; or what to do about a sentence that cannot be taken."""
    if not isinstance(sentence, str) or not isinstance(checkpoint, str):
        sentence, checkpoint = "", "toy"
    try:
        whole = _page(checkpoint, sentence, NOTHING)
        if not asked:
            return {"run": whole, "whole": None, "error": None}
        return {"run": _page(checkpoint, sentence, Interventions.parse(asked)), "whole": whole, "error": None}
    except SentenceError as error:
        return _refused(error.message)
    except (ModelExpiredError, CorruptCheckpointError) as error:
        return _refused(error.message)
    except CheckpointError:
        return _refused(Message("error.no_checkpoint", {"names": Words(tuple(available_checkpoints()))}))
    except ValueError:
        return _refused(Message("error.changes"))


def _refused(message: Message) -> dict[str, Any]:
    return {"run": None, "whole": None, "error": message.for_page()}


def ask(event: gr.EventData) -> dict[str, Any]:
    """What the visitor typed, or the same once more under other changes. The box keeps what stands in it."""
    return show(_text(event, "sentence"), _text(event, "checkpoint"), _changes(event))


def example(event: gr.EventData) -> tuple[str, dict[str, Any]]:
    """An example that was clicked, or where a link leads: its sentence, and its run."""
    sentence = _text(event, "sentence")
    return sentence, show(sentence, _text(event, "checkpoint"), _changes(event))


def surprise(event: gr.EventData) -> tuple[Any, dict[str, Any]]:
    """A sentence that the checkpoint's training never saw, drawn at random."""
    checkpoint = _text(event, "checkpoint")
    pairs = held_out(checkpoint)
    if not pairs:
        return gr.skip(), _refused(Message("error.no_held_out"))
    sentence = random.choice(pairs).spelling
    return sentence, show(sentence, checkpoint, _changes(event))


def choose(event: gr.EventData) -> tuple[Any, dict[str, Any]]:
    """Another checkpoint: the visitor's own sentence where the new one knows its words, else its first example."""
    sentence, checkpoint = _text(event, "sentence"), _text(event, "checkpoint")
    answer = show(sentence, checkpoint)
    known = corpus_of(checkpoint)
    if known is None or (answer["run"] and not getattr(event, "example", False)):
        return gr.skip(), answer
    sentence = known.examples[0].sentence
    return sentence, show(sentence, checkpoint)


def _text(event: gr.EventData, name: str) -> str:
    return str(getattr(event, name, ""))


def _changes(event: gr.EventData) -> Any:
    return getattr(event, "changes", [])


def heads(question: Any) -> dict[str, Any]:
    """What the cross-attention heads of a run's `{"checkpoint", "sentence"}` are worth, or `{"error"}`.

    Each head's alignment error rate over the held-out set (None without one), and what silencing it alone changes.
    """
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence)}:
            try:
                return {"held_out": _held_out(checkpoint), "silenced": _silenced(checkpoint, sentence)}
            except REFUSALS as error:
                return {"error": str(error)}
    return {"error": "A checkpoint and a sentence are needed."}


@cached_per_checkpoint(64, own=16)
def _held_out(checkpoint: str) -> dict[str, Any] | None:
    pairs = readable(checkpoint)
    if not pairs:
        return None
    return {
        "sentences": len(pairs),
        "error_rates": alignment_scores(translator(checkpoint).checkpoint, pairs).heads,
    }


@cached_per_checkpoint(64)
def _silenced(checkpoint: str, sentence: str) -> list[dict[str, Any]]:
    return [asdict(each) for each in ablate_cross_attention(translator(checkpoint), run(checkpoint, sentence))]


def translate(sentence: str, checkpoint: str = "toy") -> dict[str, Any]:
    """Translate a sentence, and tell what the model looked at.

    Args:
        sentence: German words that the checkpoint knows.
        checkpoint: a shipped checkpoint.

    Returns:
        text, source, decoder_input, output, steps, attention [layer][head][query][key] of encoder, decoder and cross,
        and device.
    """
    if not isinstance(sentence, str) or not isinstance(checkpoint, str):
        raise gr.Error("sentence and checkpoint are texts.")
    try:
        return for_programs(run(checkpoint, sentence))
    except REFUSALS as error:
        raise gr.Error(str(error)) from error


def positional_encoding(question: Any) -> dict[str, Any]:
    """The encoding of `{"length", "d_model"}` as figures, or `{"error"}`; the page moves the two curves itself."""
    match question:
        case {"length": length, "d_model": d_model} if type(length) is type(d_model) is int:  # not True, which is 1
            if 1 <= length <= LONGEST and 1 <= d_model <= WIDEST:
                return _encoding(length, d_model)
    return {"error": f"An encoding here has 1 to {LONGEST} positions of 1 to {WIDEST} dimensions."}


@lru_cache(maxsize=16)  # 1.3 MB each at most
def _encoding(length: int, d_model: int) -> dict[str, Any]:
    encoding = encode_positions(length, d_model)
    cosine = positions.similarity(encoding)
    return {
        "length": length,
        "d_model": d_model,
        "wavelengths": positions.wavelengths(d_model).tolist(),
        "similarity": floats(cosine),
        "heatmap": json.loads(positions.heatmap(encoding).to_json()),
        "curve": json.loads(positions.curve(encoding, 0).to_json()),
        "similar": json.loads(positions.similar(cosine, 0).to_json()),
    }


def input_sum(question: Any) -> dict[str, Any]:
    """Embedding + position = input of a run's `{"checkpoint", "sentence", "stack"}` and, if there are any, `"changes"`
    as a figure, or `{"error"}`."""
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence), "stack": "encoder" | "decoder" as stack}:
            try:
                return _input_sum(checkpoint, sentence, stack, changes(question))
            except ValueError as error:
                return {"error": str(error)}
    return {"error": "A checkpoint, a sentence and a stack (encoder or decoder) are needed."}


@cached_per_checkpoint(64)
def _input_sum(checkpoint: str, sentence: str, stack: str, changes: Interventions) -> dict[str, Any]:
    translation = run(checkpoint, sentence, changes)
    read = translation.source_input if stack == "encoder" else translation.target_input
    figure = positions.input_sum(read.tokens, read.embedding, read.positions, read.input)
    return {"tokens": read.tokens, "d_model": read.input.shape[1], "figure": json.loads(figure.to_json())}
