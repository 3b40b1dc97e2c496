"""German sentences, their English translations and word alignments: a grammar that can both generate and parse.

Every sentence is one sequence of choices in `_sentence`. `generate` chooses at random; `parse` backtracks through all
choices that could give a sentence's words, so every sentence of the grammar has its translation and its gold alignment,
also when a visitor typed it. Knows nothing of tensors or vocabularies.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..alignment import AlignedPair, GoldAlignment
from ..vocabulary import lower
from . import lexicon as lex
from .idioms import GREETINGS, IDIOMS, Idiom
from .lexicon import DU, ER, ICH, WIR, Adjective, Adverb, Case, Gender, Lexeme, Modal, Negation, Noun, Verb

MAX_SOURCE_WORDS = 12  # a longer sentence's attention map would not fit the screen
MAX_STEPS = 5000  # of one parse, about 20 ms; a sentence needs about 400, and none of 10,000 sampled reached the limit


@dataclass(frozen=True)
class Sentence(AlignedPair):
    """A sentence of the grammar.

    Attributes:
        lemmas: its nouns, its adjectives and its verbs.
        combinations: (noun, adjective, verb) where the adjective describes the noun and the noun belongs to the verb.
        pairs: (adjective, noun) and (noun, verb) of the same kind.
    """

    lemmas: tuple[frozenset[str], frozenset[str], frozenset[str]]
    combinations: frozenset[tuple[str, str, str]]
    pairs: frozenset[tuple[str, str]]


def generate(rng: random.Random) -> Sentence:
    """A random sentence of the grammar."""
    while True:
        sentence = _sentence(RandomChooser(rng))
        if len(sentence.source.split()) <= MAX_SOURCE_WORDS:
            return sentence


def parse(source: str) -> Sentence | None:
    """The sentence of these words; None where the grammar has none or needs more than MAX_STEPS to find it."""
    return next(parses(source), None)


def parses(source: str) -> Iterator[Sentence]:
    """Every sequence of choices that gives these words; all of them give the same English."""
    if len(source.split()) > MAX_SOURCE_WORDS:
        return
    path: list[int] = []  # the option taken at each choice: depth-first search
    steps = 0
    while steps < MAX_STEPS:
        chooser = ParsingChooser(source, path)
        try:
            sentence = _sentence(chooser)
            if sentence.source == source:
                yield sentence
        except NoParseError:
            pass
        steps += chooser.steps
        path = [*path, *[0] * len(chooser.branches)][: len(chooser.branches)]
        while path and path[-1] + 1 == chooser.branches[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1


# ---- words, and how they are chosen ----


@dataclass(eq=False)
class GermanWord:
    """A German word, whose place in the sentence is decided later."""

    spelling: str


@dataclass(eq=False)
class EnglishWord:
    """An English word, and the German words that it translates: surely, or in one possible reading."""

    text: str
    sure: Sequence[GermanWord] = ()
    possible: Sequence[GermanWord] = ()


class NoParseError(Exception):
    """These choices cannot give the words of the sentence."""


class Chooser:
    """Decides every choice of the grammar."""

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        raise NotImplementedError

    def word(self, spelling: str) -> GermanWord:
        return GermanWord(spelling)

    def begin(self, clause: int) -> None:
        """The words that follow are of this clause (from 0)."""

    def together(self, de: Sequence[GermanWord]) -> None:
        """These words stand side by side, wherever they come."""

    def end(self, de: Sequence[GermanWord]) -> None:
        """These are all words of the clause, in order."""

    def maybe(self, probability: float) -> bool:
        return self.choose((False, True), (1 - probability, probability))

    def one_of(self, weights: Mapping[str, float]) -> str:
        return self.choose(tuple(weights), tuple(weights.values()))


class RandomChooser(Chooser):
    """Chooses at random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        return self.rng.choice(options) if weights is None else self.rng.choices(options, weights)[0]


