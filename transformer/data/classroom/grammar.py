"""German sentences, their English translations and word alignments: a grammar that can both generate and parse.

Every sentence is one sequence of choices in `_sentence`. `generate` chooses at random; `parse` backtracks through all
choices that could give a sentence's words, so every sentence of the grammar has its translation and its gold alignment,
also when a visitor typed it. Knows nothing of tensors or vocabularies.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..alignment import AlignedPair, GoldAlignment
from ..vocabulary import fold
from . import lexicon as lex
from .lexicon import ER, WIR, Adjective, Adverb, Case, Gender, Lexeme, Modal, Negation, Noun, Verb

MAX_SOURCE_WORDS = 12  # a longer sentence's attention map would not fit the screen
MAX_STEPS = 4000  # of one parse, about 10 ms; the grammar's sentences need about 230, at most 2,186 of 1,500 sampled


@dataclass(frozen=True)
class Sentence(AlignedPair):
    """A sentence of the grammar.

    Attributes:
        lemmas: its nouns, its adjectives and its verbs.
        combinations: (noun, adjective, verb) where the adjective describes the noun and the noun belongs to the verb.
    """

    lemmas: tuple[frozenset[str], frozenset[str], frozenset[str]]
    combinations: frozenset[tuple[str, str, str]]


def generate(rng: random.Random) -> Sentence:
    """A random sentence of the grammar."""
    while True:
        sentence = _sentence(RandomChooser(rng))
        if len(sentence.source.split()) <= MAX_SOURCE_WORDS:
            return sentence


def parse(source: str) -> Sentence | None:
    """The sentence of these folded words; None where the grammar has none or needs more than MAX_STEPS to find it."""
    return next(parses(source), None)


def parses(source: str) -> Iterator[Sentence]:
    """Every sequence of choices that gives these folded words; all of them give the same English."""
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
        words = " ".join(folded(word.spelling) for word in de)
        if f" {words} " not in f" {' '.join(self.clause)} ":
            raise NoParseError

    def end(self, de: Sequence[GermanWord]) -> None:
        if [folded(word.spelling) for word in de] != self.clause:
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
            self.left.remove(folded(spelling))
        except ValueError:
            raise NoParseError from None
        return GermanWord(spelling)


folded = cache(fold)  # of the grammar's own words


# ---- phrases ----


@dataclass
class Phrase:
    """A noun phrase or a pronoun in both languages."""

    de: list[GermanWord]
    en: list[EnglishWord]
    person: int
    can_be_fronted: bool  # as an object: it is definite, and its form shows the case
    case_is_clear: bool  # as a subject: it cannot be mistaken for the object
    noun: str | None = None
    adjective: str | None = None
    kein: GermanWord | None = None

    @property
    def is_pronoun(self) -> bool:
        return self.noun is None


def _noun_phrase(
    chooser: Chooser,
    kinds: str,
    case: Case,
    determiners: Mapping[str, float],
    adjective_probability: float,
    excluded: str | None = None,
) -> Phrase:
    """A determiner (a number is plural, ein is singular), perhaps an adjective, and a noun."""
    noun: Noun = chooser.choose([each for each in _nouns(kinds) if each.singular != excluded])
    determiner = chooser.one_of({k: v for k, v in determiners.items() if k not in lex.unsuitable_determiners(noun)})
    plural = determiner in lex.NUMBERS or (determiner != "ein" and case != "dat" and chooser.maybe(0.3))
    gender: Gender = "pl" if plural else noun.gender
    # Before any further choice, so that parsing fails early.
    words = [
        (chooser.word(noun.plural), noun.english_plural) if plural else (chooser.word(noun.singular), noun.english)
    ]
    article = chooser.word(_determiner(determiner, case, gender))
    adjective: Adjective | None = None
    if chooser.maybe(adjective_probability):
        adjective = chooser.choose(_adjectives(noun.kind))
        german = adjective.stem + lex.adjective_ending(determiner, case, gender)
        words.insert(0, (chooser.word(german), adjective.english))
    words.insert(0, (article, _english_determiner(determiner, plural, words[0][1])))
    de = [word for word, _ in words]
    chooser.together(de)
    return Phrase(
        de,
        [EnglishWord(english, (word,)) for word, english in words],
        WIR if plural else ER,
        can_be_fronted=determiner in ("der", "mein"),
        case_is_clear=gender == "m" or case == "dat",
        noun=noun.singular,
        adjective=adjective.base if adjective else None,
        kein=de[0] if determiner == "kein" else None,
    )


@cache
def _nouns(kinds: str) -> list[Noun]:
    return [each for each in lex.NOUNS if each.kind in kinds.split()]


@cache
def _adjectives(kind: str) -> list[Adjective]:
    """Adjectives that can describe this kind of noun."""
    return [each for each in lex.ADJECTIVES if kind in each.kinds.split()]


def _determiner(determiner: str, case: Case, gender: Gender) -> str:
    if determiner == "der":
        return lex.THE[case][gender]
    return determiner if determiner in lex.NUMBERS else determiner + lex.A[case][gender]


def _english_determiner(determiner: str, plural: bool, following: str) -> str:
    a = "an" if following[0] in "aeiou" else "a"
    return {"der": "the", "mein": "my", "ein": a, "kein": "any" if plural else a, **lex.NUMBERS}[determiner]


def _pronoun(chooser: Chooser, pronouns: Sequence[tuple[str, str, int]]) -> Phrase:
    german, english, person = chooser.choose(pronouns)
    word = chooser.word(german)
    return Phrase([word], [EnglishWord(english, (word,))], person, can_be_fronted=False, case_is_clear=german != "sie")


def _subject(chooser: Chooser, may_be_animal: bool) -> Phrase:
    if chooser.maybe(0.5):
        return _pronoun(chooser, lex.SUBJECTS)
    kinds = "person animal" if may_be_animal else "person"
    return _noun_phrase(chooser, kinds, "nom", {"der": 2, "mein": 1, "ein": 1}, 0.2)


def _objects(chooser: Chooser, verb: Verb, subject: Phrase, negation: Negation | None) -> list[Phrase]:
    """Recipient first. An object negated with nicht is definite; kein replaces ein or no determiner."""
    found = []
    for case, kinds in verb.takes:
        pronouns = [each for each in lex.OBJECTS[case] if lex.can_be_object_of(subject.person, each[2])]
        if "person" in kinds.split() and not (case == "acc" and negation is lex.KEIN) and chooser.maybe(0.4):
            found.append(_pronoun(chooser, pronouns))
            continue
        if case == "dat":
            determiners = {"der": 1, "mein": 1} if negation else {"der": 1, "mein": 1, "ein": 1}
        elif negation is lex.KEIN:
            determiners = {"kein": 1}
        else:
            determiners = {"der": 2, "mein": 1} | ({} if negation else {"ein": 3, "zwei": 1, "drei": 1})
        adjective_probability = 0.2 if case == "dat" else 0.5
        found.append(_noun_phrase(chooser, kinds, case, determiners, adjective_probability, excluded=subject.noun))
    return found


def _adverb(chooser: Chooser, adverb: Adverb | None) -> tuple[list[GermanWord], list[EnglishWord]]:
    if adverb is None:
        return [], []
    de = [chooser.word(each) for each in adverb.german.split()]
    chooser.together(de)
    links = zip(adverb.english.split(), adverb.links, strict=True)
    return de, [EnglishWord(text, [de[i] for i in link]) for text, link in links]


# ---- clauses ----


@dataclass
class Clause:
    """A clause in both languages, and its lemmas."""

    de: list[GermanWord]
    en: list[EnglishWord]
    verb: str
    described: list[tuple[str | None, str | None]]  # its nouns (None for a pronoun) with their adjectives


@dataclass
class Verbs:
    """The verbs of a clause: the finite German one, those at the German clause's end, and the English ones in order."""

    finite: GermanWord
    end: list[GermanWord]
    en: list[EnglishWord]


