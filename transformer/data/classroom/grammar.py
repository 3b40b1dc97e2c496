"""German sentences and their English, word aligned to word: a grammar that can speak and that can listen.

Every sentence is one way through the choices of `_sentence`. `speak` makes them at random; `listen` tries all that
could give the words it heard, so any sentence of the grammar has its translation and its gold alignment, whoever typed
it. Knows nothing of tensors or vocabularies.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..alignment import AlignedPair, Gold
from ..vocabulary import fold
from . import lexicon as lex
from .lexicon import ER, WIR, Adjective, Adverb, Case, Gender, Lexeme, Modal, Negation, Noun, Verb

LONGEST = 12  # German words a sentence: more would not fit a map on a screen


@dataclass(frozen=True)
class Sentence(AlignedPair):
    """A sentence of the grammar.

    Attributes:
        lemmas: the nouns, the adjectives and the verbs in it.
        joined: (noun, adjective, verb) that belong together in it: the adjective is the noun's, the noun the verb's.
    """

    lemmas: tuple[frozenset[str], frozenset[str], frozenset[str]]
    joined: frozenset[tuple[str, str, str]]


def speak(rng: random.Random) -> Sentence:
    """A sentence of the grammar, at random."""
    while True:
        pair = _sentence(Speaking(rng))
        if len(pair.source.split()) <= LONGEST:
            return pair


def listen(source: str) -> Sentence | None:
    """The sentence whose folded words these are, or None where the grammar has none."""
    return next(readings(source), None)


def readings(source: str) -> Iterator[Sentence]:
    """Every way through the grammar that gives these folded words; all of them say the same English."""
    if len(source.split()) > LONGEST:
        return
    taken: list[int] = []  # which road at each fork
    while True:
        way = Listening(source, taken)
        try:
            pair = _sentence(way)
            if pair.source == source:
                yield pair
        except DeadEndError:
            pass
        taken = [*taken, *[0] * len(way.roads)][: len(way.roads)]
        while taken and taken[-1] + 1 == way.roads[len(taken) - 1]:
            taken.pop()
        if not taken:
            return
        taken[-1] += 1


# ---- words, and who chooses them ----


@dataclass(eq=False)
class De:
    """A German word, wherever in the sentence it comes to stand."""

    spelling: str


@dataclass(eq=False)
class En:
    """An English word, and the German words that it stands for: surely, or as one may see it."""

    text: str
    sure: Sequence[De] = ()
    possible: Sequence[De] = ()


class DeadEndError(Exception):
    """This way does not lead to the words that were heard."""


class Way:
    """One way through the grammar. Whoever goes it decides at every fork."""

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        raise NotImplementedError

    def word(self, spelling: str) -> De:
        return De(spelling)

    def begin(self, clause: int) -> None:
        """What follows is said in this clause (from 0)."""

    def end(self, de: Sequence[De]) -> None:
        """These are all the words of the clause."""

    def maybe(self, probability: float) -> bool:
        return self.choose((False, True), (1 - probability, probability))

    def one_of(self, weights: Mapping[str, float]) -> str:
        return self.choose(tuple(weights), tuple(weights.values()))


class Speaking(Way):
    """Chooses at random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        return self.rng.choice(options) if weights is None else self.rng.choices(options, weights)[0]


