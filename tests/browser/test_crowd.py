"""Many ask at once: they wait in line, are told so, and are answered without asking again."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from .. import visitors
from .conftest import PATIENCE, Server, Visit, until

BEER, COLA = "Ich möchte ein Bier", "ich mochte ein cola"
AT_ONCE, LONGEST = 2, 3


class Held(Server):
    """A server whose translations wait for a test; see held.py."""

    def __init__(self, folder: Path) -> None:
        self.gate = folder / "gate"
        line = {"TRANSFORMER_AT_ONCE": str(AT_ONCE), "TRANSFORMER_LINE": str(LONGEST)}
        self._others: list[threading.Thread] = []
        self.said: list[int] = []
        super().__init__(GATE=str(self.gate), **line)

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "tests.browser.held"], **self._how)

    def line(self) -> dict[str, int]:
        return httpx.get(f"{self.url}health", trust_env=False).json()["line"]

    @cached_property
    def known(self) -> visitors.Page:
        """What a page knows of this server."""
        return visitors.Page(httpx.get(f"{self.url}config", trust_env=False).json())

    def occupy(self, count: int) -> None:
        """So many others ask, and all of them have come."""
        for _ in range(count):
            before = sum(self.line().values())
            self._others.append(threading.Thread(target=self._ask))
            self._others[-1].start()
            until(lambda before=before: sum(self.line().values()) > before)

    def _ask(self) -> None:
        asked = self.known.click("translate", "ask", "other", {"checkpoint": "toy", "sentence": BEER})
        answer = httpx.post(self.url + asked.path, json=asked.body, timeout=60, trust_env=False)
        self.said.append(answer.status_code)

    def open(self) -> None:
        """The gate: all others are answered."""
        self.gate.unlink(missing_ok=True)
        for other in self._others:
            other.join()
        self._others.clear()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    server = Held(tmp_path_factory.mktemp("held"))
    server.wait()
    yield server
    server.open()
    server.end()


@pytest.fixture
def page(server: Held, browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    visit = Visit(context.new_page(), server.url)
    visit.open()
    visit.settle()
    server.gate.touch()
    yield visit.page
    server.open()
    context.close()
    assert visit.faults == []
    assert set(server.said) <= {200}


def ask(page: Page, sentence: str) -> None:
    page.locator("#sentence input").fill(sentence)
    page.locator("#translate").click()


def test_who_waits_is_told_and_then_answered(server: Held, page: Page) -> None:
    server.occupy(AT_ONCE + 1)
    ask(page, COLA)
    expect(page.locator("#crowd")).to_have_text(
        "Many are asking right now: 2 in line. Yours will be answered in its turn."
    )
    expect(page.locator("#translation button").nth(3)).to_have_text("beer")  # what was there stays
    server.open()
    expect(page.locator("#translation button").nth(3)).to_have_text("coke")
    expect(page.locator("#crowd")).to_be_hidden()
    expect(page.locator("#top .message[role=alert]")).to_be_hidden()
    until(lambda: sum(server.line().values()) == 0)


def test_who_is_sent_away_comes_back_without_a_click(server: Held, page: Page) -> None:
    server.occupy(AT_ONCE + LONGEST)
    refused: list[str] = []
    page.on("response", lambda answer: refused.append(answer.url) if answer.status == 503 else None)
    ask(page, COLA)
    expect(page.locator("#crowd")).to_contain_text("This page asks again by itself.")
    assert refused
    server.open()
    expect(page.locator("#translation button").nth(3)).to_have_text("coke")
    expect(page.locator("#crowd")).to_be_hidden()


def test_a_program_is_sent_away_with_a_sentence_and_a_time(server: Held, page: Page) -> None:
    server.occupy(AT_ONCE + LONGEST)
    asked = {"data": [BEER, "toy"]}
    answer = httpx.post(f"{server.url}gradio_api/run/translate", json=asked, trust_env=False)
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert "Too many are asking" in answer.json()["error"]
    assert httpx.get(f"{server.url}health", trust_env=False).status_code == 200  # which never waits


def test_who_comes_through_gradios_queue_is_in_the_same_line(server: Held, page: Page) -> None:
    server.occupy(AT_ONCE + LONGEST - 1)
    calls = f"{server.url}gradio_api/call/translate"

    def call() -> str:
        event = httpx.post(calls, json={"data": [BEER, "toy"]}, trust_env=False).json()["event_id"]
        return httpx.get(f"{calls}/{event}", timeout=60, trust_env=False).text

    said: list[str] = []
    waits = threading.Thread(target=lambda: said.append(call()))
    waits.start()
    until(lambda: server.line()["waiting"] == LONGEST)
    assert "Too many are asking" in call()
    server.open()
    waits.join()
    assert "i want a beer ." in said[0]


def test_who_goes_leaves_the_line(server: Held, page: Page) -> None:
    server.occupy(AT_ONCE + 1)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}gradio_api/run/translate", json={"data": [BEER, "toy"]}, timeout=0.5, trust_env=False)
    until(lambda: server.line() == {"working": AT_ONCE, "waiting": 1})


def test_who_sends_slowly_takes_no_place(server: Held, page: Page) -> None:
    body = json.dumps({"data": [BEER, "toy"]}).encode()
    head = f"POST /gradio_api/run/translate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(AT_ONCE + LONGEST)]
    for each in slow:
        each.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body[:9])
    assert server.line() == {"working": 0, "waiting": 0}
    for each in slow:
        each.close()
