"""`make modified`: the waiting time for a modified run against a baseline run, and the cost of ablating every head.

Each figure is a ratio of two things run in turn on this machine; nothing here is a test.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import find
from transformer import Translator
from transformer.analysis import ablate_every_head
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import AblateHead, Interventions

from .served import served, spread

SENTENCES = {"toy": "ich mochte ein bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
ROUNDS = 40

# From a click to the frame that shows its answer, ms. `how` is the kind of the click, with its detail.
WAIT = """async ([how, detail]) => {
  const answered = new Promise((done) => document.addEventListener("translate:answered", done, { once: true }));
  const begin = performance.now();
  if (how === "modify") document.querySelectorAll("#whatif .panel .score")[detail].click();
  else document.dispatchEvent(new CustomEvent("translate:wanted", { detail }));
  await answered;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""


def sentences(checkpoint: str) -> Iterator[str]:
    """Sentences that are new to the server: all permutations of one."""
    words = SENTENCES[checkpoint].split()
    return (" ".join(order) for order in itertools.islice(itertools.permutations(words * 2, len(words)), 1, None, 7))


def waits(page: Page, checkpoint: str) -> tuple[list[float], list[float]]:
    """ms for modified runs and for baseline runs of other sentences, alternating; each is new to the server."""
    other, modified, baseline = sentences(checkpoint), [], []
    heads = page.locator("#whatif .panel .score").count()
    for i in range(ROUNDS):
        modified.append(page.evaluate(WAIT, ["modify", i % heads]))
        page.get_by_role("button", name="Undo all").click()
        page.locator("#top .change").first.wait_for(state="detached")
        baseline.append(page.evaluate(WAIT, ["ask", next(other)]))
    return modified, baseline


def clicks(page: Page, port: int, checkpoint: str) -> str:
    page.goto(f"http://127.0.0.1:{port}/?tab=break&checkpoint={checkpoint}&sentence={quote(SENTENCES[checkpoint])}")
    page.locator("#whatif .panel .score").first.wait_for()
    page.wait_for_load_state("networkidle")
    modified, baseline = waits(page, checkpoint)
    took, bare = statistics.median(modified), statistics.median(baseline)
    most = sorted(modified)[int(0.95 * ROUNDS) - 1]
    return (
        f"| {checkpoint}: a head is silenced / another sentence | {took / bare:.2f}"
        f" | median {took:.0f} ms (≤ 150), 19 of 20 within {most:.0f} ms |"
    )


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def sweeping(checkpoint: str) -> str:
    translator, sentence = Translator.load(checkpoint, device="cpu"), SENTENCES[checkpoint]
    whole = translator.translate(sentence)
    heads = [(kind, m.layer, head) for kind in KINDS for m in whole.attention.of(kind) for head in range(m.n_heads)]

    def batched() -> None:
        ablate_every_head(translator.checkpoint, [(sentence, whole.text)])

    def one_by_one() -> None:
        for head in heads:
            translator.translate(sentence, forced=whole.output, interventions=Interventions((AblateHead(*head),)))

    batched()
    pairs = [(seconds(batched), seconds(one_by_one)) for _ in range(5)]
    took = statistics.median(pair[0] for pair in pairs)
    ratios = [ours / theirs for ours, theirs in pairs]
    what = f"{checkpoint}: {len(heads)} heads in a batch / one run a head"
    return f"| {what} | {spread(ratios)} | {1e3 * took:.0f} ms (≤ 1 s) |"


def main() -> None:
    print("| what | ratio | |\n| --- | --- | --- |")
    with served() as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(playwright), args=["--no-sandbox", "--disable-gpu"])
        for checkpoint in SENTENCES:
            print(clicks(browser.new_page(), port, checkpoint), flush=True)
        browser.close()
    for checkpoint in SENTENCES:
        print(sweeping(checkpoint), flush=True)


if __name__ == "__main__":
    main()
