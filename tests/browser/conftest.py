"""A served page, and a real Chromium that looks at it."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page, Request, expect, sync_playwright

from .chromium import find
from .wire import question

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30_000  # ms: what comes comes soon, but a machine may be busy with other tests
TRAINED = 300_000  # ms: a training leaves the processor to the other tests, and waits as long as they take it
expect.set_options(timeout=PATIENCE)
LAPTOP: Any = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
PHONE: Any = {"width": 390, "height": 844}
QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run --enable-precise-memory-info"
)
OPENED = "?tab=translate"  # all else is as usual
# A page draws in a frame what has come, and may ask for more in the next.
FRAMES = "async () => { for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); }"
SETTLED = f"""async () => {{
    await ({FRAMES})();
    const isDrawn = !document.querySelector(".tab-panel.open .view:empty, #top.busy");
    return isDrawn && Boolean(document.querySelector("#checks:not([data-state='…'])"));
}}"""
ONE_PROCESS = "--renderer-process-limit=1"  # of all pages, which then share what is compiled


def until(true: Callable[[], bool], patience: int = PATIENCE) -> None:
    end = time.monotonic() + patience / 1000
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


class Server:
    """`python app.py` on a port of this machine; it can be killed, and started again on the same port."""

    command: tuple[str, ...] = ("app.py",)

    def __init__(self, folder: Path = ROOT, log: Path | None = None, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        here = {"GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": str(self.port), "TRANSFORMER_DEVICE": "cpu"}
        self._how: dict[str, Any] = {"cwd": folder, "env": os.environ | here | environment}
        self._log = log
        self.start()

    def start(self) -> None:
        """Without waiting until it answers."""
        with self._log.open("ab") if self._log else nullcontext() as log:
            self.process = subprocess.Popen([sys.executable, *self.command], **self._how, stdout=log, stderr=log)

    def wait(self, seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(self.url, timeout=5)
                return
            except OSError:  # nobody listens, or it took too long
                time.sleep(0.2)
        raise RuntimeError(f"app.py does not answer (exit status {self.process.poll()})")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)


def get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=60, trust_env=False)


def asks_for(request: Request, name: str) -> bool:
    """Whether a page asks this question."""
    return question(request) == name


def post(url: str, path: str, body: Any, **headers: str) -> httpx.Response:
    return httpx.post(url + path, json=body, headers=headers, timeout=60, trust_env=False)


def upload(url: str, content: bytes) -> str:
    """The key of a model whose file a visitor uploads."""
    answer = httpx.post(f"{url}models", content=content, headers={"Session": "me"}, timeout=60, trust_env=False)
    key: str = answer.json()["model"]["checkpoint"]
    return key


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`python app.py` on a free port of this machine, as a visitor meets it: one for all processes of pytest-xdist.

    The first starts it and the last ends it, which nobody else does meanwhile: each holds a lock as long as it uses it.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "server").open("a+") as address, (folder / "users").open("a") as users:
        fcntl.flock(address, fcntl.LOCK_EX)
        address.seek(0)
        found = address.read().split()
        if not found:
            server = Server()
            server.wait()
            found = [server.url, str(server.process.pid)]
            print(*found, file=address, flush=True)
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(address, fcntl.LOCK_UN)
        yield found[0]
        fcntl.flock(address, fcntl.LOCK_EX)
        with suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            address.truncate(0)
            os.kill(int(found[1]), signal.SIGTERM)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find(playwright), args=[*QUIET.split(), ONE_PROCESS])
        yield chromium
        chromium.close()


class Visit:
    """One visitor's page. Whatever it throws or asks of another machine is remembered, and fails the test.

    Attributes:
        requests: the addresses of all that the browser has fetched.
        asked: the names of the questions among them; see wire.py.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.requests: list[str] = []
        self.asked: list[str] = []
        self.faults: list[str] = []
        self._asked: set[Request] = set()  # without a whole answer
        page.on("request", self._ask)
        for end in ("requestfinished", "requestfailed"):
            page.on(end, lambda request: self._asked.discard(request))
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error.message}\n{error.stack}"))
        page.on("dialog", self._dismiss)
        # What every test looks at, in any language.
        self.box = page.locator("#sentence").get_by_role("textbox")
        self.translation = page.locator("#translation")
        self.words = self.translation.get_by_role("button")
        self.message = page.locator("#top .message")
        self.step_slider = page.locator("#step")

    def _ask(self, request: Request) -> None:
        address = request.url
        self.requests.append(address)
        if name := question(request):
            self._asked.add(request)
            self.asked.append(name)
        if not address.startswith((self.url, "data:", "blob:")):
            self.faults.append(f"left the machine: {address}")

    def _dismiss(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, query: str = OPENED) -> Page:
        self.page.goto(self.url + query)
        self.words.first.wait_for()
        # A link's run that takes long comes after the run that every page opens with.
        self.page.locator("#top.busy").wait_for(state="detached")
        return self.page

    def tab(self, name: str) -> None:
        """By its name in a link."""
        self.tab_named(name).click()

    def tab_named(self, name: str) -> Locator:
        return self.page.locator(f"[role=tab][data-tab-id={name}]")

    def press(self, name: str) -> None:
        """A button of the open tab, by its words."""
        self.page.locator("[role=tabpanel] .view:visible").get_by_role("button", name=name, exact=True).click()

    @contextmanager
    def answered(self) -> Iterator[None]:
        """Until the run that is asked for meanwhile is there."""
        self.page.evaluate(
            "() => { window.answered = false; "
            "document.addEventListener('translate:answered', () => { window.answered = true; }, { once: true }); }"
        )
        yield
        # While the page is busy, that was the answer to something that was asked before.
        self.page.wait_for_function("window.answered && !document.querySelector('#top.busy')")

    def type(self, sentence: str) -> None:
        """Ask for its translation, and do not wait for it."""
        self.box.fill(sentence)
        self.page.locator("#translate").click()

    def ask(self, sentence: str) -> None:
        with self.answered():
            self.type(sentence)

    def choose_model(self, checkpoint: str) -> None:
        if self.page.locator("#checkpoint").input_value() != checkpoint:
            with self.answered():
                self.page.locator("#checkpoint").select_option(checkpoint)

    def draw_stages(self) -> None:
        """Of Inside a head: each is drawn when it comes into view."""
        self.page.locator("#inside .stage").first.wait_for()
        for stage in self.page.locator("#inside .stage").all():
            stage.scroll_into_view_if_needed()
            stage.locator(".cell").first.wait_for()

    def settle(self) -> None:
        """Until the page has asked what it asks by itself: the checks of the run, and what the open tab needs."""

        def is_quiet() -> bool:
            return bool(self.page.evaluate(SETTLED)) and not self._asked

        until(lambda: is_quiet() and is_quiet())  # what was drawn in between may have asked for more

    @property
    def step(self) -> int:
        """From 0."""
        return int(self.step_slider.input_value()) - 1


