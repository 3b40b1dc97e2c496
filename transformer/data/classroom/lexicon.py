"""The words of the classroom: how German inflects them, and their English. Knows nothing of sentences.

In German spelling. The model reads them in lower case, where Morgen and morgen become the same word. The words are in
tables/*.tsv: the header of a table names the attributes, and "-" is an empty cell.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ...files import read_table
from ..vocabulary import lower

Case = Literal["nom", "acc", "dat"]
Gender = Literal["m", "f", "n", "pl"]  # in the plural, German has one gender

# Persons, as the columns of every table of forms: ich, er/sie/es, wir/sie (plural)/Sie, du.
ICH, ER, WIR, DU = range(4)


TABLES = Path(__file__).with_name("tables")


def _lexemes(name: str) -> list[dict[str, Any]]:
    """The rows of a table as attributes."""
    rows: list[dict[str, Any]] = [*read_table(TABLES / f"{name}.tsv")]
    sets = ("traits", "unsuitable")
    return [row | {column: frozenset(row[column].split()) for column in sets if column in row} for row in rows]


class Lexeme:
    """A word with all its German forms."""

    def spellings(self) -> tuple[str, ...]:
        raise NotImplementedError

    @cached_property
    def forms(self) -> frozenset[str]:
        """In lower case, as a model reads them."""
        return frozenset(lower(word) for spelling in self.spellings() for word in spelling.split())

    def may_occur_in(self, words: frozenset[str]) -> bool:
        """Whether a sentence of these words may hold it."""
        return not self.forms.isdisjoint(words)


@dataclass(frozen=True)
class Noun(Lexeme):
    gender: Gender
    singular: str
    plural: str
    english: str
    english_plural: str
    kind: str
    traits: frozenset[Literal["mass"]]  # "juice", "not any juice", not "a juice"
    unsuitable: frozenset[str]  # adjectives that its kind would allow: adults are short, not small

    def spellings(self) -> tuple[str, ...]:
        return (self.singular, self.plural) if self.plural else (self.singular,)

    @property
    def is_mass(self) -> bool:
        return "mass" in self.traits


@dataclass(frozen=True)
class Adjective(Lexeme):
    base: str
    english: str
    kinds: str  # of nouns that it can describe; "self" for a pronoun
    traits: frozenset[Literal["temporary"]]  # a state that passes: it goes with "heute" and "jetzt"

    def spellings(self) -> tuple[str, ...]:
        return (self.base, *(self.stem + ending for ending in ("e", "en", "er", "es")))

    @property
    def stem(self) -> str:
        return "teur" if self.base == "teuer" else self.base.removesuffix("e")

    @property
    def is_temporary(self) -> bool:
        return "temporary" in self.traits


VerbTrait = Literal[
    "animals",  # do it too
    "before-dass",  # what a dass-clause follows
    "motion",  # goes home instead of happening somewhere, or elsewhere
    "needs-place",  # always says where
    "no-place",  # does not happen somewhere
    "no-progressive",  # not "is seeing"
    "no-pronouns",  # never stand for its object of kind "person"
    "only-present",
    "recipient",  # also takes a person in the dative
    "state",  # the only modal it takes is "will", and the only perfect that of yesterday
    "weather",  # its subject is "es"
]


@dataclass(frozen=True)
class Verb(Lexeme):
    """A verb; a separable one is written "auf+machen"."""

    written: str
    finite: str  # ich and er; wir is the infinitive, and du follows from er
    participle: str
    auxiliary: str  # of the perfect
    english: str  # base, third person, past, participle; "look·for" is two words
    objects: str  # kinds of nouns that it takes; none if intransitive
    case: Case | Literal[""]  # of the object
    traits: frozenset[VerbTrait]

    @property
    def particle(self) -> str:
        return self.written.partition("+")[0] if "+" in self.written else ""

    @property
    def infinitive(self) -> str:
        return self.written.replace("+", "")

    @property
    def takes(self) -> list[tuple[Case, str]]:
        """Its objects in German order: case and kinds of nouns."""
        recipient: list[tuple[Case, str]] = [("dat", "person")] if "recipient" in self.traits else []
        return recipient + ([(self.case, self.objects)] if self.case else [])

    @property
    def base(self) -> str:
        return self._english(0)

    @property
    def third(self) -> str:
        return self._english(1)

    @property
    def past(self) -> str:
        return self._english(2)

    @property
    def past_participle(self) -> str:
        return self._english(3)

    @property
    def progressive(self) -> str:
        first, *others = self.base.split()
        stem = first + first[-1] if first in ("get", "swim") else first.removesuffix("e")
        return " ".join([stem + "ing", *others])

    def _english(self, column: int) -> str:
        return self.english.split()[column].replace("·", " ")

    def present(self, person: int) -> str:
        er = self.finite.split()[ER]
        stem = er.removesuffix("t")
        du = stem + ("t" if stem[-1] in "sßz" else "st")
        return (*self.finite.split(), self.written.rpartition("+")[2], du)[person]

    def spellings(self) -> tuple[str, ...]:
        apart = [self.present(person) for person in range(4)]
        together = [self.particle + form for form in apart]
        return (*apart, *together, *([self.particle] if self.particle else []), self.infinitive, self.participle)


@dataclass(frozen=True)
class Modal(Lexeme):
    finite: str  # ich, er, wir, du
    english: str  # before an infinitive; what follows "/" is the third person
    negated: str

    def spellings(self) -> tuple[str, ...]:
        return tuple(self.finite.split())


@dataclass(frozen=True)
class Adverb(Lexeme):
    """Uninflected words: when, where, why.

    `links` holds for each English word the German words (from 0) that it translates.
    """

    german: str
    english: str
    links: tuple[tuple[int, ...], ...] = ((0,),)

    def spellings(self) -> tuple[str, ...]:
        return (self.german,)

    def may_occur_in(self, words: frozenset[str]) -> bool:
        return self.forms <= words


def aligned(german: str, english: str) -> Adverb:
    """An adverbial in which every English word names the German ones that it translates: "home=nach+Hause"."""
    places = {word: i for i, word in enumerate(german.split())}
    words = [word.split("=") for word in english.split()]
    links = tuple(tuple(places[word] for word in linked.split("+")) for _, linked in words)
    return Adverb(german, " ".join(word for word, _ in words), links)


@dataclass(frozen=True)
class Negation(Lexeme):
    german: str

    def spellings(self) -> tuple[str, ...]:
        return tuple(self.german.split())


NOUNS = tuple(Noun(**row) for row in _lexemes("nouns"))
ADJECTIVES = tuple(Adjective(**row) for row in _lexemes("adjectives"))
_VERBS = [Verb(**row) for row in _lexemes("verbs")]
VERBS = tuple(each for each in _VERBS if "before-dass" not in each.traits)
CLAUSE_VERBS = tuple(each for each in _VERBS if "before-dass" in each.traits)

LIVING = ("person", "animal")
WITHOUT_ARTICLE = {"language", "game", "music", "need"}  # kinds of nouns

AUXILIARIES = {"haben": "habe hat haben hast", "sein": "bin ist sind bist"}
COPULA = Verb("sein", "bin ist", "gewesen", "haben", "be is was been", "", "", frozenset({"no-place"}))
WISH_VERB = Verb(
    "möchten",
    "möchte möchte",
    "gemocht",
    "haben",
    "like likes liked liked",
    "drink food text thing",
    "acc",
    frozenset({"no-place"}),
)

WILL = Modal("werde wird werden wirst", "will", "will not")
SHOULD = Modal("soll soll sollen sollst", "should", "should not")
MUST = Modal("muss muss müssen musst", "have to/has to", "do not have to/does not have to")
MODALS = (
    Modal("kann kann können kannst", "can", "cannot"),
    SHOULD,
    WILL,
    Modal("will will wollen willst", "want to/wants to", "do not want to/does not want to"),
    MUST,
    Modal("möchte möchte möchten möchtest", "would like to", "would not like to"),
)
WISH_MODAL = Modal(
    "möchte möchte möchten möchtest", "would like", "do not want/does not want"
)  # with an object and no infinitive

_ADVERBIALS = [(row["group"], aligned(row["german"], row["english"])) for row in read_table(TABLES / "adverbials.tsv")]
ADVERBIALS = tuple(each for _, each in _ADVERBIALS)


def _adverbs(*german: str) -> tuple[Adverb, ...]:
    return tuple(next(each for each in ADVERBIALS if each.german == words) for words in german)


def _group(name: str) -> tuple[Adverb, ...]:
    return tuple(each for group, each in _ADVERBIALS if group == name)


TODAY, NOW, TOMORROW, YESTERDAY = _adverbs("heute", "jetzt", "morgen", "gestern")
ALREADY, OFTEN, ALWAYS, SOMETIMES = _adverbs("schon", "oft", "immer", "manchmal")
MORNING, EVENING, LATER, HOME = _adverbs("am Morgen", "am Abend", "später", "nach Hause")
GLADLY, VERY, BECAUSE, THAT = _adverbs("gern", "sehr", "weil", "dass")  # gern: "likes to drink"
QUESTION_WORDS = WHERE, WHEN, WHY, WHAT, WHO, WHERE_TO = _adverbs("wo", "wann", "warum", "was", "wer", "wohin")
WEEKDAYS, HOURS, AGES, NAMES = _group("weekday"), _group("hour"), _group("age"), _group("name")
CITIES, COUNTRIES, PLACES = _group("city"), _group("country"), _group("place")
ON_THINGS = _group("on-thing")  # where things lie
WALKS = (*_group("walk"), *_group("walk-or-ride"))
RIDES = (*_group("ride"), *_group("walk-or-ride"))
NICHT, KEIN = Negation("nicht"), Negation("kein keine keinen")

SUBJECTS = (("ich", "i", ICH), ("er", "he", ER), ("sie", "she", ER), ("wir", "we", WIR),
            ("sie", "they", WIR), ("du", "you", DU))  # fmt: skip
ASKED = (("du", "you", DU), ("Sie", "you", WIR), ("er", "he", ER), ("sie", "she", ER), ("wir", "we", WIR))
IT = (("es", "it", ER),)
THAT_THING = (("das", "that", ER),)
OF_THINGS: dict[Case, dict[Gender, tuple[str, str, int]]] = {  # sie as an object could be people: left out
    "nom": {"m": ("er", "it", ER), "f": ("sie", "it", ER), "n": ("es", "it", ER), "pl": ("sie", "they", WIR)},
    "acc": {"m": ("ihn", "it", ER), "n": ("es", "it", ER)},
}
MASCULINE = ("er", "ihn", "ihm")  # singular pronouns of men
OBJECTS: dict[Case, tuple[tuple[str, str, int], ...]] = {  # sie and ihr could be several people: left out
    "acc": (("mich", "me", ICH), ("ihn", "him", ER), ("uns", "us", WIR),
            ("dich", "you", DU)),
    "dat": (("mir", "me", ICH), ("ihm", "him", ER), ("uns", "us", WIR),
            ("dir", "you", DU)),
}  # fmt: skip


def unsuitable_determiners(noun: Noun) -> tuple[str, ...]:
    """Determiners that the noun cannot have, or that change its meaning: "mein Mann" is a husband."""
    if noun.english in ("husband", "wife"):
        return ("der", "ein", "kein", "", *NUMBERS)
    if noun.kind in WITHOUT_ARTICLE:
        return ("der", "ein", "mein", "dein", *NUMBERS)
    if noun.singular in ("Mann", "Frau", "Mädchen"):
        return ("mein", "dein")
    if noun.plural:
        return ("",) if noun.plural == noun.singular and not noun.is_mass else ()  # one or several?
    return ("ein", *NUMBERS) if noun.is_mass else ("ein", "", *NUMBERS)


def can_be_object_of(subject: int, other: int) -> bool:
    """Whether a pronoun of this person can be the object: not ich and mich, nor ich and uns."""
    return subject != other and {subject, other} != {ICH, WIR}


THE: dict[Case, dict[Gender, str]] = {
    "nom": {"m": "der", "f": "die", "n": "das", "pl": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "pl": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem"},
}
A: dict[Case, dict[Gender, str]] = {  # endings of ein, mein and kein
    "nom": {"m": "", "f": "e", "n": "", "pl": "e"},
    "acc": {"m": "en", "f": "e", "n": "", "pl": "e"},
    "dat": {"m": "em", "f": "er", "n": "em"},
}
NUMBERS = {"zwei": "two", "drei": "three", "vier": "four", "fünf": "five", "sechs": "six", "zehn": "ten"}


def adjective_ending(determiner: str, case: Case, gender: Gender) -> str:
    """The ending after der, after ein, mein, dein or kein, after a number, or with nothing before the adjective."""
    if determiner in ("ein", "mein", "dein", "kein", "") and gender != "pl" and case != "dat":
        return {"m": "er" if case == "nom" else "en", "f": "e", "n": "es"}[gender]
    if determiner == "der" and gender != "pl" and case != "dat":
        return "en" if (case, gender) == ("acc", "m") else "e"
    return "en" if determiner in ("der", "ein", "mein", "dein", "kein") else "e"
