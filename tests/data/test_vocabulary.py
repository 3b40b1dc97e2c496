"""Text and ids: whatever may be typed is folded, known, or refused with a sentence that helps."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transformer import SentenceError, Vocabulary
from transformer.data import TOY
from transformer.data.classroom import lexicon
from transformer.data.vocabulary import SPECIAL, fold

any_text = st.text(st.characters(exclude_categories=()))  # surrogates as well
SOURCE, TARGET = TOY.src_vocab, TOY.tgt_vocab


@given(any_text)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(any_text)
@example("α\u0345\u0301")  # the two marks change places in one form, and lower case makes a letter of the first
def test_what_looks_the_same_folds_to_the_same(text: str) -> None:
    assert fold(unicodedata.normalize("NFC", text)) == fold(text) == fold(unicodedata.normalize("NFD", text))


@given(any_text)
def test_folded_text_is_never_a_special_token(text: str) -> None:
    assert not SPECIAL & set(SOURCE.split(text))
    assert not SPECIAL & set(TARGET.split(text))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    ("typed", "folded"),
    [("Ich möchte", "ich mochte"), ("ÄÖÜ äöü", "aou aou"), ("Straße STRAẞE", "strasse strasse"), ("é", "é")],
)
def test_case_umlauts_and_sharp_s_fold_composed_or_not(typed: str, folded: str, form: str) -> None:
    assert fold(unicodedata.normalize(form, typed)) == folded


def test_the_toys_ids_are_those_of_the_table() -> None:
    assert SOURCE.ids == {"P": 0, "ich": 1, "mochte": 2, "ein": 3, "bier": 4, "cola": 5}
    assert TARGET.ids == {"P": 0, "i": 1, "want": 2, "a": 3, "beer": 4, "coke": 5, "S": 6, "E": 7, ".": 8}
    assert SOURCE.words == ("ich", "mochte", "ein", "bier", "cola")


@given(st.lists(st.sampled_from(TARGET.words), min_size=1))
def test_words_come_back_from_their_ids(words: list[str]) -> None:
    ids = TARGET.encode(" ".join(words))
    assert ids == [TARGET.tokens.index(word) for word in words]
    assert TARGET.decode(ids) == " ".join(words)


def test_decoding_ends_at_e_and_leaves_special_tokens_out() -> None:
    assert TARGET.decode([6, 1, 0, 2, 7, 3]) == "i want"
    assert TARGET.decode([]) == ""


@pytest.mark.parametrize("typed", ["Ich möchte ein Bier", "  ich\tMOCHTE\nein bier ", "„Ich mo\u0308chte ein Bier“!?"])
def test_case_space_and_punctuation_at_the_edges_do_not_matter(typed: str) -> None:
    assert SOURCE.encode(typed) == [1, 2, 3, 4]


def test_punctuation_that_is_a_word_stays() -> None:
    assert TARGET.encode("I want a beer .") == [1, 2, 3, 4, 8]


def refusal(text: str) -> str:
    with pytest.raises(SentenceError) as error:
        SOURCE.encode(text)
    return str(error.value)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "...", "?! „“"])
def test_no_word_at_all_is_refused_with_the_words_to_try(text: str) -> None:
    message = refusal(text)
    assert "no word" in message
    assert all(word in message for word in SOURCE.words)


@pytest.mark.parametrize("text", ["ich mochte ein wein", "Wein", "ich <b>wein</b>", "{{wein}}", "${wein}"])
def test_an_unknown_word_is_named_with_the_known_ones(text: str) -> None:
    message = refusal(text)
    assert "wein" in message
    assert all(word in message for word in SOURCE.words)


@pytest.mark.parametrize("token", sorted(SPECIAL))
def test_special_tokens_cannot_be_typed(token: str) -> None:
    assert f"“{token.lower()}”" in refusal(f"ich {token}")


def test_long_and_many_unknown_words_are_shortened() -> None:
    message = refusal(" ".join(f"{i}{'x' * 1000}" for i in range(50)))
    assert len(message) < 300
    assert "and 47 more" in message


def test_many_known_words_are_shortened() -> None:
    vocabulary = Vocabulary(("P", *(f"wort{i}" for i in range(1000))))
    with pytest.raises(SentenceError, match=r"wort0, .* and 980 more") as error:
        vocabulary.encode("?")
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("char", ["\0", "\x1b", "\x85", "\u200b", "\u202e", "\u00ad", "\ufeff", "\ud800"])
def test_an_invisible_character_is_named_and_not_shown(char: str) -> None:
    message = refusal(f"ich {char}mochte")
    assert f"U+{ord(char):04X}" in message
    assert char not in message


@given(any_text)
def test_any_text_becomes_ids_or_a_short_sentence(text: str) -> None:
    outcome: list[int] | str
    try:
        outcome = SOURCE.encode(text)
    except SentenceError as error:
        outcome = str(error)
    assert 0 < len(outcome) < 300
    assert isinstance(outcome, str) or all(0 < i < len(SOURCE) for i in outcome)


@pytest.mark.parametrize(
    "tokens", [(), ("ich", "P"), ("P", "ich", "ich"), ("P", ""), ("P", "two words"), ("P", " ich"), ("P", 3)]
)
def test_a_vocabulary_holds_padding_and_then_every_word_once(tokens: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"vocabulary|not a word"):
        Vocabulary(tokens)


@pytest.mark.parametrize("text", ["Bïer", "ïch", "mochtë"])
def test_only_german_umlauts_are_folded(text: str) -> None:
    assert "I don't know" in refusal(text)


@pytest.mark.parametrize("text", ["ich – bier", "¿ich bier?", "‹ich› - bier", "ich\u00a0bier", "ich\tbier\n"])
def test_punctuation_and_any_space_between_words_do_not_matter(text: str) -> None:
    assert SOURCE.encode(text) == [1, 4]


@pytest.mark.parametrize("char", ["\u3164", "\ufe0f", "\u115f"])
def test_a_letter_that_shows_nothing_is_invisible_too(char: str) -> None:
    assert "invisible" in refusal(f"ich{char}")


# A vocabulary that is too large to be listed names the nearest words


def words(count: int) -> Vocabulary:
    return Vocabulary(("P", *(f"wort{i:03}" for i in range(count))))


GERMAN = Vocabulary(("P", *sorted({form for each in (*lexicon.NOUNS, *lexicon.VERBS) for form in each.forms})))


def german_refusal(text: str) -> str:
    with pytest.raises(SentenceError) as error:
        GERMAN.encode(text)
    return str(error.value)


@pytest.mark.parametrize(
    ("typed", "near"),
    [("hunt", "hund"), ("Kaze", "katze"), ("trinkn", "trinken"), ("zeitug", "zeitung"), ("MÄNER", "manner")],
)
def test_the_nearest_words_of_a_large_vocabulary_are_named(typed: str, near: str) -> None:
    message = german_refusal(typed)
    assert f"“{typed.lower().replace('ä', 'a')}”" in message
    _, _, offered = message.partition("The nearest that this model knows: ")
    assert near in offered.rstrip(".").split(", ")
    assert set(offered.rstrip(".").split(", ")) <= set(GERMAN.words)
    assert len(offered.split(", ")) <= 3


def test_every_unknown_word_has_its_own_nearest_and_none_is_named_twice() -> None:
    _, _, offered = german_refusal("kaze hunt kaze hunnd zeitug").partition(": ")
    near = offered.rstrip(".").split(", ")
    assert {"katze", "hund"} <= set(near)
    assert len(near) == len(set(near))
    assert "zeitung" not in near  # the fourth word that is not known: three are named, and three are helped


def test_a_word_that_is_near_none_is_told_some_words() -> None:
    message = german_refusal("qqqqqqqq")
    assert "nearest" not in message
    assert all(word in message for word in GERMAN.words[:10])
    assert f"and {len(GERMAN.words) - 10} more" in message


@pytest.mark.parametrize(("count", "lists"), [(1, True), (20, True), (21, False)])
def test_a_vocabulary_of_twenty_words_is_listed_whole(count: int, lists: bool) -> None:
    with pytest.raises(SentenceError) as error:
        words(count).encode("wort0000")
    assert ("nearest" not in str(error.value)) is lists
    assert all(word in str(error.value) for word in words(count).words) is lists


def test_of_a_word_however_long_only_the_beginning_is_compared() -> None:
    """Comparing takes time with the square of the length: this is what keeps 500 characters quick."""
    long_word = "ab" * 20
    vocabulary = Vocabulary((*words(30).tokens, long_word))
    for rest in ("x", "x" * 400, "x" * 100_000):
        with pytest.raises(SentenceError, match=f"nearest that this model knows: {long_word}") as error:
            vocabulary.encode(long_word + rest)
        assert len(str(error.value)) < 300
    with pytest.raises(SentenceError) as error:
        vocabulary.encode("x" + long_word * 100)
    assert len(str(error.value)) < 300


@given(any_text | st.lists(st.text("abdehiknrtuz", min_size=1, max_size=9), max_size=8).map(" ".join))
def test_any_text_becomes_ids_of_a_large_vocabulary_or_a_short_sentence(text: str) -> None:
    outcome: list[int] | str
    try:
        outcome = GERMAN.encode(text)
    except SentenceError as error:
        outcome = str(error)
    assert 0 < len(outcome) < 400
    if isinstance(outcome, str):
        assert outcome.isprintable()
        assert outcome.endswith(".")
    else:
        assert all(0 < i < len(GERMAN) for i in outcome)


def test_chinese_and_japanese_are_read_a_character_at_a_time() -> None:
    assert fold("我想喝啤酒。").split() == ["我", "想", "喝", "啤", "酒", "。"]
    assert fold("ビールが ほしい").split() == list("ビールがほしい")
    assert fold(fold("我喝tee，他喝Bier")) == fold("我喝tee，他喝Bier")
    vocab = Vocabulary(("P", "我", "喝", "水"))
    assert vocab.encode("我喝水。") == [1, 2, 3]
