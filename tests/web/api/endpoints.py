"""Every question that computes and every action once, each with a request that it meets."""

import base64
import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic_core import to_json

from transformer.web.api import (
    candidates,
    decoding,
    downloads,
    mistakes,
    models,
    refusals,
    runs,
    sublayers,
    training,
    translate,
    what_if,
    why,
)
from transformer.web.api.question import message
from transformer.web.api.table import QUESTIONS
from transformer.web.server.programs import plain

from ..loop import in_a_loop

Answer = dict[str, Any]
Function = Callable[[Any], Any]

BEER = "Ich möchte ein Bier"
FLAGSHIP = "Heute habe ich ein kaltes Bier getrunken"
SENTENCES = {"toy": BEER, "classroom": FLAGSHIP}
MODEL = {"checkpoint": "toy"}
RUN = {**MODEL, "sentence": BEER}
CHANGED: Answer = {**RUN, "changes": [{"do": "ablate", "kind": "cross", "layer": 0, "head": 1}]}
SUBLAYER = {"kind": "cross", "layer": 0}

OF_RUNS: dict[Function, Answer] = {  # with changes
    sublayers.inside: {**CHANGED, **SUBLAYER},
    sublayers.value_output: {**CHANGED, **SUBLAYER, "head": 1, "key": 3},
    sublayers.value_norms: CHANGED,
    sublayers.stack: CHANGED,
    sublayers.checks: CHANGED,
    why.why: {**CHANGED, "step": 1},
    why.lens: CHANGED,
    candidates.candidates: {**CHANGED, "step": 1, "text": "w"},
    downloads.weights_csv: CHANGED,
    downloads.notebook: CHANGED,
    downloads.interactive: CHANGED,
    sublayers.input_sum: {**CHANGED, "stack": "decoder"},
    translate.translate: CHANGED,
}
OF_SENTENCES: dict[Function, Answer] = {
    **OF_RUNS,
    what_if.heads: RUN,
    decoding.beam: {**RUN, "width": 2, "alpha": 0.6},
    decoding.sampled: {**RUN, "temperature": 1.5, "top_k": 5, "top_p": 0.9, "seed": 1},
    decoding.diverging: RUN,
    decoding.forced: {**RUN, "mistake": {"step": 1, "word": "a"}},
    what_if.starters: RUN,
    what_if.sweep: {**RUN, "on": "sentence"},
    mistakes.mistake: {**RUN, "name": "softmax_dim"},
}
OF_MODELS: dict[Function, Answer] = {
    **OF_SENTENCES,
    sublayers.parameters: {**MODEL, **SUBLAYER, "part": "q_proj", "row": 0},
    downloads.provenance: MODEL,
    why.scored: MODEL,
    sublayers.shapes: MODEL,
    what_if.vocabulary: MODEL,
    refusals.alternatives: {**MODEL, "sentence": "wasser"},
    refusals.similar_pairs: {**MODEL, "sentence": "wasser"},
    models.share_model: MODEL,
    models.shared_model: MODEL,
}
COMPUTED: dict[Function, Answer] = {
    **OF_MODELS,
    training.pairs: {"rows": [["Danke", "Thanks"]]},
    mistakes.recorded: {"name": "causal_mask"},
    translate.surprise: {"checkpoint": "classroom", "changes": []},
}
ACTIONS: dict[Callable[..., Any], Answer] = {
    runs.translate: RUN,
    runs.attention: {**RUN, "kind": "cross", "layer": 1, "head": 2},
    runs.contributions: {**RUN, "kind": "decoder", "layer": 1, "head": 2},
    sublayers.positions: {"length": 10, "d_model": 64},
    what_if.what_if: CHANGED,
    what_if.which_heads_matter: RUN,
    decoding.beam_search: {**RUN, "width": 3, "alpha": 1.0},
    decoding.sample: {**RUN, "temperature": 2.0, "top_k": 0, "top_p": 1.0, "seed": 7},
    decoding.teacher_forcing: {**RUN, "step": 1, "word": "a"},
    mistakes.spot_the_bug: {**RUN, "name": "softmax_dim"},
}
assert {each.__name__ for each in COMPUTED} | {"plan"} == {name for name, each in QUESTIONS.items() if each.computes}


def ask(function: Function, request: Any) -> Answer:
    """The answer or the refusal, as the page gets it."""
    question = QUESTIONS[function.__name__]
    assert question.function is function
    try:
        answer = question.dump(function(question.read(json.dumps(request).encode())))
    except ValueError as error:
        return {"error": as_sent(message(error).for_page())}
    return json.loads(answer, parse_constant=pytest.fail)


def called(action: Callable[..., Any], **values: Any) -> Answer:
    """An action's answer, also of one that waits."""
    answer = action(**values)
    return plain(in_a_loop(answer) if inspect.iscoroutine(answer) else answer)


def as_sent(answer: Any) -> Any:
    """As JSON has it."""
    return json.loads(to_json(answer), parse_constant=pytest.fail)


def floats(text: str) -> np.ndarray:
    """An array that was sent."""
    return np.frombuffer(base64.b64decode(text), "<f4")


def asked(function: Function, checkpoint: str, **more: Any) -> Answer:
    """An answer about a sentence that the checkpoint knows, as the page gets it."""
    return ask(function, {"checkpoint": checkpoint, "sentence": SENTENCES[checkpoint], **more})
