"""The tools return a run's own numbers, in short answers; without the setting there are none."""

import json
import sys
from typing import Any

import gradio as gr
import pytest

from transformer import Translator
from transformer.inference.translator import positional_encoding
from transformer.web.api.positions import positions
from transformer.web.api.runs import attention
from transformer.web.schema import MAX_VALUES
from transformer.web.server import mcp_tools
from transformer.web.settings import Settings


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


def test_it_is_off_unless_asked_for_and_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.fastmcp", None)
    monkeypatch.setattr(mcp_tools, "settings", lambda: Settings())
    assert mcp_tools.endpoint() == {"routes": []}
    monkeypatch.setattr(mcp_tools, "settings", lambda: Settings(mcp=True))
    with pytest.raises(ValueError, match=r"pip install 'gradio\[mcp\]'"):
        mcp_tools.endpoint()
