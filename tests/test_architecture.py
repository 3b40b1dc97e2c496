"""Imports point down only, folder by folder, and the library needs neither gradio nor pandas."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "transformer"
LEVELS = ("network", "data", "storage", "inference", "training", "analysis", "mistakes", "live", "web")
BELOW_ALL = {"messages", "settings"}


def imported_modules(file: Path) -> set[str]:
    """Absolute dotted names of everything that a file imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
            found.add(".".join((*parents, *filter(None, [node.module]))))
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_imports_point_down(level: str) -> None:
    allowed = {level, *LEVELS[: LEVELS.index(level)]} | BELOW_ALL
    for file in (PACKAGE / level).rglob("*.py"):
        ours = {name.split(".")[1] for name in imported_modules(file) if name.startswith("transformer.")}
        assert ours <= allowed, f"{file.relative_to(ROOT)} imports {ours - allowed}"


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_gradio_and_plotly_stay_in_the_page(level: str) -> None:
    for file in (PACKAGE / level).rglob("*.py"):
        assert not {name.split(".")[0] for name in imported_modules(file)} & {"gradio", "plotly"}, file


def test_importing_the_library_loads_no_page_and_no_tables() -> None:
    code = "import json, sys, transformer; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"gradio", "plotly", "pandas"} & set(json.loads(run.stdout))
