"""What `pip install .` installs: the library with its checkpoints, which needs neither the page nor a checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .test_documents import ROOT, code, hub_for

pytestmark = pytest.mark.slow

WITHOUT_PAGE = "import sys\nsys.modules |= {'gradio': None, 'plotly': None}\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built, site = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], cwd=ROOT, check=True)
    (wheel,) = built.iterdir()
    zipfile.ZipFile(wheel).extractall(site)
    return site


def run(program: str, site: Path, folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("document", ["README.md", "transformer/README.md"])
def test_the_examples_run_in_another_folder(
    installed: Path, tmp_path: Path, document: str, marian: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = f"\nimport transformer\nassert transformer.__file__.startswith({str(installed)!r})\n"
    with hub_for(code(ROOT / document), marian, tmp_path / "home", monkeypatch):
        run("\n".join([WITHOUT_PAGE, *code(ROOT / document), where]), installed, tmp_path)


def test_the_page_is_built_in_another_folder(installed: Path, tmp_path: Path) -> None:
    run("import attention_bitte\nattention_bitte.build()\nattention_bitte.launch()", installed, tmp_path)
