"""Everyday phrases that are not translated word by word, with their alignments. Knows nothing of how they are chosen.

In both languages a word in capitals is a slot (see `everyday.SLOTS`), and a word with slashes has a form for each
person of the phrase's subject: ich, er, wir, du. An English word names the German words that it translates, by their
first form: "fine=gut". After "~" they are possible only. The phrases are in tables/idioms.tsv.
"""

from dataclasses import dataclass
from functools import cached_property

from ...files import read_table
from ..vocabulary import lower
from .lexicon import TABLES, Lexeme


@dataclass(frozen=True)
class Idiom(Lexeme):
    german: str
    english: str
    weight: float  # how often it is chosen, beside others

    @cached_property
    def slots(self) -> tuple[str, ...]:
        return tuple(word for word in self.german.split() if word.isupper())

    def spellings(self) -> tuple[str, ...]:
        return tuple(form for word in self.german.split() if word not in self.slots for form in word.split("/"))

    @cached_property
    def fixed_words(self) -> list[frozenset[str]]:
        """The forms of each word that is not a slot."""
        return [frozenset(lower(word).split("/")) for word in self.german.split() if word not in self.slots]

    def may_occur_in(self, words: frozenset[str]) -> bool:
        return all(not forms.isdisjoint(words) for forms in self.fixed_words)


_ROWS = [
    (row["topic"], Idiom(row["german"], row["english"], float(row["weight"])))
    for row in read_table(TABLES / "idioms.tsv")
]
GREETINGS = tuple(idiom for topic, idiom in _ROWS if topic == "greeting")  # before a sentence
SAYINGS = tuple(idiom for topic, idiom in _ROWS if topic in ("greeting", "saying"))  # alone, or before a name
IDIOMS = (
    *(Idiom(each.german, f"{each.english} !", each.weight) for each in SAYINGS),
    *(Idiom(f"{each.german} NAME", f"{each.english} , NAME !", each.weight) for each in SAYINGS),
    *(idiom for topic, idiom in _ROWS if topic not in ("greeting", "saying")),
)
