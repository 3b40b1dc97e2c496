"""A served page, and a real Chromium that looks at it."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, FrameLocator, Page, Request, expect, sync_playwright

from transformer import Translation, Translator
from transformer.inference.interventions import Interventions
from transformer.storage.portable import PortableModel

from ..models import as_file
from .chromium import launched
from .wire import question

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_MS = 30_000  # what comes comes soon, but a machine may be busy with other tests
TRAINED = 300_000  # ms: a training leaves the processor to the other tests, and waits as long as they take it
expect.set_options(timeout=TIMEOUT_MS)
LAPTOP: Any = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
PHONE: Any = {"width": 390, "height": 844}
PROJECTOR: Any = {"width": 1280, "height": 720}  # the smallest that a projector has
OPENED = "?tab=translate"  # all else is as usual
BIER, FLAGSHIP = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"
SENTENCES = {"toy": BIER, "classroom": FLAGSHIP}
# A page draws in a frame what has come, and may ask for more in the next.
FRAMES = "async () => { for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); }"
SETTLED = f"""async () => {{
    await ({FRAMES})();
    const isDrawn = !document.querySelector(".tab-panel.open .view:empty, #top.busy");
    return isDrawn && Boolean(document.querySelector("#checks:not([data-state='…'])"));
}}"""
OPENING_MS = 3000  # after which a page no longer waits for its link's run, and shows another: requests.ts
ONE_PROCESS = "--renderer-process-limit=1"  # of all pages, which then share what is compiled


def until(true: Callable[[], bool], timeout_ms: int = TIMEOUT_MS) -> None:
    end = time.monotonic() + timeout_ms / 1000
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """`python app.py` on a port of this machine; it can be killed, and started again on the same port. As a context it
    answers, and then ends."""

    command: tuple[str, ...] = ("app.py",)

    def __init__(self, folder: Path = ROOT, log: Path | None = None, **environment: str) -> None:
        self.port = free_port()
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
        status = self.process.poll()
        self.kill()
        raise RuntimeError(f"app.py does not answer (exit status {status})")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)

    def __enter__(self) -> Self:
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """A static host of a folder's files, at this address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def alone(browser: Browser, width: int, theme: Any, **more: Any) -> Iterator[tuple[BrowserContext, list[str]]]:
    """The browser of a visitor without a server of ours. Whatever its pages throw or complain of, and what is added to
    the list, fails the test."""
    look: Any = LAPTOP | {"viewport": {"width": width, "height": 900}, "color_scheme": theme, **more}
    context = browser.new_context(**look)
    context.set_default_timeout(TIMEOUT_MS)
    faults: list[str] = []
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    yield context, faults
    context.close()
    assert faults == []


@cache
def translator(checkpoint: str) -> Translator:
    return Translator.load(checkpoint, device="cpu")


def translate(checkpoint: str, *changes: dict[str, Any], sentence: str = "") -> Translation:
    """What the page has to show of a sentence."""
    asked = sentence or SENTENCES[checkpoint]
    return translator(checkpoint).translate(asked, interventions=Interventions.parse(list(changes)))


def get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=60, trust_env=False)


def post(url: str, path: str, body: Any, **headers: str) -> httpx.Response:
    return httpx.post(url + path, json=body, headers=headers, timeout=60, trust_env=False)


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
    with sync_playwright() as playwright, launched(playwright, ONE_PROCESS) as chromium:
        yield chromium


