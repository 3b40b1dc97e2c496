"""Decoding with a cache equals full recomputation; beam search equals brute force; samples follow the distribution."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from transformer import Recorder, Step, Transformer, Translator, greedy_batch, greedy_decode
from transformer.data import Batch
from transformer.inference.decoding import Sampling, beam_search, decode, length_penalty

from ..networks import SIZES, agree, network, padded, sentence_pairs

START, END, NEVER = 11, 12, -1
SRC = torch.tensor([[3, 4, 5, 0]])


def outputting(*tokens: int) -> Callable[[str, Tensor], Tensor]:
    """A probe that makes the network output these tokens."""
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


@pytest.mark.slow
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
def test_decoding_stops_at_the_end_token(script: tuple[int, ...]) -> None:
    steps = greedy_decode(network(), SRC, START, END, max_steps=9, probe=outputting(*script, 1, 1))
    assert [step.token for step in steps] == list(script)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_decoding_stops_at_the_limit(limit: int) -> None:
    assert len(list(greedy_decode(network(), SRC, START, NEVER, limit))) == limit


@given(
    source=st.lists(st.integers(0, SIZES["src_vocab_size"] - 1), min_size=1, max_size=6),
    forced=st.lists(st.integers(0, SIZES["tgt_vocab_size"] - 1).filter(lambda i: i != END), max_size=6),
    seed=st.integers(0, 99),
)
def test_forced_words_are_output_and_the_rest_is_greedy(source: list[int], forced: list[int], seed: int) -> None:
    model, src = network(seed), torch.tensor([source])
    steps = list(greedy_decode(model, src, START, END, max_steps=6, forced=forced))
    output = [step.token for step in steps]
    assert output[: len(forced)] == forced
    whole = model(src, torch.tensor([[START, *output[:-1]]])).logits[0].softmax(-1)  # teacher forcing, in one pass
    for t, (step, distribution) in enumerate(zip(steps, whole, strict=True)):
        agree(step.distribution, distribution)
        assert step.probability == float(step.distribution[step.token])
        if t >= len(forced):
            assert step.token == int(step.distribution.argmax())
    assert len(steps) == 6 or output[-1] == END


def test_forcing_the_models_own_output_changes_nothing() -> None:
    own = list(greedy_decode(network(), SRC, START, END, max_steps=6))
    for n in range(len(own) + 1):
        forced = [step.token for step in own[:n]]
        for one, two in zip(own, greedy_decode(network(), SRC, START, END, 6, forced=forced), strict=True):
            assert (one.token, one.probability) == (two.token, two.probability)
            for part in ("distribution", "self_attention", "cross_attention"):
                assert torch.equal(getattr(one, part), getattr(two, part))


@pytest.mark.parametrize(("forced", "steps"), [([END], 1), ([1, END, 2], 2), ([1, 2, 3, 4], 3)])
def test_a_forced_end_token_ends_the_output_within_the_limit(forced: list[int], steps: int) -> None:
    output = [step.token for step in greedy_decode(network(), SRC, START, END, max_steps=3, forced=forced)]
    assert output == forced[:steps]


@pytest.mark.slow
@given(pairs=sentence_pairs(), seed=st.integers(0, 99))
def test_a_batch_decodes_each_sentence_as_it_would_alone(pairs: list[tuple[list[int], list[int]]], seed: int) -> None:
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
def test_decoding_has_no_dropout_and_no_gradients_and_restores_the_mode(training: bool) -> None:
    expected = list(greedy_decode(network(dropout=0.5), SRC, START, NEVER, 4))
    model = network(dropout=0.5).train(training)
    for step, without in zip(greedy_decode(model, SRC, START, NEVER, 4), expected, strict=True):
        assert torch.equal(step.distribution, without.distribution)
        assert not step.distribution.requires_grad
        assert model.training is training  # the caller may train between two steps
        assert not torch.is_inference_mode_enabled()
    assert greedy_batch(model, SRC, START, NEVER, 4) == [[step.token for step in expected]]
    assert greedy_batch(model, SRC, START, NEVER, max_steps=0) == [[]]
    assert beam_search(model, SRC, START, END, 4, 3, 0.6) == beam_search(model, SRC, START, END, 4, 3, 0.6)
    assert all(module.training is training for module in model.modules())


def test_the_mode_is_restored_after_an_error_and_after_an_early_stop() -> None:
    model = network().train()
    next(greedy_decode(model, SRC, START, NEVER, 4))
    assert model.training
    with pytest.raises(StopIteration):
        greedy_batch(model, SRC, START, NEVER, 4, probe=outputting())
    assert model.training


def test_a_module_in_training_mode_has_no_dropout_and_keeps_its_mode() -> None:
    model = network(dropout=0.5)
    src = torch.tensor([[3, 4, 5]])
    before = [step.probability for step in greedy_decode(model, src, START, END, 4)]
    model.decoder.train()
    assert [step.probability for step in greedy_decode(model, src, START, END, 4)] == before
    assert model.decoder.training
    assert not model.encoder.training


def test_greedy_decode_refuses_several_sentences() -> None:
    with pytest.raises(ValueError, match=r"2 sentences.*greedy_batch"):
        next(greedy_decode(network(), torch.ones(2, 3, dtype=torch.long), START, END, 4))


def test_recorded_values_can_enter_a_graph() -> None:
    recorder = Recorder()
    list(greedy_decode(network(), torch.tensor([[3, 4, 5]]), START, END, 4, probe=recorder))
    torch.nn.Linear(16, 1)(recorder.values["encoder.output"][0]).sum().backward()


# Recomputation instead of the cache


@settings(max_examples=15)
@given(
    source=st.lists(st.integers(0, SIZES["src_vocab_size"] - 1), min_size=1, max_size=6),
    forced=st.lists(st.none() | st.integers(0, SIZES["tgt_vocab_size"] - 1), max_size=6),
    seed=st.integers(0, 99),
)
def test_rereading_equals_the_cache(source: list[int], forced: list[int | None], seed: int) -> None:
    model, src = network(seed), torch.tensor([source])
    cached = list(decode(model, src, START, END, 6, forced=forced))
    again = list(decode(model, src, START, END, 6, forced=forced, reread=True))
    for one, two in zip(cached, again, strict=True):
        assert one.token == two.token
        for part in ("distribution", "self_attention", "cross_attention"):
            agree(getattr(one, part), getattr(two, part))
    for step, word in zip(cached, forced, strict=False):
        assert step.token == (int(step.distribution.argmax()) if word is None else word)


def test_a_probe_of_a_rereading_decoder_sees_full_passes() -> None:
    recorder = Recorder(lambda name: name.endswith("mask") or name == "decoder.positions")
    steps = list(decode(network(), SRC, START, NEVER, 3, probe=recorder, reread=True))
    for t in range(len(steps)):
        assert recorder.values["decoder.1.self_attention.mask"][t].shape == (1, 4, t + 1, t + 1)
        assert recorder.values["decoder.1.cross_attention.mask"][t].shape == (1, 4, t + 1, 4)
        assert recorder.values["decoder.positions"][t].shape == (t + 1, 16)


# Beam search

WORDS = {"src_vocab_size": 6, "tgt_vocab_size": 9}  # the toy's vocabularies: S is 6, E is 7
TOY_SRC = torch.tensor([[1, 2, 3, 4, 0]])


def sharp(seed: int) -> Transformer:
    """A random network with the toy's vocabulary whose distributions are far from uniform."""
    model = network(seed, **WORDS)
    with torch.no_grad():
        model.output_projection.weight *= 6
    return model


