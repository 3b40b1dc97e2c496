"""Clauses: statements and questions, main and subordinate, in German and in English word order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from ...files import read_table
from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord
from .lexicon import DU, IHR, WIR, Adjective, Adverb, Modal, Negation, Verb
from .phrases import (
    Phrase,
    Things,
    adjectives_for,
    choose_companion,
    choose_name,
    choose_noun_phrase,
    choose_objects,
    choose_pronoun,
    choose_subject,
    pronouns_of_people,
    takes_things,
    words_of_adverb,
)
from .verbs import Parts, choose_german_verbs, english_verbs, words_of_verbs


@dataclass
class Clause:
    """A clause in both languages, its verb and its noun phrases."""

    de: list[GermanWord]
    en: list[EnglishWord]
    verb: str
    phrases: list[Phrase]
    predicates: tuple[Adjective, ...] = ()  # of the first phrase, its subject

    @property
    def described(self) -> list[tuple[str | None, str | None]]:
        """Its nouns (None for a pronoun that is described), each with its adjectives in turn."""
        found: list[tuple[str | None, str | None]] = []
        for phrase in self.phrases:
            predicates = self.predicates if phrase is self.phrases[0] else ()
            adjectives = [each.base for each in (phrase.adjective, *predicates) if each]
            noun = phrase.noun.singular if phrase.noun else None
            found += [(noun, each) for each in adjectives] or ([(noun, None)] if noun else [])
        return found

    @property
    def things(self) -> Things:
        """The thing that a later pronoun of a gender means; None where it could mean two, or one that is denied."""
        found: Things = {}
        for phrase in self.phrases:
            if phrase.noun and phrase.gender and phrase.noun.kind not in lex.LIVING:
                alone = [each.gender for each in self.phrases].count(phrase.gender) == 1
                found[phrase.gender] = phrase.noun if alone and not phrase.kein else None
        return found


_AT = (*lex.WEEKDAYS, *lex.HOURS, *lex.HOURS_IN_SHORT, *lex.group("half"), *lex.group("month"), *lex.group("occasion"))
_ANY = (*lex.AGAIN, *lex.COMMENTS)
_NOW = (lex.TODAY, lex.NOW)
_STATE = (*_NOW, lex.ALREADY, lex.STILL, *_ANY)
TIMES = {
    "present": (*lex.HABITS, lex.ONLY, lex.STILL, lex.ALREADY, *_NOW, *lex.LATER, *lex.LIKING, *_AT, *_ANY),
    "perfect": (lex.TODAY, lex.ALREADY, *lex.BEFORE, *_ANY),
    "modal": (*_NOW, *lex.LATER, lex.EVENING, *_AT, *_ANY),
    "wish": (*_NOW, *_ANY),
    "copula": _STATE,
    "location": _STATE,
}
_LASTING = (lex.ALSO, lex.ALREADY, lex.STILL, *lex.COMMENTS)  # of a state that does not pass
_BEFORE = (lex.TODAY, *lex.BEFORE, *_ANY)  # of "was"


# The weights of the question words, first of none, and of the tenses with each.
_QUESTIONS = read_table(lex.TABLES / "questions.tsv")
_QUESTION_WEIGHTS = [int(row["weight"]) for row in _QUESTIONS]
_TENSES = {row["asked"]: {tense: int(row[tense]) for tense in TIMES if row[tense]} for row in _QUESTIONS}


def choose_clause(
    chooser: Chooser,
    link: Adverb | None = None,
    first: Clause | None = None,
    is_question: bool = False,
    shared: Phrase | None = None,
) -> Clause:
    """A main clause, or after `first` a subordinate one; `link` is the conjunction between them, if there are two. It
    leaves a `shared` subject of the clause before out: "ich bin krank und bleibe zu Hause"."""
    parts = _choose_parts(chooser, bool(link) and first is None, first, is_question, shared)
    front = _choose_front(chooser, parts)
    de = _in_german_order(parts, front)
    en = _in_english_order(parts, front)
    phrases = [parts.subject, *parts.objects, *([parts.companion] if parts.companion else [])]
    predicates = tuple(each for each in (parts.predicate, parts.second_predicate) if each)
    return Clause(de, en, parts.verb.infinitive, phrases, predicates)


def _choose_parts(
    chooser: Chooser, reason_follows: bool, first: Clause | None, is_question: bool, shared: Phrase | None
) -> Parts:
    asked: Adverb | None = chooser.choose((None, *lex.QUESTION_WORDS), _QUESTION_WEIGHTS) if is_question else None
    tense = chooser.one_of(_TENSES[asked.german if asked else ""])
    verb = _choose_verb(chooser, tense, lex.WHO if shared else asked, first)  # neither asks for the weather's "es"
    negation = None if is_question and chooser.maybe(0.85) else _negation(chooser, verb)
    things: Things = first.things if first else {}
    predicate: Adjective | None = None
    given = choose_pronoun(chooser, lex.WHO_ASKED) if asked is lex.WHO else shared
    if given:
        subject = given
        if tense == "copula":
            predicate = chooser.choose(adjectives_for(given.noun.kind if given.noun else "self", given.noun))
    elif tense == "copula":
        subject, predicate = _described_subject(chooser, things, reason_follows, is_question)
    elif tense == "location":
        subject = _located_subject(chooser, things, is_question)
    else:
        subject = choose_subject(chooser, verb, things, is_question)
    parts = Parts(verb, subject, predicate, tense, asked, is_question, is_subordinate=first is not None)
    # Before any adverbial, which could take its words: "um wie viel Uhr".
    parts.opening = words_of_adverb(chooser, asked if asked is not lex.WHO else None)
    if tense in ("modal", "wish"):
        parts.modal = chooser.choose(_modals(verb, first))
    parts.is_past = tense in ("copula", "location") and not reason_follows and chooser.maybe(0.25)
    choose_german_verbs(chooser, parts)
    kind = subject.noun.kind if subject.noun else "self"
    if predicate and kind in predicate.kinds.split() and chooser.maybe(0.07):
        others = [each for each in adjectives_for(kind, subject.noun) if each is not predicate]
        parts.second_predicate = chooser.choose(others)
        parts.link = words_of_adverb(chooser, lex.AND)
        parts.end += [*parts.link[0], chooser.word(parts.second_predicate.base)]
    parts.time = _choose_time(chooser, parts, negation, reason_follows)
    is_liked = parts.time in lex.LIKING
    if asked is not lex.WHAT:
        parts.objects = choose_objects(chooser, verb, subject, negation, things, is_liked)
    if negation is lex.NICHT:
        parts.nicht = [chooser.word("nicht")]
    place = None if asked in (lex.WHERE, lex.WHERE_TO) else _place(chooser, verb, tense, subject)
    if is_liked and parts.time:
        parts.gladly = [chooser.word(parts.time.german)]
    else:
        parts.when = words_of_adverb(chooser, parts.time)
    if _recurs(parts) and not (negation or is_question or is_liked) and chooser.maybe(0.15):
        parts.often = words_of_adverb(chooser, chooser.choose(_FREQUENCIES))
    parts.where = words_of_adverb(chooser, place)
    parts.is_place_early = bool(place in lex.HERE and parts.nicht) and chooser.maybe(0.6)
    no_manner = is_liked or reason_follows or verb is lex.COPULA
    parts.manner = None if no_manner else _choose_manner(chooser, parts, negation)
    parts.how = words_of_adverb(chooser, parts.manner)
    preposition = _preposition(chooser, parts, negation)
    if preposition:
        parts.companion = choose_companion(chooser, preposition, subject, things)
    degrees = (None, lex.VERY, lex.TOO, lex.SO, lex.REALLY)
    parts.very = words_of_adverb(chooser, chooser.choose(degrees, (8, 2, 1, 0.7, 0.7)) if predicate else None)
    if shared:
        parts.subject = replace(shared, de=[], en=[])
    return parts


_FREQUENCIES = [each for each in lex.HABITS if "before-verb" in each.traits]
_RECURRING = [each for each in lex.HABITS if each.traits == {"first", "habit"}]


def _recurs(parts: Parts) -> bool:
    """Whether its time does, beside which one says how often: "am Abend lese ich oft"."""
    return parts.tense == "present" and parts.time in _RECURRING


def _preposition(chooser: Chooser, parts: Parts, negation: Negation | None) -> Adverb | None:
    """Whether somebody does it with another, or for another."""
    verb = parts.verb
    if negation or verb is lex.COPULA or parts.asked or verb.traits & {"weather", "recipient"}:
        return None
    if "for-somebody" in verb.traits:
        return chooser.choose((None, lex.FOR), (8, 1))
    if "state" in verb.traits:
        return None
    is_alone = verb.case == "dat" or "person" in verb.objects.split()
    return None if is_alone or verb is lex.WISH_VERB else chooser.choose((None, lex.WITH), (11, 1))


def _choose_verb(chooser: Chooser, tense: str, asked: Adverb | None, first: Clause | None) -> Verb:
    if tense == "wish":
        verb = lex.WISH_VERB
    elif tense in ("copula", "location"):
        verb = lex.COPULA
    else:
        verbs = _verbs(tense == "present", asked)
        verb = chooser.choose([each for each in verbs if each.infinitive != first.verb] if first else verbs)
    chooser.needs(words_of_verbs(verb, tense))
    return verb


@cache
def _verbs(is_present: bool, asked: Adverb | None) -> list[Verb]:
    return [each for each in lex.VERBS if _suits(each, asked) and (is_present or "only-present" not in each.traits)]


def _choose_time(chooser: Chooser, parts: Parts, negation: Negation | None, reason_follows: bool) -> Adverb | None:
    """An adverbial of time that suits the clause, or none."""
    times, probability = _BEFORE if parts.is_past else TIMES[parts.tense], 0.3 if parts.is_question else 0.6
    if reason_follows:
        times = ()
    elif "only-present" in parts.verb.traits:
        times, probability = (lex.ALSO, lex.STILL), 0.1
    if parts.modal in lex.PAST_MODALS:
        times = _BEFORE
    if parts.asked in lex.WHENS:
        times, probability = (lex.TODAY,), 0.1
    if parts.asked is not lex.WHO:
        if parts.predicate and "temporary" not in parts.predicate.traits:
            times, probability = (_BEFORE, 0.4) if parts.is_past else (_LASTING, 0.15)
        elif "state" in parts.verb.traits and parts.tense == "perfect":
            times, probability = lex.PASTS, 1
    times = tuple(each for each in times if _fits(each, parts, negation))
    return _maybe_one_of(chooser, times, probability) if times else None


def _choose_manner(chooser: Chooser, parts: Parts, negation: Negation | None) -> Adverb | None:
    manners = [each for each in lex.MANNERS if _fits(each, parts, negation)]
    if parts.time in lex.LATER:  # "morgen früh" is tomorrow morning
        manners = [each for each in manners if each.german != "früh"]
    return _maybe_one_of(chooser, manners, 0.15) if manners else None


def _choose_front(chooser: Chooser, parts: Parts) -> str:
    """The words before the finite verb."""
    if parts.is_inverted:
        return "question"
    if parts.is_subordinate or parts.is_question or not parts.subject.de:
        return "subject"
    weights = {"subject": 1.0} | ({"time": 1.0} if parts.time and "first" in parts.time.traits else {})
    objects = parts.objects
    if len(objects) == 1 and objects[0].can_be_fronted and objects[0].case_is_clear:
        weights["object"] = 0.5
    return chooser.one_of(weights)


def _in_german_order(parts: Parts, front: str) -> list[GermanWord]:
    """Pronouns come first, definite phrases early, indefinite ones late."""
    subject = parts.subject
    pronouns = [word for each in parts.objects if each.is_pronoun for word in each.de]
    nouns = [each for each in parts.objects if not each.is_pronoun and front != "object"]
    definite, indefinite = (
        [word for each in nouns if each.can_be_fronted is is_definite for word in each.de]
        for is_definite in (True, False)
    )
    when = parts.when[0]
    inner_time = when if front != "time" else []
    is_late = parts.time and "after-object" in parts.time.traits
    middle = [*definite, *inner_time] if is_late else [*inner_time, *parts.often[0], *definite]
    here = parts.where[0] if parts.is_place_early else []
    middle = parts.please + middle + here + parts.nicht + parts.gladly + parts.how[0]
    companion = parts.companion.de if parts.companion else []
    there = [] if parts.is_place_early else parts.where[0]
    is_for = "for-somebody" in parts.verb.traits  # "ein Buch für dich", but "mit dir ein Buch"
    middle += ([*there, *indefinite, *companion] if is_for else [*companion, *there, *indefinite]) + parts.very[0]
    if front == "subject" and not parts.is_subordinate:
        return [*subject.de, parts.finite, *pronouns, *middle, *parts.end]
    subject_and_pronouns = [*subject.de, *pronouns] if subject.stands_first else [*pronouns, *subject.de]
    if parts.is_subordinate:  # verb last
        return [*subject_and_pronouns, *middle, *parts.end, parts.finite]
    # verb second, or first after no question word
    of_object = parts.objects[0].de if parts.objects else []
    fronted = {"time": when, "question": parts.opening[0], "object": of_object}
    return [*fronted.get(front, []), parts.finite, *subject_and_pronouns, *middle, *parts.end]


def _in_english_order(parts: Parts, front: str) -> list[EnglishWord]:
    verbs, when = english_verbs(parts), parts.when[1]
    opens = front == "time" or (parts.time and "opens" in parts.time.traits)
    fronted, last = (when, []) if opens else ([], when)
    helper: list[EnglishWord] = []
    if front == "question":
        fronted, helper, verbs = parts.opening[1], verbs[:1], verbs[1:]
    before_verb = parts.often[1]
    if parts.time and "before-verb" in parts.time.traits and last:
        before_verb, last = last, []
    has_helper = parts.tense != "present" or verbs[0].text in ("am", "is", "are")
    auxiliary = 1 if has_helper and not helper else 0
    verbs[auxiliary:auxiliary] = before_verb
    objects = [word for each in parts.objects for word in each.en]
    if parts.is_denied_in_general:
        objects = [word for word in objects if word.text != "any"]
    companion = parts.companion.en if parts.companion else []
    return [*fronted, *helper, *parts.subject.en, *verbs, *objects, *parts.where[1], *companion, *parts.how[1], *last]


def _suits(verb: Verb, asked: Adverb | None) -> bool:
    """Whether one can ask for this with this verb."""
    if asked in (lex.WHO, *lex.WHENS, lex.WHAT) and "weather" in verb.traits:
        return False
    if asked is lex.WHAT:
        return takes_things(verb) and "recipient" not in verb.traits
    if asked is lex.WHERE_TO:
        return "motion" in verb.traits
    return not (asked is lex.WHERE and not verb.traits.isdisjoint(("motion", "no-place")))


def _negation(chooser: Chooser, verb: Verb) -> Negation | None:
    if not any(case == "acc" for case, _ in verb.takes) or verb.objects == "deed":
        return chooser.choose((None, lex.NICHT), (8, 2))
    if lex.WITHOUT_ARTICLE.issuperset(verb.objects.split()):
        return chooser.choose((None, lex.KEIN), (8, 2))
    return chooser.choose((None, lex.NICHT, lex.KEIN), (8, 1, 1))


def _fits(time: Adverb, parts: Parts, negation: Negation | None) -> bool:
    verb = parts.verb
    if time in lex.MANNERS:
        is_bare = not verb.takes or verb.objects in ("language", "game")
        return is_bare and not negation and verb.traits.isdisjoint(("weather", "needs-place"))
    if time in lex.COMMENTS:
        return not parts.is_question
    if time is lex.ONLY:
        return verb.case == "acc" and not (negation or parts.is_question or "recipient" in verb.traits)
    if time in (lex.ALREADY, lex.STILL, *lex.AGAIN):
        return not negation
    if time in lex.LIKING:
        objects = set(verb.objects.split())
        if negation is lex.KEIN or (negation and time is not lex.GLADLY):
            return False
        if verb.traits & {"recipient", "state", "weather"} or verb.case == "dat" or objects & {"deed", "opening"}:
            return False
        return not objects or takes_things(verb) or bool(objects & {"game", "music"})
    return not (negation and "before-verb" in time.traits)


def _place(chooser: Chooser, verb: Verb, tense: str, subject: Phrase) -> Adverb | None:
    if tense == "location":
        is_thing = subject.noun is not None and subject.noun.kind not in lex.LIVING
        return chooser.choose(lex.ON_THINGS if is_thing else lex.PLACES)
    if "motion" in verb.traits:
        if subject.noun and subject.noun.kind == "animal":
            return lex.HOME
        directions = lex.DIRECTIONS.get(verb.infinitive, lex.WALKS)
        options = (None, lex.HOME, *directions) if verb.infinitive in ("kommen", "gehen") else (lex.HOME, *directions)
        return chooser.choose(options, (3.0,) * (len(options) - len(directions)) + (1.0,) * len(directions))
    if "needs-place" in verb.traits:
        return chooser.choose(lex.PLACES)
    return _maybe_one_of(chooser, lex.PLACES, 0.12 if verb.objects else 0.4) if "no-place" not in verb.traits else None


def _maybe_one_of(chooser: Chooser, adverbs: Sequence[Adverb], probability: float) -> Adverb | None:
    """One of these adverbials with this probability."""
    weights = [each.weight for each in adverbs]
    total = sum(weights)
    return chooser.choose((None, *adverbs), (1 - probability, *(probability * each / total for each in weights)))


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
        kinds |= {"drink": 2, "food": 2, "text": 1, "thing": 2, "opening": 1, "building": 0.5, "place": 2}
        kinds |= {"clothes": 1.5, "room": 1, "film": 0.5, "body": 0.5}
    kind = chooser.one_of(kinds)
    if kind == "self" and chooser.maybe(0.25):
        subject = choose_name(chooser)
    elif kind == "self":
        subject = choose_pronoun(chooser, pronouns_of_people(lex.ASKED if is_question else lex.SUBJECTS, things))
    elif kind == "weather":
        subject = choose_pronoun(chooser, lex.IT)
    else:
        owned = {"dein": 1.5, "euer": 0.4} if is_question else lex.YOUR | lex.OWN
        subject = choose_noun_phrase(chooser, kind, "nom", {"der": 3, "dies": 0.7} | owned, 0.07)
    adjectives = adjectives_for(kind, subject.noun)
    return subject, chooser.choose([each for each in adjectives if "temporary" in each.traits or not reason_follows])


def _located_subject(chooser: Chooser, things: Things, is_question: bool) -> Phrase:
    kind = chooser.one_of({"living": 2, "thing": 2, "place": 2 if is_question else 0})
    if kind == "living":
        return choose_subject(chooser, None, things, is_question)
    kinds, owned = ("place room", {}) if kind == "place" else ("thing text clothes food drink", lex.YOUR | lex.OWN)
    return choose_noun_phrase(chooser, kinds, "nom", {"der": 3} | owned, 0)


def _modals(verb: Verb, first: Clause | None) -> tuple[Modal, ...]:
    if verb is lex.WISH_VERB:
        return lex.WISH_MODALS
    if "state" in verb.traits:
        return (lex.WILL,)
    is_hoped = first is not None and first.verb == "hoffen"  # nobody hopes for a duty
    unhoped = (lex.SHOULD, lex.MUST, *lex.PAST_MODALS)
    return tuple(each for each in lex.MODALS if not (is_hoped and each in unhoped))


_ORDER_TIMES = (lex.TODAY, lex.NOW, *lex.LATER, *lex.AGAIN, *lex.HABITS, *lex.group("occasion"))


def choose_order(chooser: Chooser) -> Clause:
    """ "Please open the window", "do not forget the key!": to Sie, du or ihr.

    Without a bitte, "öffnen Sie" would be a question, and so would "ruft Anna an" to ihr.
    """
    person = chooser.choose((WIR, DU, IHR), (1, 1, 0.4))
    verb: Verb = chooser.choose(_ORDERED_OF_IHR if person == IHR else _ORDERED)
    is_formal = person == WIR
    nobody = Phrase([], [], person, can_be_fronted=False, case_is_clear=True)
    subject = choose_pronoun(chooser, lex.FORMAL) if is_formal else nobody
    parts = Parts(verb, subject, is_question=True)
    of_du = verb.imperative
    if verb.ich == of_du + "e" and chooser.maybe(0.15):  # "putze", as well as "putz"
        of_du = verb.ich
    parts.finite = chooser.word(of_du if person == DU else verb.present(person))
    parts.end = [chooser.word(verb.particle)] if verb.particle else []
    please = chooser.choose(("front", "middle", "end", ""), (0.3, 1, 0.3, 0 if is_formal else 1.5))
    bitte = [chooser.word("bitte")] if please else []
    negation = _negation(chooser, verb)
    parts.objects = choose_objects(chooser, verb, replace(subject, person=DU), negation, {})
    if negation is lex.NICHT:
        parts.nicht = [chooser.word("nicht")]
    parts.time = _maybe_one_of(chooser, [each for each in _ORDER_TIMES if _fits(each, parts, negation)], 0.2)
    parts.when = words_of_adverb(chooser, parts.time)
    parts.where = words_of_adverb(chooser, _place(chooser, verb, "present", subject))
    parts.manner = _choose_manner(chooser, parts, negation)
    parts.how = words_of_adverb(chooser, parts.manner)
    parts.please, parts.opening = bitte if please == "middle" else [], (bitte if please == "front" else [], [])
    de = _in_german_order(parts, "question")
    de += bitte if please == "end" else []
    negator = parts.negator
    helper = [EnglishWord("do", (negator,)), EnglishWord("not", (negator,))] if negator else []
    doing = [EnglishWord(each, [*parts.doing, *subject.de]) for each in verb.base.split()]
    objects = [word for each in parts.objects for word in each.en]
    en = [*([EnglishWord("please", bitte)] if bitte else []), *helper, *doing, *objects, *parts.where[1]]
    en += [*parts.how[1], *parts.when[1], EnglishWord("." if bitte else "!")]
    return Clause(de, en, verb.infinitive, parts.objects)


_ORDERED = [each for each in lex.VERBS if each.traits.isdisjoint(("state", "weather", "only-present"))]
_ORDERED_OF_IHR = [each for each in _ORDERED if not any("person" in kinds.split() for _, kinds in each.takes)]


def choose_matrix_clause(chooser: Chooser) -> Clause:
    """ "I know", "he does not think": the clause before a dass."""
    verb: Verb = chooser.choose(lex.CLAUSE_VERBS)
    parts = Parts(verb, choose_subject(chooser, None, {}))
    if verb.base == "think" and chooser.maybe(0.4):
        parts.nicht = [chooser.word("nicht")]
    choose_german_verbs(chooser, parts)
    de = [*parts.subject.de, parts.finite, *parts.nicht]
    return Clause(de, [*parts.subject.en, *english_verbs(parts)], verb.infinitive, [parts.subject])
