"""A server as a Space runs it: in another site's frame, and with faults.

A worker dies, a checkpoint is cut off, a client vanishes: it says so, goes on, and leaves nothing behind.
"""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect

from transformer.messages import Message

from ..visitors import train
from .catalogue import t
from .conftest import ROOT, TRAINED, Server, get, hosted, in_menu, post, until
from .wire import action

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to look at processes")

COLA = "ich mochte ein cola"
IDLE = {"running": 0, "waiting": 0}


class Space(Server):
    """The tracked files alone, with the environment that a Space sets, and a home where nobody can write."""

    def __init__(self, folder: Path) -> None:
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for path in filter(None, tracked.split("\0")):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / path)
        self.checkpoints, self.temporary = folder / "checkpoints", folder / "temporary"
        self.temporary.mkdir()
        environment = {
            "HOME": "/dev/null/home",
            "XDG_CACHE_HOME": "/dev/null/cache",
            "SYSTEM": "spaces",
            "SPACE_ID": "someone/attention-bitte",
            "SPACE_HOST": "someone-attention-bitte.hf.space",
            "SPACE_AUTHOR_NAME": "someone",
            "CPU_CORES": "2",
            "TMPDIR": str(self.temporary),
            "TRANSFORMER_TRAIN_CONCURRENCY": "1",
        }
        super().__init__(folder, log=folder / "log", **environment)

    def workers(self) -> list[int]:
        found: list[int] = []
        for task in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with suppress(OSError):  # a thread that ends meanwhile
                found += map(int, task.read_text().split())
        return found

    def models(self) -> list[Path]:
        return list(self.temporary.rglob("*.safetensors"))

    def training(self) -> dict[str, int]:
        counts: dict[str, int] = get(f"{self.url}health").json()["training"]
        return counts

    def translate(self, sentence: str, checkpoint: str) -> httpx.Response:
        return post(self.url, action("translate"), {"data": [sentence, checkpoint]})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    with Space(tmp_path_factory.mktemp("space")) as server:
        yield server


def test_a_checkpoint_that_was_spoilt_before_it_is_chosen(server: Space) -> None:
    """How it may be spoilt: tests/storage/test_checkpoint.py."""
    path = server.checkpoints / "classroom" / "model.safetensors"
    whole = path.read_bytes()
    os.truncate(path, len(whole) // 2)
    try:
        answer = server.translate("Das Kind schläft", "classroom")
        assert answer.status_code == 500
        assert answer.json()["error"] == str(Message("error.model_broken", {"name": "classroom"}))
        asked = {"checkpoint": "classroom", "sentence": COLA, "or_example": True}
        shown = post(server.url, "api/translate", asked, Session="me").json()
        assert (shown.get("run"), shown["error"]["key"]) == (None, "error.model_broken")
        assert server.translate(COLA, "toy").status_code == 200
        assert get(server.url).status_code == 200
    finally:
        path.write_bytes(whole)
    assert server.translate("Das Kind schläft", "classroom").status_code == 200


def test_it_works_in_another_sites_frame_without_storage(server: Space, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(f'<iframe src="{server.url}" width="1200" height="900"></iframe>')
    page = browser.new_page()
    denied = "{ get() { throw new DOMException('denied', 'SecurityError'); } }"
    page.add_init_script(
        f"for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, {denied});"
        "Object.defineProperty(document, 'cookie', { get: () => '', set: () => {} });"
    )
    faults: list[str] = []
    asked: list[SplitResult] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(urlsplit(request.url)))
    with hosted(tmp_path) as site:
        page.goto(site.replace("127.0.0.1", "localhost"))
        frame = page.frame_locator("iframe")
        words = frame.get_by_role("listbox", name=t("run.target")).get_by_role("option")
        words.first.wait_for()
        frame.get_by_role("textbox", name=t("sentence.label")).fill(COLA)
        frame.get_by_role("button", name=t("sentence.translate"), exact=True).click()
        expect(words.nth(3)).to_have_text("coke")
        in_menu(frame, "#theme")
        for tab in ("attention", "positions", "inside", "train", "break", "lesson"):
            frame.get_by_role("tab", name=t(f"tab.{tab}"), exact=True).click()
            expect(frame.locator("[role=tabpanel] .view:visible").first).not_to_be_empty()
        in_menu(frame, "#share")
        link = re.compile("^https://someone-attention-bitte.hf.space/.*tab=lesson")
        expect(frame.get_by_label(t("share.link"))).to_have_value(link)
        page.close()
    assert faults == []
    assert {each.hostname for each in asked if each.scheme in ("http", "https", "ws")} == {"localhost", "127.0.0.1"}


def events(server: Space, session: str) -> Generator[dict[str, Any]]:
    """A training's events, until it is killed or the generator is closed: it would take long."""
    asked = train(session, 5000, "toy")
    how: dict[str, Any] = {"json": asked.body, "headers": asked.headers, "timeout": TRAINED / 1000}
    with httpx.stream("POST", server.url + asked.path, **how, trust_env=False) as answer:
        for line in answer.iter_lines():
            yield json.loads(line)


def until_event(stream: Iterator[dict[str, Any]], name: str) -> None:
    while next(stream)["event"] != name:
        pass


def test_a_worker_that_is_killed_is_reported_and_the_queue_goes_on(server: Space) -> None:
    one, two = events(server, "one"), events(server, "two")
    until_event(one, "progress")
    until_event(two, "waiting")
    (worker,) = server.workers()
    os.kill(worker, signal.SIGKILL)
    *_, last = one
    assert (last["event"], last["message"]["key"]) == ("error", "train.died")
    until_event(two, "started")
    two.close()  # its client vanishes
    until(lambda: server.training() == IDLE, TRAINED)
    assert server.models() == []  # neither leaves anything
