"""Imports point down only, folder by folder, and the library needs neither gradio nor pandas."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "transformer"
LEVELS = ("network", "data", "storage", "inference", "training", "analysis", "mistakes", "live", "web")
BELOW_ALL = {"files", "messages", "settings"}


def imported_modules(file: Path, at_import: bool = False) -> set[str]:
    """Absolute dotted names of everything that a file imports, inside functions too unless `at_import`."""
    found: set[str] = set()
    tree = ast.parse(file.read_text("utf-8"))
    for node in tree.body if at_import else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
            found.add(".".join((*parents, *filter(None, [node.module]))))
    return found


@pytest.mark.parametrize("level", [*LEVELS, "__init__.py"])
def test_imports_point_down_and_the_library_loads_no_page_and_no_tables(level: str) -> None:
    below = LEVELS[: LEVELS.index(level)] if level in LEVELS else LEVELS[:-1]
    for file in [PACKAGE / level] if level == "__init__.py" else (PACKAGE / level).rglob("*.py"):
        ours = {name.split(".")[1] for name in imported_modules(file) if name.startswith("transformer.")}
        assert ours <= {level, *below, *BELOW_ALL}, file
        if level != "web":
            assert not {name.split(".")[0] for name in imported_modules(file)} & {"gradio", "plotly"}, file
            assert "pandas" not in imported_modules(file, at_import=True), file
