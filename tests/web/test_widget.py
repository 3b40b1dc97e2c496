"""A run in a notebook, without a browser: what Python sets, what a kernel answers and what it refuses."""

import json
import sys
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from transformer import Translation, Translator
from transformer.web.api.frozen import PARAMETERS
from transformer.web.schema import NotebookPlace

anywidget = pytest.importorskip("anywidget")
traitlets = pytest.importorskip("traitlets")

SENTENCE = "ich mochte ein bier"


@pytest.fixture(scope="module")
def widget(toy: Translator) -> Any:
    return toy.show(SENTENCE, tab="attention", layer=2, mean=False)


def asked(widget: Any, name: str, **request: Any) -> Any:
    """The kernel's answer to a question of the page."""
    request = {"checkpoint": widget.run.checkpoint, "changes": []} | request
    with patch.object(widget, "send") as send:
        widget._handle_custom_msg({"id": "1", "name": name, "request": json.dumps(request)}, [])
    (sent,), _ = send.call_args
    assert sent["id"] == "1"
    return json.loads(sent["answer"])


def test_the_output_is_the_page_in_a_frame_and_needs_no_widget(widget: Any, beer: Translation) -> None:
    for shown in (widget, beer):
        output = shown._repr_mimebundle_()
        assert output.keys() == {"text/plain", "text/html"}
        assert 'sandbox="allow-scripts allow-forms allow-downloads"' in output["text/html"]


def test_a_front_end_that_makes_models_with_a_view_gets_one(widget: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    output, _ = widget._repr_mimebundle_()
    assert output.keys() == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    with patch.object(widget, "send") as send:
        widget._handle_custom_msg({"figure": True}, [])
    send.assert_called_once_with({"figure": output["text/html"]})


def test_a_terminal_gets_no_page(beer: Translation) -> None:
    with patch("transformer.inference.translation.in_notebook", return_value=False):
        assert beer._repr_mimebundle_() == {"text/plain": repr(beer)}


@pytest.mark.parametrize("place", [{"tab": "train"}, {"head": -1}, {"head": "1"}, {"gold": 1}, {"room": 1}])
def test_a_place_that_no_page_has_is_refused(widget: Any, place: dict[str, Any]) -> None:
    before = widget.place
    with pytest.raises(traitlets.TraitError):
        widget.place = place
    assert widget.place == before == {"tab": "attention", "layer": 2, "mean": False}


def test_its_place_has_all_that_leads_to_a_place_of_its_page() -> None:
    assert NotebookPlace.__annotations__.keys() == {*PARAMETERS} - {"language", "present"}


def test_the_kernel_answers_about_its_model_whatever_its_name(toy: Translator) -> None:
    widget: Any = toy.named("mine").show(SENTENCE)
    answer = asked(widget, "translate", sentence="cola bier", or_other_model=True)
    assert (answer["run"]["text"], answer["run"]["checkpoint"]) == (toy.translate("cola bier").text, "mine")
    assert asked(widget, "inside", sentence="cola bier", kind="cross", layer=5)["arrays"]


def test_the_kernel_makes_a_run_once(toy: Translator) -> None:
    widget: Any = toy.show(SENTENCE)
    asked(widget, "translate", sentence="cola bier")
    with patch.object(Translator, "translate", side_effect=AssertionError):
        for sentence in (SENTENCE, "cola bier"):
            assert asked(widget, "inside", sentence=sentence, kind="cross", layer=5)["arrays"]


@pytest.mark.parametrize(
    ("name", "request_", "key"),
    [
        ("translate", {"sentence": "ich mochte ein tee", "or_other_model": True}, "error.unknown"),
        ("translate", {"sentence": SENTENCE, "checkpoint": "classroom"}, "error.request"),
        ("train", {"sentence": SENTENCE}, "error.request"),
        ("load_model", {}, "error.request"),
        ("inside", {"sentence": SENTENCE, "kind": "cross"}, "field.missing"),
    ],
)
def test_what_is_not_about_its_model_is_refused_as_on_a_server(
    widget: Any, name: str, request_: dict[str, Any], key: str
) -> None:
    answer = asked(widget, name, **request_)
    assert (answer.get("error") or answer["refused"])["key"].startswith(key)


def test_without_anywidget_it_says_what_to_install(toy: Translator) -> None:
    with (
        patch("transformer.inference.translator.find_spec", return_value=None),
        pytest.raises(ImportError, match=r"pip install 'attention-bitte\[notebook\]'"),
    ):
        toy.show(SENTENCE)
