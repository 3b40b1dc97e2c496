"""Text and ids: any text is folded and encoded, or refused with a message that helps."""

import unicodedata
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transformer import SentenceError, Vocabulary
from transformer.data import TOY
from transformer.data.classroom import lexicon
from transformer.data.vocabulary import SPECIAL, fold, has_word
from transformer.messages import Listed, Message

any_text = st.text(st.characters(exclude_categories=()))  # surrogates as well
SOURCE, TARGET = TOY.src_vocab, TOY.tgt_vocab
GERMAN = Vocabulary(
    ("P", *sorted({form for each in (*lexicon.NOUNS, *lexicon.VERBS) for form in each.forms})), folds=True
)


def refusal(text: str, vocabulary: Vocabulary = SOURCE) -> Message:
    with pytest.raises(SentenceError) as error:
        vocabulary.encode(text)
    assert len(str(error.value)) < 300
    return error.value.message


# Folding


@given(any_text)
@example("α\u0345\u0301")  # the two marks change places in one form, and lower case makes a letter of the first
def test_folding_is_idempotent_and_the_same_for_text_that_looks_the_same(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(unicodedata.normalize("NFC", text)) == fold(text) == fold(unicodedata.normalize("NFD", text))
    for vocabulary in (SOURCE, TARGET):
        assert not SPECIAL & set(vocabulary.split(text))
    assert has_word(text) is bool(Vocabulary(("P",), folds=True).split(text))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    ("typed", "folded"),
    [("Ich möchte", "ich mochte"), ("ÄÖÜ äöü", "aou aou"), ("Straße STRAẞE", "strasse strasse"), ("é", "é")],
)
def test_case_umlauts_and_sharp_s_fold_composed_or_not(typed: str, folded: str, form: Literal["NFC", "NFD"]) -> None:
    assert fold(unicodedata.normalize(form, typed)) == folded


def test_every_chinese_and_japanese_character_is_a_word() -> None:
    assert fold("我想喝啤酒。").split() == ["我", "想", "喝", "啤", "酒", "。"]
    assert fold("ビールが ほしい").split() == list("ビールがほしい")
    assert Vocabulary(("P", "我", "喝", "水"), folds=True).encode("我喝水。") == [1, 2, 3]


# Ids


@given(st.lists(st.sampled_from(TARGET.words), min_size=1))
def test_words_come_back_from_their_ids(words: list[str]) -> None:
    ids = TARGET.encode(" ".join(words))
    assert ids == [TARGET.tokens.index(word) for word in words]
    assert TARGET.decode([6, *ids[:1], 0, *ids[1:], 7, 3]) == " ".join(words)  # special tokens are dropped


@pytest.mark.parametrize(
    "typed",
    [
        "Ich möchte ein Bier",
        "  ich\tMOCHTE\nein bier ",
        "„Ich mo\u0308chte ein Bier“!?",
        "‹ich› – mochte\u00a0¿ein - bier",
    ],
)
def test_case_space_and_punctuation_do_not_matter(typed: str) -> None:
    assert SOURCE.encode(typed) == [1, 2, 3, 4]
    assert TARGET.encode("I want a beer .") == [1, 2, 3, 4, 8]  # here punctuation is a word


UMLAUTS = Vocabulary(("P", "schon", "schön", "möchte", "größe", "Masse", "Maße", "Sie", "sie", "Ich", "drücken"), True)


@pytest.mark.parametrize(
    ("typed", "token"),
    [
        *((word, word) for word in UMLAUTS.words),
        *(("Schon", "schon"), ("SCHÖN", "schön"), ("scho\u0308n", "schön"), ("schoen", "schön"), ("„Schön“!", "schön")),
        *(("mochte", "möchte"), ("Moechte", "möchte"), ("grosse", "größe"), ("Groesse", "größe"), ("GRÖSSE", "größe")),
        *(("masse", "Masse"), ("maße", "Maße"), ("SIE", "sie"), ("ich", "Ich"), ("drucken", "drücken")),
        *((word, None) for word in ("schün", "Ïch", "mächte", "ıch")),
    ],
)
def test_a_word_is_read_by_its_letters_and_else_by_the_only_word_that_it_can_mean(
    typed: str, token: str | None
) -> None:
    ((_, read),) = UMLAUTS.read(typed)
    assert read == token


