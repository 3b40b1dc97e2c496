"""What the lesson asks is answered with the model's own numbers, or refused with a sentence."""

import base64
import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from transformer.analysis.sublayer import PARTS, inspect_sublayer, parameter_row, residual_stream
from transformer.inference import translator as translator_module
from transformer.inference.attention_maps import KINDS, Kind
from transformer.live.limits import Limits
from transformer.live.plan import DEFAULTS, plan
from transformer.live.stream import live
from transformer.storage import checkpoint as checkpoint_module
from transformer.storage.checkpoint import FOLDER
from transformer.storage.portable import load_portable
from transformer.web.api import lesson, models
from transformer.web.api import runs as handlers
from transformer.web.sessions.model_store import model_store

from .test_runs import BIER, json_values

SENTENCES = {"toy": BIER, "classroom": "Gestern hat sie drei Bücher gelesen"}
HANDLERS = (
    *(lesson.inside, lesson.stack, lesson.parameters, lesson.checks, lesson.shapes),
    *(lesson.weights_csv, lesson.notebook, lesson.provenance),
)
RIGHT = {"kind": "cross", "layer": 0, "part": "q_proj", "row": 0, "step": 1, "word": "a"}


def asked(handler: Callable[[Any], dict[str, Any]], checkpoint: str, **more: Any) -> dict[str, Any]:
    """An answer as it reaches the page."""
    return json.loads(json.dumps(handler({"checkpoint": checkpoint, "sentence": SENTENCES[checkpoint], **more})))


def array(sent: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(sent["data"]), "<f4").reshape(sent["shape"])


@pytest.fixture(scope="module", params=SENTENCES)
def checkpoint(request: pytest.FixtureRequest) -> str:
    return request.param


# Answers


