"""Imports point down only, folder by folder, and the library needs neither gradio nor pandas."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE, SCRIPTS = ROOT / "transformer", ROOT / "assets" / "web"
LEVELS = ("network", "data", "storage", "inference", "analysis", "training", "mistakes", "live", "web")
PAGE = 60  # lines; of TypeScript see .biome.json
BELOW_ALL = {"files", "messages", "settings"}
SHOWN = ("translation", "translator")  # point up when a run is shown: as the page
UPWARD = {PACKAGE / "inference" / f"{name}.py": {"web"} for name in SHOWN}
WEB = ["shell", "gradio_internals", "opus_models", "settings", "access_log", "client", "fair_queue", "schema"]
WEB += ["sessions", "api", "engine_data", "widget", "site", "server", "page", "process"]
SCRIPT_LEVELS = ["api", "engine", "state", "ui", "charts", "features"]  # app.ts is above all


def imported(file: Path, at_import: bool = False) -> set[str]:
    """Absolute dotted names of everything that a file imports, inside functions too unless `at_import`."""
    found: set[str] = set()
    tree = ast.parse(file.read_text("utf-8"))
    for node in tree.body if at_import else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
            found |= {".".join((*parents, *filter(None, [node.module]), alias.name)) for alias in node.names}
    return found


def imported_below(file: Path, package: str) -> set[str]:
    """The modules and folders of a package that a file imports from."""
    return {name.removeprefix(package).split(".")[0] for name in imported(file) if name.startswith(package)}


@pytest.mark.parametrize("level", [*LEVELS, "__init__.py"])
def test_imports_point_down_and_the_library_loads_no_page_and_no_tables(level: str) -> None:
    below = LEVELS[: LEVELS.index(level)] if level in LEVELS else LEVELS[:-1]
    for file in [PACKAGE / level] if level == "__init__.py" else (PACKAGE / level).rglob("*.py"):
        assert imported_below(file, "transformer.") - UPWARD.get(file, set()) <= {level, *below, *BELOW_ALL}, file
        if level != "web":
            assert not {name.split(".")[0] for name in imported(file)} & {"gradio", "plotly"}, file
            assert not any(name.split(".")[0] == "pandas" for name in imported(file, at_import=True)), file


def test_imports_within_the_web_package_point_down() -> None:
    for file in (PACKAGE / "web").rglob("*.py"):
        level = file.relative_to(PACKAGE / "web").parts[0].removesuffix(".py")
        if level != "__init__":
            assert imported_below(file, "transformer.web.") <= {*WEB[: WEB.index(level) + 1]}, file


def test_scripts_import_from_lower_levels_and_no_feature_from_another() -> None:
    for file in SCRIPTS.glob("*/**/*.ts"):
        level, *folders = file.relative_to(SCRIPTS).parts
        for path in re.findall(r'(?:from |import )"(\.[^"]+)"', file.read_text("utf-8")):
            other, *others = (file.parent / path).resolve().relative_to(SCRIPTS).parts
            assert SCRIPT_LEVELS.index(other) <= SCRIPT_LEVELS.index(level), f"{file}: {path}"
            assert other != "features" or others[0] == folders[0], f"{file}: {path}"


def test_no_function_is_longer_than_a_page() -> None:
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < PAGE, f"{file.name}: {node.name}"
