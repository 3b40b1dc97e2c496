"""What `pip install .` installs: the library with its checkpoints, which needs neither the page nor a checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .test_documents import ROOT, code, hub_for
from .web.api.test_frozen import File

pytestmark = pytest.mark.slow

WITHOUT_PAGE = """
import sys
sys.modules |= dict.fromkeys(("gradio", "plotly", "starlette", "anyio", "fastapi", "segno"))
from transformer import Translator
Translator.load("toy").translate("Ich möchte ein Bier").to_html("run.html")
del sys.modules["anyio"]  # which downloads need
"""
EVERY_MODULE = """
import importlib, pkgutil, transformer
for each in pkgutil.walk_packages(transformer.__path__, "transformer."):
    if not each.name.startswith("transformer.web") and not each.name.endswith("__main__"):
        importlib.import_module(each.name)
"""
WITH_PAGE = """
for each in ("gradio", "plotly", "starlette", "fastapi", "segno"):
    del sys.modules[each]
import attention_bitte
from transformer.web import page
page.build()
"""


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


def test_the_readmes_example_runs_every_module_is_there_and_the_page_is_built_in_another_folder(
    installed: Path, tmp_path: Path, marian: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = code(ROOT / "README.md")
    where = f"assert transformer.__file__.startswith({str(installed)!r})"
    with hub_for(blocks, marian, tmp_path / "home", monkeypatch):
        run("\n".join([WITHOUT_PAGE, *blocks, EVERY_MODULE, where, WITH_PAGE]), installed, tmp_path)
    assert File((tmp_path / "run.html").read_text("utf-8")).asked("inside")
