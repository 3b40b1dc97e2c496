"""The words of the classroom: how German inflects them, and their English. Knows nothing of sentences.

In German spelling. The model reads them in lower case, where Morgen and morgen become the same word. The words are in
tables/*.tsv: the header of a table names the attributes, and "-" is an empty cell.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from ...files import read_table
from ..vocabulary import lower

Case = Literal["nom", "acc", "dat"]
Gender = Literal["m", "f", "n", "pl"]  # in the plural, German has one gender

# Persons, in the order of every table of forms: ich, er/sie/es, wir/sie (plural)/Sie, du, ihr.
ICH, ER, WIR, DU, IHR = range(5)


def forms_of(ich: str, er: str, infinitive: str, du: str) -> tuple[str, ...]:
    """The forms of all persons. That of ihr has the stem of the infinitive: "seht", not "sieht"."""
    stem = infinitive.removesuffix("n").removesuffix("e")
    ihr = stem + ("et" if stem[-1] in "td" or er == stem + "et" else "t")
    return ich, er, infinitive, du, "seid" if infinitive == "sind" else ihr


TABLES = Path(__file__).with_name("tables")


def _rows(name: str) -> list[dict[str, Any]]:
    """The rows of a table as attributes; "·" is a space inside a word."""
    sets = ("traits", "unsuitable")
    return [
        {column: frozenset(cell.split()) if column in sets else cell.replace("·", " ") for column, cell in row.items()}
        for row in read_table(TABLES / f"{name}.tsv")
    ]


class Lexeme:
    """A word with all its German forms."""

    german: str

    def spellings(self) -> tuple[str, ...]:
        return tuple(self.german.split())

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
    # "mass": "juice", "not any juice", not "a juice"; "weak": der Junge, but den Jungen
    traits: frozenset[Literal["mass", "weak"]]
    unsuitable: frozenset[str]  # adjectives that its kind would allow: adults are short, not small

    def spellings(self) -> tuple[str, ...]:
        return (self.singular, self.plural) if self.plural else (self.singular,)

    def form(self, case: Case, is_plural: bool) -> str:
        if is_plural:
            return self.dative_plural if case == "dat" else self.plural
        ending = "en" if self.singular[-1] == "t" else "n"
        return self.singular + (ending if "weak" in self.traits and case != "nom" else "")

    @property
    def dative_plural(self) -> str:
        return self.plural + ("" if self.plural[-1:] in ("", "n", "s") else "n")

    @cached_property
    def forms(self) -> frozenset[str]:
        words = (*self.spellings(), self.dative_plural, self.form("acc", False))
        return frozenset(lower(word) for word in words if word)


@dataclass(frozen=True)
class Adjective(Lexeme):
    base: str
    english: str
    kinds: str  # of nouns that it can describe; "self" for a pronoun
    # "temporary": a state that passes, which goes with "heute" and "jetzt"; "predicative": never before its noun
    traits: frozenset[Literal["temporary", "predicative"]]

    def spellings(self) -> tuple[str, ...]:
        return (self.base, *(self.stem + ending for ending in ("e", "en", "er", "es")))

    @property
    def stem(self) -> str:
        return "teur" if self.base == "teuer" else self.base.removesuffix("e")


VerbTrait = Literal[
    "animals",  # do it too
    "before-dass",  # what a dass-clause follows
    "for-somebody",  # one also does it for another
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
    ich: str
    er: str  # wir is the infinitive, and du follows from er
    participle: str
    auxiliary: str  # of the perfect
    base: str  # in English, like the next three: "look for" is one verb
    third: str
    past: str
    past_participle: str
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
    def progressive(self) -> str:
        first, *others = self.base.split()
        if first == "lie":
            return " ".join(["lying", *others])
        doubles = first in ("get", "swim", "run", "sit", "jog", "put", "stop")
        stem = first + first[-1] if doubles else first.removesuffix("e")
        return " ".join([stem + "ing", *others])

    @property
    def imperative(self) -> str:
        """To du: "lies", "fahr", "warte"."""
        ich, er = self.ich.removesuffix("e"), self.er.removesuffix("t")
        if er == self.ich or ich[-2:] == "er":  # warte, feiere
            return self.ich
        if "ä" in er and "ä" not in ich:  # fährt, but fahr
            return self.ich if ich[-1] in "td" else ich
        return er

    def present(self, person: int) -> str:
        stem = self.er.removesuffix("t")
        du = stem + ("t" if stem[-1] in "sßz" else "st")
        return forms_of(self.ich, self.er, self.written.rpartition("+")[2], du)[person]

    def spellings(self) -> tuple[str, ...]:
        apart = [self.present(person) for person in range(5)]
        together = [self.particle + form for form in apart]
        particle = [self.particle] if self.particle else []
        return (*apart, *together, *particle, self.infinitive, self.participle, self.imperative)


@dataclass(frozen=True)
class Modal(Lexeme):
    finite: str  # ich, er, wir, du
    english: str  # before an infinitive; what follows "/" is the third person
    negated: str

    def spellings(self) -> tuple[str, ...]:
        return forms_of(*self.finite.split())


@dataclass(frozen=True, eq=False)  # each is itself: to compare all fields took a third of a parse
class Adverb(Lexeme):
    """Uninflected words: when, where, why."""

    german: str
    english: str
    links: tuple[tuple[int, ...], ...] = ((0,),)  # for each English word the German words (from 0) that it translates
    group: str = ""
    weight: float = 1  # how often it is chosen, beside others
    # "opens": it begins the English clause, wherever it stands in German
    traits: frozenset[Literal["first", "habit", "before-verb", "after-object", "opens"]] = frozenset()

    def may_occur_in(self, words: frozenset[str]) -> bool:
        return self.forms <= words


def aligned(german: str, english: str, **fields: Any) -> Adverb:
    """An adverbial in which every English word names the German ones that it translates: "home=nach+Hause"."""
    places = {word: i for i, word in enumerate(german.split())}
    words = [word.split("=") for word in english.split()]
    links = tuple(tuple(places[word] for word in linked.split("+")) for _, linked in words)
    return Adverb(german, " ".join(word for word, _ in words), links, **fields)


@dataclass(frozen=True)
class Negation(Lexeme):
    german: str


NOUNS = tuple(Noun(**row) for row in _rows("nouns"))
ADJECTIVES = tuple(Adjective(**row) for row in _rows("adjectives"))
*_VERBS, COPULA, WISH_VERB = (Verb(**row) for row in _rows("verbs"))
VERBS = tuple(each for each in _VERBS if "before-dass" not in each.traits)
CLAUSE_VERBS = tuple(each for each in _VERBS if "before-dass" in each.traits)
*MODALS, _WISH, _WANT = (Modal(**row) for row in _rows("modals"))
WISH_MODALS = (_WISH, _WANT)  # a wish has an object and no infinitive
_, _, SHOULD, WILL, _, MUST, _, *PAST_MODALS = MODALS

LIVING = ("person", "animal")
WITHOUT_ARTICLE = {"language", "game", "music", "need"}  # kinds of nouns
AUXILIARIES = {"haben": forms_of("habe", "hat", "haben", "hast"), "sein": forms_of("bin", "ist", "sind", "bist")}
WAS = forms_of("war", "war", "waren", "warst")

ADVERBIALS = tuple(aligned(**row | {"weight": float(row["weight"])}) for row in _rows("adverbials"))


def _adverbs(*german: str) -> tuple[Adverb, ...]:
    return tuple(next(each for each in ADVERBIALS if each.german == words) for words in german)


def group(name: str) -> tuple[Adverb, ...]:
    return tuple(each for each in ADVERBIALS if each.group == name)


TODAY, NOW, ALREADY, EVENING = _adverbs("heute", "jetzt", "schon", "am Abend")
HOME, ALSO, *LATER = _adverbs("nach Hause", "auch", "morgen", "später")
GLADLY, VERY, TOO, BECAUSE, THAT = _adverbs("gern", "sehr", "zu", "weil", "dass")  # gern: "likes to drink"
LIKING = GLADLY, *_adverbs("lieber")  # "prefers to drink"
WITH, FOR, AND, BUT, FOR_THAT_REASON = _adverbs("mit", "für", "und", "aber", "denn")
ONLY, STILL, SO, REALLY = _adverbs("nur", "noch", "so", "wirklich")
LINKS = BECAUSE, THAT, BUT, FOR_THAT_REASON  # the latter two join main clauses
QUESTION_WORDS = WHERE, WHEN, WHY, WHAT, WHO, WHERE_TO, AT_WHAT_TIME = _adverbs(
    "wo", "wann", "warum", "was", "wer", "wohin", "um wie viel Uhr"
)
WHENS = WHEN, AT_WHAT_TIME
WEEKDAYS, HOURS, AGES, NAMES = map(group, ("weekday", "hour", "age", "name"))
HOURS_IN_SHORT = group("hour-short")
HABITS, MANNERS, PASTS, COMMENTS, AGAIN = map(group, ("habit", "how", "past", "comment", "again"))
BEFORE = (*PASTS, *WEEKDAYS, *HOURS, *_adverbs("am Morgen", "am Abend", "am Nachmittag", "am Wochenende"))
CITIES, COUNTRIES, PLACES = group("city"), group("country"), group("place")
HERE = _adverbs("hier", "dort")
ON_THINGS = group("on-thing")  # where things lie
WALKS = (*group("walk"), *group("walk-or-ride"))
RIDES = (*group("ride"), *group("walk-or-ride"))
DIRECTIONS = {"fahren": RIDES, "fliegen": group("ride"), "reisen": group("ride")}  # of others WALKS
NICHT, KEIN = Negation("nicht"), Negation("kein keine keinen")

Pronoun = tuple[str, str, int]  # German, English and person


def _pronouns(use: str) -> tuple[Pronoun, ...]:
    persons = {"ich": ICH, "er": ER, "wir": WIR, "du": DU, "ihr": IHR}
    rows = [row for row in _rows("pronouns") if row["use"] == use]
    return tuple((row["german"], row["english"], persons[row["person"]]) for row in rows)


SUBJECTS, ASKED, IT, THAT_THING, WHO_ASKED, SOMEBODY = map(
    _pronouns, ("subject", "asked", "weather", "that", "who", "somebody")
)
FORMAL = ASKED[1:2]  # Sie
OBJECTS: dict[Case, tuple[Pronoun, ...]] = {  # sie is read as "her", though it may be "them"
    "acc": _pronouns("acc"),
    "dat": _pronouns("dat"),
}
OF_THINGS: dict[Case, dict[Gender, Pronoun]] = {  # sie as an object could be people: left out
    "nom": {"m": ("er", "it", ER), "f": ("sie", "it", ER), "n": ("es", "it", ER), "pl": ("sie", "they", WIR)},
    "acc": {"m": ("ihn", "it", ER), "n": ("es", "it", ER)},
}
MASCULINE = ("er", "ihn", "ihm")  # singular pronouns of men


def unsuitable_determiners(noun: Noun) -> tuple[str, ...]:
    """Determiners that the noun cannot have, or that change its meaning: "mein Mann" is a husband."""
    if noun.english in ("husband", "wife"):
        return ("der", "dies", "ein", "kein", "", *NUMBERS)
    if noun.kind in WITHOUT_ARTICLE:
        return ("ein", *DEFINITE, *NUMBERS)
    if noun.singular in ("Mann", "Frau", "Mädchen"):
        return tuple(POSSESSIVES)
    if noun.gender == "pl":
        return ("ein", "", *NUMBERS)
    if noun.kind == "place":
        return ("", *NUMBERS)
    if noun.plural:
        return ("",) if noun.plural == noun.singular and "mass" not in noun.traits else ()  # one or several?
    return ("ein", *NUMBERS) if "mass" in noun.traits else ("ein", "", *NUMBERS)


def can_be_object_of(subject: int, other: int) -> bool:
    """Whether a pronoun of this person can be the object: not ich and mich, nor ich and uns."""
    return subject != other and {subject, other} not in ({ICH, WIR}, {DU, IHR})


def _declension(word: str) -> dict[Case, dict[Gender, str]]:
    """Case -> gender -> the form, or the ending, of a word of the table."""
    rows = [row for row in _rows("declensions") if row["word"] == word]
    return {row["case"]: {gender: row[gender] for gender in get_args(Gender)} for row in rows}


THE, A = _declension("der"), _declension("ein")  # A: the endings of ein, mein, unser and kein
THIS = _declension("dies")  # and of welch
_AFTER_THE, _AFTER_A = _declension("adjective after der"), _declension("adjective after ein")
_ALONE = _declension("adjective alone")
NUMBERS = {each.german: each.english for each in AGES[:11]} | {"viele": "many"}  # from two to twelve
# ihr: not their, nor Ihr
POSSESSIVES = {"mein": "my", "dein": "your", "sein": "his", "ihr": "her", "unser": "our", "euer": "your"}
YOUR = {"dein": 0.25, "euer": 0.08}  # how often a statement says them
OWN = {"mein": 1.0, "unser": 0.4, "sein": 0.4, "ihr": 0.4}  # likewise
DEFINITE = ("der", "dies", *POSSESSIVES)


def adjective_ending(determiner: str, case: Case, gender: Gender) -> str:
    """The ending after der, after ein, mein or kein, after a number, or with nothing before the adjective."""
    after = {"": _ALONE} | dict.fromkeys(("der", "dies", "welch"), _AFTER_THE) | dict.fromkeys(NUMBERS, _ALONE)
    return after.get(determiner, _AFTER_A)[case][gender]
