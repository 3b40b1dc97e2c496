"""`make everyday`: how many of fifty everyday sentences the classroom reads and translates right, and what it says.

Without a final mark and in lower case, a right translation is one of those in everyday.txt.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from transformer import SentenceError, Translator
from transformer.data import CORPORA, nearest_pairs

FILE = Path(__file__).with_suffix(".txt")


@dataclass(frozen=True)
class Outcome:
    """What a visitor gets for a sentence.

    Attributes:
        said: the translation, or why there is none and the nearest sentence that the model knows.
    """

    sentence: str
    said: str
    is_read: bool
    is_right: bool


def everyday() -> list[tuple[str, list[str]]]:
    """The sentences with their right translations."""
    lines = FILE.read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(sentence, right.split("|")) for sentence, right in rows]


def outcome(translator: Translator, sentence: str, right: list[str]) -> Outcome:
    try:
        said = translator.translate(sentence).text
    except SentenceError as error:
        near = nearest_pairs(sentence, CORPORA[translator.name], 1)
        return Outcome(sentence, f"{error} Nearest: {near[0].spelling if near else 'none'}", False, False)
    return Outcome(sentence, said, True, _bare(said) in map(_bare, right))


def _bare(translation: str) -> str:
    return translation.casefold().strip(" .!?")


if __name__ == "__main__":
    translator = Translator.load(sys.argv[1] if sys.argv[1:] else "classroom", device="cpu")
    outcomes = [outcome(translator, *each) for each in everyday()]
    for each in outcomes:
        print("right" if each.is_right else "wrong" if each.is_read else "unread", each.sentence, each.said, sep="\t")
    read, right = sum(each.is_read for each in outcomes), sum(each.is_right for each in outcomes)
    print(f"{read} of {len(outcomes)} are read, {right} are translated right")
