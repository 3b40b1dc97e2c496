"""Many ask at the same time: they wait in the queue, are told so, and are answered without asking again."""

import json
import socket
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from .. import visitors
from .catalogue import t
from .conftest import Server, Visit, get, post, until, visiting

BEER, COLA = "Ich möchte ein Bier", "ich mochte ein cola"
CONCURRENCY, QUEUE_SIZE = 2, 3
TRANSLATE = {"data": [BEER, "toy"]}


class Held(Server):
    """A server whose translations wait for a test; see held.py."""

    command = ("-m", "tests.browser.held")

    def __init__(self, folder: Path) -> None:
        self.gate = folder / "gate"
        self._others: list[threading.Thread] = []
        self.statuses: list[int] = []
        sizes = {"TRANSFORMER_CONCURRENCY": str(CONCURRENCY), "TRANSFORMER_QUEUE_SIZE": str(QUEUE_SIZE)}
        super().__init__(**{"GATE": str(self.gate), **sizes})  # type: ignore[arg-type]

    def queue(self) -> dict[str, int]:
        counts: dict[str, int] = get(f"{self.url}health").json()["queue"]
        return counts

    @cached_property
    def page(self) -> visitors.Page:
        return visitors.Page.load(self.port)

    def occupy(self, count: int, session: str = "other") -> None:
        """By requests of a session, until all of them are in the queue; a full queue refuses what it asks next."""
        begun = sum(self.queue().values())
        others = [threading.Thread(target=self._ask, args=[session]) for _ in range(count)]
        for other in others:
            other.start()
        self._others += others
        until(lambda: sum(self.queue().values()) == begun + count)

    def _ask(self, session: str) -> None:
        asked = self.page.click("translate", "ask", session, {"checkpoint": "toy", "sentence": BEER, "changes": []})
        answer = post(self.url, asked.path, asked.body)
        self.statuses.append(answer.status_code)

    def open(self) -> None:
        """Open the gate and wait until all others are answered."""
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


@pytest.fixture(scope="module")
def visit(server: Held, browser: Browser) -> Iterator[Visit]:
    with visiting(browser, server.url) as visit:
        visit.open()
        visit.settle()
        yield visit


@pytest.fixture(autouse=True)
def _held(server: Held, visit: Visit) -> Iterator[None]:
    server.gate.touch()
    yield
    server.open()
    assert set(server.statuses) <= {200}
    until(lambda: sum(server.queue().values()) == 0)


def ask(visit: Visit, sentence: str) -> None:
    visit.page.locator("#sentence input").fill(sentence)
    visit.page.locator("#translate").click()


def test_a_page_that_waits_or_is_refused_says_so_and_is_answered(server: Held, visit: Visit) -> None:
    page = visit.page
    word = page.locator("#translation button").nth(3)
    server.occupy(CONCURRENCY + 1)
    with page.expect_request(lambda request: "/run/predict" in request.url) as asked:
        ask(visit, COLA)
    expect(page.locator("#crowd")).to_have_text(t("queue.waiting", waiting=2))
    expect(word).to_have_text("beer")  # what was there stays
    server.open()
    expect(word).to_have_text("coke")
    expect(page.locator("#crowd")).to_be_hidden()
    expect(page.locator("#top .message[role=alert]")).to_be_hidden()

    visit.settle()  # the page's own requests about its run would take places, too
    server.gate.touch()
    server.occupy(CONCURRENCY + QUEUE_SIZE, asked.value.post_data_json["session_hash"])
    with page.expect_response(lambda answer: answer.status == 503):
        ask(visit, BEER)
    expect(page.locator("#crowd")).to_have_text(t("queue.full"))
    server.open()
    expect(word).to_have_text("beer")  # without another click
    expect(page.locator("#crowd")).to_be_hidden()


def test_a_program_is_refused_with_a_sentence_and_a_time(server: Held) -> None:
    server.occupy(CONCURRENCY + QUEUE_SIZE, session="")
    answer = post(server.url, "gradio_api/run/translate", TRANSLATE)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert "Too many are asking" in answer.json()["error"]
    assert get(f"{server.url}health").status_code == 200  # which never waits


def test_clients_that_leave_or_send_slowly_take_no_place(server: Held) -> None:
    server.occupy(CONCURRENCY + 1)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}gradio_api/run/translate", json=TRANSLATE, timeout=0.5, trust_env=False)
    body = json.dumps(TRANSLATE).encode()
    head = f"POST /gradio_api/run/translate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CONCURRENCY + QUEUE_SIZE)]
    for each in slow:
        each.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body[:9])
    until(lambda: server.queue() == {"working": CONCURRENCY, "waiting": 1})
    for each in slow:
        each.close()