def all_outputs(model: Transformer, longest: int) -> dict[tuple[int, ...], float]:
    """Every output that ends with E or is cut off at `longest` words, and its log-probability by a full pass."""
    rows = torch.tensor(list(itertools.product(range(9), repeat=longest)))
    read = torch.cat([torch.full((len(rows), 1), 6), rows[:, :-1]], dim=1)
    logs = model(TOY_SRC.expand(len(rows), -1), read, need_weights=False).logits.log_softmax(-1)
    logs = logs.gather(2, rows[..., None])[..., 0].double()  # (9^longest, longest)
    found = {}
    for row, log in zip(rows.tolist(), logs.tolist(), strict=True):
        end = row.index(7) + 1 if 7 in row else longest
        found[tuple(row[:end])] = sum(log[:end])
    return found


@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.0), (1, 0.6), (2, 2.0), (3, 0.6)])
def test_a_beam_wide_enough_for_everything_equals_brute_force(seed: int, alpha: float) -> None:
    model, longest = sharp(seed), 3
    with torch.no_grad():
        everything = all_outputs(model, longest)
    assert sum(map(math.exp, everything.values())) == pytest.approx(1)
    ended = [ids for ids in everything if ids[-1] == 7]
    best = max(ended, key=lambda ids: everything[ids] / length_penalty(len(ids), alpha))
    search = beam_search(model, TOY_SRC, 6, 7, longest, width=9**longest, alpha=alpha)
    assert tuple(search.output(search.best)) == best
    leaves = [i for i, one in enumerate(search.hypotheses) if one.fate == "finished" or one.step == longest - 1]
    assert {tuple(search.output(i)) for i in leaves} == set(everything)
    for i in leaves:
        one = search.hypotheses[i]
        assert one.log_probability == pytest.approx(everything[tuple(search.output(i))], abs=1e-4)
        assert one.score == pytest.approx(one.log_probability / length_penalty(one.step + 1, alpha))


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
    return max(finished or [(log / length_penalty(longest, alpha), ids) for log, ids in live])[1][1:]