# What assets/web/app.ts exports for tests: a promise, as an expression on the page.
APP = "import(performance.getEntriesByType('resource').find(({ name }) => name.includes('/dist/app.js')).name)"


def place(page: Page) -> dict[str, Any]:
    """What its visitor looks at."""
    read = "({ state }) => ({ ...state, run: [state.run.checkpoint, state.run.sentence] })"
    return page.evaluate(f"{APP}.then({read})")


def move(page: Page, to: dict[str, Any]) -> None:
    """To another place, as a click does it."""
    page.evaluate(f"(to) => {APP}.then(({{ update }}) => update(to))", to)


def luminance(rgb: list[float]) -> float:
    """Of a colour from 0 to 255, as WCAG 2 defines it; what follows the three is ignored."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb[:3])]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@contextmanager
def visiting(browser: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """A visitor with another browser."""
    context = browser.new_context(**(LAPTOP | options))
    context.set_default_timeout(PATIENCE)
    visit = Visit(context.new_page(), url)
    yield visit
    context.close()
    assert visit.faults == []


@pytest.fixture(scope="module")
def shared(browser: Browser, url: str) -> Iterator[Visit]:
    """One visitor for all tests of a file: each of them goes where it wants from wherever the last one was."""
    with visiting(browser, url) as visit:
        yield visit


@pytest.fixture(scope="session")
def returning(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has been here before, and has the page's scripts compiled: half of the work of opening it. An
    empty page keeps it alive between two visits."""
    context = browser.new_context(**LAPTOP)
    context.set_default_timeout(PATIENCE)
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def visit(returning: BrowserContext, url: str) -> Iterator[Visit]:
    """Of somebody of whom the browser remembers nothing else."""
    visit = Visit(returning.new_page(), url)
    yield visit
    returning.clear_permissions()
    keeper, *others = returning.pages
    for page in others:
        page.close()
    forgotten = {"origin": url.rstrip("/"), "storageTypes": "local_storage,cookies,indexeddb"}
    session = returning.new_cdp_session(keeper)
    session.send("Storage.clearDataForOrigin", forgotten)
    session.detach()
    assert visit.faults == []
