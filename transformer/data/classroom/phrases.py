"""Noun phrases, pronouns, names and adverbials in both languages: subjects and objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord
from .lexicon import DU, ER, ICH, IHR, WIR, Adjective, Adverb, Case, Gender, Negation, Noun, Verb

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
    def first_word(self) -> str:
        """In German; none in an order, which has no subject."""
        return self.de[0].spelling if self.de else ""

    @property
    def means_people(self) -> bool:
        return self.noun.kind == "person" if self.noun else self.first_word != "es"

    @property
    def is_pronoun(self) -> bool:
        return self.noun is None

    @property
    def stands_first(self) -> bool:
        """As a subject after its verb: before all objects, also those that are pronouns."""
        return self.is_pronoun or self.can_be_fronted


def choose_noun_phrase(
    chooser: Chooser,
    kinds: str,
    case: Case,
    determiners: Mapping[str, float],
    adjective_probability: float,
    excluded: Sequence[Noun | None] = (),
    is_one: bool = False,
) -> Phrase:
    """A determiner (a number is plural, ein is singular), perhaps an adjective, and a noun."""
    nouns = [each for each in _nouns_with(kinds, tuple(determiners)) if each not in excluded]
    nouns = [each for each in nouns if not (is_one and each.gender == "pl")]
    noun: Noun = chooser.choose(nouns, [5 if each.kind == "need" else 1 for each in nouns])
    unsuitable, is_mass = lex.unsuitable_determiners(noun), "mass" in noun.traits
    determiner = chooser.determiner({k: v for k, v in determiners.items() if k not in unsuitable})
    is_plural = noun.gender == "pl" or determiner in lex.NUMBERS or (not determiner and not is_mass)
    may_be_plural = bool(noun.plural) and determiner not in ("", "ein") and not is_one
    # Hardly anybody gives something to several animals.
    may_be_plural = may_be_plural and not (case == "dat" and noun.kind == "animal")
    plural = is_plural or (may_be_plural and chooser.maybe(0.3))
    gender: Gender = "pl" if plural else noun.gender
    # Before any further choice, so that parsing fails early.
    words = [(chooser.word(noun.form(case, plural)), noun.english_plural if plural else noun.english)]
    article = chooser.word(determiner_form(determiner, case, gender)) if determiner else None
    adjective: Adjective | None = None
    adjectives = [each for each in adjectives_for(noun.kind, noun) if "predicative" not in each.traits]
    if adjectives and chooser.maybe(adjective_probability):
        adjective = chooser.choose(adjectives)
        german = adjective.stem + lex.adjective_ending(determiner, case, gender)
        words.insert(0, (chooser.word(german), adjective.english))
    if article:
        english = _english_determiner(determiner, plural or is_mass, words[0][1])
        if determiner == "dies" and plural:
            english = "these"
        elif determiner == "kein" and noun.kind in lex.WITHOUT_ARTICLE:
            english = ""  # "does not speak German"
        words.insert(0, (article, english))
    de = [word for word, _ in words]
    chooser.together(de)
    return Phrase(
        de,
        [EnglishWord(each, (word,)) for word, english in words for each in english.split()],
        WIR if plural else ER,
        can_be_fronted=determiner in lex.DEFINITE,
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


def determiner_form(determiner: str, case: Case, gender: Gender) -> str:
    """ "meinem", "eure" """
    if determiner == "der":
        return lex.THE[case][gender]
    if determiner in ("dies", "welch"):
        return determiner + lex.THIS[case][gender]
    if determiner in lex.NUMBERS:
        return determiner
    ending = lex.A[case][gender]
    return "eur" + ending if determiner == "euer" and ending else determiner + ending


def _english_determiner(determiner: str, is_mass: bool, following: str) -> str:
    """English has no article after "not" before a plural or a mass noun."""
    a = "an" if following[0] in "aeiou" else "a"
    others = {"der": "the", "ein": a, "kein": "any" if is_mass else a, "welch": "which", "dies": "this"}
    return (others | lex.POSSESSIVES | lex.NUMBERS)[determiner]


PRONOUN_WEIGHTS = {ICH: 2, DU: 1.5, ER: 1, WIR: 1, IHR: 0.7}


def choose_pronoun(chooser: Chooser, pronouns: Sequence[lex.Pronoun]) -> Phrase:
    german, english, person = chooser.pronoun(pronouns, [PRONOUN_WEIGHTS[each[2]] for each in pronouns])
    word = chooser.word(german)
    gender: Gender | None = "m" if german in lex.MASCULINE else "f" if english == "she" else None
    is_clear = german not in ("sie", "Sie", "es")
    return Phrase([word], [EnglishWord(english, (word,))], person, False, case_is_clear=is_clear, gender=gender)


def choose_name(chooser: Chooser, excluded: str = "") -> Phrase:
    de, en = words_of_adverb(chooser, chooser.choose([each for each in lex.NAMES if each.german != excluded]))
    return Phrase(de, en, ER, can_be_fronted=False, case_is_clear=False)


def pronouns_of_people(pronouns: Sequence[lex.Pronoun], things: Things) -> list[lex.Pronoun]:
    """The pronouns that mean people: "er" cannot, once a thing has been named that "er" could mean."""
    return [
        (german, english, person)
        for german, english, person in pronouns
        if not ("m" in things and german in lex.MASCULINE) and not ("f" in things and english in ("she", "her"))
    ]


def _pronouns_of_things(case: Case, things: Things, kinds: Sequence[str]) -> list[lex.Pronoun]:
    """Pronouns of the things of these kinds: "it"."""
    forms = lex.OF_THINGS.get(case, {})
    return [forms[gender] for gender, noun in things.items() if noun and noun.kind in kinds and gender in forms]


def choose_subject(chooser: Chooser, verb: Verb | None, things: Things, is_question: bool = False) -> Phrase:
    """A pronoun, a name or a noun phrase; without a verb a person's."""
    if verb and "weather" in verb.traits:
        return choose_pronoun(chooser, lex.IT)
    kind = chooser.one_of({"pronoun": 6, "noun": 4, "name": 1, "somebody": 0.2, "two": 0 if is_question else 0.4})
    if kind == "pronoun":
        return choose_pronoun(chooser, pronouns_of_people(lex.ASKED if is_question else lex.SUBJECTS, things))
    if kind == "name":
        return choose_name(chooser)
    if kind == "somebody":
        return choose_pronoun(chooser, lex.SOMEBODY)
    if kind == "two":
        return _two(chooser)
    kinds = "person animal" if verb and "animals" in verb.traits else "person"
    said = {"der": 2, "dies": 0.3, "ein": 1} | lex.YOUR | lex.OWN
    asked = {"der": 2.5, "dein": 1.5, "euer": 0.4}
    return choose_noun_phrase(chooser, kinds, "nom", asked if is_question else said, 0.2)