def test_a_narrow_beam_equals_a_textbook_implementation() -> None:
    outputs = set()
    for seed, width in itertools.product(range(6), (1, 2, 5)):
        search = beam_search(sharp(seed), TOY_SRC, 6, 7, 6, width, 0.6)
        assert search.output(search.best) == textbook_beam(sharp(seed), 6, width, 0.6)
        outputs.add((seed, *search.output(search.best)))
    assert len(outputs) > 6  # the width matters, or greedy decoding would be compared with itself


@settings(max_examples=15)
@given(
    source=st.lists(st.integers(0, SIZES["src_vocab_size"] - 1), min_size=1, max_size=6),
    seed=st.integers(0, 99),
    alpha=st.sampled_from([0.0, 0.6, 1.0]),
)
def test_a_beam_of_width_1_is_greedy(source: list[int], seed: int, alpha: float) -> None:
    model, src = network(seed), torch.tensor([source])
    steps = list(greedy_decode(model, src, START, END, 8))
    search = beam_search(model, src, START, END, 8, width=1, alpha=alpha)
    path = [one for one in search.hypotheses if one.fate != "dropped"]
    assert search.output(search.best) == [step.token for step in steps]
    assert [one.probability for one in path] == [step.probability for step in steps]  # to the last bit


@pytest.mark.parametrize("seed", range(3))
def test_the_tree_is_complete(seed: int) -> None:
    width, steps = 3, 6
    search = beam_search(sharp(seed), TOY_SRC, 6, 7, steps, width, 0.6)
    tree = search.hypotheses
    for i, one in enumerate(tree):
        parent = None if one.parent is None else tree[one.parent]
        assert (one.parent is None) == (one.step == 0)
        assert parent is None or (parent.fate == "kept" and parent.step == one.step - 1)
        before = parent.log_probability if parent else 0.0
        assert one.log_probability == pytest.approx(before + math.log(one.probability))
        assert (one.fate == "finished") <= (one.token == 7)
        siblings = [other for other in tree if (other.parent, other.step) == (one.parent, one.step)]
        assert len({other.token for other in siblings}) == len(siblings) == width + 1
        assert search.output(i)[-1] == one.token
    for step in range(steps):
        here = [one for one in tree if one.step == step]
        gone = sum(one.fate == "finished" for one in tree if one.step < step)
        stayed = [one for one in here if one.fate != "dropped"]
        assert len(stayed) == (width - gone if here else 0)
        lost = [one.log_probability for one in here if one.fate == "dropped"]
        assert not here or min(one.log_probability for one in stayed) >= max(lost)


