"""What a visitor takes home is the run's; where it comes from is told as it was."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer.inference.attention_maps import KINDS
from transformer.live.form import DEFAULTS
from transformer.live.limits import Limits
from transformer.live.plan import plan
from transformer.live.stream import live
from transformer.storage.portable import load_portable
from transformer.web.api.downloads import as_text, notebook, provenance, weights_csv
from transformer.web.api.runs import run
from transformer.web.client import Client
from transformer.web.sessions.model_store import model_store
from transformer.web.sessions.models import translator

from .endpoints import SENTENCES, ask, asked


@pytest.fixture(scope="module", params=SENTENCES)
def checkpoint(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_table_of_weights_is_the_runs(checkpoint: str) -> None:
    sent = asked(weights_csv, checkpoint)
    assert sent["name"] == f"{checkpoint}-attention.csv"
    rows = list(csv.DictReader(io.StringIO(sent["text"])))
    baseline = run(checkpoint, SENTENCES[checkpoint])
    assert len(rows) == sum(m.weights.size for kind in KINDS for m in baseline.attention.of(kind))
    for row in rows[:: len(rows) // 50]:
        m = getattr(baseline.attention, row["kind"])[int(row["layer"])]
        at = int(row["head"]), int(row["query"]), int(row["key"])
        assert np.float32(row["weight"]) == m.weights[at]
        assert (row["query_token"], row["key_token"]) == (m.query_tokens[at[1]], m.key_tokens[at[2]])


@pytest.mark.parametrize(
    "word", ["=1+1", "+1", "-1", "@x", "＝1+1", "＋1", "－1", "＠x", "﹦1", "−1", "\t=1", "\r=1", "\n@x"]
)
def test_a_word_that_begins_a_formula_is_quoted(word: str) -> None:
    assert as_text(word) == f"'{word}"


@pytest.mark.parametrize("word", ["a=1", "▁=1", "'=1", ".", "", "…", "½", "“P”"])
def test_other_words_stay_as_they_are(word: str) -> None:
    assert as_text(word) == word


def test_the_notebook_is_the_runs(checkpoint: str) -> None:
    sent = asked(notebook, checkpoint)
    assert sent["name"] == f"{checkpoint}-attention.ipynb"
    code = "".join(cell["source"] for cell in json.loads(sent["text"])["cells"])
    assert f"SENTENCE = {SENTENCES[checkpoint]!r}\n" in code


def test_provenance_names_the_command_and_what_runs_it() -> None:
    sent = asked(provenance, "toy")
    assert sent["command"] == "python -m transformer.training --corpus toy --out checkpoints/toy"
    assert (sent["seed"], sent["weights"]) == ("0", 701_961)
    assert sent["device"] == str(translator("toy").device)
    assert sent["versions"].keys() == {"python", "torch", "gradio", "plotly", "pandas", "numpy"}
    assert torch.__version__.startswith(sent["versions"]["torch"])  # a build may add +cpu
    sent = asked(provenance, "classroom")
    assert sent["command"].startswith("python -m transformer.training --corpus classroom --layers 2 ")
    assert sent["command"].endswith(" --out checkpoints/classroom")
    assert (sent["seed"], sent["weights"]) == ("1", 470_370)


@pytest.mark.slow
def test_provenance_of_an_own_model_names_pairs_steps_and_settings(tmp_path: Path) -> None:
    pairs = [["a b", "c d"], ["b a", "d c"]]
    shape = {"d_model": 9, "n_heads": 3, "layers": 1, "d_ff": 7, "norm_first": True, "positional_encoding": False}
    settings = DEFAULTS["own"]
    training = settings["training"] | {"steps": 2, "seed": 5, "schedule": "warmup", "warmup_steps": 1}
    question = {"name": "mine", "corpus": "own", "pairs": pairs, "watch": "", "held_out": 0.0}
    job = plan(question | {"model": settings["model"] | shape, "training": training}, Limits()).job
    assert job
    file = tmp_path / "mine.safetensors"
    list(live(job, file))
    key = model_store().put(load_portable(file), Client("", "v"), file)
    sent = ask(provenance, {"checkpoint": key})
    assert (sent["checkpoint"], sent["command"], sent["seed"]) == ("mine", None, 5)
    assert (sent["trained"]["pairs"], sent["trained"]["steps"]) == (2, 2)
    learning = {"schedule", "warmup_steps", "batch_size", "label_smoothing"}  # this schedule has its own rate
    found = sent["trained"]["settings"]
    assert found.keys() == shape.keys() | {"dropout", "tie_weights"} | learning
    assert found | shape == found
    model_store().delete(key)
    assert ask(provenance, {"checkpoint": "toy"})["trained"] is None
