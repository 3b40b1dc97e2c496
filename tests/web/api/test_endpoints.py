"""Whatever is sent, every server function, event and action answers it or refuses it in one way."""

import math
from collections.abc import Callable
from typing import Any

import gradio as gr
import orjson
import pytest
from hypothesis import example, given, settings
from pydantic import TypeAdapter
from transformer.web.api.endpoints import FUNCTIONS, encoded

from transformer.messages import english
from transformer.web.api import decoding, runs, what_if
from transformer.web.api.endpoints import FUNCTIONS, encoded
from transformer.web.page import ACTIONS as PAGE_ACTIONS
from transformer.web.page import EVENTS as PAGE_EVENTS
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX

from ...models import json_values
from .endpoints import (
    ACTIONS,
    BEER,
    CHANGED,
    EVENTS,
    OF_MODELS,
    OF_RUNS,
    OF_SENTENCES,
    SERVER_FUNCTIONS,
    Answer,
    Function,
    as_sent,
    called,
)

HOSTILE: list[Any] = [  # of every type, at and beyond every bound
    *(None, True, False, -1, 0, 6, 64, 2**63, 10**400, 0.5, -0.5, 1.0, 1e308, math.nan, math.inf, -math.inf),
    *("", "0", "toy\0", "\ud800", "../toy", "/etc", "__class__", "x" * 5000, "own-", f"{OWN_MODEL_PREFIX}x", "<b>"),
    *([], {}, [0], ["a", ["b"]], {"do": "ablate"}, {"step": True, "word": "a"}, {"step": -1, "word": "a"}),
    *([{"do": "ablate"}], [{"do": "nothing"}], [{}], ["ablate"], [CHANGED["changes"][0]] * 501),
]


def refused(answer: Any, key: str | None = None) -> bool:
    """Whether it is a refusal, which has then its one form."""
    error = answer.get("error")
    if error is None:
        assert key is None
        return False
    assert not any(value for name, value in answer.items() if name not in ("error", "bad", "run", "baseline"))
    assert error.keys() == {"key", "values", "english"}
    assert error["key"] in english()
    assert error["english"].isprintable()
    assert len(error["english"]) < 400
    assert key in (None, error["key"])
    return True


def answer_of(function: Function, request: Any) -> Answer:
    """A server function's, or the run of an event."""
    answer = function(request)
    return as_sent(answer[1] if function in EVENTS else answer)


ALL = {**SERVER_FUNCTIONS, **EVENTS}
every_function = pytest.mark.parametrize("function", ALL, ids=lambda each: each.__name__)
every_action = pytest.mark.parametrize("action", ACTIONS, ids=lambda each: each.__name__)


def test_the_tables_are_the_pages() -> None:
    assert {each.__name__ for each in EVENTS} == {each.__name__ for each in PAGE_EVENTS}
    assert set(ACTIONS) == set(PAGE_ACTIONS)


@every_function
def test_a_right_request_is_answered(function: Function) -> None:
    assert not refused(answer_of(function, ALL[function]))
    assert not refused(answer_of(function, {**ALL[function], "another": "field"}))  # of a page that is newer


@pytest.mark.parametrize("function", SERVER_FUNCTIONS, ids=lambda each: each.__name__)
def test_an_answer_is_of_its_type(function: Any) -> None:
    """Else the JavaScript, which is checked against these types, would read what is not there."""
    request, answer = (TypeAdapter(each) for each in FUNCTIONS[function.__name__])
    found = function.__wrapped__(request.validate_python(SERVER_FUNCTIONS[function]))
    answer.validate_python(answer.dump_python(found, mode="json", warnings="error"))


@pytest.mark.parametrize("function", OF_RUNS, ids=lambda each: each.__name__)
def test_changes_reach_every_view_of_a_run(function: Function) -> None:
    cola = [{"do": "swap_word", "position": 3, "word": "cola"}]
    baseline, modified = (function({**OF_RUNS[function], "changes": changes}) for changes in ([], cola))
    assert (modified == baseline) == (function.__name__ == "shapes")


@given(json_values)
@settings(max_examples=30)
@example(None)
@example("checkpoint")
@example([["checkpoint", "toy"]])
def test_what_is_no_request_is_refused(request: Any) -> None:
    for function in ALL:
        assert refused(answer_of(function, request))


