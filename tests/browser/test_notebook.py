"""A run in a notebook: in a real JupyterLab with its kernel, and as nbconvert saves it, without a network."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from transformer import Translator

from .conftest import LAPTOP, ROOT, Server
from .test_file import opened, reading

pytestmark = pytest.mark.slow
pytest.importorskip("jupyterlab")

CELLS = (
    "from transformer import Translator\ntranslator = Translator.load('toy', device='cpu')\n"
    "widget = translator.show('ich mochte ein bier', tab='attention', layer=2, head=1)\nwidget",
    "print(widget.place)",
    "widget.place = {'tab': 'inside', 'kind': 'encoder', 'head': 5}",
    "translator.translate('cola bier')",
)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
HERE = {"PYTHONPATH": str(ROOT), "JUPYTER_PLATFORM_DIRS": "1"}


class Lab(Server):
    """JupyterLab, which answers at the same address as a page would."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, **HERE, JUPYTER_CONFIG_DIR=str(folder / "config"), JUPYTER_DATA_DIR=str(folder / "data"))

    @property
    def command(self) -> tuple[str, ...]:  # type: ignore[override]
        options = {"ip": "127.0.0.1", "port": self.port, "port_retries": 0, "root_dir": self._how["cwd"]}
        settings = [f"--ServerApp.{name}={value}" for name, value in options.items()]
        return ("-m", "jupyterlab", "--no-browser", "--allow-root", "--IdentityProvider.token=", *settings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a notebook that was not run."""
    folder = tmp_path_factory.mktemp("notebook")
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [cell | {"id": f"cell{i}", "source": source} for i, source in enumerate(CELLS)]
    book = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    (folder / "run.ipynb").write_text(json.dumps(book))
    return folder


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[str]:
    server = Lab(folder)
    try:
        server.wait()
        yield server.url
    finally:
        server.end()


def chosen(frame: FrameLocator) -> Any:
    return frame.locator("body").evaluate("() => location.href") 


def test_a_figure_and_python_share_a_place_in_jupyterlab(browser: Browser, lab: str) -> None:
    page = browser.new_page(**LAPTOP); page.set_default_timeout(12000); page.on("console", lambda m: print("C", m.text[:300])); page.on("pageerror", lambda m: print("E", m))
    page.goto(f"{lab}lab/tree/run.ipynb")
    page.get_by_text("| Idle").wait_for()
    page.locator(".jp-Notebook .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    figure = page.frame_locator("iframe[title='ich mochte ein bier']")
    figure.locator("#ask").wait_for()  # the kernel has joined it, and would translate
    outputs = page.locator(".jp-Notebook .jp-Cell").nth(1).locator(".jp-OutputArea-output")
    page.wait_for_timeout(1000)
    page.screenshot(path="/tmp/proto/s1.png")
    page.keyboard.press("Shift+Enter")
    print(outputs.inner_text())
    figure.locator("#attention .thumbnail > button").nth(3).click()
    page.locator(".jp-Notebook .cm-content").nth(1).click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_timeout(1000)
    print(outputs.inner_text())
    page.keyboard.press("Shift+Enter")
    page.wait_for_timeout(2000)
    page.screenshot(path="/tmp/proto/s2.png")
    figure.locator("#sentence input").fill("cola bier")
    figure.locator("#translate").click()
    page.wait_for_timeout(2000)
    print(figure.locator("#translation").inner_text())
    page.screenshot(path="/tmp/proto/s3.png")
    raise AssertionError
