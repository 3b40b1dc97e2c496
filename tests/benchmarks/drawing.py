"""Drawing: the time to switch a run's maps, against BertViz's head view; and the time until the page is ready.

The same Chromium draws both sides, from the same maps of the same runs, served by this machine. BertViz's page is the
result of `head_view` with its three external scripts. Our switches are measured in the whole page, with all its views.
"""

import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Browser, Page, sync_playwright
from pydantic_core import to_jsonable_python

from tests.browser.chromium import find
from tests.browser.conftest import APP, QUIET, Server
from transformer import Transformer, TransformerConfig, Translator
from transformer.data.vocabulary import END, PAD, START, Vocabulary
from transformer.inference.attention_maps import KINDS
from transformer.inference.translator import Translation
from transformer.storage.checkpoint import Checkpoint
from transformer.training import seeded_model
from transformer.web.api.payload import for_page

from .ratio import MissingError, Ratio, ratio

ROOT = Path(__file__).resolve().parents[2]
BERTVIZ = "BertViz head view"
SCRIPTS = {"require": "requirejs@2.3.6", "d3": "d3@5.7.0", "jquery": "jquery@2.1.0"}  # there is no jquery@2.0.0
FILES = {"require": "require.js", "d3": "dist/d3.min.js", "jquery": "dist/jquery.min.js"}
WORDS = 40
SWITCHES = 2  # rounds over every layer of every kind
STARTS = 5
FRAME_MS = 16.0
SETTLED = 200  # ms
THREAD = "the page's thread, click to frame"
Control = str | None  # of a click: what is clicked, the event, and the value that it sets first

# The time of the first complete frame that contains the element, ms since the request for the page.
SEEN = """(what) => new Promise((seen) => {
  const look = () => {
    const frame = new MessageChannel();
    frame.port1.onmessage = () => seen(performance.now());
    document.querySelector(what) ? frame.port2.postMessage(0) : requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""

# The work of the page's main thread from a click to the end of its frame: script, style, layout, paint, commit. It
# starts with a frame, so it includes no wait for one; the compositor's work afterwards is not included.
WORK = """([what, how, value]) => new Promise((done) => requestAnimationFrame(() => {
  const control = document.querySelector(what);
  const frame = new MessageChannel();
  const begin = performance.now();
  frame.port1.onmessage = () => done(performance.now() - begin);
  if (value !== null) control.value = value;
  control.dispatchEvent(new Event(how, { bubbles: true }));
  frame.port2.postMessage(0);
}))"""


def of_words(count: int) -> tuple[Translation, Checkpoint]:
    """A run with this number of words on both sides, of a random network of the toy's size whose attention is as sharp
    as that of a trained one."""
    source = Vocabulary((PAD, *(f"wort{n}" for n in range(count))), folds=True)
    target = Vocabulary((PAD, START, END, *(f"word{n}" for n in range(count))), folds=True)
    sizes: dict[str, Any] = {"d_model": 64, "n_heads": 8, "d_ff": 256, "num_encoder_layers": 6, "num_decoder_layers": 6}
    config = TransformerConfig(src_vocab_size=len(source), tgt_vocab_size=len(target), max_len=count, **sizes)
    model: Transformer = seeded_model(config, 0).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("q_proj.weight"):
                parameter.mul_(8)
    checkpoint = Checkpoint(model, source, target, source_length=count, output_limit=count)
    said = [*target.words[: count - 1], END]
    return Translator(checkpoint, "random").translate(" ".join(source.words), forced=said), checkpoint


def toy() -> tuple[Translation, Checkpoint]:
    translator = Translator.load("toy", device="cpu")
    return translator.translate("ich mochte ein bier"), translator.checkpoint


def fetched() -> tempfile.TemporaryDirectory[str]:
    """A folder with the scripts of BertViz's page, from npm.

    Raises:
        MissingError: npm is not installed, or cannot fetch them.
    """
    scripts = tempfile.TemporaryDirectory()
    folder = Path(scripts.name)
    for name, package in SCRIPTS.items():
        try:
            said = subprocess.run(["npm", "pack", package], cwd=folder, check=True, capture_output=True, text=True)
        except OSError as error:
            raise MissingError("npm, which brings the scripts that BertViz's page loads") from error
        except subprocess.CalledProcessError as error:
            raise MissingError(f"{package}, which BertViz's page loads and npm did not bring") from error
        shutil.unpack_archive(folder / said.stdout.split()[-1], folder / name)
        shutil.copy(folder / name / "package" / FILES[name], folder / f"{name}.js")
    return scripts


@contextmanager
def browsing(scripts: tempfile.TemporaryDirectory[str]) -> Iterator[tuple[Path, Browser]]:
    """The folder of `fetched`, until the block ends, and a browser."""
    with scripts as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(playwright), args=QUIET.split())
        yield Path(name), browser
        browser.close()


@contextmanager
def page_served(folder: Path) -> Iterator[str]:
    """The address of the page, whose server writes its log to the folder."""
    server = Server(log=folder / "log", TRANSFORMER_CLASSES=str(folder / "classes"))
    try:
        server.wait()
        yield server.url
    finally:
        server.end()


def bertviz(run: Translation, view: str = "head_view") -> str:
    """The page of BertViz's head view or model view, with scripts from its own folder."""
    import bertviz as module

    maps = {kind: [torch.from_numpy(layer.weights.copy())[None] for layer in run.attention.of(kind)] for kind in KINDS}
    page = getattr(module, view)(
        encoder_attention=maps["encoder"],
        decoder_attention=maps["decoder"],
        cross_attention=maps["cross"],
        encoder_tokens=list(run.source),
        decoder_tokens=list(run.decoder_input),
        html_action="return",
    ).data
    page = re.sub(r'"https://\S+/require\.min\.js"', '"require.js"', page)
    page = re.sub(r"'https://\S+/(d3|jquery)\.min'", r"'\1'", page)
    return f'<!doctype html><html><meta charset="utf-8"><body>{page}</body></html>'


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # one connection for many files, as on common servers
    disable_nagle_algorithm = True  # otherwise a file waits 40 ms for the acknowledgement of the previous one

    def log_message(self, *_: object) -> None:
        pass

    def copyfile(self, source: Any, out: Any) -> None:
        with suppress(BrokenPipeError):  # the browser left the page
            super().copyfile(source, out)


