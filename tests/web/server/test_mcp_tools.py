"""The tools return a run's own numbers, in short answers; without the setting there are none."""

import json
import sys
from typing import Any

import gradio as gr
import pytest
from hypothesis import given, settings

from transformer import Translator
from transformer.inference.translator import positional_encoding
from transformer.web.api.positions import positions
from transformer.web.api.runs import attention
from transformer.web.schema import MAX_VALUES
from transformer.web.server import mcp_tools
from transformer.web.server.settings import Settings

from ...models import json_values


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_attention_is_the_runs(classroom: Translator, kind: Any) -> None:
    run = classroom.translate("Das Kind schläft")
    answer = attention("Das Kind schläft", kind, 1, 3, "classroom")
    layer = run.attention.of(kind)[1]
    assert answer["weights"] == [pytest.approx(row, abs=1e-4) for row in layer.weights[3].tolist()]
    assert (answer["query_tokens"], answer["key_tokens"]) == (list(layer.query_tokens), list(layer.key_tokens))
    assert answer["text"] == run.text


def test_positions_are_the_networks() -> None:
    values = positions(5, 6)["values"]
    assert values == [pytest.approx(row, abs=1e-4) for row in positional_encoding(5, 6).tolist()]


def test_answers_are_short() -> None:
    assert len(json.dumps(mcp_tools.translate("Ich möchte ein Bier"))) < 4000
    assert len(json.dumps(positions(MAX_VALUES // 64, 64))) < 50_000
    with pytest.raises(gr.Error, match="at most 4096"):
        positions(MAX_VALUES // 64 + 1, 64)
    with pytest.raises(gr.Error, match="at most 4096"):
        positions(10**100, 64)


@settings(max_examples=25)
@given(json_values, json_values, json_values, json_values)
def test_any_arguments_are_answered_or_refused_in_a_sentence(one: Any, two: Any, three: Any, four: Any) -> None:
    for call in (
        lambda: mcp_tools.translate(one, two),
        lambda: attention(one, two, three, four),
        lambda: attention("ich", "cross", three, four, "toy"),
        lambda: attention("ich", two, 0, 0, "toy"),
        lambda: positions(one, two),
        lambda: positions(three, 4),
    ):
        try:
            assert json.dumps(call())
        except gr.Error as error:
            refusal = error.message
            assert refusal.endswith(".")


@pytest.mark.parametrize(("layer", "head"), [(-1, 0), (0, -1), (6, 0), (0, 8), (10**100, 0)])
def test_a_layer_or_a_head_that_does_not_exist_is_refused(layer: int, head: int) -> None:
    with pytest.raises(gr.Error, match="layer is from 0 to 5, and head from 0 to 7"):
        attention("ich", "cross", layer, head)


def test_it_is_off_unless_asked_for_and_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.fastmcp", None)
    monkeypatch.setattr(mcp_tools, "settings", lambda: Settings())
    assert mcp_tools.endpoint() == {"routes": []}
    monkeypatch.setattr(mcp_tools, "settings", lambda: Settings(mcp=True))
    with pytest.raises(ValueError, match=r"pip install 'gradio\[mcp\]'"):
        mcp_tools.endpoint()
