"""The documents are true: their code runs, their links lead somewhere, their figures and settings are today's."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.benchmarks.bench import README as BENCHMARKS
from tests.benchmarks.bench import put, read, written
from transformer.live.limits import Limits
from transformer.settings import variables
from transformer.web.api.__main__ import actions, questions
from transformer.web.page import opened
from transformer.web.settings import Settings

from .hub import Hub, served, use

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(path for path in ROOT.rglob("*.md") if not path.relative_to(ROOT).parts[0].startswith("."))
CODE = [each for part in ("assets/web", "tests", "transformer") for each in sorted((ROOT / part).rglob("*.[pt][sy]"))]
REQUIREMENTS = {each.name: each for each in map(Requirement, (ROOT / "requirements.txt").read_text().split())}


def code(document: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", document.read_text("utf-8"), re.M | re.S)


@contextmanager
def hub_for(blocks: Sequence[str], marian: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The model of the Hub that code loads, if it does, comes from a server of this machine, with random weights."""
    named = re.search(r'load\("([\w-]+/[\w-]+)"\)', "\n".join(blocks))
    if not named:
        yield
        return
    with served(Hub(marian, named[1])) as address:
        use(address, cache, monkeypatch)
        yield


BLOCKS = [(path, block) for path in DOCUMENTS if path.parent != ROOT for block in code(path)]  # else: test_package.py


@pytest.mark.slow
@pytest.mark.parametrize(("document", "block"), BLOCKS, ids=lambda each: getattr(each, "parent", each) and None)
def test_code_runs_as_printed(
    document: Path, block: str, marian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_for([block], marian, tmp_path / "home", monkeypatch):
        exec(compile(block, document.name, "exec"), {})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text("utf-8")):
        assert "://" in target or (document.parent / target).exists(), target


def test_the_two_readmes_have_the_same_code_and_structure() -> None:
    english, chinese = ROOT / "README.md", ROOT / "README.zh.md"
    assert code(english) == code(chinese)
    headings = [
        re.findall(r"^(#+) ", path.read_text("utf-8").split("\n---\n")[-1], re.M) for path in (english, chinese)
    ]
    assert headings[0] == headings[1]
    assert max(len(path.read_text("utf-8").splitlines()) for path in (english, chinese)) <= 200


def test_a_space_runs_the_pinned_gradio() -> None:
    front = (ROOT / "README.md").read_text().split("---")[1]
    assert f"sdk_version: {str(REQUIREMENTS['gradio'].specifier).strip('=')}\n" in front


def test_the_package_takes_what_the_space_runs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {
        each.name: each for each in map(Requirement, project["dependencies"] + project["optional-dependencies"]["page"])
    }
    for name, pinned in REQUIREMENTS.items():
        ends = [Version(each.version) for each in pinned.specifier]
        assert all(end in asked[name].specifier for end in ends), name
    assert asked["gradio"].specifier == REQUIREMENTS["gradio"].specifier  # its internals are relied on


def test_the_table_of_settings_is_that_of_the_code() -> None:
    document = (ROOT / "transformer/web/README.md").read_text()
    for settings in (Settings, Limits):
        for each in variables(settings).values():
            default = " " if each.default is False or each.default == "" else f" {each.default} "
            assert re.search(rf"^\| `{each.name}` \|{re.escape(default)}\| \S", document, re.M), each.name


def test_the_tables_of_actions_and_questions_are_those_of_the_code() -> None:
    document = (ROOT / "transformer/web/README.md").read_text()
    for table in (actions(), questions()):
        assert table in document, "python -m transformer.web.api prints it"


def test_every_parameter_of_a_link_and_its_choices_are_described() -> None:
    links = (ROOT / "transformer/web/README.md").read_text().partition("## Links")[2].partition("## API")[0]
    for name, parameter in opened()["schema"]["parameters"].items():
        if name != "exercise":  # whose choices the page lists
            assert {
                each for each in (parameter.get("choices") or ()) if not re.search(rf"\b{each}\b", links)
            } == set(), name
        assert re.search(rf"[`?&]{name}\b", links), name


def test_the_table_of_benchmarks_is_what_was_measured() -> None:
    text = BENCHMARKS.read_text()
    assert put(text, written(*read())) == text


def test_a_docstring_says_what_a_thing_is() -> None:
    begun = re.compile(r'(?:"""|/\*\*)[\s*]*(?:Of|The same)\b.*')
    assert [f"{path}: {found}" for path in CODE for found in begun.findall(path.read_text("utf-8"))] == []