TIMES = {
    "present": (lex.OFTEN, lex.ALWAYS, lex.SOMETIMES, lex.MORNING, lex.EVENING, lex.TOMORROW),
    "perfect": (lex.TODAY, lex.YESTERDAY, lex.ALREADY),
    "modal": (lex.TODAY, lex.NOW, lex.TOMORROW, lex.EVENING),
    "wish": (lex.TODAY, lex.NOW),
    "copula": (lex.TODAY, lex.NOW),
}
VERBS_BEFORE_ADVERB = {lex.OFTEN: 0, lex.ALWAYS: 0, lex.SOMETIMES: 0, lex.ALREADY: 1}  # in English
FRONTABLE_TIMES = (lex.TODAY, lex.NOW, lex.TOMORROW, lex.YESTERDAY, lex.MORNING, lex.EVENING, lex.SOMETIMES)


def _clause(chooser: Chooser, subordinate: bool = False, time_probability: float = 0.6) -> Clause:
    tense = chooser.one_of({"present": 4, "perfect": 6, "modal": 5, "wish": 1, "copula": 2})
    verb: Verb = {"wish": lex.WISH_VERB, "copula": lex.COPULA}.get(tense) or chooser.choose(lex.VERBS)
    may_be_kein = any(case == "acc" for case, _ in verb.takes)
    negation: Negation | None = chooser.choose(
        (None, lex.NICHT, lex.KEIN) if may_be_kein else (None, lex.NICHT), (8, 1, 1) if may_be_kein else (8, 2)
    )
    predicate: Adjective | None = None
    if tense == "copula":
        subject, predicate = _described_subject(chooser)
    else:
        subject = _subject(chooser, verb.animal_subject)
    times = [each for each in TIMES[tense] if not (negation and each in VERBS_BEFORE_ADVERB)]
    if predicate and predicate.base not in lex.TEMPORARY:
        time_probability = 0
    time = _maybe_one_of(chooser, times, time_probability) if time_probability else None
    objects = _objects(chooser, verb, subject, negation)
    nicht = [chooser.word("nicht")] if negation is lex.NICHT else []
    negator = next((each.kein for each in objects if each.kein), None) or next(iter(nicht), None)
    place: Adverb | None = lex.HOME if verb.is_motion else None
    if verb.takes_place and not verb.is_motion:
        place = _maybe_one_of(chooser, lex.PLACES, 0.12 if verb.objects else 0.4)
    when, when_en = _adverb(chooser, time)
    where, where_en = _adverb(chooser, place)
    if predicate:
        verbs = _copula(chooser, predicate, subject, negator)
    elif tense in ("modal", "wish"):
        verbs = _modal(chooser, verb, subject, negator)
    elif tense == "perfect":
        verbs = _perfect(chooser, verb, subject, negator, time)
    else:
        verbs = _present(chooser, verb, subject, negator, when if time == lex.TOMORROW else [], subordinate)

    front = "subject"
    if not subordinate:
        fronting_weights = {"subject": 1.0} | ({"time": 1.0} if time in FRONTABLE_TIMES else {})
        if len(objects) == 1 and objects[0].can_be_fronted and (objects[0].case_is_clear or subject.case_is_clear):
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
    middle += nicht + where + indefinite
    if front == "subject" and not subordinate:
        de = [*subject.de, verbs.finite, *pronouns, *middle, *verbs.end]
    else:
        subject_is_definite = subject.is_pronoun or subject.can_be_fronted
        subject_and_pronouns = [*subject.de, *pronouns] if subject_is_definite else [*pronouns, *subject.de]
        if subordinate:  # verb last
            de = [*subject_and_pronouns, *middle, *verbs.end, verbs.finite]
        else:  # verb second
            fronted = when if front == "time" else objects[0].de
            de = [*fronted, verbs.finite, *subject_and_pronouns, *middle, *verbs.end]

    first, last = (when_en, []) if front == "time" else ([], when_en)
    if time in VERBS_BEFORE_ADVERB and last:
        verbs.en[VERBS_BEFORE_ADVERB[time] : VERBS_BEFORE_ADVERB[time]], last = last, []
    en = [*first, *subject.en, *verbs.en, *(word for each in objects for word in each.en), *where_en, *last]
    described: list[tuple[str | None, str | None]]
    described = [(each.noun, each.adjective) for each in (subject, *objects) if each.noun]
    if predicate:
        described = [(subject.noun, predicate.base)]
    return Clause(de, en, verb.infinitive, described)


