"""Everyday phrases that are not translated word by word, with their alignments.

In both languages a word in capitals is a slot (see `SLOTS`), and a word with slashes has a form for each person of the
phrase's subject: ich, er, wir, du. An English word names the German words that it translates, by their
first form: "fine=gut". After "~" they are possible only. The phrases are in tables/idioms.tsv.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

from ...files import read_table
from ..vocabulary import lower
from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord
from .clauses import Clause
from .lexicon import DU, ER, TABLES, Adverb, Lexeme
from .phrases import Phrase, choose_name, choose_noun_phrase, choose_pronoun, choose_subject, words_of_adverb


@cache
def forms(written: str) -> tuple[str, ...]:
    """The forms of a word in a phrase: one, or one for each person."""
    ich, *others = written.split("/")
    return lex.forms_of(ich, *others) if others else (ich,)


@dataclass(frozen=True)
class Idiom(Lexeme):
    german: str
    english: str
    weight: float  # how often it is chosen, beside others

    @cached_property
    def slots(self) -> tuple[str, ...]:
        return tuple(word for word in self.german.split() if word.isupper())

    def spellings(self) -> tuple[str, ...]:
        return tuple(form for word in self.german.split() if word not in self.slots for form in forms(word))

    @cached_property
    def fixed_words(self) -> list[frozenset[str]]:
        """The forms of each word that is not a slot."""
        return [frozenset(map(lower, forms(word))) for word in self.german.split() if word not in self.slots]

    def may_occur_in(self, words: frozenset[str]) -> bool:
        return all(not forms.isdisjoint(words) for forms in self.fixed_words)


_TABLE = read_table(TABLES / "idioms.tsv")
_ROWS = [(row["topic"], Idiom(row["german"], row["english"], float(row["weight"]))) for row in _TABLE]
GREETINGS = tuple(idiom for topic, idiom in _ROWS if topic == "greeting")  # before a sentence
SAYINGS = tuple(idiom for topic, idiom in _ROWS if topic in ("greeting", "saying"))  # alone, or before a name
IDIOMS = (
    *(Idiom(each.german, f"{each.english} !", each.weight) for each in SAYINGS),
    *(Idiom(f"{each.german} NAME", f"{each.english} , NAME !", each.weight) for each in SAYINGS),
    *(idiom for topic, idiom in _ROWS if topic not in ("greeting", "saying")),
)
IDIOM_WEIGHTS = [each.weight for each in IDIOMS]
Slot = Callable[[Chooser], Phrase]
_THINGS = ("WARE", "DISH", "THING", "BODY", "LIKED", "GARMENT", "WHICHNOM", "BEING", "YOURBODY", "ITEM", "LOST")
SUBJECT_SLOTS = ("SUBJECT", "SELF", "NAMED", "ASKED", *_THINGS)  # a verb takes their person


def choose_everyday_phrase(chooser: Chooser) -> Clause:
    idiom: Idiom = chooser.choose(IDIOMS, IDIOM_WEIGHTS)
    de, en, phrases = words_of_idiom(chooser, idiom)
    return Clause(de, en, idiom.german, phrases)


def words_of_idiom(chooser: Chooser, idiom: Idiom) -> tuple[list[GermanWord], list[EnglishWord], list[Phrase]]:
    slots = {word: SLOTS[word](chooser) for word in idiom.slots}
    person = next((slots[name].person for name in SUBJECT_SLOTS if name in slots), DU)
    words: dict[str, GermanWord] = {}
    de: list[GermanWord] = []
    for written in idiom.german.split():
        if written in slots:
            de += slots[written].de
        else:
            each = forms(written)
            words[each[0]] = chooser.word(each[person] if len(each) > 1 else written)
            de.append(words[each[0]])
    en: list[EnglishWord] = []
    for written in idiom.english.split():
        if written in slots:
            en += slots[written].en
            continue
        if written in ("MY", "YOUR"):
            owner = slots["SELF" if written == "MY" else "NAMED"]
            my = {"i": "my", "you": "your", "he": "his", "she": "her"}[owner.en[0].text]
            en.append(EnglishWord(my, owner.de))
            continue
        text, sign, linked = written.partition("~") if "~" in written else written.partition("=")
        if "/" in text:
            text = text.split("/")[min(person, DU)]  # English says you to du and to ihr
        links = [
            word for name in linked.split("+") if name for word in ([words[name]] if name in words else slots[name].de)
        ]
        en.append(EnglishWord(text, links) if sign == "=" else EnglishWord(text, (), links))
    for word, following in pairwise(en):
        if word.text == "a" and following.text[0] in "aeiou":  # "an engineer"
            word.text = "an"
    return de, en, list(slots.values())


def _one_of(adverbs: Sequence[Adverb]) -> Slot:
    def choose(chooser: Chooser) -> Phrase:
        de, en = words_of_adverb(chooser, chooser.choose(adverbs))
        return Phrase(de, en, ER, can_be_fronted=True, case_is_clear=True)

    return choose


def _of_row(row: dict[str, Any]) -> Slot:
    """How a slot of the table is filled."""
    if row["filled_by"] == "noun":
        determiners = dict.fromkeys(row["determiners"].split() or [""], 1.0)
        share, is_one = float(row["adjectives"]), bool(row["is_one"])
        return lambda chooser: choose_noun_phrase(chooser, row["kinds"], row["case"], determiners, share, is_one=is_one)
    kinds = row["kinds"].split()
    if row["filled_by"] == "adjective":
        first = {each.base: each.english for each in reversed(lex.ADJECTIVES)}  # "groß" is big, of people also tall
        return _one_of([Adverb(base, english) for base, english in first.items() if base in kinds])
    return _one_of([each for each in lex.ADVERBIALS if each.group in kinds])


def _second_words(adverbs: Sequence[Adverb]) -> Slot:
    """ "Montag" of "am Montag" """
    return _one_of([Adverb(each.german.split()[1], each.english.split()[1]) for each in adverbs])


SLOTS: Mapping[str, Slot] = (
    {row["slot"]: _of_row(row) for row in read_table(TABLES / "slots.tsv")}
    | {
        "SUBJECT": lambda chooser: choose_subject(chooser, None, {}),
        "ASKED": lambda chooser: choose_subject(chooser, None, {}, is_question=True),
        "SELF": lambda chooser: choose_pronoun(chooser, lex.SUBJECTS[:3]),  # without those who do not share a name
        "NAMED": lambda chooser: choose_pronoun(chooser, lex.ASKED[:4]),  # likewise
        "NAME": choose_name,
        "CLOCK": _second_words(lex.HOURS),
        "CLOCK2": _second_words(lex.HOURS),
        "DAY": _second_words(lex.WEEKDAYS),
        "DAY2": _second_words(lex.WEEKDAYS),
        "WHEN": _one_of((lex.TODAY, lex.NOW)),
    }
)
