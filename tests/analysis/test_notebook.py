"""The exported notebook reproduces the run, and no sentence escapes from its string literal."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer import Translation, Translator
from transformer.analysis.notebook import notebook
from transformer.inference.interventions import Interventions

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "\"\"\"\n'''\n``` ` </script><script>alert(1)</script>\\"


def cells(run: Translation, kind: str) -> list[str]:
    return [cell["source"] for cell in json.loads(notebook(run, run.checkpoint))["cells"] if cell["cell_type"] == kind]


def executed(run: Translation, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the code cells in order, in one namespace of a new process, without Jupyter."""
    code = "import json, sys\nnamespace = {}\nfor cell in json.load(sys.stdin):\n    exec(cell, namespace)\n"
    code += "print(namespace['run'].sentence == namespace['SENTENCE'], len(namespace['figure'].data))"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env=environment,
        input=json.dumps(cells(run, "code")),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def beer(toy: Translator) -> Translation:
    return toy.translate("Ich möchte ein Bier")


@pytest.mark.slow
def test_the_cells_run_and_their_assertions_hold(toy: Translator, tmp_path: Path) -> None:
    run = toy.translate('"""\n\'\'\' ich „mochte“\tein\u2028bier "')  # quotes and line breaks that it ignores
    done = executed(run, tmp_path, TRANSFORMER_HOME=str(ROOT))
    assert done.returncode == 0, done.stderr
    *checks, last = done.stdout.splitlines()
    assert len(checks) == 4
    assert all(line.endswith(": ok") for line in checks)
    assert last == "True 1"


@pytest.mark.slow
def test_a_wrong_text_and_a_missing_project_are_found(beer: Translation, tmp_path: Path) -> None:
    assert "AssertionError: i want a beer ." in executed(replace(beer, text="i want a tea ."), ROOT).stderr
    assert "is not the project: set TRANSFORMER_HOME" in executed(beer, tmp_path).stderr


@pytest.mark.slow
def test_the_notebook_repeats_the_interventions_of_a_run(classroom: Translator) -> None:
    """One row of cross-attention is fully masked."""
    changes = [
        {"do": "ablate", "kind": "cross", "layer": 1, "head": 0},
        {"do": "temperature", "kind": "all", "temperature": 4.0},
        {"do": "force_word", "step": 1, "word": "we"},
        *({"do": "edit_mask", "kind": "cross", "query": 0, "key": key, "allowed": False} for key in range(7)),
    ]
    sentence = "Heute habe ich ein kaltes Bier getrunken"
    run = classroom.translate(sentence, interventions=Interventions.parse(changes))
    assert run.text != classroom.translate(sentence).text
    done = executed(run, ROOT)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["rows", "masked", "steps", "True"]


def test_the_format_is_a_valid_notebook(beer: Translation) -> None:
    """The requirements of nbformat's schema 4.5."""
    book = json.loads(notebook(beer, beer.checkpoint))
    assert book.keys() == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in book["cells"]:
        assert re.fullmatch("[a-zA-Z0-9-_]{1,64}", cell["id"])
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert cell.keys() == {"id", "cell_type", "metadata", "source"} | code


def structure(run: Translation) -> tuple[str, list[Any]]:
    """The code without its literals, and the literals."""
    tree = ast.parse("\n".join(cells(run, "code")))
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    values = [node.value for node in constants]
    for node in constants:
        node.value = None
    return ast.dump(tree), values


@given(st.just(HOSTILE) | st.text(st.characters(exclude_categories=())))
def test_no_sentence_escapes_from_its_literal_or_code_span(beer: Translation, sentence: str) -> None:
    run = replace(beer, sentence=sentence)
    harmless, expected = structure(beer)
    code, values = structure(run)
    assert code == harmless
    assert values == [sentence if value == beer.sentence else value for value in expected]
    title, *others = cells(run, "markdown")
    assert others == cells(beer, "markdown")[1:]
    assert title.count("`") == cells(beer, "markdown")[0].count("`")
    assert title.split("`")[2:] == cells(beer, "markdown")[0].split("`")[2:]
    assert len(title.split("`")[1].splitlines()) == 1
