"""What a clause says, and its verbs: the German ones, and the English ones that translate them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from ..vocabulary import lower
from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord
from .lexicon import ER, Adjective, Adverb, Modal, Verb
from .phrases import Phrase

Adverbial = tuple[list[GermanWord], list[EnglishWord]]


@dataclass
class Parts:
    """The chosen content of a clause and its adverbials in both languages, not yet in order."""

    verb: Verb
    subject: Phrase
    predicate: Adjective | None = None
    tense: str = "present"
    asked: Adverb | None = None  # the question word
    is_question: bool = False
    is_subordinate: bool = False
    is_past: bool = False  # "was", not "is"
    modal: Modal | None = None
    finite: GermanWord = field(init=False)
    end: list[GermanWord] = field(init=False)  # the verb that ends the clause
    opening: Adverbial = ([], [])  # the question word, or the bitte of an order
    objects: list[Phrase] = field(default_factory=list)
    time: Adverb | None = None
    nicht: list[GermanWord] = field(default_factory=list)
    when: Adverbial = ([], [])
    how: Adverbial = ([], [])
    often: Adverbial = ([], [])
    manner: Adverb | None = None
    gladly: list[GermanWord] = field(default_factory=list)
    please: list[GermanWord] = field(default_factory=list)
    where: Adverbial = ([], [])
    is_place_early: bool = False  # "hier nicht"
    very: Adverbial = ([], [])
    second_predicate: Adjective | None = None  # "müde und krank"
    link: Adverbial = ([], [])  # before it
    companion: Phrase | None = None

    @property
    def is_inverted(self) -> bool:
        return self.is_question and self.asked is not lex.WHO

    @property
    def is_third(self) -> bool:
        """Whether the English verb is in the third person singular."""
        return self.subject.person == ER

    @property
    def negator(self) -> GermanWord | None:
        return next((each.kein for each in self.objects if each.kein), None) or next(iter(self.nicht), None)

    @property
    def is_denied_in_general(self) -> bool:
        """Who eats no meat never does: "does not eat meat", not "is not eating any"."""
        is_general = self.verb.objects in ("drink", "food") or "only-present" in self.verb.traits
        return self.tense == "present" and is_general and any(each.kein for each in self.objects)

    @property
    def doing(self) -> list[GermanWord]:
        """All German verbs."""
        return [self.finite, *self.end]


@cache
def words_of_verbs(verb: Verb, tense: str) -> list[frozenset[str]]:
    """What each German verb of a clause may be, in lower case."""
    if tense == "perfect":
        verbs = [lex.AUXILIARIES[verb.auxiliary], (verb.participle,)]
    elif tense in ("modal", "wish"):
        modals = tuple(form for each in (*lex.MODALS, *lex.WISH_MODALS) for form in each.spellings())
        verbs = [modals, (verb.infinitive,)] if tense == "modal" else [modals]
    elif verb is lex.COPULA:
        verbs = [(*lex.AUXILIARIES["sein"], *lex.WAS)]
    else:
        verbs = [tuple(before + verb.present(person) for before in ("", verb.particle) for person in range(5))]
    return [frozenset(map(lower, each)) for each in verbs]


def choose_german_verbs(chooser: Chooser, parts: Parts) -> None:
    """Chosen before objects and adverbs, so that parsing fails early. A particle ends a main clause."""
    verb, person = parts.verb, parts.subject.person
    if parts.modal:
        finite, end = parts.modal.spellings()[person], "" if verb is lex.WISH_VERB else verb.infinitive
    elif parts.tense == "perfect":
        finite, end = lex.AUXILIARIES[verb.auxiliary][person], verb.participle
    elif verb is lex.COPULA:
        finite = (lex.WAS if parts.is_past else lex.AUXILIARIES["sein"])[person]
        end = parts.predicate.base if parts.predicate else ""
    elif parts.is_subordinate:
        finite, end = verb.particle + verb.present(person), ""
    else:
        finite, end = verb.present(person), verb.particle
    parts.finite = chooser.word(finite)
    parts.end = [chooser.word(end)] if end else []
    if parts.is_inverted and parts.subject.stands_first:
        chooser.together([parts.finite, *parts.subject.de])


def english_verbs(parts: Parts) -> list[EnglishWord]:
    """The verbs, with their "not" and what follows "is"."""
    if parts.verb is lex.COPULA:
        described: list[EnglishWord] = []
        if parts.predicate:
            described = [*parts.very[1], *_words(parts.predicate.english, parts.end[:1])]
        if parts.second_predicate:
            described += [*parts.link[1], *_words(parts.second_predicate.english, parts.end[-1:])]
        return [EnglishWord(_be(parts), (parts.finite,)), *_not(parts), *described]
    if parts.modal:
        return _modal(parts, parts.modal)
    if parts.tense == "perfect":
        return _perfect(parts)
    return _liking(parts) if parts.gladly else _present(parts)


def _modal(parts: Parts, modal: Modal) -> list[EnglishWord]:
    """ "can drink", "does not want to drink"; without a second verb "would like". In a question the helper is first."""
    number, negator = -1 if parts.is_third else 0, parts.negator
    if parts.is_inverted and modal.english.startswith(("want", "have", "had")):
        do, wants = modal.negated.replace("not ", "").split("/")[number].split(maxsplit=1)
        en = [EnglishWord(do), *_not(parts), *_words(wants, [parts.finite])]
    elif parts.is_inverted:
        helper, *others = _words(modal.english.split("/")[number], [parts.finite])
        en = [helper, *_not(parts), *others]
    else:
        en = _words((modal.negated if negator else modal.english).split("/")[number], [parts.finite])
        for word in en:
            if negator and word.text == "cannot":
                word.sure = (parts.finite, negator)
            elif negator and word.text == "not":
                word.sure = (negator,)
            elif (
                negator and word.text in ("do", "does", "did") and word is en[0]
            ):  # "not" needs it, with the verb's person
                word.sure, word.possible = (negator,), (parts.finite,)
    if not parts.end:
        return en
    if en[-1].text == "to":  # it may belong to "want" or to "drink"
        en[-1] = EnglishWord("to", (), parts.doing)
    return [*en, *_words(parts.verb.base, parts.end)]


def _perfect(parts: Parts) -> list[EnglishWord]:
    """ "has drunk"; with a time that has passed "drank", which the German auxiliary is a possible link of."""
    verb, negator, auxiliary = parts.verb, parts.negator, (parts.finite,)
    if parts.time not in lex.BEFORE and parts.asked not in (lex.WHERE, *lex.WHENS):
        have = EnglishWord("has" if parts.is_third else "have", auxiliary)
        return [have, *_not(parts), *_words(verb.past_participle, parts.end)]
    if negator:
        return [EnglishWord("did", (negator,), auxiliary), *_not(parts), *_words(verb.base, parts.end)]
    if parts.is_inverted:
        return [EnglishWord("did"), *_words(verb.base, parts.end, auxiliary)]
    return _words(verb.past, parts.end, auxiliary)


def _present(parts: Parts) -> list[EnglishWord]:
    """ "is drinking", "drinks", "does not drink"; with tomorrow or later "will drink"."""
    verb, negator, doing = parts.verb, parts.negator, parts.doing
    if parts.time in lex.LATER:
        return [EnglishWord("will", (), [*doing, *parts.when[0]]), *_not(parts), *_words(verb.base, doing)]
    # Without a habit, the present is this moment.
    is_habit = any("habit" in each.traits for each in (parts.time, parts.manner) if each)
    if "no-progressive" not in verb.traits and not is_habit and not parts.is_denied_in_general:
        return [EnglishWord(_be(parts), (), doing), *_not(parts), *_words(verb.progressive, doing)]
    if negator or parts.is_inverted:
        return [_do(parts, negator), *_not(parts), *_words(verb.base, doing)]
    return _words(verb.third if parts.is_third else verb.base, doing)


def _liking(parts: Parts) -> list[EnglishWord]:
    """ "likes to drink", "prefers to drink" """
    do = [_do(parts, parts.negator), *_not(parts)] if parts.is_inverted or parts.negator else []
    like = EnglishWord("like" if parts.time is lex.GLADLY else "prefer", parts.gladly)
    like.text += "s" if parts.is_third and not do else ""
    return [*do, like, EnglishWord("to", (), [*parts.gladly, *parts.doing]), *_words(parts.verb.base, parts.doing)]


def _do(parts: Parts, negator: GermanWord | None) -> EnglishWord:
    text = "does" if parts.is_third else "do"
    return EnglishWord(text, (negator,)) if negator else EnglishWord(text)  # a question's translates nothing


def _words(words: str, sure: Sequence[GermanWord], possible: Sequence[GermanWord] = ()) -> list[EnglishWord]:
    return [EnglishWord(text, sure, possible) for text in words.split()]


def _be(parts: Parts) -> str:
    forms = ("was", "was", "were", "were", "were") if parts.is_past else ("am", "is", "are", "are", "are")
    return forms[parts.subject.person]


def _not(parts: Parts) -> list[EnglishWord]:
    return [EnglishWord("not", (parts.negator,))] if parts.negator else []
