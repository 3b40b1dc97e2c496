"""The German verbs of a clause, and the English ones that translate them."""

from collections.abc import Sequence
from dataclasses import dataclass

from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord
from .lexicon import ER, Adjective, Adverb, Modal, Verb
from .phrases import Phrase


@dataclass
class Verbs:
    """The German verbs of a clause: the finite one, and what stands at the clause's end."""

    finite: GermanWord
    end: list[GermanWord]


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
            elif word.text == "not":
                word.sure = (negator,)
            elif word.text in ("do", "does") and word is en[0]:  # "not" needs it, and it has the verb's person
                word.sure, word.possible = (negator,), (verbs.finite,)
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
