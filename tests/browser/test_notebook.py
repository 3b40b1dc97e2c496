"""A run in a notebook: in a real JupyterLab with its kernel, and as nbconvert saves it, without a network."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from .catalogue import t
from .conftest import ROOT, Server

pytest.importorskip("jupyterlab")

CELLS = (
    "from transformer import Translator\ntranslator = Translator.load('toy', device='cpu')\n"
    "widget = translator.show('ich mochte ein bier', tab='attention', layer=2, head=1)\nwidget",
    "print(widget.place)",
    "widget.place = {'tab': 'inside', 'kind': 'encoder', 'head': 5}",
    "widget.place = {'tab': 'attention', 'kind': 'cross', 'drawing': 'heatmap', 'measure': 'contribution'}",
    "translator.translate('ich mochte ein cola')",
)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
HERE = {"PYTHONPATH": str(ROOT)}


class Lab(Server):
    """JupyterLab, which answers at the same address as a page would."""

    def __init__(self, folder: Path) -> None:
        own = {f"JUPYTER_{each}_DIR": str(folder / each.lower()) for each in ("CONFIG", "DATA")}
        super().__init__(folder, None, **HERE, **own)

    @property
    def command(self) -> tuple[str, ...]:  # type: ignore[override]
        options = {"ip": "127.0.0.1", "port": self.port, "port_retries": 0, "root_dir": self._how["cwd"]}
        settings = [f"--ServerApp.{name}={value}" for name, value in options.items()]
        return ("-m", "jupyterlab", "--no-browser", "--allow-root", "--IdentityProvider.token=", *settings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a notebook that was not run."""
    folder = tmp_path_factory.mktemp("notebook")
    cell: dict[str, Any] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [cell | {"id": f"cell{i}", "source": source} for i, source in enumerate(CELLS)]
    book = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    (folder / "run.ipynb").write_text(json.dumps(book))
    return folder


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[str]:
    with Lab(folder) as server:
        yield server.url


def heading(figure: FrameLocator, layer: int, head: int) -> None:
    expect(figure.locator("#attention h2").first).to_contain_text(t("heads.name", layer=layer, head=head))


def run_cell(page: Page, i: int, prints: str | None = "") -> None:
    """By keyboard, until its output has this; None if it has no output."""
    cell = page.locator(".jp-Notebook .jp-Cell").nth(i)
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    if prints is not None:
        expect(cell.locator(".jp-OutputArea-output")).to_contain_text(prints)


def test_figure_and_python_share_a_place_in_jupyterlab_which_saves_it_interactive(
    browser: Browser, lab: str, folder: Path
) -> None:
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    page.goto(f"{lab}lab/tree/run.ipynb")
    page.get_by_text("| Idle").wait_for()  # before that, a cell would not run
    run_cell(page, 0)
    figure = page.frame_locator(f"iframe[title='{CELLS[0].split(chr(39))[5]}']")
    asks = figure.locator("#sentence input")
    asks.wait_for()  # the kernel would translate
    heading(figure, 3, 2)
    run_cell(page, 1, "'measure': 'weight', 'layer': 2, 'head': 1, 'query': 0, 'step': 0, 'mean': True, 'gold': False")

    run_cell(page, 3, None)
    figure.get_by_role("button", name=t("measure.contribution"), pressed=True).wait_for()
    figure.get_by_text("head 4", exact=True).click()
    heading(figure, 3, 4)
    run_cell(page, 1, "'layer': 2, 'head': 3")

    run_cell(page, 2, None)
    figure.locator("[data-tab-id=inside][aria-selected=true]").wait_for()
    run_cell(page, 1, "'measure': 'contribution', 'layer': 2, 'head': 5")

    asks.fill("ich mochte ein cola")
    figure.locator("#translate").click()
    expect(figure.locator("#translation")).to_contain_text("coke")
    figure.locator("#inside .cell").first.wait_for()  # no number of this run is in the file
    asks.fill("cola tee")
    figure.locator("#translate").click()
    expect(figure.get_by_role("alert")).to_contain_text("tee")
    run_cell(page, 4)
    page.keyboard.press("Control+s")
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)  # saved
    page.get_by_title("Restart the kernel", exact=True).click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    page.get_by_text("| Idle").wait_for()
    asks.fill("cola bier")
    figure.locator("#translate").click()
    expect(figure.get_by_role("alert")).to_contain_text(t("error.no_kernel"))
    page.close()

    # Without a kernel and a network.
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output", "saved", "run.ipynb"]
    subprocess.run(command, cwd=folder, env=os.environ | HERE, check=True, capture_output=True)
    context = browser.new_context(viewport={"width": 1600, "height": 1000}, offline=True)
    page = context.new_page()
    page.goto((folder / "saved.html").as_uri())
    shown, of_run = page.frame_locator("iframe >> nth=0"), page.frame_locator("iframe >> nth=1")
    heading(shown, 3, 2)
    shown.get_by_text("head 4", exact=True).click()
    heading(shown, 3, 4)
    expect(shown.locator("#saved")).to_be_visible()  # nobody would translate
    expect(of_run.locator("#translation")).to_contain_text("coke")
    context.close()
