"""The house stands as it was drawn: every import points down, and each room keeps to its own tools."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "transformer"
FILES = sorted(PACKAGE.rglob("*.py"))

FLOORS = (  # from the ground up; a room may import from any floor below its own
    {"config", "probe", "masks", "maps", "message", "alignment", "chance"},
    {"attention", "interventions", "device", "vocabulary", "shapes", "estimate"},
    {"corpus", "parallel"},
    {"layers"},
    {"model"},
    {"decoding", "checkpoint"},
    {"portable", "resume"},
    {"translator"},
    {"__init__"},  # the public API
    {"evaluation", "figures", "inside", "notebook"},
    {"card", "correctness"},
    {"training"},
    {"experiments"},
    {"live"},
    {"webui"},
    {"app"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

SHUT = {  # room -> what it must not import; for our own modules see also FLOORS
    "maps": {"torch", "gradio"},
    "vocabulary": {"torch"},
    "alignment": {"torch"},
    "shapes": {"torch"},
    "estimate": {"torch"},
    "notebook": {"torch", "gradio"},
    "figures": {"torch", "gradio", "transformer.model", "transformer.checkpoint"},
    "webui": {"torch", "transformer.model", "transformer.attention", "transformer.masks", "transformer.decoding"},
}


def imports(file: Path) -> set[str]:
    """Absolute dotted names of everything that a file imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
            origin = ".".join((*parents, *filter(None, [node.module])))
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return found


def room_of(file: Path) -> str:
    """The first name below the package: transformer/figures/style.py is in figures."""
    return Path(file.relative_to(PACKAGE).parts[0]).stem if PACKAGE in file.parents else file.stem


def rooms_behind(names: set[str]) -> set[str]:
    """Our own rooms among imported names; a name that the package itself exports is `__init__`'s."""
    ours = {name.split(".")[1] if "." in name else "" for name in names if name.split(".")[0] == "transformer"}
    return {room if room in FLOOR else "__init__" for room in ours}


@pytest.mark.parametrize("file", [ROOT / "app.py", *FILES], ids=lambda file: str(file.relative_to(ROOT)))
def test_every_import_points_down(file: Path) -> None:
    room = room_of(file)
    assert room in FLOOR, f"{room} has no floor yet: give it one in FLOORS"
    up = {other for other in rooms_behind(imports(file)) - {room} if FLOOR[other] >= FLOOR[room]}
    assert not up


@pytest.mark.parametrize(("room", "shut"), SHUT.items())
def test_a_room_keeps_to_its_own_tools(room: str, shut: set[str]) -> None:
    files = [file for file in FILES if room_of(file) == room]
    assert files
    for file in files:
        used = {name for name in imports(file) for tool in shut if f"{name}.".startswith(f"{tool}.")}
        assert not used, file


def test_reading_imports_would_find_an_arrow_that_points_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "transformer" / "corpus" / "wrong.py"
    file.parent.mkdir(parents=True)
    file.write_text("from ..webui import page\nfrom .. import Translator, training\ndef f():\n    import torch.nn\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert imports(file) == {"transformer.webui.page", "transformer.Translator", "transformer.training", "torch.nn"}
    assert rooms_behind(imports(file)) == {"webui", "__init__", "training"}


def test_no_module_imports_a_star() -> None:
    for file in [ROOT / "app.py", *FILES, *(ROOT / "tests").rglob("*.py")]:
        assert not [name for name in imports(file) if name.endswith("*")], file


def test_importing_the_package_brings_no_page_and_no_tables() -> None:
    code = "import json, sys, transformer; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"gradio", "plotly", "pandas"} & set(json.loads(run.stdout))


def test_the_app_is_short() -> None:
    assert len((ROOT / "app.py").read_text().splitlines()) <= 40


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_the_top_of_the_repository_holds_what_was_drawn_and_nothing_else() -> None:
    run = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    top = {line.split("/")[0] for line in run.stdout.splitlines()}
    drawn = {"app.py", "requirements.txt", "transformer", "checkpoints", "assets", "tests"}
    assert {name for name in top if not name.startswith(".")} <= drawn | {"README.md", "Makefile", "pyproject.toml"}