def _two(chooser: Chooser) -> Phrase:
    """ "Anna and I", "my brother and Anna" """
    link, link_en = words_of_adverb(chooser, lex.AND)
    is_name = chooser.maybe(0.5)
    one = choose_name(chooser) if is_name else choose_noun_phrase(chooser, "person", "nom", lex.OWN, 0, is_one=True)
    is_me = chooser.maybe(0.5)
    other = choose_pronoun(chooser, lex.SUBJECTS[:1]) if is_me else choose_name(chooser, one.de[0].spelling)
    return replace(one, de=[*one.de, *link, *other.de], en=[*one.en, *link_en, *other.en], person=WIR, gender="pl")


_INDEFINITE: dict[str, float] = {"ein": 3, "": 1.5} | dict.fromkeys(lex.NUMBERS, 0.17)


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
        # "ich gebe dir das", but not "ich gebe dir es".
        things_meant = lex.THAT_THING[:1] if "recipient" in verb.traits else lex.THAT_THING
        that = things_meant if takes_that else ()
        takes_people = "no-pronouns" not in verb.traits and "person" in kinds.split()
        people = pronouns_of_people(lex.OBJECTS[case], things) if takes_people else ()
        people = [
            (german, english, person)
            for german, english, person in people
            if lex.can_be_object_of(subject.person, person) and (is_clear or german != "sie")
        ]
        options = ((it, 0.8), (that, 0.06 if has_nouns else 1), (people, 0.4))
        is_denied = case == "acc" and negation is lex.KEIN  # then not a pronoun
        pronouns = next((each for each, share in options if each and not is_denied and chooser.maybe(share)), None)
        if pronouns:
            found.append(choose_pronoun(chooser, pronouns))
            continue
        if takes_people and is_clear and not is_denied and not is_liked and chooser.maybe(0.15):
            found.append(choose_name(chooser, excluded=subject.first_word))
            continue
        if case == "dat":
            determiners = {"der": 1.5} | lex.OWN | ({} if negation else {"ein": 1})
        elif is_denied:
            determiners = {"kein": 1}
        elif is_liked:
            determiners = {"": 1}
        elif "only-present" in verb.traits:
            determiners = {"der": 2, "dies": 0.3} | lex.YOUR | lex.OWN | ({} if negation else {"": 3})
        else:
            determiners = {"der": 2, "dies": 0.3} | lex.YOUR | lex.OWN | ({} if negation else _INDEFINITE)
        adjective_probability = 0.2 if case == "dat" else 0.5
        found.append(
            choose_noun_phrase(chooser, kinds, case, determiners, adjective_probability, excluded=[subject.noun])
        )
        noun = found[-1].noun
        has_others = noun and len(_nouns(noun.kind)) > 1 and not negation and case == "acc"
        link = chooser.choose((None, lex.AND), (0.94, 0.06)) if has_others else None
        if link:
            found.append(_another(chooser, link, found[-1], subject))
    return found


def _another(chooser: Chooser, conjunction: Adverb, first: Phrase, subject: Phrase) -> Phrase:
    """ "and cheese": of the same kind of determiner as the first object, beside which German puts it."""
    assert first.noun
    link, link_en = words_of_adverb(chooser, conjunction)
    determiners = {"der": 2} | lex.OWN if first.can_be_fronted else {"ein": 1.5, "": 3, "zwei": 0.1, "drei": 0.1}
    kinds = "person animal" if first.noun.kind in lex.LIVING else first.noun.kind
    other = choose_noun_phrase(chooser, kinds, "acc", determiners, 0.1, excluded=[first.noun, subject.noun])
    return replace(other, de=[*link, *other.de], en=[*link_en, *other.en])


def choose_companion(chooser: Chooser, preposition: Adverb, subject: Phrase, things: Things) -> Phrase:
    """ "with my brother", "for you" """
    link, link_en = words_of_adverb(chooser, preposition)
    case: Case = "dat" if preposition is lex.WITH else "acc"
    people = pronouns_of_people(lex.OBJECTS[case], things)
    people = [each for each in people if lex.can_be_object_of(subject.person, each[2])]
    if people and chooser.maybe(0.3):
        other = choose_pronoun(chooser, people)
    elif chooser.maybe(0.2):
        other = choose_name(chooser, excluded=subject.first_word)
    else:
        other = choose_noun_phrase(chooser, "person", case, {"der": 1} | lex.OWN, 0, excluded=[subject.noun])
    return replace(other, de=[*link, *other.de], en=[*link_en, *other.en])


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
