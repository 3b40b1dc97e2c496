"""Decoding with a cache equals full recomputation; beam search equals brute force; samples follow the distribution."""

import itertools
import math
from collections import Counter
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from transformer import Transformer, greedy_batch, greedy_decode
from transformer.inference.decoding import Sampling, beam_search, decode, length_penalty, output_of

from ..networks import SIZES, agree, is_clear, network, padded, sentence_pairs

shared_network = cache(network)  # for tests that leave it as it is
START, END, NEVER = 11, 12, -1
SRC = torch.tensor([[3, 4, 5, 0]])


@settings(max_examples=15)
@given(
    source=st.lists(st.integers(0, SIZES["src_vocab_size"] - 1), min_size=1, max_size=6),
    forced=st.lists(st.none() | st.integers(0, SIZES["tgt_vocab_size"] - 1), max_size=6),
    seed=st.integers(0, 4),
    norm_first=st.booleans(),
    use_cache=st.booleans(),
)
def test_every_step_equals_a_full_recomputation(
    source: list[int], forced: list[int | None], seed: int, norm_first: bool, use_cache: bool
) -> None:
    """From the cache or without it, greedy or forced."""
    model, src = shared_network(seed, norm_first=norm_first), torch.tensor([source])
    steps = list(decode(model, src, START, END, 6, forced=forced, use_cache=use_cache))
    assert len(steps) == 6 or steps[-1].token == END
    read = [START]
    for t, (step, word) in enumerate(itertools.zip_longest(steps, forced[: len(steps)])):
        whole = model(src, torch.tensor([read]))
        agree(step.distribution, whole.logits[0, -1].softmax(-1))
        agree(step.self_attention, torch.stack([weights[0, :, -1] for weights in whole.attention.decoder]))
        agree(step.cross_attention, torch.stack([weights[0, :, -1] for weights in whole.attention.cross]))
        assert step.token == (int(step.distribution.argmax()) if word is None else word), t
        assert step.probability == float(step.distribution[step.token])
        read.append(step.token)


@settings(max_examples=10)
@given(pairs=sentence_pairs(), seed=st.integers(0, 4))
def test_a_batch_decodes_each_sentence_as_it_would_alone(pairs: list[tuple[list[int], list[int]]], seed: int) -> None:
    model, sources = shared_network(seed), [source for source, _ in pairs]
    alone = [list(greedy_decode(model, torch.tensor([src]), START, END, 12)) for src in sources]
    assume(is_clear(step.distribution for steps in alone for step in steps))
    assert greedy_batch(model, padded(sources), START, END, 12) == [[step.token for step in steps] for steps in alone]


