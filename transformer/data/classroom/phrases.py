"""Noun phrases, pronouns, names and adverbials in both languages: subjects and objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord
from .lexicon import DU, ER, ICH, WIR, Adjective, Adverb, Case, Gender, Negation, Noun, Verb

Things = dict[Gender, Noun | None]


@dataclass
class Phrase:
    """A noun phrase or a pronoun in both languages."""

    de: list[GermanWord]
    en: list[EnglishWord]
    person: int
    can_be_fronted: bool  # as an object: it is definite, and its form shows the case
    case_is_clear: bool  # by its article
    gender: Gender | None = None  # of the third person
    noun: Noun | None = None
    adjective: Adjective | None = None
    kein: GermanWord | None = None

    @property
    def is_pronoun(self) -> bool:
        return self.noun is None


def choose_noun_phrase(
    chooser: Chooser,
    kinds: str,
    case: Case,
    determiners: Mapping[str, float],
    adjective_probability: float,
    excluded: Noun | None = None,
    is_one: bool = False,
) -> Phrase:
    """A determiner (a number is plural, ein is singular), perhaps an adjective, and a noun."""
    nouns = [each for each in _nouns_with(kinds, tuple(determiners)) if each is not excluded]
    noun: Noun = chooser.choose(nouns, [5 if each.kind == "need" else 1 for each in nouns])
    unsuitable, is_mass = lex.unsuitable_determiners(noun), "mass" in noun.traits
    determiner = chooser.one_of({k: v for k, v in determiners.items() if k not in unsuitable})
    may_be_plural = noun.plural and determiner not in ("", "ein") and case != "dat" and not is_one
    plural = determiner in lex.NUMBERS or (not determiner and not is_mass) or (may_be_plural and chooser.maybe(0.3))
    gender: Gender = "pl" if plural else noun.gender
    # Before any further choice, so that parsing fails early.
    words = [
        (chooser.word(noun.plural), noun.english_plural) if plural else (chooser.word(noun.singular), noun.english)
    ]
    article = chooser.word(_determiner(determiner, case, gender)) if determiner else None
    adjective: Adjective | None = None
    adjectives = adjectives_for(noun.kind, noun)
    if adjectives and chooser.maybe(adjective_probability):
        adjective = chooser.choose(adjectives)
        german = adjective.stem + lex.adjective_ending(determiner, case, gender)
        words.insert(0, (chooser.word(german), adjective.english))
    if article:
        words.insert(0, (article, _english_determiner(determiner, plural or is_mass, words[0][1])))
    de = [word for word, _ in words]
    chooser.together(de)
    return Phrase(
        de,
        [EnglishWord(each, (word,)) for word, english in words for each in english.split()],
        WIR if plural else ER,
        can_be_fronted=determiner in ("der", "mein", "dein"),
        case_is_clear=gender == "m" or case == "dat",
        gender=gender,
        noun=noun,
        adjective=adjective,
        kein=de[0] if determiner == "kein" else None,
    )


@cache
def _nouns(kinds: str) -> list[Noun]:
    return [each for each in lex.NOUNS if each.kind in kinds.split()]


@cache
def _nouns_with(kinds: str, determiners: tuple[str, ...]) -> list[Noun]:
    """Those that can have one of these determiners."""
    return [each for each in _nouns(kinds) if not {*determiners} <= {*lex.unsuitable_determiners(each)}]


@cache
def adjectives_for(kind: str, noun: Noun | None = None) -> list[Adjective]:
    """Adjectives that can describe this noun of this kind."""
    unsuitable = noun.unsuitable if noun else ()
    return [each for each in lex.ADJECTIVES if kind in each.kinds.split() and each.base not in unsuitable]


def _determiner(determiner: str, case: Case, gender: Gender) -> str:
    if determiner == "der":
        return lex.THE[case][gender]
    return determiner if determiner in lex.NUMBERS else determiner + lex.A[case][gender]


def _english_determiner(determiner: str, is_mass: bool, following: str) -> str:
    """English has no article after "not" before a plural or a mass noun."""
    a = "an" if following[0] in "aeiou" else "a"
    return {"der": "the", "mein": "my", "dein": "your", "ein": a, "kein": "any" if is_mass else a, **lex.NUMBERS}[
        determiner
    ]


PRONOUN_WEIGHTS = {ICH: 2, DU: 1.5, ER: 1, WIR: 1}


def choose_pronoun(chooser: Chooser, pronouns: Sequence[tuple[str, str, int]]) -> Phrase:
    german, english, person = chooser.choose(pronouns, [PRONOUN_WEIGHTS[each[2]] for each in pronouns])
    word = chooser.word(german)
    gender: Gender | None = "m" if german in lex.MASCULINE else "f" if english == "she" else None
    is_clear = german not in ("sie", "Sie", "es")
    return Phrase([word], [EnglishWord(english, (word,))], person, False, case_is_clear=is_clear, gender=gender)


def choose_name(chooser: Chooser) -> Phrase:
    de, en = words_of_adverb(chooser, chooser.choose(lex.NAMES))
    return Phrase(de, en, ER, can_be_fronted=False, case_is_clear=False)


def pronouns_of_people(pronouns: Sequence[tuple[str, str, int]], things: Things) -> list[tuple[str, str, int]]:
    """The pronouns that mean people: "er" cannot, once a thing has been named that "er" could mean."""
    return [
        (german, english, person)
        for german, english, person in pronouns
        if not ("m" in things and german in lex.MASCULINE) and not ("f" in things and english == "she")
    ]


def _pronouns_of_things(case: Case, things: Things, kinds: Sequence[str]) -> list[tuple[str, str, int]]:
    """Pronouns of the things of these kinds: "it"."""
    forms = lex.OF_THINGS.get(case, {})
    return [forms[gender] for gender, noun in things.items() if noun and noun.kind in kinds and gender in forms]


def choose_subject(chooser: Chooser, verb: Verb | None, things: Things, is_question: bool = False) -> Phrase:
    """A pronoun, a name or a noun phrase; without a verb a person's."""
    if verb and "weather" in verb.traits:
        return choose_pronoun(chooser, lex.IT)
    kind = chooser.one_of({"pronoun": 6, "noun": 4, "name": 1})
    if kind == "pronoun":
        return choose_pronoun(chooser, pronouns_of_people(lex.ASKED if is_question else lex.SUBJECTS, things))
    if kind == "name":
        return choose_name(chooser)
    kinds = "person animal" if verb and "animals" in verb.traits else "person"
    determiners = {"der": 2, "dein": 1} if is_question else {"der": 2, "mein": 1, "ein": 1}
    return choose_noun_phrase(chooser, kinds, "nom", determiners, 0.25)


