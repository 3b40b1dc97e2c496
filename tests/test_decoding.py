"""Greedy decoding on a cache says, step by step, what a full pass over everything said so far would say."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer import Recorder, Step, Transformer, Translator, greedy_batch, greedy_decode
from transformer.corpus import Batch

from .networks import SIZES, agree, network, padded, sentence_pairs

START, END, NEVER = 11, 12, -1
SRC = torch.tensor([[3, 4, 5, 0]])


def saying(*tokens: int) -> Callable[[str, Tensor], Tensor]:
    """A probe that makes the network say these tokens."""
    script = iter(tokens)

    def probe(name: str, value: Tensor) -> Tensor:
        if name != "logits":
            return value
        return torch.zeros_like(value).index_fill(-1, torch.tensor(next(script)), 9.0)

    return probe


def agrees_with_full_passes(model: Transformer, src: Tensor, start: int, steps: list[Step]) -> None:
    read = [start, *(step.token for step in steps[:-1])]
    for t, step in enumerate(steps):
        whole = model(src, torch.tensor([read[: t + 1]]))
        agree(step.distribution, whole.logits[0, -1].softmax(-1))
        agree(step.self_attention, torch.stack([weights[0, :, -1] for weights in whole.attention.decoder]))
        agree(step.cross_attention, torch.stack([weights[0, :, -1] for weights in whole.attention.cross]))
        assert step.token == int(step.distribution.argmax())
        assert step.probability == float(step.distribution[step.token])


@given(
    source=st.lists(st.integers(0, SIZES["src_vocab_size"] - 1), min_size=1, max_size=6),
    seed=st.integers(0, 99),
    norm_first=st.booleans(),
)
def test_every_step_equals_a_full_recomputation(source: list[int], seed: int, norm_first: bool) -> None:
    model, src = network(seed, norm_first=norm_first), torch.tensor([source])
    steps = list(greedy_decode(model, src, START, NEVER, max_steps=6))
    assert len(steps) == 6
    agrees_with_full_passes(model, src, START, steps)


@pytest.mark.parametrize("row", [0, 1])
def test_every_step_of_the_toy_equals_a_full_recomputation(toy: Translator, toy_data: Batch, row: int) -> None:
    model, src = toy.checkpoint.model, toy_data.src[row : row + 1]
    steps = list(greedy_decode(model, src, start_id=6, end_id=7, max_steps=9))
    assert [step.token for step in steps] == toy_data.tgt_out[row].tolist()
    agrees_with_full_passes(model, src, 6, steps)


@pytest.mark.parametrize("script", [(END,), (1, 2, END), (1, 0, START, END)])
def test_it_stops_at_the_end_token(script: tuple[int, ...]) -> None:
    steps = greedy_decode(network(), SRC, START, END, max_steps=9, probe=saying(*script, 1, 1))
    assert [step.token for step in steps] == list(script)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_it_stops_at_the_limit(limit: int) -> None:
    assert len(list(greedy_decode(network(), SRC, START, NEVER, limit))) == limit


@given(
    source=st.lists(st.integers(0, SIZES["src_vocab_size"] - 1), min_size=1, max_size=6),
    forced=st.lists(st.integers(0, SIZES["tgt_vocab_size"] - 1).filter(lambda i: i != END), max_size=6),
    seed=st.integers(0, 99),
)
def test_forced_words_are_said_and_the_rest_is_the_models_own(source: list[int], forced: list[int], seed: int) -> None:
    model, src = network(seed), torch.tensor([source])
    steps = list(greedy_decode(model, src, START, END, max_steps=6, forced=forced))
    said = [step.token for step in steps]
    assert said[: len(forced)] == forced
    whole = model(src, torch.tensor([[START, *said[:-1]]])).logits[0].softmax(-1)  # teacher forcing, in one pass
    for t, (step, distribution) in enumerate(zip(steps, whole, strict=True)):
        agree(step.distribution, distribution)
        assert step.probability == float(step.distribution[step.token])
        if t >= len(forced):
            assert step.token == int(step.distribution.argmax())
    assert len(steps) == 6 or said[-1] == END


def test_forcing_what_the_model_says_anyway_changes_nothing() -> None:
    own = list(greedy_decode(network(), SRC, START, END, max_steps=6))
    for many in range(len(own) + 1):
        forced = [step.token for step in own[:many]]
        for one, two in zip(own, greedy_decode(network(), SRC, START, END, 6, forced=forced), strict=True):
            assert (one.token, one.probability) == (two.token, two.probability)
            for part in ("distribution", "self_attention", "cross_attention"):
                assert torch.equal(getattr(one, part), getattr(two, part))


@pytest.mark.parametrize(("forced", "steps"), [([END], 1), ([1, END, 2], 2), ([1, 2, 3, 4], 3)])
def test_forcing_the_end_ends_it_and_the_limit_stays(forced: list[int], steps: int) -> None:
    said = [step.token for step in greedy_decode(network(), SRC, START, END, max_steps=3, forced=forced)]
    assert said == forced[:steps]


@given(pairs=sentence_pairs(), seed=st.integers(0, 99))
def test_a_batch_says_what_each_sentence_says_alone(pairs: list[tuple[list[int], list[int]]], seed: int) -> None:
    model, sources = network(seed), [source for source, _ in pairs]
    alone = [[s.token for s in greedy_decode(model, torch.tensor([src]), START, END, 12)] for src in sources]
    assert greedy_batch(model, padded(sources), START, END, 12) == alone


def test_a_batch_ends_each_sentence_at_its_own_end_token() -> None:
    """Seed 0: the middle sentence ends early, the others go on."""
    src = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0], [8, 9, 10, 1, 0]])
    recorder = Recorder()
    first, second, third = greedy_batch(network(0), src, START, END, 12, probe=recorder)
    assert first[-1] == second[-1] == third[-1] == END
    assert len(second) < len(first) == len(third) == len(recorder.values["logits"]) < 12


@pytest.mark.parametrize("training", [False, True])
def test_no_dropout_and_no_gradients_whatever_the_mode_which_is_restored(training: bool) -> None:
    expected = list(greedy_decode(network(dropout=0.5), SRC, START, NEVER, 4))
    model = network(dropout=0.5).train(training)
    for step, calm in zip(greedy_decode(model, SRC, START, NEVER, 4), expected, strict=True):
        assert torch.equal(step.distribution, calm.distribution)
        assert not step.distribution.requires_grad
        assert model.training is training  # the caller may train between two steps
        assert not torch.is_inference_mode_enabled()
    batch = greedy_batch(model, SRC, START, NEVER, 4)
    assert batch == [[step.token for step in expected]]
    assert all(module.training is training for module in model.modules())


def test_a_part_that_was_frozen_for_training_stays_frozen() -> None:
    model = network().train()
    model.encoder.eval()
    greedy_batch(model, SRC, START, NEVER, 1)
    assert model.training
    assert not model.encoder.training


def test_the_mode_is_restored_after_an_error_and_after_an_early_end() -> None:
    model = network().train()
    next(greedy_decode(model, SRC, START, NEVER, 4))
    assert model.training
    with pytest.raises(StopIteration):
        greedy_batch(model, SRC, START, NEVER, 4, probe=saying())
    assert model.training


def test_a_part_that_trains_alone_does_not_drop_out_either() -> None:
    model = network(dropout=0.5)
    src = torch.tensor([[3, 4, 5]])
    before = [step.probability for step in greedy_decode(model, src, START, END, 4)]
    model.decoder.train()
    assert [step.probability for step in greedy_decode(model, src, START, END, 4)] == before
    assert model.decoder.training
    assert not model.encoder.training


def test_many_sentences_are_for_greedy_batch() -> None:
    with pytest.raises(ValueError, match=r"2 sentences.*greedy_batch"):
        next(greedy_decode(network(), torch.ones(2, 3, dtype=torch.long), START, END, 4))


def test_what_was_recorded_can_be_trained_on() -> None:
    recorder = Recorder()
    list(greedy_decode(network(), torch.tensor([[3, 4, 5]]), START, END, 4, probe=recorder))
    torch.nn.Linear(16, 1)(recorder.values["encoder.output"][0]).sum().backward()


def test_no_step_says_nothing() -> None:
    assert greedy_batch(network(), torch.ones(2, 3, dtype=torch.long), START, END, max_steps=0) == [[], []]
