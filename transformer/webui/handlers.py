"""What clicks and calls do. Pure functions of what they are asked; the same question is answered once."""

import json
from functools import lru_cache
from typing import Any

import gradio as gr

from ..figures import positions
from ..translator import CheckpointError, SentenceError, Translation, Translator, names
from ..translator import positional_encoding as encode_positions
from .payload import floats, for_page, for_programs

REFUSALS = (SentenceError, CheckpointError)  # their messages are for visitors; any other error is our own
LONGEST, WIDEST = 200, 512  # of an encoding that a visitor may ask for


@lru_cache
def translator(checkpoint: str) -> Translator:
    """A shipped checkpoint, loaded once and shared: runs do not change it.

    Raises:
        CheckpointError: there is none of that name.
    """
    if checkpoint not in names():
        raise CheckpointError(f"There is no such checkpoint. There is: {', '.join(names())}.")
    return Translator.load(checkpoint)


@lru_cache(maxsize=256)
def run(checkpoint: str, sentence: str) -> Translation:
    return translator(checkpoint).translate(sentence)


@lru_cache(maxsize=256)
def _page(checkpoint: str, sentence: str) -> dict[str, Any]:
    return for_page(run(checkpoint, sentence))


def show(sentence: str) -> dict[str, Any]:
    """The run of a sentence for the page, or what to do about a sentence that cannot be taken."""
    if not isinstance(sentence, str):
        sentence = ""
    try:
        return {"run": _page("toy", sentence), "error": None}
    except REFUSALS as error:
        return {"run": None, "error": str(error)}


def show_example(event: gr.EventData) -> tuple[str, dict[str, Any]]:
    """An example that was clicked: its sentence, and its run."""
    sentence = str(getattr(event, "sentence", ""))
    return sentence, show(sentence)


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


@lru_cache(maxsize=64)
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
    """Embedding + position = input of a run's `{"checkpoint", "sentence", "stack"}` as a figure, or `{"error"}`."""
    match question:
        case {"checkpoint": str(checkpoint), "sentence": str(sentence), "stack": "encoder" | "decoder" as stack}:
            try:
                return _input_sum(checkpoint, sentence, stack)
            except REFUSALS as error:
                return {"error": str(error)}
    return {"error": "A checkpoint, a sentence and a stack (encoder or decoder) are needed."}


@lru_cache(maxsize=64)
def _input_sum(checkpoint: str, sentence: str, stack: str) -> dict[str, Any]:
    translation = run(checkpoint, sentence)
    read = translation.source_input if stack == "encoder" else translation.target_input
    figure = positions.input_sum(read.tokens, read.embedding, read.positions, read.input)
    return {"tokens": read.tokens, "d_model": read.input.shape[1], "figure": json.loads(figure.to_json())}