@contextmanager
def folder_served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def clicks(kind_number: int, layers: int, heads: int, steps: int) -> Iterator[tuple[str, list[Control], list[Control]]]:
    """The clicks in our page and in theirs: every layer of a kind, every head of one layer, and every decoding step,
    which BertViz does not have."""
    chosen = [f"#attention .controls button[value={KINDS[kind_number]}]", "click", None]
    yield "", chosen, ["#filter", "change", str(kind_number)]
    for layer in [*range(1, layers), 0]:
        ours = f'#attention .controls .pickers button[value="{layer}"]'
        yield "layer", [ours, "click", None], ["#layer", "change", str(layer)]
    for head in [*range(1, heads), 0]:
        nth = f"nth-child({head + 1})"
        theirs = f"#vis svg > g:last-child > rect:{nth}"
        yield "head", [f"#attention .heads button:{nth}", "click", None], [theirs, "dblclick", None]
    for step in [*range(1, steps), 0]:
        yield "step", ["#step", "input", str(step + 1)], []


def every_click(run: Translation) -> list[tuple[str, list[Control], list[Control]]]:
    shape = len(run.attention.cross), run.attention.cross[0].n_heads, len(run.steps)
    return [each for kind in range(len(KINDS)) for each in clicks(kind, *shape)]


def slowest(ours: Page, name: str, run: Translation, most: float = FRAME_MS) -> Iterator[Ratio]:
    """The p95 of our switches, with nothing else in the browser, against a bound in ms."""
    took: dict[str, list[float]] = {}
    for n in range(-1, SWITCHES):
        for which, our, _ in every_click(run):
            ms = ours.evaluate(WORK, our)
            if not which:
                ours.wait_for_timeout(SETTLED)  # else the first switch would bear what another kind leaves to do
            elif n >= 0:
                took.setdefault(which, []).append(ms)
    for which, each in took.items():
        p95 = [percentile(each)] * 2
        yield ratio(f"p95 of a switch of {which}, {name}", f"{most:.0f} ms", 1.0, p95, [most] * 2, note=THREAD)


