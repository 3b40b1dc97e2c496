"""Pieces make words: which, and what the attention between them is."""

import numpy as np
import pytest

from transformer import Translator
from transformer.inference.attention_maps import AttentionMap
from transformer.inference.words import TokenWords, map_of_words, words_of


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("▁Donau dampf schiff ▁fährt . E", "Donaudampfschiff fährt . E"),
        ("▁Ja ▁( oder ▁ „ nein “) ...", "Ja ( oder „ nein “)..."),
        ("▁U - Bahn ▁3 . 5 ▁don ' t", "U-Bahn 3.5 don't"),
        ("▁我 想要 一杯 Bier 。 E", "我 想要 一杯 Bier 。 E"),
        ("S >>fr<< ▁P E", "S >>fr<< “P” E"),
        ("▁ ▁... P P", "▁ ... P P"),
        ("▁P “S” “E” ▁ “E” E", "PSE “E” E"),
    ],
)
def test_words_are_what_spaces_and_punctuation_part(pieces: str, words: str) -> None:
    tokens = pieces.split()
    found = words_of(tokens)
    assert list(found.names) == words.split()
    assert [*found.of] == sorted(found.of)
    assert sorted({*found.of}) == list(range(len(found.names)))


def test_an_unknown_piece_has_the_text_that_was_typed() -> None:
    assert words_of(("▁B", "<unk>", "r", "P"), ("▁B", "ïé", "r", "P")).names == ("Bïér", "P")
    assert words_of(("“P”",), ("P",)).names == ("“P”",)


def test_attention_to_a_word_is_the_sum_and_from_a_word_the_mean() -> None:
    weights = np.array([[[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]], np.float32)
    pieces = AttentionMap("cross", 3, ("a", "b"), ("c", "d", "e"), weights, np.array([[True, True, True]] * 2))
    ab, c_de = TokenWords((0, 0), ("ab",)), TokenWords((0, 1, 1), ("c", "de"))
    found = map_of_words(pieces, ab, c_de)
    np.testing.assert_allclose(found.weights, [[[0.3, 0.7]]], atol=1e-5)
    assert (found.kind, found.layer, found.query_tokens, found.key_tokens) == ("cross", 3, ("ab",), ("c", "de"))


def test_a_cell_of_words_is_open_where_one_of_their_pieces_is() -> None:
    causal = np.tril(np.ones((3, 3), bool))
    weights = (causal / causal.sum(axis=1, keepdims=True))[None].astype(np.float32)
    names = ("a", "b", "c")
    words = TokenWords((0, 1, 1), ("a", "bc"))
    found = map_of_words(AttentionMap("decoder", 0, names, names, weights, causal), words, words)
    assert found.allowed.tolist() == [[True, False], [True, True]]
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-5)


def test_words_of_a_model_of_words_are_its_tokens(toy: Translator) -> None:
    run = toy.translate("Ich möchte ein Bier")
    assert [each.names for each in run.words()] == [run.source, run.decoder_input, run.output]
    assert run.table(words=True).equals(run.table())
