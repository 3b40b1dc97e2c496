"""Drawing: the time of a switch in the whole page, with all its views; and the time until the page is ready."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright
from pydantic_core import to_jsonable_python

from tests.browser.chromium import launched
from tests.browser.conftest import APP, LAPTOP, ROOT, Server
from tests.models import of_words
from transformer import Translator
from transformer.data.vocabulary import END
from transformer.inference.attention_maps import KINDS
from transformer.inference.translation import Translation
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import PortableModel, save_portable
from transformer.web.api.payload import for_page

from .ratio import Ratio, alternate, bound, ratio
from .served import served

WORDS, LONGEST = 40, 128
SWITCHES = 2  # rounds over every layer of every kind
ROUNDS = 3  # over the heads of Inside a head
STARTS = 5
FRAME_MS, LONGEST_MS = 16.0, 33.0  # of a switch: one frame, and two
INSIDE_MS = 50.0  # of a switch in Inside a head
FIGURE = "#attention .large > .heatmap"
SETTLED = 200  # ms
THREAD = "the page's thread, click to frame"
Control = list[str | None]  # of a click: what is clicked, the event, and the value that it sets first

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


def random_run(count: int) -> tuple[Translation, Checkpoint]:
    """A run with this number of words on both sides, of a network of the toy's size."""
    sizes = {"n_heads": 8, "d_ff": 256, "num_encoder_layers": 6, "num_decoder_layers": 6}
    checkpoint = of_words(count, sharpness=8, **sizes)
    said = [*checkpoint.tgt_vocab.words[: count - 1], END]
    run = Translator(checkpoint, "random").translate(" ".join(checkpoint.src_vocab.words), forced=said)
    return run, checkpoint


def toy() -> tuple[Translation, Checkpoint]:
    translator = Translator.load("toy", device="cpu")
    return translator.translate("ich mochte ein bier"), translator.checkpoint


def clicks(run: Translation) -> Iterator[tuple[str, Control]]:
    """Every layer of each kind, every head of one layer, and every decoding step."""
    for kind, maps in ((kind, run.attention.of(kind)) for kind in KINDS):
        yield "", [f"#attention .controls button[value={kind}]", "click", None]
        for layer in [*range(1, len(maps)), 0]:
            yield "layer", [f'#attention .controls .pickers button[value="{layer}"]', "click", None]
        for head in [*range(1, maps[0].n_heads), 0]:
            yield "head", [f"#attention .heads button:nth-child({head + 1})", "click", None]
        for step in [*range(1, len(run.steps)), 0]:
            yield "step", ["#step", "input", str(step + 1)]


def switches(page: Page, name: str, run: Translation, most: float) -> Iterator[Ratio]:
    """The p95 of our switches, with nothing else in the browser, against a bound in ms."""
    took: dict[str, list[float]] = {}
    for n in range(-1, SWITCHES):
        for which, click in clicks(run):
            ms = page.evaluate(WORK, click)
            if not which:
                page.wait_for_timeout(SETTLED)  # else the first switch would bear what another kind leaves to do
            elif n >= 0:
                took.setdefault(which, []).append(ms)
    page.context.close()
    for which, each in took.items():
        yield bound(f"a switch of {which}, {name}", most, each, THREAD)


def opened(browser: Browser, address: str) -> Page:
    """A page of a browser that nobody else uses."""
    page = browser.new_context(**LAPTOP).new_page()
    page.goto(address)
    return page


def shown_in_page(browser: Browser, url: str, run: Translation, checkpoint: Checkpoint) -> Page:
    """The whole page with this run, opened on Attention."""
    payload: Any = for_page(run, None, checkpoint)
    page = opened(browser, f"{url}?tab=attention")
    page.locator("#attention .large > .heatmap").wait_for()
    page.wait_for_load_state("networkidle")
    # Under the name of a run that the server has, so that the page's requests about it succeed.
    payload |= {"sentence": "ich mochte ein bier", "checkpoint": "toy"}
    page.evaluate(f"async (run) => (await {APP}).showRun(run)", to_jsonable_python(payload))
    shown = page.locator("#translation > *").count()
    if shown != len(payload["output"]):
        raise RuntimeError(f"the page shows a run of {shown} words, not of {len(payload['output'])}")
    return page


def inside(browser: Browser, url: str, folder: Path, checkpoint: Checkpoint) -> Ratio:
    """Another head in Inside a head; the server has the model, which is uploaded."""
    pairs = ((" ".join(checkpoint.src_vocab.words), " ".join(checkpoint.tgt_vocab.words[3:WORDS])),)
    save_portable(PortableModel(checkpoint, "long", "own", pairs, {}, "# long\n"), folder / "long.safetensors")
    page = opened(browser, f"{url}?tab=train")
    page.locator("#bring-model").set_input_files(folder / "long.safetensors")
    expect(page.locator("#checkpoint option:checked")).to_contain_text("long")
    page.locator("[role=tab][data-tab-id=inside]").click()
    page.locator("#inside .cell").first.wait_for()
    page.wait_for_load_state("networkidle")
    button = '#inside .pickers .pair:nth-child(2) button[value="{}"]'
    took = [page.evaluate(WORK, [button.format(head), "click", None]) for head in [*range(1, 8), 0] * ROUNDS]
    page.context.close()
    return bound(f"a switch of head in Inside a head, {WORDS} words", INSIDE_MS, took, THREAD)


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


def starting(browser: Browser, classes: Path) -> float:
    """ms from `python app.py` to the first map, in a browser that waits for the port."""
    context = browser.new_context(**LAPTOP)
    page = context.new_page()
    page.add_init_script(f"window.seen = ({SEEN})('{FIGURE}')")
    begin = time.perf_counter()
    server = Server(log=Path(os.devnull), TRANSFORMER_CLASSES=str(classes))
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


def measure() -> Iterator[Ratio]:
    """Measure all rows, in some minutes."""
    runs = {"the toy": (toy(), FRAME_MS), f"{WORDS} words": (random_run(WORDS), FRAME_MS)}
    runs[f"{LONGEST} words"] = random_run(LONGEST), LONGEST_MS
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright, launched(playwright) as browser:
        folder = Path(name)
        with served() as server:
            for what, ((run, checkpoint), most) in runs.items():
                yield from switches(shown_in_page(browser, server.url, run, checkpoint), what, run, most)
            yield inside(browser, server.url, folder, random_run(WORDS)[1])
        took = alternate(lambda: starting(browser, folder / "classes"), importing, STARTS)
        yield ratio("page ready (first map drawn) after app.py starts", "importing torch and gradio", 1.6, *took)
