"""A corpus as the ids that a model reads."""

from dataclasses import replace

import pytest
import torch

from transformer.corpus import CORPORA, TOY, Batch


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


def test_every_corpus_goes_by_its_name_and_its_telling_words_are_words() -> None:
    assert CORPORA["toy"] is TOY
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert set(corpus.telling_words) <= set(corpus.tgt_vocab.words)
        assert set(corpus.telling_words.values()) <= set(corpus.src_vocab.words)


def test_other_pairs_in_its_words_become_a_batch() -> None:
    batch = TOY.batch([("cola bier", "coke")])
    assert batch.src.tolist() == [[5, 4, 0, 0, 0]]
    assert (batch.tgt_in.tolist(), batch.tgt_out.tolist()) == ([[6, 5]], [[5, 7]])


@pytest.mark.parametrize(
    ("pairs", "named"),
    [((), "no sentence pair"), ((("wasser", "water"),), "wasser"), ((("ein " * 6, "a"),), "6 words.*source_length .5")],
)
def test_pairs_that_cannot_be_read_are_refused(pairs: tuple[tuple[str, str], ...], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        TOY.batch(pairs)
    with pytest.raises(ValueError, match=named):
        replace(TOY, pairs=pairs)


def test_a_target_vocabulary_without_start_and_end_is_refused() -> None:
    with pytest.raises(ValueError, match="no E and no S"):
        replace(TOY, tgt_vocab=TOY.src_vocab)