def hold_timers(page: Page, ms: int) -> None:
    """From its next load on, timers of this length do not ring by themselves: `ring()` is the latest."""
    hold = f"ms === {ms} ? ((window.ring = act), 0) : wait(act, ms, ...given)"
    page.add_init_script(f"((wait) => {{ window.setTimeout = (act, ms, ...given) => {hold}; }})(setTimeout)")


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
        page.add_init_script("delete Element.prototype.requestFullscreen")  # a full screen cannot be resized
        hold_timers(page, OPENING_MS)  # a busy machine may take as long
        page.on("request", self._ask)
        for end in ("requestfinished", "requestfailed"):
            page.on(end, lambda request: self._asked.discard(request))
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error.message}\n{error.stack}"))
        page.on("dialog", self._dismiss)
        # What every test looks at, in any language.
        self.box = page.locator("#sentence").get_by_role("textbox")
        self.translation = page.locator("#translation")
        self.words = self.translation.locator(".chip")
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

    def go(self, checkpoint: str = "toy", sentence: str = "", **place: object) -> Page:
        """To a place by its link, in the page that is open; what the link leaves out is as at first."""
        run = {"checkpoint": checkpoint, "sentence": sentence or SENTENCES[checkpoint]}
        asked = {"tab": "translate"} | run | place
        link = f"?{urlencode(asked)}"
        if self.page.url == "about:blank":
            return self.open(link)
        follow(self.page, link)
        changes = len(str(place["changes"]).split("*")) if "changes" in place else 0
        arrived = f"""([tab, checkpoint, sentence, changes]) => {APP}.then(({{ state: {{ run, ...place }} }}) =>
            !document.querySelector("#top.busy") && place.tab === tab && run.changes.length === changes
            && run.checkpoint === checkpoint && run.sentence === sentence)"""
        # By hand: Playwright's wait_for_function takes a promise for true.
        until(lambda: bool(self.page.evaluate(arrived, [asked["tab"], *run.values(), changes])))
        return self.page

    def reset(self) -> None:
        """Whatever a test has done to the page beside going to a place in it."""
        page = self.page
        page.unroute_all(behavior="ignoreErrors")
        opened = page.url != "about:blank"
        if opened:
            for _ in range(2):  # what is open, and the class that it is shown to
                page.keyboard.press("Escape")
        page.set_viewport_size(LAPTOP["viewport"])
        page.emulate_media(reduced_motion="reduce")
        if opened:
            page.evaluate("document.body.classList.remove('dark'); document.activeElement.blur()")
            if page.locator("html").get_attribute("lang") != "en":
                page.locator("#language").select_option("en")
        self.asked.clear()
        faults, self.faults = self.faults, []
        assert faults == []

    def tab(self, name: str) -> None:
        """By its name in a link."""
        self.page.locator(f"[role=tab][data-tab-id={name}]").click()

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

    def bring_model(self, model: PortableModel) -> None:
        """In the tab Train."""
        file: Any = {"name": "model.safetensors", "mimeType": "", "buffer": as_file(model)}
        self.page.locator("#bring-model").set_input_files(file)

    def choose_model(self, checkpoint: str) -> None:
        if self.page.locator("#checkpoint").input_value() != checkpoint:
            with self.answered():
                self.page.locator("#checkpoint").select_option(checkpoint)

    def draw_stages(self) -> None:
        """Draw all stages of Inside a head, each of which is drawn when it comes into view."""
        self.page.locator("#inside .stage").first.wait_for()
        self.settle()  # an answer draws them again
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


def in_menu(page: Page | FrameLocator, entry: str) -> None:
    """Click an entry of the header's menu, by its selector."""
    if page.locator("#menu:not([open])").count():
        page.locator("#menu > summary").click()
    page.locator(entry).click()


def follow(page: Page, link: str) -> None:
    """Go to a link's place as the browser's Back does, without loading the page."""
    back = "(link) => { history.pushState(null, '', link); dispatchEvent(new PopStateEvent('popstate')); }"
    page.evaluate(back, link)


def place(page: Page) -> dict[str, Any]:
    """What its visitor looks at."""
    read = "({ state }) => ({ ...state, run: [state.run.checkpoint, state.run.sentence] })"
    return page.evaluate(f"{APP}.then({read})")


def move(page: Page, to: dict[str, Any]) -> None:
    """To another place, as a click does it."""
    page.evaluate(f"(to) => {APP}.then(({{ update }}) => update(to))", to)


@contextmanager
def visiting(browser: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """A visitor with another browser."""
    context = browser.new_context(**(LAPTOP | options))
    context.set_default_timeout(TIMEOUT_MS)
    visit = Visit(context.new_page(), url)
    yield visit
    context.close()
    assert visit.faults == []


@pytest.fixture(scope="session")
def returning(browser: Browser, url: str) -> Iterator[Visit]:
    """A visitor whose page stays open, and whose browser has its scripts compiled: half of the work of opening it."""
    with visiting(browser, url) as visit:
        yield visit


@pytest.fixture
def shared(returning: Visit) -> Iterator[Visit]:
    """The page that most tests share: each goes where it wants, from wherever the last one was."""
    yield returning
    returning.reset()


@contextmanager
def forgotten(returning: Visit) -> Iterator[Visit]:
    """Another page, of somebody of whom the browser remembers nothing else, nor anything later."""
    context = returning.page.context
    session = context.new_cdp_session(returning.page)

    def forget() -> None:
        asked = {"origin": returning.url.rstrip("/"), "storageTypes": "local_storage,cookies,indexeddb"}
        session.send("Storage.clearDataForOrigin", asked)

    forget()
    visit = Visit(context.new_page(), returning.url)
    yield visit
    context.clear_permissions()
    for page in context.pages:
        if page is not returning.page:
            page.close()
    forget()
    session.detach()
    assert visit.faults == []


@pytest.fixture
def visit(returning: Visit) -> Iterator[Visit]:
    with forgotten(returning) as visit:
        yield visit