_INDEFINITE: dict[str, float] = {"ein": 3, "": 1.5} | dict.fromkeys(lex.NUMBERS, 0.3)


def choose_objects(
    chooser: Chooser, verb: Verb, subject: Phrase, negation: Negation | None, things: Things, is_liked: bool = False
) -> list[Phrase]:
    """Recipient first. An object negated with nicht is definite; kein replaces ein or no determiner."""
    found: list[Phrase] = []
    determiners: Mapping[str, float]
    is_clear = subject.is_pronoun or subject.case_is_clear  # "weil es ein Kind sucht": which of the two seeks?
    for case, kinds in verb.takes:
        has_nouns = bool(_nouns(kinds))
        it = _pronouns_of_things(case, things, kinds.split()) if is_clear and "recipient" not in verb.traits else ()
        takes_that = case == "acc" and takes_things(verb) and not is_liked and (is_clear or not has_nouns)
        that = lex.THAT_THING if takes_that else ()
        takes_people = "no-pronouns" not in verb.traits and "person" in kinds.split()
        people = pronouns_of_people(lex.OBJECTS[case], things) if takes_people else ()
        people = [each for each in people if lex.can_be_object_of(subject.person, each[2])]
        options = ((it, 0.8), (that, 0.06 if has_nouns else 1), (people, 0.4))
        is_denied = case == "acc" and negation is lex.KEIN  # then not a pronoun
        pronouns = next((each for each, share in options if each and not is_denied and chooser.maybe(share)), None)
        if pronouns:
            found.append(choose_pronoun(chooser, pronouns))
            continue
        if case == "dat":
            determiners = {"der": 1, "mein": 1} if negation else {"der": 1, "mein": 1, "ein": 1}
        elif is_denied:
            determiners = {"kein": 1}
        elif is_liked:
            determiners = {"": 1}
        elif "only-present" in verb.traits:
            determiners = {"der": 2, "mein": 1} | ({} if negation else {"": 3})
        else:
            determiners = {"der": 2, "mein": 1} | ({} if negation else _INDEFINITE)
        adjective_probability = 0.2 if case == "dat" else 0.5
        found.append(
            choose_noun_phrase(chooser, kinds, case, determiners, adjective_probability, excluded=subject.noun)
        )
    return found


def takes_things(verb: Verb) -> bool:
    """Whether "das" can be its object, and "was" ask for it."""
    return not {"thing", "food", "drink", "text", "deed", "language"}.isdisjoint(verb.objects.split())


def words_of_adverb(chooser: Chooser, adverb: Adverb | None) -> tuple[list[GermanWord], list[EnglishWord]]:
    if adverb is None:
        return [], []
    de = [chooser.word(each) for each in adverb.german.split()]
    chooser.together(de)
    links = zip(adverb.english.split(), adverb.links, strict=True)
    return de, [EnglishWord(text, [de[i] for i in link]) for text, link in links]