class Listening(Way):
    """Goes as `taken` says, then the first road at every fork; turns back at a word that was not heard.

    Attributes:
        roads: how many there were at each fork passed.
    """

    def __init__(self, source: str, taken: Sequence[int]) -> None:
        self.clauses = [part.split() for part in re.split(r"\b(?:weil|dass)\b", source)]
        self.taken = taken
        self.roads: list[int] = []
        self.heard = frozenset(source.split())
        self.now: list[str] = []

    def begin(self, clause: int) -> None:
        self.now = self.clauses[clause]
        self.heard = frozenset(self.now)

    def end(self, de: Sequence[De]) -> None:
        if [fold(word.spelling) for word in de] != self.now:
            raise DeadEndError

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        if weights and 0 in weights:  # what is never said is never heard
            options = [each for each, weight in zip(options, weights, strict=True) if weight]
        open_roads = options
        if options and isinstance(options[-1], Lexeme):  # then all are, or None, which leaves it out
            open_roads = [each for each in options if each is not None and each.may_be_in(self.heard)]
        if not open_roads and None in options:  # what may be left out is not, if it was heard
            open_roads = [None]
        if not open_roads:
            raise DeadEndError
        fork = len(self.roads)
        self.roads.append(len(open_roads))
        return open_roads[self.taken[fork] if fork < len(self.taken) else 0]

    def word(self, spelling: str) -> De:
        if fold(spelling) not in self.heard:
            raise DeadEndError
        return De(spelling)


# ---- phrases ----


@dataclass
class Phrase:
    """A noun phrase or a pronoun in both languages."""

    de: list[De]
    en: list[En]
    person: int
    may_lead: bool  # as an object before its verb: it is definite, and German tells its case
    shows_case: bool  # as a subject: no one could take it for the object
    noun: str | None = None
    adjective: str | None = None
    kein: De | None = None

    @property
    def is_pronoun(self) -> bool:
        return self.noun is None


def _noun_phrase(
    way: Way, kinds: str, case: Case, determiners: Mapping[str, float], described: float, but: str | None = None
) -> Phrase:
    """A determiner (a number is plural, ein is singular), perhaps an adjective, a noun other than `but`."""
    noun: Noun = way.choose([each for each in _nouns(kinds) if each.singular != but])
    determiner = way.one_of({k: v for k, v in determiners.items() if k not in lex.odd_before(noun)})
    plural = determiner in lex.NUMBERS or (determiner != "ein" and case != "dat" and way.maybe(0.3))
    gender: Gender = "pl" if plural else noun.gender
    # Said before more is chosen: a way that is wrong ends here.
    words = [(way.word(noun.plural), noun.english_plural) if plural else (way.word(noun.singular), noun.english)]
    article = way.word(_determiner(determiner, case, gender))
    adjective: Adjective | None = None
    if way.maybe(described):
        adjective = way.choose(_adjectives(noun.kind))
        german = adjective.stem + lex.adjective_ending(determiner, case, gender)
        words.insert(0, (way.word(german), adjective.english))
    words.insert(0, (article, _english_determiner(determiner, plural, words[0][1])))
    de = [word for word, _ in words]
    return Phrase(
        de,
        [En(english, (word,)) for word, english in words],
        WIR if plural else ER,
        may_lead=determiner in ("der", "mein"),
        shows_case=gender == "m" or case == "dat",
        noun=noun.singular,
        adjective=adjective.base if adjective else None,
        kein=de[0] if determiner == "kein" else None,
    )


@cache
def _nouns(kinds: str) -> list[Noun]:
    return [each for each in lex.NOUNS if each.kind in kinds.split()]


@cache
def _adjectives(kind: str) -> list[Adjective]:
    """That can be said of it."""
    return [each for each in lex.ADJECTIVES if kind in each.kinds.split()]


def _determiner(determiner: str, case: Case, gender: Gender) -> str:
    if determiner == "der":
        return lex.THE[case][gender]
    return determiner if determiner in lex.NUMBERS else determiner + lex.A[case][gender]


def _english_determiner(determiner: str, plural: bool, following: str) -> str:
    a = "an" if following[0] in "aeiou" else "a"
    return {"der": "the", "mein": "my", "ein": a, "kein": "any" if plural else a, **lex.NUMBERS}[determiner]


def _pronoun(way: Way, pronouns: Sequence[tuple[str, str, int]]) -> Phrase:
    german, english, person = way.choose(pronouns)
    word = way.word(german)
    return Phrase([word], [En(english, (word,))], person, may_lead=False, shows_case=german != "sie")


