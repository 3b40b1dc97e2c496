"""What language models may ask: the run's own numbers, in short answers; and nothing of it unless asked for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer import Translator
from transformer.inference.translator import positional_encoding
from transformer.web.server import mcp_tools as tools

from ...storage.test_portable import json_values

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_attention_is_the_runs(classroom: Translator, kind: Any) -> None:
    run = classroom.translate("Das Kind schläft")
    answer = tools.attention("Das Kind schläft", kind, 1, 3, "classroom")
    looks = run.attention.of(kind)[1]
    assert answer["weights"] == [pytest.approx(row, abs=1e-4) for row in looks.weights[3].tolist()]
    assert (answer["query_tokens"], answer["key_tokens"]) == (looks.query_tokens, looks.key_tokens)
    assert answer["text"] == run.text


def test_positions_are_the_networks() -> None:
    values = tools.positions(5, 6)["values"]
    assert values == [pytest.approx(row, abs=1e-4) for row in positional_encoding(5, 6).tolist()]


def test_answers_are_short() -> None:
    assert len(json.dumps(tools.translate("Ich möchte ein Bier"))) < 4000
    assert len(json.dumps(tools.positions(tools.MAX_VALUES // 64, 64))) < 50_000
    with pytest.raises(gr.Error, match="at most 4096"):
        tools.positions(tools.MAX_VALUES // 64 + 1, 64)
    with pytest.raises(gr.Error, match="at most 4096"):
        tools.positions(10**100, 64)


@given(json_values, json_values, json_values, json_values)
def test_whatever_is_asked_is_answered_or_refused_in_a_sentence(one: Any, two: Any, three: Any, four: Any) -> None:
    for ask in (
        lambda: tools.translate(one, two),
        lambda: tools.attention(one, two, three, four),
        lambda: tools.attention("ich", "cross", three, four, "toy"),
        lambda: tools.attention("ich", two, 0, 0, "toy"),
        lambda: tools.positions(one, two),
        lambda: tools.positions(three, 4),
    ):
        try:
            assert json.dumps(ask())
        except gr.Error as error:
            refusal = error.message
            assert refusal.endswith(".")


@given(st.integers(), st.integers())
def test_a_layer_or_a_head_that_is_not_there_is_refused(layer: int, head: int) -> None:
    if 0 <= layer < 6 and 0 <= head < 8:
        assert tools.attention("ich", "cross", layer, head)
    else:
        with pytest.raises(gr.Error, match="layer is from 0 to 5, and head from 0 to 7"):
            tools.attention("ich", "cross", layer, head)


@pytest.mark.parametrize("value", [None, "", "0"])
def test_it_is_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv(tools.ENVIRONMENT, raising=False)
    if value is not None:
        monkeypatch.setenv(tools.ENVIRONMENT, value)
    assert tools.endpoint() == {"routes": []}


def test_the_page_needs_nothing_of_it_while_it_is_off() -> None:
    """Gradio itself loads the package wherever it is installed."""
    code = "import sys; sys.modules['mcp'] = None; from transformer.web.page import launch; launch()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_without_its_package_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tools.ENVIRONMENT, "1")
    monkeypatch.setitem(sys.modules, "mcp.server.fastmcp", None)
    with pytest.raises(ValueError, match=r"pip install 'gradio\[mcp\]'"):
        tools.endpoint()