def _maybe_one_of(chooser: Chooser, adverbs: Sequence[Adverb], probability: float) -> Adverb | None:
    """One of these adverbials with this probability, each as likely as the others."""
    return chooser.choose((None, *adverbs), (1 - probability, *(probability / len(adverbs) for _ in adverbs)))


def _described_subject(chooser: Chooser) -> tuple[Phrase, Adjective]:
    """The subject of "is", and an adjective that suits it."""
    if chooser.maybe(0.4):
        subject, kind = _pronoun(chooser, lex.SUBJECTS), "self"
    else:
        kind = chooser.one_of({"person": 3, "animal": 2, "drink": 2, "food": 2, "text": 1, "thing": 2, "opening": 1})
        subject = _noun_phrase(chooser, kind, "nom", {"der": 2, "mein": 1}, 0)
    return subject, chooser.choose(_adjectives(kind))


def _copula(chooser: Chooser, predicate: Adjective, subject: Phrase, negator: GermanWord | None) -> Verbs:
    finite, last = chooser.word(lex.AUXILIARIES["sein"].split()[subject.person]), chooser.word(predicate.base)
    be = EnglishWord(("am", "is", "are")[subject.person], (finite,))
    return Verbs(finite, [last], [be, *_not(negator), EnglishWord(predicate.english, (last,))])