def _subject(way: Way, animals: bool) -> Phrase:
    if way.maybe(0.5):
        return _pronoun(way, lex.SUBJECTS)
    kinds = "person animal" if animals else "person"
    return _noun_phrase(way, kinds, "nom", {"der": 2, "mein": 1, "ein": 1}, 0.2)


def _objects(way: Way, verb: Verb, subject: Phrase, negation: Negation | None) -> list[Phrase]:
    """Receiver first. What is negated with nicht is definite; what would be ein, or nothing, has kein."""
    found = []
    for case, kinds in verb.takes:
        others = [each for each in lex.OBJECTS[case] if lex.apart(each[2], subject.person)]
        if "person" in kinds.split() and not (case == "acc" and negation is lex.KEIN) and way.maybe(0.4):
            found.append(_pronoun(way, others))
            continue
        if case == "dat":
            determiners = {"der": 1, "mein": 1} if negation else {"der": 1, "mein": 1, "ein": 1}
        elif negation is lex.KEIN:
            determiners = {"kein": 1}
        else:
            determiners = {"der": 2, "mein": 1} | ({} if negation else {"ein": 3, "zwei": 1, "drei": 1})
        often = 0.2 if case == "dat" else 0.5
        found.append(_noun_phrase(way, kinds, case, determiners, often, but=subject.noun))
    return found


def _adverb(way: Way, adverb: Adverb | None) -> tuple[list[De], list[En]]:
    if adverb is None:
        return [], []
    de = [way.word(each) for each in adverb.german.split()]
    links = zip(adverb.english.split(), adverb.links, strict=True)
    return de, [En(text, [de[i] for i in link]) for text, link in links]


# ---- clauses ----


@dataclass
class Clause:
    """A clause in both languages, and what is joined in it."""

    de: list[De]
    en: list[En]
    verb: str
    described: list[tuple[str | None, str | None]]  # its nouns (None is a pronoun) and their adjectives


@dataclass
class Verbs:
    """The verbs of a clause: German's finite one, what German puts at the end, and English's in a row."""

    finite: De
    end: list[De]
    en: list[En]


TIMES = {
    "present": (lex.OFTEN, lex.ALWAYS, lex.SOMETIMES, lex.MORNING, lex.EVENING, lex.TOMORROW),
    "perfect": (lex.TODAY, lex.YESTERDAY, lex.ALREADY),
    "modal": (lex.TODAY, lex.NOW, lex.TOMORROW, lex.EVENING),
    "wish": (lex.TODAY, lex.NOW),
    "copula": (lex.TODAY, lex.NOW),
}
AT_THE_VERB = {lex.OFTEN: 0, lex.ALWAYS: 0, lex.SOMETIMES: 0, lex.ALREADY: 1}  # after how many verbs English puts them
LEADING = (lex.TODAY, lex.NOW, lex.TOMORROW, lex.YESTERDAY, lex.MORNING, lex.EVENING, lex.SOMETIMES)


