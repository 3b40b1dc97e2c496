"""Runs of a model of pieces: what the page and the files are told of their words."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sentencepiece", reason="pieces of Marian are cut by sentencepiece (requirements.txt)")
pytest.importorskip("transformers", reason="random Marian models are made by transformers (tests/requirements.txt)")

from transformer import Translator
from transformer.analysis.notebook import notebook
from transformer.web.api.payload import for_page

from ...marian import SENTENCES, marian_folder

pytestmark = pytest.mark.slow


def test_page_and_files_have_the_words_of_a_run_of_pieces(tmp_path: Path) -> None:
    marian_folder(tmp_path / "model")
    model = Translator.load(tmp_path / "model", device="cpu")
    run = model.translate(SENTENCES[0])
    page = for_page(run, None, model.checkpoint)
    words = page["words"]
    assert " ".join(words["source"]["names"]) == "Der alte Mann trinkt ein kaltes Bier . E"
    for side, tokens in (
        (words["source"], run.source),
        (words["decoder_input"], run.decoder_input),
        (words["output"], run.output),
    ):
        of, names = side["of"], side["names"]
        assert len(of) == len(tokens)
        assert sorted(set(of)) == list(range(len(names)))
    table = run.table(words=True)
    sums = table.groupby(["kind", "layer", "head", "query"])["weight"].sum()
    np.testing.assert_allclose(sums, 1, atol=1e-5)
    cross = table.query("kind == 'cross' and layer == 1 and head == 2 and query == 0")
    pieces = run.attention.cross[1].weights[2][[i for i, word in enumerate(words["decoder_input"]["of"]) if word == 0]]
    of_source = np.array(words["source"]["of"])
    expected = [pieces[:, of_source == word].sum(axis=1).mean() for word in range(len(words["source"]["names"]))]
    np.testing.assert_allclose(cross["weight"], expected, atol=1e-6)
    for in_words in (False, True):
        cells = json.loads(notebook(run, "model", words=in_words))["cells"]
        sources = {cell["id"]: cell["source"] for cell in cells}
        assert ("words=True" in sources["table"]) == in_words
        assert ("attention_of_words" in sources["head"]) == in_words
        assert "folder" in sources["title"]  # beside the notebook, which carries no model
