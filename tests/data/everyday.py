"""`make everyday`: how many everyday sentences the classroom reads and translates right.

Of the fifty in everyday.txt it also prints what the model says. Of the sixty in unseen.txt it prints the counts alone:
somebody wrote them who had not seen the grammar, and whoever reads what fails will fit the grammar to them. Without a
final mark and in lower case, a right translation is one of those in the file.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from transformer import SentenceError, Translator
from transformer.data import CORPORA, nearest_pairs

EVERYDAY = Path(__file__).with_suffix(".txt")
UNSEEN = EVERYDAY.with_name("unseen.txt")


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


def sentences(file: Path = EVERYDAY) -> list[tuple[str, list[str]]]:
    """The sentences of a file with their right translations."""
    lines = file.read_text("utf-8").splitlines()
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


def counts(outcomes: list[Outcome]) -> tuple[int, int]:
    """How many are read, and how many are right."""
    return sum(each.is_read for each in outcomes), sum(each.is_right for each in outcomes)


if __name__ == "__main__":
    translator = Translator.load(sys.argv[1] if sys.argv[1:] else "classroom", device="cpu")
    for file in (EVERYDAY, UNSEEN):
        outcomes = [outcome(translator, *each) for each in sentences(file)]
        for each in outcomes if file == EVERYDAY else ():
            name = "right" if each.is_right else "wrong" if each.is_read else "unread"
            print(name, each.sentence, each.said, sep="\t")
        read, right = counts(outcomes)
        print(f"{file.name}: {read} of {len(outcomes)} are read, {right} are translated right")