class ParsingChooser(Chooser):
    """Follows a path, then takes the first option of every choice; fails at a word that the clause has no more of.

    Attributes:
        branches: the number of options at each choice so far.
        steps: the number of choices and words so far.
    """

    def __init__(self, source: str, path: Sequence[int]) -> None:
        self.clauses = [clause.split() for clause in re.split(r"\b(?:weil|dass)\b", source)]
        self.path = path
        self.branches: list[int] = []
        self.steps = 0
        self.clause = source.split()
        self.left = [*self.clause]  # of the clause, once one has begun

    def begin(self, clause: int) -> None:
        self.clause = self.clauses[clause]
        self.left = [*self.clause]

    def together(self, de: Sequence[GermanWord]) -> None:
        words = " ".join(lowered(word.spelling) for word in de)
        if f" {words} " not in f" {' '.join(self.clause)} ":
            raise NoParseError

    def end(self, de: Sequence[GermanWord]) -> None:
        if [lowered(word.spelling) for word in de] != self.clause:
            raise NoParseError

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        self.steps += 1
        if weights and 0 in weights:  # never generated, so never parsed
            options = [each for each, weight in zip(options, weights, strict=True) if weight]
        possible = options
        if options and isinstance(options[-1], Lexeme):  # all are lexemes, apart from None for "left out"
            left = frozenset(self.left)
            possible = [each for each in options if each is not None and each.may_occur_in(left)]
        if not possible and None in options:  # an optional word is left out only where the sentence lacks it
            possible = [None]
        if not possible:
            raise NoParseError
        depth = len(self.branches)
        self.branches.append(len(possible))
        return possible[self.path[depth] if depth < len(self.path) else 0]

    def word(self, spelling: str) -> GermanWord:
        self.steps += 1
        try:
            self.left.remove(lowered(spelling))
        except ValueError:
            raise NoParseError from None
        return GermanWord(spelling)


lowered = cache(lower)  # of the grammar's own words


