"""Markup, templates and formulas: typed, or as every text of a stranger's model, they are shown as text, everywhere."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from transformer import Vocabulary
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import PortableModel

from ..networks import network
from .conftest import FRAMES, Visit, forgotten, in_menu
from .test_accessible import BY_TAB, IN_THE_DARK, PLACES, reveal, walk
from .test_lesson import LINKS, STOPS

# Each says which of them ran. They are one word each, as a model's words are.
MARKUP = [
    "<img/src=x/onerror=alert(1)>",
    "</b></script><script>alert(2)</script>",
    "<svg/onload=alert(3)>",
    "\"onmouseover=alert(4)//'onfocus=alert(4)//",
    "{{constructor.constructor('alert(5)')()}}",
    "${alert(6)}`${alert(6)}",
    "javascript:alert(7)",
    "=hyperlink(\"http://evil.example\",\"x\")",
    "{name}",
    "<iframe/srcdoc='<script>alert(8)</script>'>",
]  # fmt: skip
TEXT = f"<script>alert(9)</script> {' '.join(MARKUP)} [x](javascript:alert(10)) $\\href{{javascript:alert(11)}}{{x}}$"
# A stop may have nothing to guess in such a model.
DEEP = BY_TAB | IN_THE_DARK | {"what if, changed", "spot the bug"}  # every tab and what opens in it
WALK = [place for place in PLACES if place[0] in DEEP and not place[0].startswith("lesson")]
WALK += [
    (stop, {"tab": "lesson", "stop": i}, "#lesson .lesson-figure", reveal) for i, stop in zip(LINKS, STOPS, strict=True)
]
RAN = """() => [
    ...document.querySelectorAll("[onerror], [onload], [onmouseover], [onfocus], [srcdoc], [href^='javascript:'], img[src=x]"),
].map((each) => each.outerHTML.slice(0, 200))"""  # noqa: E501


def evil() -> PortableModel:
    """A whole file: only its words are bad."""
    checkpoint = Checkpoint(
        network(),
        src_vocab=Vocabulary(("P", *MARKUP), folds=True),
        tgt_vocab=Vocabulary(("P", "S", "E", *MARKUP), folds=True),
        source_length=5,
        output_limit=7,
    )
    sentences = [" ".join(MARKUP[at : at + 4]) for at in range(5)]
    pairs = tuple((sentence, f"{sentence} {MARKUP[0]}") for sentence in sentences)
    training = {"steps": 3, "learning_rate": 0.001, "schedule": "constant", "seed": 42, "held_out_pairs": 1}
    return PortableModel(checkpoint, MARKUP[0], "own", pairs, training, TEXT)


@pytest.fixture(scope="module")
def brought(returning: Visit) -> Iterator[Page]:
    with forgotten(returning) as visit:
        page = visit.open("?tab=train")
        visit.bring_model(evil())
        expect(page.locator("#checkpoint option:checked")).to_contain_text(MARKUP[0])
        visit.ask(" ".join(MARKUP[:5]))
        expect(page.locator(".run .tokens").first).to_contain_text(MARKUP[4])
        yield page


def test_words_of_a_model_are_words_on_every_tab(brought: Page) -> None:
    shown = set()
    for name in walk(brought, WALK):
        brought.evaluate(FRAMES)
        assert brought.evaluate(RAN) == [], name
        text = brought.locator("body").inner_text()
        shown |= {word for word in MARKUP if word in text}
    assert shown >= set(MARKUP[:5])  # and (an alert would fail the visit) not run


def test_words_of_a_model_are_words_in_every_file(brought: Page) -> None:
    brought.keyboard.press("Escape")
    in_menu(brought, "#downloads summary")
    files = {}
    for kind in ("handout", "notebook", "csv", "interactive"):
        with brought.expect_download() as download:
            brought.locator(f"#downloads [data-file={kind}]").click()
        files[kind] = Path(download.value.path()).read_text("utf-8")
        assert not set(download.value.suggested_filename) & set("<>:\"/\\|?*'")
    rows = list(csv.DictReader(io.StringIO(files["csv"])))
    assert {word for row in rows for word in (row["query_token"], row["key_token"])} > set(MARKUP[:5])
    assert not [row for row in rows if row["query_token"][0] in "=+-@" or row["key_token"][0] in "=+-@"]
    for cell in json.loads(files["notebook"])["cells"]:
        if cell["cell_type"] == "code":
            compile("".join(cell["source"]), "cell", "exec")
    sheet = Visit(brought.context.new_page(), "about:")
    sheet.page.set_content(files["handout"])
    sheet.page.wait_for_load_state("networkidle")
    assert MARKUP[0] in sheet.page.locator("body").inner_text()
    assert sheet.page.evaluate(RAN) == []
    sheet.page.set_content(files["interactive"])
    sheet.page.locator("#translation .chip").first.wait_for()
    assert MARKUP[0] in sheet.page.locator(".run .tokens").first.inner_text()
    expect(sheet.page.locator("#saved a")).to_have_attribute("href", brought.url.partition("?")[0])
    assert sheet.page.evaluate(RAN) == []
    assert sheet.faults == []
    sheet.page.close()