def switches(ours: Page, theirs: Page, name: str, run: Translation) -> Iterator[Ratio]:
    took: dict[str, tuple[list[float], list[float]]] = {"layer": ([], []), "head": ([], [])}
    for n in range(-1, SWITCHES):
        theirs.reload()
        theirs.locator("#attention line").first.wait_for(state="attached")
        for which, our, their in every_click(run):
            if not their:
                continue
            spent = ours.evaluate(WORK, our), theirs.evaluate(WORK, their)
            if n >= 0 and which:
                for one, ms in zip(took[which], spent, strict=True):
                    one.append(ms)
    for which, both in took.items():
        note = f"{THREAD}; BertViz's p95 is {percentile(both[1]):.1f} ms"
        yield ratio(f"switch of {which}, {name}", BERTVIZ, None, *both, note=note)


def percentile(took: list[float]) -> float:
    """The 95th."""
    return statistics.quantiles(took, n=20)[-1]


def shown_in_page(browser: Browser, url: str, payload: Any) -> Page:
    """The whole page with this run, opened on Attention."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce").new_page()
    page.goto(f"{url}?tab=attention")
    page.locator("#attention .large > .heatmap").wait_for()
    page.wait_for_load_state("networkidle")
    # Under the name of a run that the server has, so that the page's requests about it succeed.
    payload |= {"sentence": "ich mochte ein bier", "checkpoint": "toy"}
    page.evaluate(f"async (run) => (await {APP}).showRun(run)", to_jsonable_python(payload))
    shown = page.locator("#translation > *").count()
    if shown != len(payload["output"]):
        raise RuntimeError(f"the page shows a run of {shown} words, not of {len(payload['output'])}")
    return page


def against_bertviz(browser: Browser, folder: Path, url: str) -> Iterator[Ratio]:
    for name, (run, checkpoint) in {"the toy": toy(), f"{WORDS} words": of_words(WORDS)}.items():
        payload = for_page(run, None, checkpoint)
        with folder_served(folder) as at:
            (folder / "bertviz.html").write_text(bertviz(run), "utf-8")
            ours = shown_in_page(browser, url, payload)
            yield from slowest(ours, name, run)
            theirs = browser.new_page(viewport={"width": 1280, "height": 800})
            theirs.goto(f"{at}bertviz.html")
            yield from switches(ours, theirs, name, run)
            ours.context.close()
            theirs.context.close()


def importing() -> float:
    """ms until a new process has imported both modules; its exit is not counted."""
    done = "import torch, gradio, os; os.write(1, b'.')"
    begin = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", done], cwd=ROOT, stdout=subprocess.PIPE) as process:
        said = process.stdout.read(1)
        took = 1000 * (time.perf_counter() - begin)
    if said != b".":
        raise RuntimeError("torch and gradio cannot be imported")
    return took


def starting(browser: Browser, log: Path) -> float:
    """ms from `python app.py` to the first map, in a browser that waits for the port."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(f"window.seen = ({SEEN})('#attention .large > .heatmap')")
    begin = time.perf_counter()
    server = Server(log=log, TRANSFORMER_CLASSES=str(log.parent / "classes"))
    try:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", server.port)) == 0:
                    break
            time.sleep(0.01)
        page.goto(f"{server.url}?tab=attention", wait_until="commit")
        page.evaluate("seen")
        return 1000 * (time.perf_counter() - begin)
    finally:
        context.close()
        server.end()


def start(browser: Browser, log: Path) -> Ratio:
    took: tuple[list[float], list[float]] = ([], [])
    for n in range(-1, STARTS):
        for which in (0, 1) if n % 2 else (1, 0):
            ms = importing() if which else starting(browser, log)
            if n >= 0:
                took[which].append(ms)
    return ratio("page ready (first map drawn) after app.py starts", "importing torch and gradio", 1.6, *took)


def measure() -> Iterator[Ratio]:
    """Measure all rows, which takes two to three minutes.

    Raises:
        MissingError: as in `fetched`, before the first measurement.
    """
    return _measured(fetched())


def _measured(scripts: tempfile.TemporaryDirectory[str]) -> Iterator[Ratio]:
    with browsing(scripts) as (folder, browser):
        with page_served(folder) as url:
            yield from against_bertviz(browser, folder, url)
        yield start(browser, folder / "log")