def test_a_phones_apostrophe_is_a_keyboards_where_no_word_has_it() -> None:
    assert Vocabulary(("P", "geht's"), folds=True).read("Geht’s?") == [("Geht’s", "geht's")]
    assert Vocabulary(("P", "geht’s", "geht's"), folds=True).encode("Geht’s geht's") == [1, 2]


def test_words_are_read_as_they_were_typed() -> None:
    typed, read = zip(*SOURCE.read("„Ich möchte, ein BIER!“"), strict=True)
    assert (typed, read) == (("Ich", "möchte", "ein", "BIER"), ("ich", "mochte", "ein", "bier"))
    assert TARGET.read("A coke?.") == [("A", "a"), ("coke", "coke"), (".", ".")]


@pytest.mark.parametrize(
    "tokens", [(), ("ich", "P"), ("P", "ich", "ich"), ("P", ""), ("P", "two words"), ("P", " ich"), ("P", 3), "PSE"]
)
def test_a_vocabulary_holds_padding_and_then_every_word_once(tokens: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"vocabulary|not a word"):
        Vocabulary(tokens)


def test_an_id_out_of_range_is_refused() -> None:
    for i in (-1, 9):
        with pytest.raises(ValueError, match=f"id {i} is not in a vocabulary of 9 tokens"):
            TARGET.decode([1, i])


def test_a_vocabulary_folds_only_where_it_was_told_to() -> None:
    vocabulary = Vocabulary(("P", "S", "E", "Straße", "strasse", "Ich", "Bier!", "e\u0301", "我喝"))
    assert vocabulary.encode(" Ich Straße\tstrasse\nBier! e\u0301 我喝") == [5, 3, 4, 6, 7, 8]
    assert refusal("STRASSE Bier (Ich) \xe9 我 P S E", vocabulary).values["unknown"].rest == 5
    assert Vocabulary(vocabulary.tokens, folds=True).encode("STRASSE") == [4]
    with pytest.raises(ValueError, match="folds"):
        Vocabulary(("P",), folds="no")  # type: ignore[arg-type]


# Tokenizers


class Characters:
    """Cuts a text into characters, as their places in the alphabet."""

    alphabet = " .DEPSadeksätz"

    def encode(self, text: str) -> list[int]:
        return [self.alphabet.index(char) for char in text]

    def decode(self, ids: list[int]) -> str:
        return "".join(self.alphabet[i] for i in ids)


class EncodedCharacters(Characters):
    """As a tokenizer of the tokenizers library answers."""

    def encode(self, text: str) -> Any:
        return SimpleNamespace(ids=super().encode(text))


class Letters:
    """Its tokens are strings, not ids."""

    encode = list
    decode = "".join


@pytest.mark.parametrize("tokenizer", [Characters(), EncodedCharacters(), Letters()])
def test_a_tokenizer_cuts_and_joins_as_it_does_alone(tokenizer: Any) -> None:
    vocabulary = Vocabulary.of_pieces(Characters.alphabet, tokenizer)
    ids = vocabulary.encode("SPäzE  Ded.")
    assert ids == [3 + Characters.alphabet.index(char) for char in "SPäzE  Ded."]
    assert [vocabulary.tokens[i] for i in ids[:6]] == ["“S”", "“P”", "ä", "z", "“E”", " "]
    assert vocabulary.decode([1, *ids, 0, 2, 5]) == "SPäzE  Ded."
    assert refusal("", vocabulary).key == "error.empty"
    source = Vocabulary(("P", *vocabulary.words), tokenizer=tokenizer)  # its padding alone is special
    assert source.encode("ad") == [i - 2 for i in vocabulary.encode("ad")]
    assert Vocabulary(vocabulary.tokens, folds=True, tokenizer=tokenizer).decode(vocabulary.encode("ad")) == "ad"


