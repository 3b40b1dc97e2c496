"""`make modified`: the waiting time for a modified run against a baseline run, and the cost of ablating every head.

Each figure is a ratio of two things run in turn on this machine; nothing here is a test.
"""

import itertools
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

from tests.browser.chromium import launched
from transformer import Translator
from transformer.analysis import ablate_every_head
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import AblateHead, Interventions

from .ratio import HEADING, Ratio, alternate, in_turn, percentile, ratio
from .served import served

SENTENCES = {"toy": "ich mochte ein bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
ROUNDS = 40

# From a click to the frame that shows its answer, ms. `how` is the kind of the click, with its detail.
WAIT = """async ([how, detail]) => {
  const answered = new Promise((done) => document.addEventListener("translate:answered", done, { once: true }));
  const begin = performance.now();
  if (how === "modify") document.querySelectorAll("#whatif .panel .score")[detail].click();
  else Object.assign(document.querySelector("#sentence input"), { value: detail }).form.requestSubmit();
  await answered;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""


def clicks(page: Page, url: str, checkpoint: str) -> Ratio:
    """Modified runs against baseline runs of other sentences; each is new to the server."""
    page.goto(f"{url}?tab=break&checkpoint={checkpoint}&sentence={quote(SENTENCES[checkpoint])}")
    page.locator("#whatif .panel .score").first.wait_for()
    page.wait_for_load_state("networkidle")
    heads = itertools.cycle(range(page.locator("#whatif .panel .score").count()))
    words = SENTENCES[checkpoint].split()
    others = itertools.islice(itertools.permutations(words * 2, len(words)), 1, None, 7)

    def modified() -> float:
        ms = page.evaluate(WAIT, ["modify", next(heads)])
        page.get_by_role("button", name="Undo all").click()
        page.locator("#top .change").first.wait_for(state="detached")
        return float(ms)

    took = alternate(modified, lambda: page.evaluate(WAIT, ["ask", " ".join(next(others))]), ROUNDS)
    note = f"≤ 150 ms, 19 of 20 within {percentile(took[0]):.0f} ms"
    return ratio(f"{checkpoint}: a head is silenced", "another sentence", None, *took, note=note)


def sweeping(checkpoint: str) -> Ratio:
    translator, sentence = Translator.load(checkpoint, device="cpu"), SENTENCES[checkpoint]
    whole = translator.translate(sentence)
    heads = [(kind, m.layer, head) for kind in KINDS for m in whole.attention.of(kind) for head in range(m.n_heads)]

    def batched() -> None:
        ablate_every_head(translator.checkpoint, [(sentence, whole.text)])

    def one_by_one() -> None:
        for head in heads:
            translator.translate(sentence, forced=whole.output, interventions=Interventions((AblateHead(*head),)))

    took = in_turn(batched, one_by_one, 5)
    return ratio(f"{checkpoint}: {len(heads)} heads in a batch", "one run a head", None, *took, note="≤ 1 s")


def main() -> None:
    print(HEADING)
    with served() as server, sync_playwright() as playwright:
        browser = launched(playwright)
        for checkpoint in SENTENCES:
            print(clicks(browser.new_page(), server.url, checkpoint), flush=True)
        browser.close()
    for checkpoint in SENTENCES:
        print(sweeping(checkpoint), flush=True)


if __name__ == "__main__":
    main()