def _clause(way: Way, subordinate: bool = False, timed: float = 0.6) -> Clause:
    tense = way.one_of({"present": 4, "perfect": 6, "modal": 5, "wish": 1, "copula": 2})
    verb: Verb = {"wish": lex.WISHING, "copula": lex.BEING}.get(tense) or way.choose(lex.VERBS)
    may_be_kein = any(case == "acc" for case, _ in verb.takes)
    negation: Negation | None = way.choose(
        (None, lex.NICHT, lex.KEIN) if may_be_kein else (None, lex.NICHT), (8, 1, 1) if may_be_kein else (8, 2)
    )
    subject, predicate = _described_subject(way) if tense == "copula" else (_subject(way, verb.animals), None)
    times = [each for each in TIMES[tense] if not (negation and each in AT_THE_VERB)]
    if predicate and predicate.base not in lex.PASSING:
        timed = 0
    time: Adverb | None = (
        way.choose((None, *times), (1 - timed, *(timed / len(times) for _ in times))) if timed else None
    )
    objects = _objects(way, verb, subject, negation)
    nicht = [way.word("nicht")] if negation is lex.NICHT else []
    no = next((each.kein for each in objects if each.kein), None) or next(iter(nicht), None)
    place: Adverb | None = lex.HOME if verb.goes else None
    if verb.placed and not verb.goes:
        often = 0.12 if verb.objects else 0.4
        place = way.choose((None, *lex.PLACES), (1 - often, *(often / len(lex.PLACES) for _ in lex.PLACES)))
    when, when_en = _adverb(way, time)
    where, where_en = _adverb(way, place)
    if predicate:
        verbs = _copula(way, predicate, subject, no)
    elif tense in ("modal", "wish"):
        verbs = _modal(way, verb, subject, no)
    elif tense == "perfect":
        verbs = _perfect(way, verb, subject, no, time)
    else:
        verbs = _present(way, verb, subject, no, when if time == lex.TOMORROW else [], subordinate)

    front = "subject"
    if not subordinate:
        fronts = {"subject": 1.0} | ({"time": 1.0} if time in LEADING else {})
        if len(objects) == 1 and objects[0].may_lead and (objects[0].shows_case or subject.shows_case):
            fronts["object"] = 0.5
        front = way.one_of(fronts)
    # Pronouns come first, what is known comes early, what is new comes late.
    pronouns = [word for each in objects if each.is_pronoun for word in each.de]
    nouns = [each for each in objects if not each.is_pronoun and front != "object"]
    known, new = (
        [word for each in nouns if each.may_lead is definite for word in each.de] for definite in (True, False)
    )
    soon = when if front != "time" else []
    middle = [*known, *soon] if time == lex.ALREADY else [*soon, *known]
    middle += nicht + where + new
    if front == "subject" and not subordinate:
        de = [*subject.de, verbs.finite, *pronouns, *middle, *verbs.end]
    else:
        is_known = subject.is_pronoun or subject.may_lead
        named = [*subject.de, *pronouns] if is_known else [*pronouns, *subject.de]
        if subordinate:
            de = [*named, *middle, *verbs.end, verbs.finite]
        else:  # the verb stays second
            de = [*(when if front == "time" else objects[0].de), verbs.finite, *named, *middle, *verbs.end]

    first, last = (when_en, []) if front == "time" else ([], when_en)
    if time in AT_THE_VERB and last:
        verbs.en[AT_THE_VERB[time] : AT_THE_VERB[time]], last = last, []
    en = [*first, *subject.en, *verbs.en, *(word for each in objects for word in each.en), *where_en, *last]
    described: list[tuple[str | None, str | None]]
    described = [(each.noun, each.adjective) for each in (subject, *objects) if each.noun]
    if predicate:
        described = [(subject.noun, predicate.base)]
    return Clause(de, en, verb.infinitive, described)


def _described_subject(way: Way) -> tuple[Phrase, Adjective]:
    """Somebody or something, and what it can be said to be."""
    if way.maybe(0.4):
        subject, kind = _pronoun(way, lex.SUBJECTS), "self"
    else:
        kind = way.one_of({"person": 3, "animal": 2, "drink": 2, "food": 2, "text": 1, "thing": 2, "opening": 1})
        subject = _noun_phrase(way, kind, "nom", {"der": 2, "mein": 1}, 0)
    return subject, way.choose(_adjectives(kind))


def _copula(way: Way, predicate: Adjective, subject: Phrase, no: De | None) -> Verbs:
    finite, last = way.word(lex.FORMS["sein"].split()[subject.person]), way.word(predicate.base)
    be = En(("am", "is", "are")[subject.person], (finite,))
    return Verbs(finite, [last], [be, *_not(no), En(predicate.english, (last,))])