@pytest.mark.parametrize("training", [False, True])
def test_decoding_has_no_dropout_and_no_gradients_and_restores_the_mode(training: bool) -> None:
    model, still = network(dropout=0.5).train(training), network(dropout=0.5)
    for step, without in zip(
        greedy_decode(model, SRC, START, NEVER, 4), greedy_decode(still, SRC, START, NEVER, 4), strict=True
    ):
        agree(step.distribution, without.distribution)
        assert not step.distribution.requires_grad
        assert model.training is training  # the caller may train between two steps
        assert not torch.is_inference_mode_enabled()
    assert greedy_batch(model, SRC, START, NEVER, 4) == greedy_batch(still, SRC, START, NEVER, 4)
    assert greedy_batch(model, SRC, START, NEVER, max_steps=0) == [[]]
    assert beam_search(model, SRC, START, END, 4, 3, 0.6) == beam_search(still, SRC, START, END, 4, 3, 0.6)
    with pytest.raises(ZeroDivisionError):
        greedy_batch(model, SRC, START, NEVER, 4, probe=lambda name, value: value / (1 // 0))
    model.decoder.train()  # alone
    list(greedy_decode(model, SRC, START, NEVER, 4))
    assert (model.decoder.training, model.encoder.training) == (True, training)


def test_several_sentences_are_refused() -> None:
    several = torch.ones(2, 3, dtype=torch.long)
    with pytest.raises(ValueError, match=r"2 sentences.*greedy_batch"):
        next(greedy_decode(network(), several, START, END, 4))
    with pytest.raises(ValueError, match="2 sentences"):
        beam_search(network(), several, START, END, 4, 1, 0.6)


# Beam search

WORDS = {"src_vocab_size": 6, "tgt_vocab_size": 9}  # the toy's vocabularies: S is 6, E is 7
TOY_SRC = torch.tensor([[1, 2, 3, 4, 0]])


def sharp(seed: int) -> Transformer:
    """A random network with the toy's vocabulary, far from uniform, in float64: no rounding turns the order of two."""
    model = network(seed, **WORDS).double()
    with torch.no_grad():
        model.output_projection.weight *= 6
    return model


def textbook_beam(model: Transformer, longest: int, width: int, alpha: float) -> list[int]:
    """Textbook beam search with one full pass per hypothesis."""
    live: list[tuple[float, list[int]]] = [(0.0, [6])]
    finished: list[tuple[float, list[int]]] = []
    for _ in range(longest):
        found = []
        for log, ids in live:
            distribution = model(TOY_SRC, torch.tensor([ids])).logits[0, -1].log_softmax(-1)
            found += [(log + p, [*ids, word]) for word, p in enumerate(distribution.tolist())]
        best = sorted(found, reverse=True)[: width - len(finished)]
        finished += [(log / length_penalty(len(ids) - 1, alpha), ids) for log, ids in best if ids[-1] == 7]
        live = [(log, ids) for log, ids in best if ids[-1] != 7]
    return max(finished or live)[1][1:]


def test_a_narrow_beam_equals_a_textbook_implementation() -> None:
    """Width 1 is greedy decoding. storage/test_marian.py compares the other penalty with `transformers`, and
    tests/js/engine.test.ts the whole tree."""
    assert length_penalty(7, 0.5) == pytest.approx(math.sqrt(2))  # Wu et al. 2016
    outputs = set()
    for seed, width, alpha in itertools.product(range(3), (1, 2, 5), (0.0, 0.6, 2.0)):
        search = beam_search(sharp(seed), TOY_SRC, 6, 7, 5, width, alpha)
        assert output_of(search.best, search.hypotheses) == textbook_beam(sharp(seed), 5, width, alpha)
        outputs.add((seed, *output_of(search.best, search.hypotheses)))
    assert len(outputs) > 3  # the width matters, or greedy decoding would be compared with itself


# Sampling


P = torch.tensor([0.1, 0.4, 0.05, 0.3, 0.15])


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, [0.1, 0.4, 0.05, 0.3, 0.15]),
        ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7, 0]),
        ({"top_p": 0.5}, [0, 4 / 7, 0, 3 / 7, 0]),
        ({"top_p": 1e-9}, [0, 1, 0, 0, 0]),
        ({"top_k": 2, "top_p": 0.6}, [0, 4 / 7, 0, 3 / 7, 0]),  # the first of the remaining two has 0.57
        ({"top_k": 2, "top_p": 0.57}, [0, 1, 0, 0, 0]),
        ({"temperature": 0.5}, [w / 0.285 for w in (0.01, 0.16, 0.0025, 0.09, 0.0225)]),
        ({"temperature": 0.0}, [0, 1, 0, 0, 0]),
        ({"temperature": 1e-300}, [0, 1, 0, 0, 0]),
        ({"temperature": 1e300}, [0.2] * 5),
    ],
)
def test_each_limit_reshapes_the_distribution(limits: Any, expected: list[float]) -> None:
    agree(Sampling(**limits).distribution(P), torch.tensor(expected, dtype=torch.float64))


def test_without_a_limit_every_token_can_be_drawn() -> None:
    """Although the likeliest already add up to 1, as they round."""
    assert (Sampling(temperature=0.02).distribution(P) > 0).all()


@pytest.mark.parametrize("limits", [{}, {"temperature": 2.0, "top_k": 3}, {"temperature": 0.5, "top_p": 0.9}])
def test_tokens_are_drawn_as_often_as_their_probability(limits: Any) -> None:
    """Pearson's chi-square; a wrong distribution misses the bound by far."""
    sampling, count = Sampling(seed=1, **limits), 3000
    choose = sampling.chooser()
    counts = Counter(choose(P) for _ in range(count))
    possible = {token: p for token, p in enumerate(sampling.distribution(P).tolist()) if p > 0}
    assert set(counts) <= set(possible)
    chi = sum((counts[token] - count * p) ** 2 / (count * p) for token, p in possible.items())
    freedom = len(possible) - 1
    assert abs(chi - freedom) < 4 * math.sqrt(2 * freedom)


INVALID: dict[str, list[Any]] = {
    "temperature": [-1.0, math.nan, math.inf, "1"],
    "top_k": [-1, 1.5, True],
    "top_p": [0.0, 1.1],
    "seed": [-1, 2**63],
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_limit_is_refused(name: str) -> None:
    for value in INVALID[name]:
        with pytest.raises(ValueError, match=name):
            Sampling(**{name: value})