# ---- phrases ----

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
    nouns = [
        each
        for each in _nouns(kinds)
        if each is not excluded and any(word not in lex.unsuitable_determiners(each) for word in determiners)
    ]
    noun: Noun = chooser.choose(nouns, [5 if each.kind == "need" else 1 for each in nouns])
    determiner = chooser.one_of({k: v for k, v in determiners.items() if k not in lex.unsuitable_determiners(noun)})
    may_be_plural = noun.plural and determiner not in ("", "ein") and case != "dat" and not is_one
    plural = (
        determiner in lex.NUMBERS or (not determiner and not noun.is_mass) or (may_be_plural and chooser.maybe(0.3))
    )
    gender: Gender = "pl" if plural else noun.gender
    # Before any further choice, so that parsing fails early.
    words = [
        (chooser.word(noun.plural), noun.english_plural) if plural else (chooser.word(noun.singular), noun.english)
    ]
    article = chooser.word(_determiner(determiner, case, gender)) if determiner else None
    adjective: Adjective | None = None
    if adjectives_for(noun.kind, noun) and chooser.maybe(adjective_probability):
        adjective = chooser.choose(adjectives_for(noun.kind, noun))
        german = adjective.stem + lex.adjective_ending(determiner, case, gender)
        words.insert(0, (chooser.word(german), adjective.english))
    if article:
        words.insert(0, (article, _english_determiner(determiner, plural or noun.is_mass, words[0][1])))
    de = [word for word, _ in words]
    chooser.together(de)
    return Phrase(
        de,
        [EnglishWord(each, (word,)) for word, english in words for each in english.split("·")],
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
def adjectives_for(kind: str, noun: Noun | None = None) -> list[Adjective]:
    """Adjectives that can describe this noun of this kind."""
    unsuitable = lex.UNSUITABLE_ADJECTIVES.get(noun.singular, ()) if noun else ()
    return [each for each in lex.ADJECTIVES if kind in each.kinds.split() and each.base not in unsuitable]


def _determiner(determiner: str, case: Case, gender: Gender) -> str:
    if determiner == "der":
        return lex.THE[case][gender]
    return determiner if determiner in lex.NUMBERS else determiner + lex.A[case][gender]


def _english_determiner(determiner: str, is_mass: bool, following: str) -> str:
    """Of a plural or a mass noun, which has no article after "not", or of one thing."""
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
    if verb and verb.is_weather:
        return choose_pronoun(chooser, lex.IT)
    kind = chooser.one_of({"pronoun": 6, "noun": 4, "name": 1})
    if kind == "pronoun":
        return choose_pronoun(chooser, pronouns_of_people(lex.ASKED if is_question else lex.SUBJECTS, things))
    if kind == "name":
        return choose_name(chooser)
    kinds = "person animal" if verb and verb.animal_subject else "person"
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
        it = _pronouns_of_things(case, things, kinds.split()) if is_clear and not verb.recipient else ()
        takes_that = case == "acc" and takes_things(verb) and not is_liked and (is_clear or not has_nouns)
        that = lex.THAT_THING if takes_that else ()
        takes_people = verb.takes_people and "person" in kinds.split()
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
        elif verb.only_present:
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


# ---- clauses ----


@dataclass
class Clause:
    """A clause in both languages, its verb and its noun phrases."""

    de: list[GermanWord]
    en: list[EnglishWord]
    verb: str
    phrases: list[Phrase]
    predicate: Adjective | None = None

    @property
    def described(self) -> list[tuple[str | None, str | None]]:
        """Its nouns (None for a pronoun that is described), each with its adjective."""
        adjectives = [(each.noun, self.predicate or each.adjective) for each in self.phrases]
        return [
            (noun.singular if noun else None, adjective.base if adjective else None)
            for noun, adjective in adjectives
            if noun or adjective
        ]

    @property
    def things(self) -> Things:
        """The thing that a later pronoun of a gender means; None where it could mean two, or one that is denied."""
        found: Things = {}
        for phrase in self.phrases:
            if phrase.noun and phrase.gender and phrase.noun.kind not in lex.LIVING:
                alone = [each.gender for each in self.phrases].count(phrase.gender) == 1
                found[phrase.gender] = phrase.noun if alone and not phrase.kein else None
        return found


@dataclass
class Verbs:
    """The German verbs of a clause: the finite one, and what stands at the clause's end."""

    finite: GermanWord
    end: list[GermanWord]


DAYS_AND_HOURS = (*lex.WEEKDAYS, *lex.HOURS)
TIMES = {
    "present": (lex.OFTEN, lex.ALWAYS, lex.SOMETIMES, lex.MORNING, lex.EVENING, lex.TOMORROW, lex.TODAY, lex.GLADLY,
                *DAYS_AND_HOURS),
    "perfect": (lex.TODAY, lex.YESTERDAY, lex.ALREADY),
    "modal": (lex.TODAY, lex.NOW, lex.TOMORROW, lex.EVENING, *DAYS_AND_HOURS),
    "wish": (lex.TODAY, lex.NOW),
    "copula": (lex.TODAY, lex.NOW),
    "location": (lex.TODAY, lex.NOW),
}  # fmt: skip
VERBS_BEFORE_ADVERB = {lex.OFTEN: 0, lex.ALWAYS: 0, lex.SOMETIMES: 0, lex.ALREADY: 1}  # in English
FRONTABLE_TIMES = (lex.TODAY, lex.NOW, lex.TOMORROW, lex.YESTERDAY, lex.MORNING, lex.EVENING, lex.SOMETIMES,
                   *DAYS_AND_HOURS)  # fmt: skip
WEIGHTS = {lex.GLADLY: 3, lex.OFTEN: 2, lex.ALWAYS: 2, lex.SOMETIMES: 2, lex.MORNING: 2, lex.EVENING: 2}
HABITS = (lex.OFTEN, lex.ALWAYS, lex.SOMETIMES, lex.MORNING, lex.EVENING)  # without one, the present is this moment


def choose_clause(
    chooser: Chooser, link: Adverb | None = None, first: Clause | None = None, is_question: bool = False
) -> Clause:
    """A main clause, or after `first` a subordinate one.

    Args:
        link: the conjunction between them, if the sentence has two clauses.
    """
    subordinate = first is not None
    things: Things = first.things if first else {}
    reason_follows = bool(link) and not subordinate
    asked: Adverb | None = chooser.choose((None, *lex.QUESTION_WORDS), (5, 2, 1, 1, 2, 1, 1)) if is_question else None
    tense = chooser.one_of(_TENSES if asked is None else _TENSES_ASKED[asked])
    verb: Verb = {"wish": lex.WISH_VERB, "copula": lex.COPULA, "location": lex.COPULA}.get(tense) or chooser.choose(
        [
            each
            for each in lex.VERBS
            if not (first and each.infinitive == first.verb)
            and _suits(each, asked)
            and (tense == "present" or not each.only_present)
        ]
    )
    negation = None if is_question else _negation(chooser, verb)
    times, time_probability = TIMES[tense], 0 if reason_follows or asked is lex.WHEN else 0.3 if is_question else 0.6
    predicate: Adjective | None = None
    if asked is lex.WHO:
        subject = choose_pronoun(chooser, (("wer", "who", ER),))
        if tense == "copula":
            predicate = chooser.choose(adjectives_for("self"))
    elif tense == "copula":
        subject, predicate = _described_subject(chooser, things, reason_follows, is_question)
        if predicate.base not in lex.TEMPORARY:
            time_probability = 0
    elif tense == "location":
        subject = _located_subject(chooser, things, is_question)
    else:
        subject = choose_subject(chooser, verb, things, is_question)
        if verb.is_state and tense == "perfect":
            times, time_probability = (lex.YESTERDAY,), 1
    modal: Modal | None = chooser.choose(_modals(verb, first)) if tense in ("modal", "wish") else None
    verbs = german_verbs(chooser, tense, verb, subject.person, modal, predicate, subordinate)
    times = () if verb.only_present else tuple(each for each in times if _fits(each, verb, negation))
    time = _maybe_one_of(chooser, times, time_probability) if times and time_probability else None
    is_liked, is_inverted = time is lex.GLADLY, is_question and asked is not lex.WHO
    objects = [] if asked is lex.WHAT else choose_objects(chooser, verb, subject, negation, things, is_liked)
    nicht = [chooser.word("nicht")] if negation is lex.NICHT else []
    negator = next((each.kein for each in objects if each.kein), None) or next(iter(nicht), None)
    place = None if asked in (lex.WHERE, lex.WHERE_TO) else _place(chooser, verb, tense, subject)
    when, when_en = words_of_adverb(chooser, None if is_liked else time)
    gladly = [chooser.word("gern")] if is_liked else []
    where, where_en = words_of_adverb(chooser, place)
    very, very_en = words_of_adverb(chooser, lex.VERY if predicate and not negation and chooser.maybe(0.2) else None)
    if verb is lex.COPULA:
        described = [*very_en, EnglishWord(predicate.english, verbs.end)] if predicate else []
        verbs_en = [english_be(verbs, subject), *english_not(negator), *described]
    elif modal:
        verbs_en = english_modal(modal, verb, verbs, subject, negator, is_inverted)
    elif tense == "perfect":
        verbs_en = english_perfect(verb, verbs, subject, negator, time, is_inverted)
    elif gladly:
        verbs_en = english_liking(verb, verbs, subject, gladly, is_inverted)
    else:
        is_progressive = verb.has_progressive and time not in HABITS
        tomorrow = when if time == lex.TOMORROW else []
        verbs_en = english_present(verb, verbs, subject, negator, tomorrow, is_progressive, is_inverted)

    front = "subject"
    if is_inverted:
        front = "question"
    elif not subordinate and not is_question:
        fronting_weights = {"subject": 1.0} | ({"time": 1.0} if time in FRONTABLE_TIMES else {})
        if len(objects) == 1 and objects[0].can_be_fronted and objects[0].case_is_clear:
            fronting_weights["object"] = 0.5
        front = chooser.one_of(fronting_weights)
    # In German, pronouns come first, definite phrases early, indefinite ones late.
    pronouns = [word for each in objects if each.is_pronoun for word in each.de]
    nouns = [each for each in objects if not each.is_pronoun and front != "object"]
    definite, indefinite = (
        [word for each in nouns if each.can_be_fronted is is_definite for word in each.de]
        for is_definite in (True, False)
    )
    inner_time = when if front != "time" else []
    middle = [*definite, *inner_time] if time == lex.ALREADY else [*inner_time, *definite]
    middle += gladly + nicht + where + indefinite + very
    if front == "subject" and not subordinate:
        de = [*subject.de, verbs.finite, *pronouns, *middle, *verbs.end]
    else:
        subject_is_definite = subject.is_pronoun or subject.can_be_fronted
        subject_and_pronouns = [*subject.de, *pronouns] if subject_is_definite else [*pronouns, *subject.de]
        if subordinate:  # verb last
            de = [*subject_and_pronouns, *middle, *verbs.end, verbs.finite]
        else:  # verb second, or first after no question word
            asked_de, asked_en = words_of_adverb(chooser, asked if front == "question" else None)
            fronted = {"time": when, "question": asked_de}.get(front) or (objects[0].de if front == "object" else [])
            de = [*fronted, verbs.finite, *subject_and_pronouns, *middle, *verbs.end]

    front_en, last = (when_en, []) if front == "time" else ([], when_en)
    if front == "question":
        front_en, helper, verbs_en = asked_en, verbs_en[:1], verbs_en[1:]
    else:
        helper = []
    if time in VERBS_BEFORE_ADVERB and last:
        at = max(0, VERBS_BEFORE_ADVERB[time] - len(helper))
        verbs_en[at:at], last = last, []
    objects_en = [word for each in objects for word in each.en]
    en = [*front_en, *helper, *subject.en, *verbs_en, *objects_en, *where_en, *last]
    return Clause(de, en, verb.infinitive, [subject, *objects], predicate)


_TENSES = {"present": 8, "perfect": 4, "modal": 4, "wish": 1, "copula": 2, "location": 1}
_TENSES_ASKED = {
    lex.WHERE: {"present": 3, "location": 5},
    lex.WHEN: {"present": 1, "modal": 1},
    lex.WHY: {"present": 2, "perfect": 1, "copula": 1},
    lex.WHAT: {"present": 3, "perfect": 1, "modal": 2, "wish": 1},
    lex.WHO: {"present": 2, "perfect": 1, "modal": 1, "copula": 1},
    lex.WHERE_TO: {"present": 1, "modal": 1},
}


def _suits(verb: Verb, asked: Adverb | None) -> bool:
    """Whether one can ask for this with this verb."""
    if asked in (lex.WHO, lex.WHEN, lex.WHAT) and verb.is_weather:
        return False
    if asked is lex.WHAT:
        return takes_things(verb) and not verb.recipient
    if asked is lex.WHERE_TO:
        return verb.is_motion
    return not (asked is lex.WHERE and (verb.is_motion or not verb.takes_place))


def _negation(chooser: Chooser, verb: Verb) -> Negation | None:
    if not any(case == "acc" for case, _ in verb.takes) or verb.objects == "deed":
        return chooser.choose((None, lex.NICHT), (8, 2))
    if lex.WITHOUT_ARTICLE.issuperset(verb.objects.split()):
        return chooser.choose((None, lex.KEIN), (8, 2))
    return chooser.choose((None, lex.NICHT, lex.KEIN), (8, 1, 1))


def _fits(time: Adverb, verb: Verb, negation: Negation | None) -> bool:
    if time is lex.GLADLY:
        return (
            not (negation or verb.recipient or verb.is_state or verb.is_weather or verb.case == "dat")
            and (not verb.objects or takes_things(verb) or verb.objects in ("game", "music"))
            and verb.objects not in ("deed", "opening")
        )
    return not (negation and time in VERBS_BEFORE_ADVERB)


def _place(chooser: Chooser, verb: Verb, tense: str, subject: Phrase) -> Adverb | None:
    if tense == "location":
        is_thing = subject.noun is not None and subject.noun.kind not in lex.LIVING
        return chooser.choose(lex.ON_THINGS if is_thing else lex.PLACES)
    if verb.is_motion:
        if subject.noun and subject.noun.kind == "animal":
            return lex.HOME
        directions = lex.RIDES if verb.infinitive == "fahren" else lex.WALKS
        options = (None, lex.HOME, *directions) if verb.infinitive == "kommen" else (lex.HOME, *directions)
        return chooser.choose(options, (3.0,) * (len(options) - len(directions)) + (1.0,) * len(directions))
    if verb.needs_place:
        return chooser.choose(lex.PLACES)
    return _maybe_one_of(chooser, lex.PLACES, 0.12 if verb.objects else 0.4) if verb.takes_place else None


def _maybe_one_of(chooser: Chooser, adverbs: Sequence[Adverb], probability: float) -> Adverb | None:
    """One of these adverbials with this probability."""
    weights = [WEIGHTS.get(each, 1) for each in adverbs]
    return chooser.choose((None, *adverbs), (1 - probability, *(probability * each / sum(weights) for each in weights)))


def _described_subject(
    chooser: Chooser, things: Things, reason_follows: bool, is_question: bool
) -> tuple[Phrase, Adjective]:
    """The subject of "is", and an adjective that suits it. Only a passing state of the living has a reason."""
    named = [(gender, noun) for gender, noun in things.items() if noun and adjectives_for(noun.kind, noun)]
    if named and chooser.maybe(0.8):  # "because it is cold"
        gender, noun = chooser.choose(named)
        subject = choose_pronoun(chooser, [lex.OF_THINGS["nom"][gender]])
        return subject, chooser.choose(adjectives_for(noun.kind, noun))
    kinds = {"self": 7.0, "person": 3, "animal": 2, "weather": 1}
    if not reason_follows:
        kinds |= {"drink": 2, "food": 2, "text": 1, "thing": 2, "opening": 1, "building": 0.5, "place": 1}
    kind = chooser.one_of(kinds)
    if kind == "self":
        subject = choose_pronoun(chooser, pronouns_of_people(lex.ASKED if is_question else lex.SUBJECTS, things))
    elif kind == "weather":
        subject = choose_pronoun(chooser, lex.IT)
    else:
        subject = choose_noun_phrase(chooser, kind, "nom", {"der": 2, "dein" if is_question else "mein": 1}, 0)
    adjectives = adjectives_for(kind, subject.noun)
    return subject, chooser.choose([each for each in adjectives if each.base in lex.TEMPORARY or not reason_follows])


def _located_subject(chooser: Chooser, things: Things, is_question: bool) -> Phrase:
    kind = chooser.one_of({"living": 2, "thing": 2, "place": 2 if is_question else 0})
    if kind == "living":
        return choose_subject(chooser, None, things, is_question)
    kinds = "place" if kind == "place" else "thing text"
    return choose_noun_phrase(chooser, kinds, "nom", {"der": 3} | ({} if kind == "place" else {"mein": 1}), 0)


def _modals(verb: Verb, first: Clause | None) -> tuple[Modal, ...]:
    if verb is lex.WISH_VERB:
        return (lex.WISH_MODAL,)
    if verb.is_state:
        return (lex.WILL,)
    is_hoped = first is not None and first.verb == "hoffen"  # nobody hopes for a duty
    return tuple(each for each in lex.MODALS if not (is_hoped and each in (lex.SHOULD, lex.MUST)))


def german_verbs(
    chooser: Chooser,
    tense: str,
    verb: Verb,
    person: int,
    modal: Modal | None,
    predicate: Adjective | None,
    subordinate: bool,
) -> Verbs:
    """Chosen before objects and adverbs, so that parsing fails early. A particle ends a main clause."""
    if modal:
        finite, end = modal.finite.split()[person], "" if verb is lex.WISH_VERB else verb.infinitive
    elif tense == "perfect":
        finite, end = lex.AUXILIARIES[verb.auxiliary].split()[person], verb.participle
    elif verb is lex.COPULA:
        finite, end = lex.AUXILIARIES["sein"].split()[person], predicate.base if predicate else ""
    elif subordinate:
        finite, end = verb.particle + verb.present(person), ""
    else:
        finite, end = verb.present(person), verb.particle
    return Verbs(chooser.word(finite), [chooser.word(end)] if end else [])


def english_modal(
    modal: Modal, verb: Verb, verbs: Verbs, subject: Phrase, negator: GermanWord | None, is_inverted: bool
) -> list[EnglishWord]:
    """ "can drink", "does not want to drink"; without a second verb "would like". In a question the helper is first."""
    if is_inverted and modal.english.startswith(("want", "have")):
        do, *want, to = modal.negated.replace("not ", "").split("/")[-1 if subject.person == ER else 0].split()
        return [
            EnglishWord(do),
            *_english_words(" ".join(want), [verbs.finite]),
            EnglishWord(to, (), (verbs.finite, *verbs.end)),
            *_english_words(verb.base, verbs.end),
        ]
    english = (modal.negated if negator else modal.english).split("/")[-1 if subject.person == ER else 0]
    en = _english_words(english, [verbs.finite])
    if negator:
        for word in en:
            if word.text == "cannot":
                word.sure = (verbs.finite, negator)
            elif word.text == "not" or (word.text in ("do", "does") and word is en[0]):
                word.sure = (negator,)
    if not verbs.end:
        return en
    if en[-1].text == "to":  # it may belong to "want" or to "drink"
        en[-1] = EnglishWord("to", (), (verbs.finite, *verbs.end))
    return [*en, *_english_words(verb.base, verbs.end)]


def english_perfect(
    verb: Verb, verbs: Verbs, subject: Phrase, negator: GermanWord | None, time: Adverb | None, is_inverted: bool
) -> list[EnglishWord]:
    """ "has drunk"; with yesterday "drank", which the German auxiliary is a possible link of."""
    if time != lex.YESTERDAY:
        have = EnglishWord("has" if subject.person == ER else "have", (verbs.finite,))
        return [have, *english_not(negator), *_english_words(verb.past_participle, verbs.end)]
    if negator or is_inverted:
        did = EnglishWord("did", (negator,), (verbs.finite,)) if negator else EnglishWord("did")
        return [did, *english_not(negator), *_english_words(verb.base, verbs.end, () if negator else [verbs.finite])]
    return _english_words(verb.past, verbs.end, [verbs.finite])


def english_present(
    verb: Verb,
    verbs: Verbs,
    subject: Phrase,
    negator: GermanWord | None,
    tomorrow: list[GermanWord],
    is_progressive: bool,
    is_inverted: bool = False,
) -> list[EnglishWord]:
    """ "is drinking", "drinks", "does not drink"; with tomorrow "will drink"."""
    doing = [verbs.finite, *verbs.end]
    if tomorrow:
        will = EnglishWord("will", (), [*doing, *tomorrow])
        return [will, *english_not(negator), *_english_words(verb.base, doing)]
    if is_progressive:
        be = EnglishWord(english_be(verbs, subject).text, (), doing)
        return [be, *english_not(negator), *_english_words(verb.progressive, doing)]
    if negator or is_inverted:
        return [_do(verbs, subject, negator), *english_not(negator), *_english_words(verb.base, doing)]
    return _english_words(verb.third if subject.person == ER else verb.base, doing)


def english_liking(
    verb: Verb, verbs: Verbs, subject: Phrase, gladly: list[GermanWord], is_inverted: bool
) -> list[EnglishWord]:
    """ "likes to drink" """
    like = EnglishWord("likes" if subject.person == ER and not is_inverted else "like", gladly)
    do = [_do(verbs, subject, None)] if is_inverted else []
    doing = [verbs.finite, *verbs.end]
    return [*do, like, EnglishWord("to", (), [*gladly, *doing]), *_english_words(verb.base, doing)]


def _do(verbs: Verbs, subject: Phrase, negator: GermanWord | None) -> EnglishWord:
    text = "does" if subject.person == ER else "do"
    return EnglishWord(text, (negator,)) if negator else EnglishWord(text)  # a question's translates nothing


def _english_words(words: str, sure: Sequence[GermanWord], possible: Sequence[GermanWord] = ()) -> list[EnglishWord]:
    return [EnglishWord(text, sure, possible) for text in words.split()]


def english_be(verbs: Verbs, subject: Phrase) -> EnglishWord:
    return EnglishWord(("am", "is", "are", "are")[subject.person], (verbs.finite,))


def english_not(negator: GermanWord | None) -> list[EnglishWord]:
    return [EnglishWord("not", (negator,))] if negator else []


# ---- sentences ----


def _sentence(chooser: Chooser) -> Sentence:
    link: Adverb | None = chooser.choose((None, lex.BECAUSE, lex.THAT), (8, 1, 1))
    conjunction, conjunction_en = words_of_adverb(chooser, link)
    kind = "statement" if link else chooser.one_of({"idiom": 3, "question": 4, "statement": 8})
    chooser.begin(0)
    greeting: list[GermanWord] = []
    greeting_en: list[EnglishWord] = []
    if not link:
        greets = kind != "idiom" or chooser.maybe(0.5)  # some phrases are greetings themselves
        share = 0.08 / len(GREETINGS)
        chosen = chooser.choose((None, *GREETINGS), (0.92, *[share] * len(GREETINGS))) if greets else None
        if chosen:
            greeting, greeting_en, _ = words_of_idiom(chooser, chosen)
    if kind == "idiom":
        first = choose_everyday_phrase(chooser)
    elif link is lex.THAT:
        first = choose_matrix_clause(chooser)
    else:
        first = choose_clause(chooser, link, is_question=kind == "question")
    chooser.end([*greeting, *first.de])
    clauses, de, en = [first], first.de, first.en
    if link:
        chooser.begin(1)
        second = choose_clause(chooser, link, first)
        chooser.end(second.de)
        clauses, de, en = [first, second], [*de, *conjunction, *second.de], [*en, *conjunction_en, *second.en]
    if kind != "idiom":
        en = [*en, EnglishWord("?" if kind == "question" else ".")]
    if greeting:
        de, en = [*greeting, *de], [*greeting_en, EnglishWord(","), *en]

    place = {id(word): i for i, word in enumerate(de)}
    gold = GoldAlignment(
        sure=tuple(tuple(place[id(word)] for word in each.sure) for each in en),
        possible=tuple(tuple(place[id(word)] for word in each.possible) for each in en),
    )
    spelling = " ".join(word.spelling for word in de)
    described = [(noun, adjective, clause.verb) for clause in clauses for noun, adjective in clause.described]
    return Sentence(
        source=lower(spelling),
        target=" ".join(word.text for word in en),
        gold=gold,
        spelling=_with_marks(spelling, len(greeting), en[-1].text),
        lemmas=(
            frozenset(noun for noun, _, _ in described if noun),
            frozenset(adjective for _, adjective, _ in described if adjective),
            frozenset(clause.verb for clause in clauses),
        ),
        combinations=frozenset((noun, adjective, verb) for noun, adjective, verb in described if noun and adjective),
        pairs=frozenset(
            [(adjective, noun) for noun, adjective, _ in described if noun and adjective]
            + [(noun, verb) for noun, _, verb in described if noun]
        ),
    )


def _with_marks(spelling: str, greeting: int, mark: str) -> str:
    """As one types it: a capital, commas, and a question's or an exclamation's mark."""
    words = spelling.split()
    if greeting:
        words[greeting - 1] += ","
    text = " ".join(words).replace(" weil ", ", weil ").replace(" dass ", ", dass ").replace(" bitte", ", bitte")
    return text[0].upper() + text[1:] + ("" if mark == "." else mark)


# ---- everyday phrases ----

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
    "MINE": _of_nouns("thing animal building text", "nom", "mein", "dein", is_one=True),
    "JOB": _of_lexemes(
        [Adverb(*each) for each in (("Lehrer", "teacher"), ("Student", "student"), ("Ärztin", "doctor"))]
    ),
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


def choose_matrix_clause(chooser: Chooser) -> Clause:
    """ "I know", "he does not think": the clause before a dass."""
    verb: Verb = chooser.choose(lex.CLAUSE_VERBS)
    subject = choose_subject(chooser, None, {})
    nicht = [chooser.word("nicht")] if verb.english.startswith("think") and chooser.maybe(0.4) else []
    verbs = german_verbs(chooser, "present", verb, subject.person, None, None, subordinate=False)
    verbs_en = english_present(verb, verbs, subject, next(iter(nicht), None), [], is_progressive=False)
    return Clause([*subject.de, verbs.finite, *nicht], [*subject.en, *verbs_en], verb.infinitive, [subject])