def _modal(way: Way, verb: Verb, subject: Phrase, no: De | None) -> Verbs:
    """ "can drink", "does not want to drink"; without a second verb "would like"."""
    modal: Modal = lex.WISH if verb is lex.WISHING else way.choose((lex.WILL,) if verb.is_state else lex.MODALS)
    finite = way.word(modal.finite.split()[subject.person])
    said = (modal.negated if no else modal.english).split("/")[-1 if subject.person == ER else 0]
    en = [En(text, (finite,)) for text in said.split()]
    if no:
        for word in en:
            if word.text == "cannot":
                word.sure = (finite, no)
            elif word.text == "not" or (word.text in ("do", "does") and word is en[0]):
                word.sure = (no,)
    if verb is lex.WISHING:
        return Verbs(finite, [], en)
    last = way.word(verb.infinitive)
    if en[-1].text == "to":  # of "want" or of "drink"?
        en[-1] = En("to", (), (finite, last))
    return Verbs(finite, [last], [*en, *_said(verb.base, [last])])


def _perfect(way: Way, verb: Verb, subject: Phrase, no: De | None, time: Adverb | None) -> Verbs:
    """ "has drunk"; with yesterday English has a tense of its own, in which one may see the auxiliary."""
    finite = way.word(lex.FORMS[verb.auxiliary].split()[subject.person])
    last = way.word(verb.participle)
    if time == lex.YESTERDAY:
        did = [En("did", (no,), (finite,)), *_not(no), *_said(verb.base, [last])] if no else None
        return Verbs(finite, [last], did or _said(verb.past, [last], [finite]))
    have = En("has" if subject.person == ER else "have", (finite,))
    return Verbs(finite, [last], [have, *_not(no), *_said(verb.past_participle, [last])])


def _present(way: Way, verb: Verb, subject: Phrase, no: De | None, tomorrow: list[De], subordinate: bool) -> Verbs:
    """ "drinks", "does not drink"; with tomorrow "will drink". A particle stands at the end, or joins a verb there."""
    form = verb.present(subject.person)
    finite = way.word(verb.particle + form if subordinate else form)
    end = [way.word(verb.particle)] if verb.particle and not subordinate else []
    doing = [finite, *end]
    if tomorrow:
        return Verbs(finite, end, [En("will", (), [*doing, *tomorrow]), *_not(no), *_said(verb.base, doing)])
    if no:
        do = En("does" if subject.person == ER else "do", (no,))
        return Verbs(finite, end, [do, *_not(no), *_said(verb.base, doing)])
    return Verbs(finite, end, _said(verb.third if subject.person == ER else verb.base, doing))


def _said(words: str, sure: Sequence[De], possible: Sequence[De] = ()) -> list[En]:
    return [En(text, sure, possible) for text in words.split()]


def _not(no: De | None) -> list[En]:
    return [En("not", (no,))] if no else []


# ---- sentences ----


def _sentence(way: Way) -> Sentence:
    link: Adverb | None = way.choose((None, lex.BECAUSE, lex.THAT), (6, 2, 2))
    joint, joint_en = _adverb(way, link)
    way.begin(0)
    first = _thinking(way) if link is lex.THAT else _clause(way, timed=0 if link else 0.6)
    way.end(first.de)
    clauses, de, en = [first], first.de, first.en
    if link:
        way.begin(1)
        second = _clause(way, subordinate=True)
        way.end(second.de)
        clauses, de, en = [first, second], [*de, *joint, *second.de], [*en, *joint_en, *second.en]
    en = [*en, En(".")]

    place = {id(word): i for i, word in enumerate(de)}
    gold = Gold(
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
        joined=frozenset((noun, adjective, verb) for noun, adjective, verb in described if noun and adjective),
    )


def _thinking(way: Way) -> Clause:
    """ "I know", "he does not think": what comes before a dass."""
    verb: Verb = way.choose(lex.THINKING)
    subject = _subject(way, animals=False)
    nicht = [way.word("nicht")] if verb.english.startswith("think") and way.maybe(0.4) else []
    verbs = _present(way, verb, subject, next(iter(nicht), None), [], subordinate=False)
    described: list[tuple[str | None, str | None]] = [(subject.noun, subject.adjective)] if subject.noun else []
    return Clause([*subject.de, verbs.finite, *nicht], [*subject.en, *verbs.en], verb.infinitive, described)
