"""What the README says is so."""

import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from transformer.live.limits import PREFIX, Limits, variable

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
REQUIREMENTS = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text().split())


def test_its_code_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    assert len(blocks) == 9
    for block in blocks:  # each by itself, as it would be pasted
        exec(compile(block, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "decoder.5.cross_attention.scores" in said
    assert "cross" in said


def test_the_space_runs_the_pinned_gradio() -> None:
    front = README.split("---")[1]
    assert f"sdk_version: {REQUIREMENTS['gradio']}\n" in front
    assert (ROOT / re.search(r"app_file: (\S+)", front)[1]).exists()  # type: ignore[index]


def test_its_one_table_of_settings_has_every_variable_that_the_code_reads() -> None:
    read = {variable(field.name): str(field.default) for field in fields(Limits)}
    for file in [ROOT / "app.py", *(ROOT / "transformer").rglob("*.py")]:
        read |= dict.fromkeys(re.findall(r"\b(?:TRANSFORMER|GRADIO|OMP)_[A-Z_]*[A-Z]\b", file.read_text()), "")
    table = dict(re.findall(r"^\| `([A-Z_]+)` \| *([^|]*?) *\|", README.split("### Settings")[1], re.M))
    for name in ("GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT"):  # which Gradio reads
        assert table.pop(name)
    assert table.keys() == read.keys() - {PREFIX.rstrip("_")}
    assert {name: table[name] for name, default in read.items() if default} == {k: v for k, v in read.items() if v}
    assert len(re.findall(r"^\| `[A-Z]+_[A-Z_]+` \|", README, re.M)) == len(table) + 2  # there is no other


def test_its_tree_has_a_line_for_every_file() -> None:
    tree = README.split("## What is where")[1]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    named = set(re.findall(r"^ *(\S+)", tree, re.M))
    for path in tracked:
        if (
            path.startswith(("checkpoints/", ".git"))
            or path == "README.md"
            or ("tests/" in path and "__init__" in path)
        ):
            continue
        inside = path.split("/", 1)[1] if path.startswith(("transformer/", "assets/", "tests/")) else path
        assert inside in named, path


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_its_figures_are_the_cards() -> None:
    card = (ROOT / "checkpoints/toy/card.md").read_text()
    assert "of the sentences: 0.97." in card
    assert "put 0.97 of its weight on *bier*" in README
