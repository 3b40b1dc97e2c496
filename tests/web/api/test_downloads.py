"""What a visitor takes home is the run's; where it comes from is told as it was."""

import io

import pandas as pd
import pytest
import torch

from transformer.web.api.downloads import as_text, provenance, weights_csv
from transformer.web.sessions.models import translator

from .endpoints import SENTENCES, asked


@pytest.fixture(scope="module", params=SENTENCES)
def checkpoint(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_table_of_weights_is_the_runs_with_what_they_contribute(checkpoint: str) -> None:
    sent = asked(weights_csv, checkpoint)
    assert sent["name"] == f"{checkpoint}-attention.csv"
    table = pd.read_csv(io.StringIO(sent["text"]), keep_default_na=False)
    made = translator(checkpoint).translate(SENTENCES[checkpoint], value_weighted=True)
    pd.testing.assert_frame_equal(table, made.contributions(), check_dtype=False, atol=1e-5)


@pytest.mark.parametrize(
    "word", ["=1+1", "+1", "-1", "@x", "＝1+1", "＋1", "－1", "＠x", "﹦1", "−1", "\t=1", "\r=1", "\n@x"]
)
def test_a_word_that_begins_a_formula_is_quoted(word: str) -> None:
    assert as_text(word) == f"'{word}"


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
    assert (sent["seed"], sent["weights"]) == ("1", 888_672)
