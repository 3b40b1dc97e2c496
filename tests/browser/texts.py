"""Text that is in no catalogue: what a page says beside the texts of its language."""

import json
import re
from collections.abc import Iterable

from playwright.sync_api import Page

from transformer.inference.translator import Translator
from transformer.storage.checkpoint import available_checkpoints

from .catalogue import LOCALES

BEGIN, END = "\u2063", "\u2064"  # around every text of a catalogue; they take no space
# Everything that a visitor can see or hear, less what stands in ⟦ ⟧, which may open in one node and close in another.
STRAYS = r"""() => {
    const { tokens, names, outputs } = window.known;
    const [words, usual, either] = [new Set(tokens), new Set(names), new Set(outputs)];
    const own = "#language option, .word, .chip, .formula, svg .label.source, svg .label.target, dt, dd, .token-ids, " +
        "#sentence input, #sentence textarea, .share input, .example-list button, .saves span"; // sentences, files
    // Where tokens of either language stand among other text.
    const spoken = ".choice, .tip, .lines, .strips, .ytick, .figure, .overview, #setting-mistake, .target select, " +
        "#whatif select";
    const never = "script, style, noscript, .visually-hidden[aria-hidden=true], code"; // PyTorch has one language, too
    const told = ["aria-label", "aria-valuetext", "title", "placeholder", "alt", "data-title"];
    const plain = (word) => word.toLowerCase().normalize("NFD").replace(/\u0308/g, "").replaceAll("ß", "ss");
    const seen = (element) => element.tagName === "OPTION" ? seen(element.parentElement)
        : element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
    const isStrange = (text, element) => {
        const all = window.unusual; // asked again at every look
        if (!all.has(text)) all.set(text, (text.match(/\p{L}[\p{L}\p{N}_]*/gu) ?? [])
            .filter((word) => !usual.has(word) && !words.has(plain(word)) && !words.has(word.toLowerCase())));
        return all.get(text).some((word) => !(either.has(word) && element.closest(spoken)));
    };
    const isBroken = (text, element) => /undefined|\[object|\{\w+\}/.test(text) ||
        (/NaN/.test(text) && !element.closest("#mistakes")); // one of which is about it
    const found = [];
    let depth = 0;
    const read = (how, text, element, isOwn = false) => {
        let left = "";
        for (const char of text) {
            if (char === "⟦") depth++;
            else if (char === "⟧") depth--;
            else if (depth === 0) left += char;
        }
        if (!(isBroken(text, element) || (!isOwn && isStrange(left, element))) || !seen(element)) return;
        const [id, kind] = [element.closest("[id]")?.id, element.getAttribute("class")];
        found.push(`${how} in #${id} ${element.tagName.toLowerCase()}.${kind}: ${text.trim()}`);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const [text, element] = [walker.currentNode.data, walker.currentNode.parentElement];
        if (/[\p{L}⟦⟧]/u.test(text) && !element.closest(never)) read("text", text, element, element.closest(own));
    }
    if (depth) found.push(`brackets do not match: ${depth}`);
    for (const element of document.body.querySelectorAll(told.map((name) => `[${name}]`).join())) {
        for (const name of told) {
            depth = 0;
            const isExample = name === "placeholder" && element.matches("#train-watch");
            read(name, element.getAttribute(name) ?? "", element, isExample);
        }
    }
    return found;
}""".replace("⟦", BEGIN).replace("⟧", END)

NAMES = ["S", "E", "P", "Q", "K", "V", "SVG", "PNG", "cpu", "Attention", "bitte"]
SYMBOLS = ["softmax", "max", "e", "z", "t", "Σ"]  # in arithmetic and shapes: mathematics has one language


def mark_texts(page: Page, language: str = "en") -> None:
    """From its next load on, a page has marks around every text of a language."""
    checkpoints = [Translator.load(name, device="cpu").checkpoint for name in available_checkpoints()]

    def parts(words: Iterable[str]) -> list[str]:
        """With those on both sides of an apostrophe or a hyphen, as the page's words are read."""
        return [part for word in words for part in (word, *re.split("['-]", word))]

    known = {
        "tokens": [part for each in checkpoints for part in parts(each.src_vocab.words)],
        "outputs": [part for each in checkpoints for part in parts(each.tgt_vocab.words)],
        "names": [*NAMES, *SYMBOLS, *available_checkpoints()],
    }
    page.add_init_script(f"window.known = {json.dumps(known)}; window.unusual = new Map(); window.strays = {STRAYS}")
    marked = {key: f"{BEGIN}{text}{END}" for key, text in LOCALES[language].items()}
    page.route(f"**/locales/{language}.json", lambda route: route.fulfill(json=marked))


def strays(page: Page) -> list[str]:
    """What is said without marks."""
    found: list[str] = page.evaluate("strays()")
    return found
