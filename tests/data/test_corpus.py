"""A corpus, and the ids that a model reads."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.data import CORPORA, TOY, Batch, encode_pairs
from transformer.data.vocabulary import fold


def ids(batch: Batch) -> list[list[list[int]]]:
    return [batch.src.tolist(), batch.tgt_in.tolist(), batch.tgt_out.tolist()]


def test_the_toys_ids_are_those_of_the_table(toy_data: Batch) -> None:
    assert ids(toy_data) == [
        [[1, 2, 3, 4, 0], [1, 2, 3, 5, 0]],
        [[6, 1, 2, 3, 4, 8], [6, 1, 2, 3, 5, 8]],
        [[1, 2, 3, 4, 8, 7], [1, 2, 3, 5, 8, 7]],
    ]
    assert (len(toy_data), toy_data.target_length) == (2, 6)
    assert ids(toy_data.rows(torch.tensor([1]))) == [[rows[1]] for rows in ids(toy_data)]


def test_the_registry_goes_by_name_and_generates_no_pairs_before_they_are_needed() -> None:
    assert {name: corpus.name for name, corpus in CORPORA.items()} == {"toy": "toy", "classroom": "classroom"}
    assert CORPORA["toy"] is TOY
    lazy = replace(TOY, load=lambda: pytest.fail("not needed yet"))
    assert lazy.size == len(TOY.pairs)
    assert lazy.find("ich mochte ein bier")


def test_what_the_page_shows_of_the_toy_is_of_its_own_sentences() -> None:
    for source, target in TOY.pairs:
        pair = TOY.find(source)
        assert pair is not None
        assert (pair.source, pair.target, pair.held_out, fold(pair.spelling)) == (source, target, "", source)
        links = [[source.split()[i] for i in words] for words in pair.gold.sure]
        assert links == [["ich"], ["mochte"], ["ein"], [source.split()[3]], []]
        assert pair.gold.possible == ((),) * 5
    assert TOY.find("ein bier") is None
    assert [fold(example.sentence) for example in TOY.examples] == [source for source, _ in TOY.pairs]
    assert all(example.watch in fold(example.sentence).split() for example in TOY.examples)
    listed = {fold(german): english for words in TOY.words.values() for german, english in words}
    assert (set(listed), set(listed.values())) == (set(TOY.src_vocab.words), set(TOY.tgt_vocab.words) - {"."})
    assert TOY.deciding_words.items() <= {english: german for german, english in listed.items()}.items()


@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        ((), "no sentence pair"),
        ((("wasser", "coke"),), "“wasser”"),
        ((("cola", "water"),), "“water”"),
        ((("ein " * 6, "a"),), "6 words.*source_length .5"),
    ],
)
def test_pairs_that_cannot_be_encoded_are_refused(pairs: tuple[tuple[str, str], ...], named: str) -> None:
    for corpus in (TOY, replace(TOY, pad_source=False)):
        with pytest.raises(ValueError, match=named):
            corpus.batch(pairs)
    with pytest.raises(ValueError, match=named):
        replace(TOY, load=lambda: (pairs, TOY.src_vocab, TOY.tgt_vocab)).batch()


def test_a_target_vocabulary_without_start_and_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no E and no S"):
        replace(TOY, load=lambda: (TOY.pairs, TOY.src_vocab, TOY.src_vocab)).batch()


# Encoding

SOURCES = st.lists(st.sampled_from(TOY.src_vocab.words), min_size=1, max_size=5).map(" ".join)
TARGETS = st.lists(st.sampled_from(TOY.tgt_vocab.words), min_size=1, max_size=7).map(" ".join)
PAIRS = st.lists(st.tuples(SOURCES, TARGETS), min_size=1, max_size=5)


@settings(max_examples=25)
@given(PAIRS, st.integers(0, 8), st.data())
def test_encoded_pairs_are_their_words_and_padding(
    pairs: list[tuple[str, str]], source_length: int, data: st.DataObject
) -> None:
    def row(words: list[int], length: int) -> list[int]:
        return words + [0] * (length - len(words))

    batch = encode_pairs(pairs, TOY.src_vocab, TOY.tgt_vocab, source_length)
    assert batch.src.size(1) == max(source_length, *(len(source.split()) for source, _ in pairs), 0)
    assert batch.tgt_in.shape == batch.tgt_out.shape == (len(pairs), 1 + max(len(t.split()) for _, t in pairs))
    for (source, target), src, tgt_in, tgt_out in zip(pairs, *ids(batch), strict=True):
        words = [TOY.tgt_vocab.ids[word] for word in target.split()]
        assert src == row([TOY.src_vocab.ids[word] for word in source.split()], len(src))
        assert tgt_in == row([6, *words], len(tgt_in))
        assert tgt_out == row([*words, 7], len(tgt_out))
    # Rows of a larger batch, trimmed, are what they would be alone.
    chosen = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=4))
    trimmed = batch.rows(torch.tensor(chosen)).trimmed()
    assert ids(trimmed) == ids(encode_pairs([pairs[i] for i in chosen], TOY.src_vocab, TOY.tgt_vocab))


def test_sources_are_padded_to_the_longest_or_not() -> None:
    assert TOY.batch([("cola bier", "coke")]).src.tolist() == [[5, 4, 0, 0, 0]]
    unpadded = replace(TOY, pad_source=False)
    assert unpadded.batch().src.tolist() == [[1, 2, 3, 4], [1, 2, 3, 5]]
    assert unpadded.batch([("cola bier", "coke")]).src.tolist() == [[5, 4]]


def test_trimming_uses_the_given_padding_id() -> None:
    batch = Batch(*(torch.tensor([[3, 4, 9, 9], [5, 9, 9, 9]]) for _ in range(3)))
    assert batch.trimmed(pad_id=9).src.tolist() == [[3, 4], [5, 9]]
    assert batch.trimmed().src.shape == (2, 4)