def _modal(chooser: Chooser, verb: Verb, subject: Phrase, negator: GermanWord | None) -> Verbs:
    """ "can drink", "does not want to drink"; without a second verb "would like"."""
    modals = (lex.WILL,) if verb.is_state else lex.MODALS
    modal: Modal = lex.WISH_MODAL if verb is lex.WISH_VERB else chooser.choose(modals)
    finite = chooser.word(modal.finite.split()[subject.person])
    english = (modal.negated if negator else modal.english).split("/")[-1 if subject.person == ER else 0]
    en = _english_words(english, [finite])
    if negator:
        for word in en:
            if word.text == "cannot":
                word.sure = (finite, negator)
            elif word.text == "not" or (word.text in ("do", "does") and word is en[0]):
                word.sure = (negator,)
    if verb is lex.WISH_VERB:
        return Verbs(finite, [], en)
    last = chooser.word(verb.infinitive)
    if en[-1].text == "to":  # it may belong to "want" or to "drink"
        en[-1] = EnglishWord("to", (), (finite, last))
    return Verbs(finite, [last], [*en, *_english_words(verb.base, [last])])


def _perfect(chooser: Chooser, verb: Verb, subject: Phrase, negator: GermanWord | None, time: Adverb | None) -> Verbs:
    """ "has drunk"; with yesterday "drank", which the German auxiliary is a possible link of."""
    finite = chooser.word(lex.AUXILIARIES[verb.auxiliary].split()[subject.person])
    last = chooser.word(verb.participle)
    if time == lex.YESTERDAY:
        did = (
            [EnglishWord("did", (negator,), (finite,)), *_not(negator), *_english_words(verb.base, [last])]
            if negator
            else None
        )
        return Verbs(finite, [last], did or _english_words(verb.past, [last], [finite]))
    have = EnglishWord("has" if subject.person == ER else "have", (finite,))
    return Verbs(finite, [last], [have, *_not(negator), *_english_words(verb.past_participle, [last])])


