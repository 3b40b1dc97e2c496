"""Everyday phrases (see `idioms`) with their slots filled."""

from collections.abc import Callable, Mapping, Sequence

from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord
from .clauses import Clause
from .idioms import IDIOMS, Idiom
from .lexicon import DU, ER, Adverb, Case
from .phrases import Phrase, choose_name, choose_noun_phrase, choose_pronoun, choose_subject, words_of_adverb

IDIOM_WEIGHTS = [each.weight for each in IDIOMS]


def choose_everyday_phrase(chooser: Chooser) -> Clause:
    idiom: Idiom = chooser.choose(IDIOMS, IDIOM_WEIGHTS)
    de, en, phrases = words_of_idiom(chooser, idiom)
    return Clause(de, en, idiom.german, phrases)


def words_of_idiom(chooser: Chooser, idiom: Idiom) -> tuple[list[GermanWord], list[EnglishWord], list[Phrase]]:
    slots = {word: SLOTS[word](chooser) for word in idiom.slots}
    person = next(
        (
            slots[name].person
            for name in ("SUBJECT", "SELF", "NAMED", "ASKED", "WARE", "DISH", "THING")
            if name in slots
        ),
        DU,
    )
    words: dict[str, GermanWord] = {}
    de: list[GermanWord] = []
    for written in idiom.german.split():
        if written in slots:
            de += slots[written].de
        else:
            forms = written.split("/")
            words[forms[0]] = chooser.word(forms[person] if len(forms) > 1 else written)
            de.append(words[forms[0]])
    en: list[EnglishWord] = []
    for written in idiom.english.split():
        if written in slots:
            en += slots[written].en
            continue
        if written in ("MY", "YOUR"):
            subject = slots["SELF" if written == "MY" else "NAMED"]
            en += _possessive(subject)
            continue
        text, sign, linked = written.partition("~") if "~" in written else written.partition("=")
        if "/" in text:
            text = text.split("/")[person]
        links = [
            word for name in linked.split("+") if name for word in ([words[name]] if name in words else slots[name].de)
        ]
        en.append(EnglishWord(text, links) if sign == "=" else EnglishWord(text, (), links))
    return de, en, list(slots.values())


def _possessive(owner: Phrase) -> list[EnglishWord]:
    """ "my" of "i" """
    return [EnglishWord({"i": "my", "you": "your", "he": "his", "she": "her"}[owner.en[0].text], owner.de)]


def _of_lexemes(adverbs: Sequence[Adverb]) -> Callable[[Chooser], Phrase]:
    def choose(chooser: Chooser) -> Phrase:
        de, en = words_of_adverb(chooser, chooser.choose(adverbs))
        return Phrase(de, en, ER, can_be_fronted=True, case_is_clear=True)

    return choose


def _of_nouns(
    kinds: str, case: Case, *determiners: str, adjectives: float = 0, is_one: bool = False
) -> Callable[[Chooser], Phrase]:
    weights = dict.fromkeys(determiners, 1.0)
    return lambda chooser: choose_noun_phrase(chooser, kinds, case, weights, adjectives, is_one=is_one)


def _of_adjectives(*german: str) -> Callable[[Chooser], Phrase]:
    return _of_lexemes([Adverb(each.base, each.english) for each in lex.ADJECTIVES if each.base in german])


def _of_pronouns(pronouns: Sequence[tuple[str, str, int]]) -> Callable[[Chooser], Phrase]:
    return lambda chooser: choose_pronoun(chooser, pronouns)


_JOBS = (
    ("Lehrer", "teacher"),
    ("Lehrerin", "teacher"),
    ("Student", "student"),
    ("Ärztin", "doctor"),
    ("Arzt", "doctor"),
)
SLOTS: Mapping[str, Callable[[Chooser], Phrase]] = {
    "SUBJECT": lambda chooser: choose_subject(chooser, None, {}),
    "ASKED": lambda chooser: choose_subject(chooser, None, {}, is_question=True),
    "SELF": _of_pronouns(lex.SUBJECTS[:3]),  # without "wir" and "sie" (they), who do not share a name
    "NAMED": _of_pronouns(lex.ASKED[:4]),  # likewise
    "NAME": choose_name,
    "TOWN": _of_lexemes((*lex.CITIES, *lex.COUNTRIES)),
    "AGE": _of_lexemes(lex.AGES),
    "CLOCK": _of_lexemes([Adverb(each.german.split()[1], each.english.split()[1]) for each in lex.HOURS]),
    "HOUR": _of_lexemes(lex.HOURS),
    "DAY": _of_lexemes([Adverb(each.german.split()[1], each.english.split()[1]) for each in lex.WEEKDAYS]),
    "POURED": _of_nouns("drink", "acc", ""),
    "GOODS": _of_nouns("drink food", "acc", ""),
    "WHEN": _of_lexemes((lex.TODAY, lex.NOW)),
    "TONGUE": _of_nouns("language", "acc", ""),
    "PERSON": _of_nouns("person", "nom", "mein", "dein", is_one=True),
    "KIN": _of_nouns("person animal", "nom", "mein", "dein", is_one=True),
    "FEELING": _of_adjectives("müde", "krank", "hungrig", "glücklich", "traurig"),
    "PLACE": _of_lexemes(lex.PLACES),
    "MINE": _of_nouns("thing animal building text", "nom", "mein", "dein", is_one=True),
    "JOB": _of_lexemes([Adverb(*each) for each in _JOBS]),
    "VALUE": _of_adjectives("schön", "gut", "teuer", "billig", "interessant", "lecker", "neu"),
    "SKY": _of_adjectives("schön", "gut", "schlecht", "kalt", "warm"),
    "TASTE": _of_adjectives("gut", "schlecht", "lecker"),
    "ORDER": _of_nouns("drink food", "acc", "ein", *lex.NUMBERS, adjectives=0.3),
    "WARE": _of_nouns("drink food thing text", "nom", "der"),
    "DISH": _of_nouns("food drink", "nom", "der"),
    "THING": _of_nouns("thing text letter", "nom", "der", "mein"),
    "SPOT": _of_lexemes(lex.ON_THINGS),
    "VEHICLE": _of_lexemes([lex.aligned("der Zug", "the=der train=Zug"), lex.aligned("der Bus", "the=der bus=Bus")]),
    "FEW": _of_nouns("animal thing text", "acc", ""),
}
