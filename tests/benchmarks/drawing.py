"""Drawing: the time to switch a run's maps, against BertViz's views; and the time until the page is ready.

The same Chromium draws both sides, from the same maps of the same runs. BertViz's page is the result of
`head_view` with its three external scripts. Our switches are measured in the whole page, with all its views.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import torch
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pydantic_core import to_jsonable_python

from tests.browser.chromium import launched
from tests.browser.conftest import APP, LAPTOP, ROOT, Server
from transformer import Transformer, TransformerConfig, Translator
from transformer.data.vocabulary import END, PAD, START, Vocabulary
from transformer.inference.attention_maps import KINDS
from transformer.inference.translator import Translation
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import PortableModel, save_portable
from transformer.training import seeded_model
from transformer.web.api.payload import for_page

from .ratio import MissingError, Ratio, alternate, bound, percentile, ratio
from .served import served

BERTVIZ = "BertViz head view"
SCRIPTS = {"require": "requirejs@2.3.6", "d3": "d3@5.7.0", "jquery": "jquery@2.1.0"}  # there is no jquery@2.0.0
FILES = {"require": "require.js", "d3": "dist/d3.min.js", "jquery": "dist/jquery.min.js"}
WORDS, LONGEST = 40, 128
SWITCHES = 2  # rounds over every layer of every kind
ROUNDS = 3  # over what takes BertViz long
STARTS = 5
FRAME_MS, LONGEST_MS = 16.0, 33.0  # of a switch: one frame, and two
INSIDE_MS = 50.0  # of a switch in Inside a head
MINUTES = 5 * 60_000  # ms: BertViz draws a line for each cell
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


def bertviz(run: Translation) -> str:
    """The page of BertViz's head view, with scripts from its own folder."""
    from bertviz import head_view

    maps = {kind: [torch.from_numpy(layer.weights.copy())[None] for layer in run.attention.of(kind)] for kind in KINDS}
    page = head_view(
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


def clicks(kind_number: int, layers: int, heads: int, steps: int) -> Iterator[tuple[str, Control, Control]]:
    """The clicks in our page and in theirs: every layer of a kind, every head of one layer, and every decoding step,
    which BertViz does not have."""
    chosen: Control = [f"#attention .controls button[value={KINDS[kind_number]}]", "click", None]
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


def every_click(run: Translation) -> list[tuple[str, Control, Control]]:
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
        yield bound(f"a switch of {which}, {name}", most, each, THREAD)


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


def opened(browser: Browser, address: str, files: Path | None = None) -> Page:
    """A page of a browser that nobody else uses.

    Args:
        files: a folder with what stands at the address; None where a server has it.
    """
    page = browser.new_context(**LAPTOP).new_page()
    if files:
        page.route("**/*", lambda route: route.fulfill(path=files / httpx.URL(route.request.url).path[1:]))
    page.goto(address, timeout=MINUTES)
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


def their_page(browser: Browser, folder: Path, run: Translation) -> Page:
    (folder / "page.html").write_text(bertviz(run), "utf-8")
    page = opened(browser, "http://bertviz.test/page.html", folder)
    page.locator("#attention line").first.wait_for(state="attached", timeout=MINUTES)
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


def against_bertviz(browser: Browser, folder: Path, url: str) -> Iterator[Ratio]:
    for name, (run, checkpoint) in {"the toy": toy(), f"{WORDS} words": of_words(WORDS)}.items():
        ours = shown_in_page(browser, url, run, checkpoint)
        yield from slowest(ours, name, run)
        theirs = their_page(browser, folder, run)
        yield from switches(ours, theirs, name, run)
        if name != "the toy":
            yield inside(browser, url, folder, checkpoint)
        for page in (ours, theirs):
            page.context.close()
    run, checkpoint = of_words(LONGEST)
    yield from slowest(shown_in_page(browser, url, run, checkpoint), f"{LONGEST} words", run, LONGEST_MS)


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
    """Measure all rows, which takes some minutes, most of them BertViz's.

    Raises:
        MissingError: as in `fetched`, before the first measurement.
    """
    return _measured(fetched())


def _measured(scripts: tempfile.TemporaryDirectory[str]) -> Iterator[Ratio]:
    with scripts as name, sync_playwright() as playwright, launched(playwright) as browser:
        folder = Path(name)
        with served() as server:
            yield from against_bertviz(browser, folder, server.url)
        took = alternate(lambda: starting(browser, folder / "classes"), importing, STARTS)
        yield ratio("page ready (first map drawn) after app.py starts", "importing torch and gradio", 1.6, *took)