def test_a_tokenizers_id_without_a_word_is_refused() -> None:
    with pytest.raises(ValueError, match="the tokenizer gives id 12, but the vocabulary has 3 words"):
        Vocabulary.of_pieces("abc", Characters()).encode("t")
    assert refusal("xa", Vocabulary.of_pieces("abc", Letters())).values["unknown"].shown == ("“x”",)


# Refusals


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "...", "?! „“"])
def test_a_text_without_a_word_is_refused_with_words_to_try(text: str) -> None:
    assert refusal(text) == Message("error.empty", {"known": Listed(SOURCE.words)})


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("ich mochte ein wein, Wein", "“wein”"),
        ("ich <b>wein</b>", "“<b>wein</b>”"),
        ("${wein}", "“${wein}”"),
        ("Bïer", "“Bïer”"),  # only German umlauts fold
        *((f"ich {token}", f"“{token}”") for token in sorted(SPECIAL)),
    ],
)
def test_an_unknown_word_is_named_with_the_known_ones(text: str, unknown: str) -> None:
    assert refusal(text) == Message("error.unknown", {"unknown": Listed((unknown,)), "known": Listed(SOURCE.words)})


@pytest.mark.parametrize(
    "char", ["\0", "\x1b", "\x85", "\u200b", "\u202e", "\u00ad", "\ufeff", "\ud800", "\u3164", "\ufe0f", "\u115f"]
)
def test_an_invisible_character_is_named_by_its_code(char: str) -> None:
    assert refusal(f"ich {char}mochte") == Message("error.invisible", {"code": f"U+{ord(char):04X}"})


def test_long_and_many_words_are_shortened() -> None:
    unknown = refusal(" ".join(f"{i}{'x' * 1000}" for i in range(50))).values["unknown"]
    assert (len(unknown.shown), unknown.rest) == (3, 47)


def test_a_large_vocabulary_suggests_the_nearest_of_the_first_three_unknown_words() -> None:
    for typed, near in (("Kaze", "katze"), ("trinkn", "trinken"), ("MÄNER", "männer")):
        message = refusal(typed, GERMAN)
        assert (message.key, message.values["unknown"].shown) == ("error.unknown_near", (f"“{typed}”",))
        assert near in message.values["near"].shown
        assert len(message.values["near"].shown) <= 3
    several = refusal("kaze hunt kaze hunnd zeitug", GERMAN).values["near"].shown
    assert {"katze", "hund"} <= set(several) <= set(GERMAN.words) - {"zeitung"}
    assert len(several) == len(set(several))
    far = refusal("qqqqqqqq", GERMAN)
    assert (far.key, far.values["known"]) == ("error.unknown", Listed(GERMAN.words[:10], len(GERMAN.words) - 10))


def test_a_vocabulary_of_twenty_words_is_listed_in_full() -> None:
    words = [f"wort{i:03}" for i in range(1000)]
    small, large = (refusal("wort0000", Vocabulary(("P", *words[:count]))) for count in (20, 21))
    assert (small.key, small.values["known"]) == ("error.unknown", Listed(tuple(words[:20])))
    assert large.key == "error.unknown_near"
    assert refusal("?", Vocabulary(("P", *words), folds=True)).values["known"] == Listed(tuple(words[:20]), 980)


def test_only_the_beginning_of_a_long_word_is_compared() -> None:
    """Comparing takes time with the square of the length."""
    long_word = "ab" * 20
    vocabulary = Vocabulary((*GERMAN.tokens, long_word))
    for rest in ("x", "x" * 400, "x" * 100_000):
        assert long_word in refusal(long_word + rest, vocabulary).values["near"].shown
    refusal("x" + long_word * 100, vocabulary)


@given(any_text | st.lists(st.text("abdehiknrtuz", min_size=1, max_size=9), max_size=8).map(" ".join))
def test_any_text_becomes_ids_or_a_short_visible_sentence(text: str) -> None:
    for vocabulary in (SOURCE, GERMAN):
        outcome: list[int] | str
        try:
            outcome = vocabulary.encode(text)
        except SentenceError as error:
            outcome = str(error)
        assert 0 < len(outcome) < 400
        if isinstance(outcome, str):
            assert outcome.isprintable()
        else:
            assert all(0 < i < len(vocabulary) for i in outcome)
