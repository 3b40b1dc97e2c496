"""Every server function, event and action once, each with a request that it meets."""

import asyncio
import inspect
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from transformer.web.api.endpoints import FUNCTIONS
from transformer.web.api.sharing import share_model, shared_model

from transformer.web.api import decoding, events, mistakes, positions, runs, sublayers, training, what_if
from transformer.web.api.candidates import candidates
from transformer.web.api.checks import checks
from transformer.web.api.downloads import notebook, provenance, weights_csv
from transformer.web.api.heads import heads
from transformer.web.api.refusals import alternatives

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
    sublayers.stack: CHANGED,
    sublayers.shapes: CHANGED,
    checks: CHANGED,
    candidates: {**CHANGED, "step": 1, "text": "w"},
    weights_csv: CHANGED,
    notebook: CHANGED,
    positions.input_sum: {**CHANGED, "stack": "decoder"},
}
OF_SENTENCES: dict[Function, Answer] = {
    **OF_RUNS,
    heads: RUN,
    decoding.beam: {**RUN, "width": 2, "alpha": 0.6},
    decoding.sampled: {**RUN, "temperature": 1.5, "top_k": 5, "top_p": 0.9, "seed": 1},
    decoding.diverging: RUN,
    decoding.forced: {**RUN, "mistake": {"step": 1, "word": "a"}},
    what_if.sweep: {**RUN, "on": "sentence"},
    mistakes.mistake: {**RUN, "name": "never_stops"},
}
OF_MODELS: dict[Function, Answer] = {
    **OF_SENTENCES,
    sublayers.parameters: {**MODEL, **SUBLAYER, "part": "q_proj", "row": 0},
    provenance: MODEL,
    what_if.vocabulary: MODEL,
    alternatives: {**MODEL, "sentence": "wasser"},
    share_model: MODEL,
    shared_model: MODEL,
}
SERVER_FUNCTIONS: dict[Function, Answer] = {
    **OF_MODELS,
    positions.positional_encoding: {"length": 5, "d_model": 6},
    training.pairs: {"rows": [["Danke", "Thanks"]]},
    mistakes.recorded: {"name": "causal_mask"},
}
EVENTS: dict[Function, Answer] = {
    events.ask: CHANGED,
    events.example: CHANGED,
    events.surprise: {"checkpoint": "classroom", "changes": []},
    events.choose: {**RUN, "example": False},
}
ACTIONS: dict[Callable[..., Any], Answer] = {
    runs.translate: RUN,
    runs.attention: {**RUN, "kind": "cross", "layer": 1, "head": 2},
    positions.positions: {"length": 10, "d_model": 64},
    what_if.what_if: CHANGED,
    what_if.which_heads_matter: RUN,
    decoding.beam_search: {**RUN, "width": 3, "alpha": 1.0},
    decoding.sample: {**RUN, "temperature": 2.0, "top_k": 0, "top_p": 1.0, "seed": 7},
    decoding.teacher_forcing: {**RUN, "step": 1, "word": "a"},
    mistakes.spot_the_bug: {**RUN, "name": "never_stops"},
}
assert {each.__name__ for each in SERVER_FUNCTIONS} | {"plan"} == set(FUNCTIONS)  # whose form test_training.py fuzzes


def called(action: Callable[..., Any], **values: Any) -> Answer:
    """An action's answer, also of one that waits."""
    if not inspect.iscoroutinefunction(action):
        return action(**values)
    with ThreadPoolExecutor(1) as thread:  # in this one Playwright may have a loop of its own
        return thread.submit(lambda: asyncio.run(action(**values))).result()


def as_sent(answer: Any) -> Any:
    """As the page gets it."""
    return json.loads(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode())


def asked(function: Function, checkpoint: str, **more: Any) -> Answer:
    """An answer about a sentence that the checkpoint knows, as the page gets it."""
    return as_sent(function({"checkpoint": checkpoint, "sentence": SENTENCES[checkpoint], **more}))