@pytest.mark.parametrize("kind", KINDS)
def test_inside_is_sent_whole(checkpoint: str, kind: Kind) -> None:
    translator = handlers.translator(checkpoint)
    seen = inspect_sublayer(translator, translator.translate(SENTENCES[checkpoint]), kind, 1)
    sent = asked(lesson.inside, checkpoint, kind=kind, layer=1)
    arrays = {f.name: getattr(seen, f.name) for f in fields(seen) if isinstance(getattr(seen, f.name), np.ndarray)}
    assert sent["arrays"].keys() == arrays.keys() - {"allowed"}
    for name, value in sent["arrays"].items():
        np.testing.assert_array_equal(array(value), arrays[name])
    assert sent["allowed"] == seen.allowed.tolist()
    assert (sent["queries"], sent["keys"]) == (list(seen.queries), list(seen.keys))
    assert (sent["kind"], sent["layer"], sent["norm_first"]) == (kind, 1, False)
    assert (sent["head_dim"], sent["eps"]) == (64 // len(seen.q), 1e-5)
    assert sent.keys() == {
        *("kind", "layer", "queries", "keys", "norm_first", "head_dim", "eps", "allowed", "arrays"),
    }


def test_the_stack_is_sent_whole(checkpoint: str) -> None:
    translator = handlers.translator(checkpoint)
    expected = residual_stream(translator, translator.translate(SENTENCES[checkpoint]))
    sent = asked(lesson.stack, checkpoint)
    assert sent.keys() == {"encoder", "decoder"}
    for name, values in expected.items():
        np.testing.assert_array_equal(array(sent[name]), values)


@pytest.mark.parametrize("part", PARTS)
def test_a_row_of_parameters_makes_the_number_that_inside_shows(checkpoint: str, part: str) -> None:
    seen = asked(lesson.inside, checkpoint, kind="cross", layer=1)["arrays"]
    sent = asked(lesson.parameters, checkpoint, kind="cross", layer=1, part=part, row=37)
    weights = np.frombuffer(base64.b64decode(sent["weights"]), "<f4")
    expected, bias = parameter_row(handlers.translator(checkpoint), "cross", 1, part, 37)
    np.testing.assert_array_equal(weights, expected)
    assert sent.keys() == {"weights", "bias"}
    assert sent["bias"] == bias
    if part == "linear1":
        shown = array(seen["ff_hidden"])[:, 37]
        np.testing.assert_allclose(np.maximum(array(seen["ff_input"]) @ weights + bias, 0), shown, atol=1e-5)


def test_every_check_of_a_shipped_model_is_passed(checkpoint: str) -> None:
    sent = asked(lesson.checks, checkpoint)["checks"]
    assert [each["name"] for each in sent] == ["rows", "masked", "cached", "torch"]
    for each in sent:
        assert each.keys() == {"name", "error", "limit", "ok"}
        assert each["ok"] is (each["error"] <= each["limit"]) is True


def test_shapes_are_here_and_in_the_papers_size(checkpoint: str) -> None:
    sent = asked(lesson.shapes, checkpoint)
    run = handlers.run(checkpoint, SENTENCES[checkpoint])
    source, target, heads = len(run.source), len(run.output), run.attention.cross[0].n_heads
    rows = {row["stage"]: row for row in sent["rows"]}
    assert len(rows) == 18
    cross = rows["cross_attention"]
    assert cross["here"] == [1, heads, target, source]
    assert cross["paper"] == [1, 8, target, source]
    assert cross["layers"] == len(run.attention.cross)
    assert rows["encoder_hidden"]["paper"] == [1, source, 2048]
    assert rows["logits"]["here"] == rows["logits"]["paper"] == [1, target, len(run.steps[0].candidates)]
    facts = {"d_model": 64, "n_heads": heads, "d_ff": 256, "layers": len(run.attention.encoder)}
    assert sent["facts"] == facts


def test_shipped_models_have_stacks_of_equal_depth() -> None:
    """`facts` of the shapes names one depth."""
    for name in handlers.available_checkpoints():
        config = handlers.translator(name).checkpoint.model.config
        assert config.num_encoder_layers == config.num_decoder_layers


def test_the_table_of_weights_is_the_runs(checkpoint: str) -> None:
    sent = asked(lesson.weights_csv, checkpoint)
    assert sent["name"] == f"{checkpoint}-attention.csv"
    rows = list(csv.DictReader(io.StringIO(sent["text"])))
    run = handlers.run(checkpoint, SENTENCES[checkpoint])
    assert len(rows) == sum(m.weights.size for kind in KINDS for m in run.attention.of(kind))
    for row in rows[:: len(rows) // 50]:
        m = run.attention.of(row["kind"])[int(row["layer"])]
        at = int(row["head"]), int(row["query"]), int(row["key"])
        assert np.float32(row["weight"]) == m.weights[at]
        assert (row["query_token"], row["key_token"]) == (m.query_tokens[at[1]], m.key_tokens[at[2]])


def test_the_notebook_is_the_runs(checkpoint: str) -> None:
    sent = asked(lesson.notebook, checkpoint)
    assert sent["name"] == f"{checkpoint}-attention.ipynb"
    code = "".join(cell["source"] for cell in json.loads(sent["text"])["cells"])
    assert f"SENTENCE = {SENTENCES[checkpoint]!r}\n" in code


def test_provenance_names_the_command_and_what_runs_it() -> None:
    sent = asked(lesson.provenance, "toy")
    assert sent["command"] == "python -m transformer.training --corpus toy --out checkpoints/toy"
    assert (sent["seed"], sent["weights"]) == ("0", 701_961)
    assert sent["device"] == str(handlers.translator("toy").device)
    assert sent["versions"].keys() == {"python", "torch", "gradio", "plotly", "pandas", "numpy"}
    assert sent["versions"]["torch"] == torch.__version__
    sent = asked(lesson.provenance, "classroom")
    assert sent["command"].startswith("python -m transformer.training --corpus classroom --layers 2 ")
    assert sent["command"].endswith(" --out checkpoints/classroom")
    assert (sent["seed"], sent["weights"]) == ("0", 278_991)


@pytest.mark.parametrize(("schedule", "unheard"), [("warmup", "learning_rate"), ("one-cycle", "warmup_steps")])
def test_provenance_of_an_own_model_names_pairs_steps_and_settings(tmp_path: Path, schedule: str, unheard: str) -> None:
    pairs = [["a b", "c d"], ["b a", "d c"]]
    shape = {"d_model": 9, "n_heads": 3, "layers": 1, "d_ff": 7, "norm_first": True, "positional_encoding": False}
    settings = DEFAULTS["own"]
    training = settings["training"] | {"steps": 2, "seed": 5, "schedule": schedule, "warmup_steps": 1}
    question = {"name": "mine", "corpus": "own", "pairs": pairs, "watch": "", "held_out": 0.0}
    job = plan(question | {"model": settings["model"] | shape, "training": training}, Limits()).job
    assert job
    file = tmp_path / "mine.safetensors"
    list(live(job, file))
    key = model_store().put(load_portable(file), "v", file)
    sent = json.loads(json.dumps(lesson.provenance({"checkpoint": key})))
    assert (sent["checkpoint"], sent["command"], sent["seed"]) == ("mine", None, 5)
    assert (sent["trained"]["pairs"], sent["trained"]["steps"]) == (2, 2)
    learning = {"schedule", "learning_rate", "warmup_steps", "batch_size", "label_smoothing"} - {unheard}
    found = sent["trained"]["settings"]
    assert found.keys() == shape.keys() | {"dropout", "tie_weights"} | learning
    assert found | shape == found
    model_store().delete(key)
    assert lesson.provenance({"checkpoint": "toy"})["trained"] is None


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the toy's files that a test may spoil, which the server takes for its own."""
    shutil.copytree(FOLDER / "toy", tmp_path / "toy")
    for module in (checkpoint_module, translator_module, models):
        monkeypatch.setattr(module, "FOLDER", tmp_path)
    models._shipped.cache_clear()
    yield tmp_path / "toy"
    models._shipped.cache_clear()


SPOILT: list[Callable[[Path], object]] = [
    lambda card: card.unlink(),
    lambda card: card.write_text("nothing", "utf-8"),
    lambda card: card.write_bytes("ö".encode()[:1]),
]


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_card_that_is_spoilt_while_the_server_runs_is_told_as_it_was(
    spoil: Callable[[Path], object], shipped: Path
) -> None:
    before = lesson.provenance({"checkpoint": "toy"})
    assert before["command"]
    spoil(shipped / "card.md")
    assert lesson.provenance({"checkpoint": "toy"}) == before


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_card_that_was_spoilt_before_is_a_broken_checkpoint(spoil: Callable[[Path], object], shipped: Path) -> None:
    spoil(shipped / "card.md")
    answer = lesson.provenance({"checkpoint": "toy"})
    refused(answer)
    assert answer["error"].startswith("The files of the model toy cannot be read.")


# Refusals


def refused(answer: dict[str, Any]) -> None:
    assert answer.keys() == {"error"}
    assert answer["error"].endswith(".")
    assert answer["error"].isprintable()
    assert len(answer["error"]) < 300


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_question_without_a_fault_is_answered(handler: Callable[[Any], dict[str, Any]]) -> None:
    assert "error" not in handler({"checkpoint": "toy", "sentence": BIER, **RIGHT})


@pytest.mark.parametrize("handler", HANDLERS)
@settings(max_examples=25)  # each of which asks six times
@given(json_values)
def test_any_question_is_answered_or_refused(handler: Callable[[Any], dict[str, Any]], question: Any) -> None:
    refused(handler(question))
    right = {"checkpoint": "toy", "sentence": BIER, **RIGHT}
    for name in right:  # one thing wrong at a time
        answer = handler(right | {name: question})
        if "error" in answer:
            refused(answer)
        assert ("error" in answer) or name != "checkpoint"


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("name", ["../toy", "/etc", "", "toy/", ".", "toy\0", "x" * 5000])
def test_only_shipped_checkpoints_can_be_asked_about(handler: Callable[[Any], dict[str, Any]], name: str) -> None:
    answer = handler({"checkpoint": name, "sentence": BIER, **RIGHT})
    refused(answer)
    assert "no such checkpoint" in answer["error"]


@pytest.mark.parametrize("number", [True, False, -1, 6, 64, 1.0, pytest.param(10**5000, id="huge"), None, "0", [0]])
def test_a_number_is_a_whole_number_that_is_there(number: Any) -> None:
    right = {"checkpoint": "toy", "sentence": BIER, **RIGHT}
    for handler, name in (
        (lesson.inside, "layer"),
        (lesson.parameters, "layer"),
        (lesson.parameters, "row"),
    ):
        answer = handler(right | {name: number})
        if (name, number) == ("row", 6):
            assert answer["bias"] is not None
        else:
            refused(answer)


@pytest.mark.parametrize("handler", [each for each in HANDLERS if each not in (lesson.parameters, lesson.provenance)])
def test_a_sentence_that_cannot_be_taken_is_refused_as_everywhere(handler: Callable[[Any], dict[str, Any]]) -> None:
    answer = handler({"checkpoint": "toy", "sentence": "wasser", **RIGHT})
    assert answer == {"error": "I don't know “wasser”. This model knows ich, mochte, ein, bier, cola."}


def test_the_same_question_is_answered_once() -> None:
    question = {"checkpoint": "toy", "sentence": BIER, **RIGHT}
    assert lesson.inside(question) is lesson.inside(dict(question))
