"""Whatever is sent, every question and every action answers it or refuses it in one way."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from pydantic import TypeAdapter

from transformer.messages import MessageError, catalogues
from transformer.web.api.question import sentence as in_english
from transformer.web.api.table import ACTIONS as ALL_ACTIONS
from transformer.web.api.table import QUESTIONS
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX
from transformer.web.sessions.models import is_large

from ...models import json_values
from .endpoints import ACTIONS, CHANGED, COMPUTED, OF_MODELS, OF_RUNS, OF_SENTENCES, Function, as_sent, ask, called

HOSTILE: list[Any] = [  # of every type, at and beyond every bound
    *(None, True, -1, 0, 64, 2**63, 10**400, 0.5, 1e308, math.nan, math.inf),
    *("", "toy\0", "\ud800", "../toy", "__class__", "x" * 5000, "own-", f"{OWN_MODEL_PREFIX}x", "<b>"),
    *([], {}, [0], ["a", ["b"]], {"do": "ablate"}, {"step": True, "word": "a"}, {"step": -1, "word": "a"}),
    *([{"do": "ablate"}], [{"do": "nothing"}], [{}], ["ablate"], [CHANGED["changes"][0]] * 501),
]
NO_MODEL = {"": "error.no_checkpoint", "../toy": "error.no_checkpoint", f"{OWN_MODEL_PREFIX}x": "error.model_gone"}


def refused(answer: Any, key: str | None = None) -> bool:
    """Whether it is a refusal, which has then its one form."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if error is None:
        assert key is None
        return False
    assert not any(value for name, value in answer.items() if name not in ("error", "bad", "run", "baseline"))
    assert error.keys() == {"key", "values", "english"}
    assert error["key"] in catalogues()["en"]
    assert error["english"].isprintable()
    assert len(error["english"]) < 400
    assert key in (None, error["key"])
    return True


every_function = pytest.mark.parametrize("function", COMPUTED, ids=lambda each: each.__name__)


def test_the_actions_are_the_tables() -> None:
    assert set(ACTIONS) == set(ALL_ACTIONS)


@every_function
def test_a_right_request_is_answered_in_its_type(function: Function) -> None:
    """Else the page, which is checked against these types, would read what is not there."""
    request, answer = (TypeAdapter(each) for each in QUESTIONS[function.__name__].types)
    newer = {**COMPUTED[function], "another": "field"}  # of a page that is newer
    found = function(request.validate_python(newer))
    answer.validate_python(answer.dump_python(found, mode="json", warnings="error"))
    assert not refused(ask(function, newer))


@pytest.mark.parametrize("function", OF_RUNS, ids=lambda each: each.__name__)
def test_changes_reach_every_view_of_a_run(function: Function) -> None:
    # Without positions one check less is made: the errors of any two runs may be equal.
    cola = [
        {"do": "swap_word", "position": 3, "word": "cola"},
        {"do": "positions", "stack": "encoder", "how": "removed"},
    ]
    baseline, modified = (ask(function, {**OF_RUNS[function], "changes": changes}) for changes in ([], cola))
    assert modified != baseline


@given(json_values)
@example(None)
@example("checkpoint")
@example([["checkpoint", "toy"]])
def test_what_is_no_request_is_refused(request: Any) -> None:
    for function in COMPUTED:
        assert refused(ask(function, request))


def test_a_request_of_very_many_parts_is_refused_unread() -> None:
    """Read, each of them would take a hundred times its bytes."""
    with pytest.raises(MessageError) as error:
        QUESTIONS["pairs"].read(b'{"rows":[' + b"[]," * 100_000 + b"[]]}")
    assert error.value.message.key == "error.request"


@every_function
def test_a_request_with_one_hostile_value_is_answered_or_refused(function: Function) -> None:
    for name in COMPUTED[function]:
        for value in HOSTILE:
            answer = ask(function, {**COMPUTED[function], name: value})
            is_model = function in OF_MODELS and name == "checkpoint" and isinstance(value, str)
            assert refused(answer, NO_MODEL.get(value) if is_model else None) or name != "checkpoint"
        left_out = {key: value for key, value in COMPUTED[function].items() if key != name}
        refused(ask(function, left_out))


@pytest.mark.parametrize("action", ACTIONS, ids=lambda each: each.__name__)
def test_an_action_with_one_hostile_value_is_answered_or_refused_with_a_sentence(action: Any) -> None:
    assert as_sent(called(action, **ACTIONS[action]))
    for name in ACTIONS[action]:
        for value in HOSTILE:
            assert is_large(value) in (False, True)  # which chooses the queue before anything is checked
            said = None
            try:
                as_sent(called(action, **ACTIONS[action] | {name: value}))
            except ValueError as error:
                said = in_english(error)
            assert said or name != "checkpoint"
            assert said is None or (said.endswith(".") and said.isprintable() and len(said) < 400)


# One mistake after another


@pytest.mark.parametrize("function", OF_SENTENCES, ids=lambda each: each.__name__)
def test_a_sentence_that_the_model_cannot_take_is_refused_everywhere(function: Function) -> None:
    assert refused(ask(function, {**OF_SENTENCES[function], "sentence": "wasser"}), "error.unknown")


NOT_HERE: list[Any] = [
    [{"do": "ablate", "kind": "cross", "layer": 99, "head": 0}],
    [{"do": "force_word", "step": 0, "word": "wasser"}],
    {"do": "ablate"},
    "x",
]


@pytest.mark.parametrize("changes", NOT_HERE)
def test_a_change_that_has_no_place_is_refused_everywhere(changes: Any) -> None:
    for function in OF_RUNS:
        assert refused(ask(function, {**OF_RUNS[function], "changes": changes}), "error.changes")