def test_the_length_penalty_is_that_of_wu_et_al_and_favours_longer_outputs() -> None:
    assert length_penalty(7, 0.0) == 1
    assert length_penalty(7, 0.5) == pytest.approx(math.sqrt(2))
    lengths = []
    for alpha in (0.0, 3.0):
        search = beam_search(sharp(4), TOY_SRC, 6, 7, 5, 9**3, alpha)
        lengths.append(len(search.output(search.best)))
    assert lengths[0] < lengths[1]


def test_a_beam_without_an_end_token_is_cut_off() -> None:
    search = beam_search(sharp(0), TOY_SRC, 6, NEVER, 4, 2, 0.6)
    assert len(search.output(search.best)) == 4
    assert {one.fate for one in search.hypotheses} == {"kept", "dropped"}


@pytest.mark.parametrize(
    "arguments", [(TOY_SRC, 6, 7, 0, 1), (TOY_SRC, 6, 7, 1, 0), (torch.ones(2, 3).long(), 6, 7, 1, 1)]
)
def test_invalid_beam_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"max_steps|width|2 sentences"):
        beam_search(sharp(0), *(*arguments, 0.6))


# Sampling


def draws(model: Transformer, count: int, steps: int, **limits: Any) -> Counter[tuple[int, ...]]:
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(count):
        choose = Sampling(seed=seed, **limits).chooser()
        counts[tuple(step.token for step in decode(model, TOY_SRC, 6, 7, steps, choose=choose))] += 1
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{}, {"temperature": 2.0, "top_k": 3}, {"temperature": 0.5, "top_p": 0.9}])
def test_outputs_are_drawn_as_often_as_their_probability(limits: Any) -> None:
    """Pearson's chi-square over all outputs of two words; a wrong distribution misses the bound by far."""
    model, count = network(1, **WORDS), 1500
    counts, sampling = draws(model, count, 2, **limits), Sampling(**limits)
    exact: dict[tuple[int, ...], float] = {}
    with torch.no_grad():
        first = sampling.distribution(model(TOY_SRC, torch.tensor([[6]])).logits[0, -1].softmax(-1)).tolist()
        for word, p in enumerate(first):
            if word == 7:
                exact[(word,)] = p
                continue
            second = sampling.distribution(model(TOY_SRC, torch.tensor([[6, word]])).logits[0, -1].softmax(-1))
            exact |= {(word, other): p * q for other, q in enumerate(second.tolist())}
    possible = {ids: p for ids, p in exact.items() if p > 0}
    assert set(counts) <= set(possible)
    chi = sum((counts[ids] - count * p) ** 2 / (count * p) for ids, p in possible.items())
    freedom = len(possible) - 1
    assert abs(chi - freedom) < 4 * math.sqrt(2 * freedom)


P = torch.tensor([0.1, 0.4, 0.05, 0.3, 0.15])


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, [0.1, 0.4, 0.05, 0.3, 0.15]),
        ({"top_k": 2}, [0, 4 / 7, 0, 3 / 7, 0]),
        ({"top_k": 9}, [0.1, 0.4, 0.05, 0.3, 0.15]),
        ({"top_p": 0.5}, [0, 4 / 7, 0, 3 / 7, 0]),
        ({"top_p": 0.39}, [0, 1, 0, 0, 0]),
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
    agree(Sampling(**limits).distribution(P), torch.tensor(expected, dtype=torch.float64), atol=1e-7)


def test_sampling_repeats_by_its_seed_and_is_greedy_at_temperature_0() -> None:
    def output(sampling: Sampling) -> list[int]:
        return [step.token for step in decode(sharp(0), TOY_SRC, 6, NEVER, 12, choose=sampling.chooser())]

    assert output(Sampling(seed=1)) == output(Sampling(seed=1)) != output(Sampling(seed=2))
    greedy = [step.token for step in greedy_decode(sharp(0), TOY_SRC, 6, NEVER, 12)]
    assert output(Sampling(0.0)) == output(Sampling(1e-6)) == greedy


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"temperature": math.inf}, "temperature"),
        ({"temperature": "1"}, "temperature"),
        ({"top_k": -1}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"top_k": True}, "top_k"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_an_invalid_limit_is_refused(limits: Any, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Sampling(**limits)
