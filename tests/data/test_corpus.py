"""A corpus as the ids that a model reads."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer import SentenceError
from transformer.data import CORPORA, MATERIALS, TOY, Batch, classroom_corpus, encode_pairs
from transformer.data.corpus import padded
from transformer.data.vocabulary import fold


def test_the_toys_ids_are_those_of_the_table(toy_data: Batch) -> None:
    assert toy_data.src.tolist() == [[1, 2, 3, 4, 0], [1, 2, 3, 5, 0]]
    assert toy_data.tgt_in.tolist() == [[6, 1, 2, 3, 4, 8], [6, 1, 2, 3, 5, 8]]
    assert toy_data.tgt_out.tolist() == [[1, 2, 3, 4, 8, 7], [1, 2, 3, 5, 8, 7]]


def test_row_t_of_the_decoder_input_predicts_id_t_of_the_target(toy_data: Batch) -> None:
    assert torch.equal(toy_data.tgt_in[:, 1:], toy_data.tgt_out[:, :-1])


def test_rows_of_a_batch_are_a_batch(toy_data: Batch) -> None:
    one = toy_data.rows(torch.tensor([1]))
    assert (len(toy_data), len(one)) == (2, 1)
    assert one.src.tolist() == [[1, 2, 3, 5, 0]]
    assert one.tgt_in.tolist() == [[6, 1, 2, 3, 5, 8]]
    assert one.tgt_out.tolist() == [[1, 2, 3, 5, 8, 7]]


def test_every_corpus_goes_by_its_name_and_is_made_when_asked_for() -> None:
    """The classroom takes seconds to make, so it is not asked here."""
    assert list(CORPORA) == list(MATERIALS) == ["toy", "classroom"]
    assert CORPORA["toy"]() is TOY
    assert CORPORA["classroom"] is classroom_corpus
    assert TOY.name == "toy"
    assert TOY.material is MATERIALS["toy"]


def test_telling_words_are_words() -> None:
    assert set(TOY.telling_words) <= set(TOY.tgt_vocab.words)
    assert set(TOY.telling_words.values()) <= set(TOY.src_vocab.words)


def test_the_toys_material_is_of_its_own_sentences() -> None:
    for source, target in TOY.pairs:
        pair = TOY.material.read(source)
        assert pair is not None
        assert (pair.source, pair.target, pair.held_out) == (source, target, "")
        assert fold(pair.spelling) == source
        links = [[source.split()[i] for i in words] for words in pair.gold.sure]
        assert links == [["ich"], ["mochte"], ["ein"], [source.split()[3]], []]
        assert pair.gold.possible == ((),) * 5
    assert TOY.material.read("ein bier") is None
    assert [fold(example.sentence) for example in TOY.material.examples] == [source for source, _ in TOY.pairs]
    assert all(example.watch in fold(example.sentence).split() for example in TOY.material.examples)
    listed = {fold(german): english for words in TOY.material.words.values() for german, english in words}
    assert (set(listed), set(listed.values())) == (set(TOY.src_vocab.words), set(TOY.tgt_vocab.words) - {"."})


def test_other_pairs_in_its_words_become_a_batch() -> None:
    batch = TOY.batch([("cola bier", "coke")])
    assert batch.src.tolist() == [[5, 4, 0, 0, 0]]
    assert (batch.tgt_in.tolist(), batch.tgt_out.tolist()) == ([[6, 5]], [[5, 7]])


@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        ((), "no sentence pair"),
        ((("wasser", "coke"),), "wasser"),
        ((("cola", "water"),), "water"),
        ((("ein " * 6, "a"),), "6 words.*source_length .5"),
    ],
)
def test_pairs_that_cannot_be_read_are_refused(pairs: tuple[tuple[str, str], ...], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        TOY.batch(pairs)
    with pytest.raises(ValueError, match=named):
        replace(TOY, pairs=pairs)


def test_a_target_vocabulary_without_start_and_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no E and no S"):
        replace(TOY, tgt_vocab=TOY.src_vocab)


# Sentences of other lengths

SOURCES = st.lists(st.sampled_from(TOY.src_vocab.words), min_size=1, max_size=5).map(" ".join)
TARGETS = st.lists(st.sampled_from(TOY.tgt_vocab.words), min_size=1, max_size=7).map(" ".join)
PAIRS = st.lists(st.tuples(SOURCES, TARGETS), min_size=1, max_size=5)


def test_a_corpus_need_not_pad_its_sources() -> None:
    bare = replace(TOY, pad_source=False)
    assert bare.batch().src.tolist() == [[1, 2, 3, 4], [1, 2, 3, 5]]
    assert bare.batch([("cola bier", "coke")]).src.tolist() == [[5, 4]]
    assert torch.equal(bare.batch().tgt_in, TOY.batch().tgt_in)
    with pytest.raises(ValueError, match=r"6 words.*source_length .5"):
        bare.batch([("ein " * 6, "a")])


@given(PAIRS, st.integers(0, 8))
def test_encoded_pairs_are_their_words_and_padding(pairs: list[tuple[str, str]], source_length: int) -> None:
    batch = encode_pairs(pairs, TOY.src_vocab, TOY.tgt_vocab, source_length)
    assert batch.src.size(1) == max(source_length, *(len(source.split()) for source, _ in pairs), 0)
    assert batch.tgt_in.shape == batch.tgt_out.shape == (len(pairs), 1 + max(len(t.split()) for _, t in pairs))
    for (source, target), src, tgt_in, tgt_out in zip(pairs, batch.src, batch.tgt_in, batch.tgt_out, strict=True):
        words = [TOY.tgt_vocab.ids[word] for word in target.split()]
        assert src.tolist() == padded_to([TOY.src_vocab.ids[word] for word in source.split()], len(src))
        assert tgt_in.tolist() == padded_to([6, *words], len(tgt_in))
        assert tgt_out.tolist() == padded_to([*words, 7], len(tgt_out))


def padded_to(ids: list[int], length: int) -> list[int]:
    return ids + [0] * (length - len(ids))


@pytest.mark.parametrize(("pair", "named"), [(("wasser", "coke"), "wasser"), (("cola", "water"), "water")])
def test_a_word_that_is_not_known_is_named(pair: tuple[str, str], named: str) -> None:
    with pytest.raises(SentenceError, match=f"“{named}”"):
        encode_pairs([pair], TOY.src_vocab, TOY.tgt_vocab)


def test_rows_are_padded_at_their_ends_to_the_longest_or_longer() -> None:
    assert padded([[1, 2, 3], [4], []]).tolist() == [[1, 2, 3], [4, 0, 0], [0, 0, 0]]
    assert padded([[1, 2], [4]], length=3).tolist() == [[1, 2, 0], [4, 0, 0]]
    assert padded([[1, 2], [4]], length=1).tolist() == [[1, 2], [4, 0]]


@given(PAIRS, st.data())
def test_a_trimmed_batch_is_what_its_rows_would_be_alone(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    """Rows of a larger batch keep no column that only others needed."""
    chosen = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=4))
    rows = encode_pairs(pairs, TOY.src_vocab, TOY.tgt_vocab, source_length=9).rows(torch.tensor(chosen)).trimmed()
    alone = encode_pairs([pairs[i] for i in chosen], TOY.src_vocab, TOY.tgt_vocab)
    for name in ("src", "tgt_in", "tgt_out"):
        assert torch.equal(getattr(rows, name), getattr(alone, name))


def test_trimming_looks_for_the_padding_that_it_is_told() -> None:
    batch = Batch(*(torch.tensor([[3, 4, 9, 9], [5, 9, 9, 9]]) for _ in range(3)))
    assert batch.trimmed(pad_id=9).src.tolist() == [[3, 4], [5, 9]]
    assert batch.trimmed().src.shape == (2, 4)
    assert batch.src.shape == (2, 4)  # the batch itself stays
