"""The exported notebook reproduces the run, and no sentence escapes from its string literal."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from transformer import Translation, Translator
from transformer.analysis.notebook import notebook
from transformer.inference.interventions import Interventions

ROOT = Path(__file__).resolve().parents[2]
STEP = 2  # that is explained


def cells(run: Translation, kind: str) -> list[str]:
    book = json.loads(notebook(run, run.checkpoint, step=STEP))
    return [cell["source"] for cell in book["cells"] if cell["cell_type"] == kind]


def execute(run: Translation) -> dict[str, Any]:
    """The names after all code cells. The library is the one that is imported here already."""
    namespace: dict[str, Any] = {}
    with patch("sys.path", [*sys.path]):
        for cell in cells(run, "code"):
            exec(cell, namespace)
    return namespace


@pytest.mark.slow
def test_it_runs_in_an_empty_folder_with_what_it_carries(toy: Translator, tmp_path: Path) -> None:
    run = toy.translate('"""\n\'\'\' ich „mochte“\tein\u2028bier "')  # quotes and line breaks that it ignores
    code = "import json, sys\nnamespace = {}\nfor cell in json.load(sys.stdin):\n    exec(cell, namespace)\n"
    code += "print(namespace['run'].sentence == namespace['SENTENCE'], len(namespace['figure'].data))\n"
    code += "found = namespace['attribution']\nassert namespace['lens'].tokens[-1] == namespace['run'].output\n"
    code += f"assert len(found.target) == {STEP + 1}\n"
    code += "assert abs(found.logit - found.baseline - found.total) <= 0.01 * abs(found.logit - found.baseline)\n"
    code += "assert 'notebook_connected' in namespace['renderers'].default\n"  # nbconvert draws no other
    code += f"assert not sys.modules['transformer'].__file__.startswith({str(ROOT)!r})"
    sent = json.dumps(cells(run, "code"))
    command, alone = [sys.executable, "-c", code], {"OMP_NUM_THREADS": "1"}  # two threads would wait for each other
    done = subprocess.run(command, cwd=tmp_path, env=alone, input=sent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown, _lens, _attribution, *checks, last = done.stdout.splitlines()
    assert shown.startswith("Translation(")
    assert len(checks) == 4
    assert all(line.endswith(": ok") for line in checks)
    assert last == "True 1"


def test_a_wrong_text_is_found(beer: Translation) -> None:
    with pytest.raises(AssertionError, match=r"i want a beer \."):
        execute(replace(beer, text="i want a tea ."))


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
    done = execute(run)
    assert done["run"].text == run.text
    assert [each.name.split()[0] for each in done["checks"]] == ["rows", "masked", "steps"]


def test_the_format_is_a_valid_notebook_that_says_what_to_install(beer: Translation) -> None:
    """The requirements of nbformat's schema 4.5."""
    book = json.loads(notebook(beer, beer.checkpoint))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in book["cells"]:
        assert re.fullmatch("[a-zA-Z0-9-_]{1,64}", cell["id"])
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert cell.keys() == {"id", "cell_type", "metadata", "source"} | code
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {Requirement(each).name for each in project["dependencies"]} | {"plotly", "anywidget"}
    (line,) = re.findall("^    pip install (.+)$", cells(beer, "markdown")[0], re.MULTILINE)
    assert set(line.split()) == needed


def structure(run: Translation) -> tuple[str, list[Any]]:
    """The code without its literals, and the literals."""
    tree = ast.parse("\n".join(cells(run, "code")))
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    values = [node.value for node in constants]
    for node in constants:
        node.value = None
    return ast.dump(tree), values


@given(st.text(st.characters(exclude_categories=())))
@example("\"\"\"\n'''\n``` ` </script><script>alert(1)</script>\\")
def test_no_sentence_escapes_from_its_literal_or_code_span(beer: Translation, sentence: str) -> None:
    run = replace(beer, sentence=sentence)
    with patch("transformer.analysis.notebook._packed_with_shipped", return_value=""):
        harmless, expected = structure(beer)
        code, values = structure(run)
        title, *others = cells(run, "markdown")
        harmless_title, *harmless_others = cells(beer, "markdown")
    assert code == harmless
    assert values == [sentence if value == beer.sentence else value for value in expected]
    assert others == harmless_others
    assert title.count("`") == harmless_title.count("`")
    assert title.split("`")[2:] == harmless_title.split("`")[2:]
    assert len(title.split("`")[1].splitlines()) == 1