@every_function
def test_a_request_with_one_hostile_value_is_answered_or_refused(function: Function) -> None:
    for name in ALL[function]:
        for value in HOSTILE:
            answer = answer_of(function, {**ALL[function], name: value})
            assert refused(answer) or name != "checkpoint"
        left_out = {key: value for key, value in ALL[function].items() if key != name}
        refused(answer_of(function, left_out))


@every_action
def test_an_action_with_one_hostile_value_is_answered_or_refused_with_a_sentence(action: Any) -> None:
    assert as_sent(called(action, **ACTIONS[action]))
    for name in ACTIONS[action]:
        for value in HOSTILE:
            said = sentence_or_none(action, {**ACTIONS[action], name: value})
            assert said or name != "checkpoint"
            assert said is None or (said.endswith(".") and said.isprintable() and len(said) < 400)


def sentence_or_none(action: Callable[..., Any], values: Answer) -> str | None:
    """Why an action is refused."""
    try:
        as_sent(called(action, **values))
    except gr.Error as error:
        return error.message
    return None


# One mistake after another

GONE = f"{OWN_MODEL_PREFIX}gone"


@pytest.mark.parametrize("function", OF_MODELS, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    ("checkpoint", "key"),
    [("../toy", "error.no_checkpoint"), ("", "error.no_checkpoint"), (GONE, "error.model_gone")],
)
def test_a_checkpoint_that_is_not_there_is_refused_everywhere(function: Function, checkpoint: str, key: str) -> None:
    assert refused(answer_of(function, {**OF_MODELS[function], "checkpoint": checkpoint}), key)


@pytest.mark.parametrize("function", OF_SENTENCES, ids=lambda each: each.__name__)
def test_a_sentence_that_the_model_cannot_take_is_refused_everywhere(function: Function) -> None:
    assert refused(answer_of(function, {**OF_SENTENCES[function], "sentence": "wasser"}), "error.unknown")


NOT_HERE: list[Any] = [
    [{"do": "ablate", "kind": "cross", "layer": 99, "head": 0}],
    [{"do": "swap_word", "position": 40, "word": "ich"}],
    [{"do": "swap_word", "position": 0, "word": "wasser"}],
    [{"do": "force_word", "step": 0, "word": "wasser"}],
    [{"do": "drop_residual", "stack": "encoder", "layer": 0, "sublayer": 3}],
    [{"do": "nothing"}],
    {"do": "ablate"},
    "x",
]


@pytest.mark.parametrize("changes", NOT_HERE)
def test_a_change_that_has_no_place_is_refused_everywhere(changes: Any) -> None:
    for function in OF_RUNS:
        assert refused(answer_of(function, {**OF_RUNS[function], "changes": changes}), "error.changes")
    assert refused(answer_of(next(iter(EVENTS)), {**CHANGED, "changes": changes}), "error.changes")


@pytest.mark.parametrize(
    ("action", "values", "sentence"),
    [
        (runs.translate, {"sentence": ["ich"]}, "“sentence” must be a text."),
        (runs.translate, {"sentence": "wasser"}, "This model does not know “wasser”."),
        (runs.attention, {"layer": 6}, "layer is from 0 to 5, and head from 0 to 7."),
        (runs.attention, {"kind": "x"}, "“kind” must be one of these: encoder, decoder and cross."),
        (what_if.what_if, {"changes": NOT_HERE[0]}, "The layers of this kind are 0 to 5."),
        (decoding.sample, {"top_p": 0}, "“top_p” must be greater than 0."),
        (decoding.teacher_forcing, {"step": 6}, "A mistake happens at a step from 0 to 5."),
    ],
)
def test_an_action_says_what_is_wrong(action: Callable[..., Any], values: Answer, sentence: str) -> None:
    assert (sentence_or_none(action, {**ACTIONS[action], **values}) or "").startswith(sentence)


def test_an_encoded_action_answers_the_same_json() -> None:
    changes = [{"do": "ablate", "kind": "cross", "layer": 1, "head": 2}]
    plain, pieces = what_if.what_if(BEER, changes), encoded(what_if.what_if)(BEER, changes)
    assert orjson.dumps(pieces) == orjson.dumps(plain)
    assert type(pieces["difference"]["cross"][0]) is orjson.Fragment