def _present(
    chooser: Chooser,
    verb: Verb,
    subject: Phrase,
    negator: GermanWord | None,
    tomorrow: list[GermanWord],
    subordinate: bool,
) -> Verbs:
    """ "drinks", "does not drink"; with tomorrow "will drink". A particle ends a main clause."""
    form = verb.present(subject.person)
    finite = chooser.word(verb.particle + form if subordinate else form)
    end = [chooser.word(verb.particle)] if verb.particle and not subordinate else []
    doing = [finite, *end]
    if tomorrow:
        will = EnglishWord("will", (), [*doing, *tomorrow])
        return Verbs(finite, end, [will, *_not(negator), *_english_words(verb.base, doing)])
    if negator:
        do = EnglishWord("does" if subject.person == ER else "do", (negator,))
        return Verbs(finite, end, [do, *_not(negator), *_english_words(verb.base, doing)])
    return Verbs(finite, end, _english_words(verb.third if subject.person == ER else verb.base, doing))


def _english_words(words: str, sure: Sequence[GermanWord], possible: Sequence[GermanWord] = ()) -> list[EnglishWord]:
    return [EnglishWord(text, sure, possible) for text in words.split()]


def _not(negator: GermanWord | None) -> list[EnglishWord]:
    return [EnglishWord("not", (negator,))] if negator else []


# ---- sentences ----


def _sentence(chooser: Chooser) -> Sentence:
    link: Adverb | None = chooser.choose((None, lex.BECAUSE, lex.THAT), (6, 2, 2))
    conjunction, conjunction_en = _adverb(chooser, link)
    chooser.begin(0)
    first = _matrix_clause(chooser) if link is lex.THAT else _clause(chooser, time_probability=0 if link else 0.6)
    chooser.end(first.de)
    clauses, de, en = [first], first.de, first.en
    if link:
        chooser.begin(1)
        second = _clause(chooser, subordinate=True)
        chooser.end(second.de)
        clauses, de, en = [first, second], [*de, *conjunction, *second.de], [*en, *conjunction_en, *second.en]
    en = [*en, EnglishWord(".")]

    place = {id(word): i for i, word in enumerate(de)}
    gold = GoldAlignment(
        sure=tuple(tuple(place[id(word)] for word in each.sure) for each in en),
        possible=tuple(tuple(place[id(word)] for word in each.possible) for each in en),
    )
    spelling = " ".join(word.spelling for word in de)
    described = [(noun, adjective, clause.verb) for clause in clauses for noun, adjective in clause.described]
    return Sentence(
        source=fold(spelling),
        target=" ".join(word.text for word in en),
        gold=gold,
        spelling=(spelling[0].upper() + spelling[1:]).replace(" weil ", ", weil ").replace(" dass ", ", dass "),
        lemmas=(
            frozenset(noun for noun, _, _ in described if noun),
            frozenset(adjective for _, adjective, _ in described if adjective),
            frozenset(clause.verb for clause in clauses),
        ),
        combinations=frozenset((noun, adjective, verb) for noun, adjective, verb in described if noun and adjective),
    )


def _matrix_clause(chooser: Chooser) -> Clause:
    """ "I know", "he does not think": the clause before a dass."""
    verb: Verb = chooser.choose(lex.CLAUSE_VERBS)
    subject = _subject(chooser, may_be_animal=False)
    nicht = [chooser.word("nicht")] if verb.english.startswith("think") and chooser.maybe(0.4) else []
    verbs = _present(chooser, verb, subject, next(iter(nicht), None), [], subordinate=False)
    described: list[tuple[str | None, str | None]] = [(subject.noun, subject.adjective)] if subject.noun else []
    return Clause([*subject.de, verbs.finite, *nicht], [*subject.en, *verbs.en], verb.infinitive, described)
