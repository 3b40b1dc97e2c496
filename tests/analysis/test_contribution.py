"""Every measure of contribution equals a second computation, in NumPy from the raw weights."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from transformer import Translator
from transformer.analysis import contribution
from transformer.analysis.contribution import (
    attention_rollout,
    direct_effects,
    gradient_times_input,
    integrated_gradients,
    logit_lens,
    value_weighted,
)
from transformer.analysis.sublayer import ids
from transformer.inference.attention_maps import KINDS, Kind
from transformer.inference.interventions import AblateHead, DropResidual, Interventions
from transformer.inference.value_weighted import ValueWeighted
from transformer.network.int8 import to_int8

from ..marian import SENTENCES
from .naive import Naive, softmax
from .test_sublayer import babbler_of

WORDS = "wort3 wort1 wort4 wort1"
RUNS: dict[str, str] = {"toy": "Ich möchte ein Bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
RUNS |= {"marian": SENTENCES[0], "pre": WORDS, "encoder norm, no bias": WORDS}


class Ran:
    def __init__(self, translator: Translator, sentence: str) -> None:
        self.translator, self.model = translator, translator.checkpoint.model
        self.run = translator.translate(sentence, value_weighted=True)
        self.src, self.tgt = (each[0].tolist() for each in ids(translator, self.run))
        self.output = [translator.checkpoint.tgt_vocab.ids[token] for token in self.run.output]
        self.naive = Naive(self.model)
        self.logits = self.naive.logits(self.src, self.tgt)
        self.seen = dict(self.naive.seen)

    def sigma(self, norm: str) -> np.ndarray:
        return np.sqrt(sum(self.seen[norm]).var(axis=-1, keepdims=True) + 1e-5)


@pytest.fixture(scope="module", params=RUNS)
def ran(request: pytest.FixtureRequest, marian: Path) -> Ran:
    name: str = request.param
    if name == "pre":
        translator = babbler_of(norm_first=True, final_norm="both", num_encoder_layers=1, num_decoder_layers=3)
    elif name.startswith("encoder"):
        translator = babbler_of(final_norm="encoder", bias=False, qkv_bias=False)
    else:
        translator = Translator.load(marian if name == "marian" else name, device="cpu")
    return Ran(translator, RUNS[name])


def close(actual: object, expected: object, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-5, atol=atol)


def same(one: ValueWeighted, other: ValueWeighted) -> None:
    for kind in KINDS:
        close(one.residual[kind], other.residual[kind])
        for maps, others in ((one.maps, other.maps), (one.after_norm, other.after_norm)):
            for m, n in zip(maps.of(kind), others.of(kind), strict=True):
                close(m.weights, n.weights)


PLACES: dict[Kind, tuple[str, str, str]] = {
    "encoder": ("encoder", "self_attn", "norm1"),
    "decoder": ("decoder", "self_attn", "norm1"),
    "cross": ("decoder", "cross_attn", "norm2"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_value_weighted_maps_are_norms_of_what_is_added_up(ran: Ran, kind: Kind) -> None:
    found, (stack, attention, number) = ran.run.value_weighted, PLACES[kind]
    assert found
    for m, after in zip(found.maps.of(kind), found.after_norm.of(kind), strict=True):
        layer = f"{stack}.layers.{m.layer}."
        gamma, sigma = ran.naive.weights[f"{layer}{number}.weight"], ran.sigma(layer + number)

        def normed(x: np.ndarray, query: int, gamma: np.ndarray = gamma, sigma: np.ndarray = sigma) -> np.ndarray:
            return x if ran.model.config.norm_first else gamma * (x - x.mean()) / sigma[query]

        for head, query, key in np.ndindex(m.weights.shape):
            own = ran.seen[layer + attention][head]
            added = own["weights"][query, key] * own["values"][key]
            close(m.weights[head, query, key], np.linalg.norm(added))
            close(after.weights[head, query, key], np.linalg.norm(normed(added, query)))
        residual, _ = ran.seen[layer + number]
        close(found.residual[kind][m.layer], [np.linalg.norm(normed(x, i)) for i, x in enumerate(residual)])


def test_value_weighted_maps_are_the_same_alone_in_a_batch_and_afterwards(ran: Ran) -> None:
    weighted = ran.run.value_weighted
    assert weighted
    same(value_weighted(ran.translator, replace(ran.run, value_weighted=None)), weighted)
    first = ran.run.sentence.split()[0]
    short, long = ran.translator.translate_many([first, ran.run.sentence], value_weighted=True)
    assert long.output == ran.run.output
    same(long.value_weighted, weighted)  # type: ignore[arg-type]
    alone = ran.translator.translate(first, value_weighted=True)
    if alone.output == short.output:  # an untrained network may waver
        same(short.value_weighted, alone.value_weighted)  # type: ignore[arg-type]


def test_the_table_of_contributions_is_that_of_attention_with_two_more_columns(ran: Ran) -> None:
    for words in (False, True):
        table = ran.run.contributions(words=words)
        assert table.drop(columns=["value_weighted", "after_norm"]).equals(ran.run.table(words=words))
        assert ran.run.contributions("cross", words).value_weighted.sum() == pytest.approx(
            table[table.kind == "cross"].value_weighted.sum()
        )
    assert ran.run.value_weighted
    every = np.concatenate([m.weights.ravel() for kind in KINDS for m in ran.run.value_weighted.after_norm.of(kind)])
    close(ran.run.contributions().after_norm, every)
    with pytest.raises(ValueError, match="value_weighted=True"):
        replace(ran.run, value_weighted=None).contributions()
    with pytest.raises(ValueError, match="not one of encoder, decoder, cross"):
        ran.run.contributions("self")  # type: ignore[arg-type]


def test_an_ablated_head_adds_nothing(babbler: Translator) -> None:
    changed = babbler.translate(WORDS, interventions=Interventions((AblateHead("cross", 1, 2),)), value_weighted=True)
    assert changed.value_weighted
    sums = changed.value_weighted.maps.cross[1].weights.sum(axis=(1, 2))
    assert sums[2] == 0
    assert (np.delete(sums, 2) > 0).all()
    assert changed.attention.cross[1].weights[2].any()
    assert not direct_effects(babbler, changed).cross_attention[:, 2].any()


def test_the_lens_reads_each_layer_as_the_last(ran: Ran) -> None:
    found, tokens = logit_lens(ran.translator, ran.run), ran.translator.checkpoint.tgt_vocab.tokens
    for layer, stream in enumerate(ran.seen["streams"]):
        probabilities = softmax(ran.naive.linear("output_projection", ran.naive.norm("decoder.norm", stream)))
        close(found.probabilities[layer], probabilities.max(axis=1))
        own = probabilities[range(len(ran.output)), ran.output]
        close(found.output_probabilities[layer], own)
        for step, row in enumerate(probabilities):
            close(row[tokens.index(found.tokens[layer][step])], row.max())
            above = [(row > own[step] * share).sum() for share in (1 + 1e-5, 1 - 1e-5)]  # ties may fall either way
            assert above[0] + 1 <= found.output_ranks[layer, step] <= above[1]
        same = [token == output for token, output in zip(found.tokens[layer], ran.run.output, strict=True)]
        assert found.agreement[layer] == pytest.approx(np.mean(same))
    assert found.agreement[-1] == 1  # greedy


@pytest.mark.parametrize("has_other", [False, True])
def test_the_parts_of_the_last_layer_add_up_to_the_logit(ran: Ran, has_other: bool) -> None:
    other = ran.run.output[0] if has_other else None
    found = direct_effects(ran.translator, ran.run, other)
    close(found.total, found.logit)
    weights, steps = ran.naive.weights, range(len(ran.output))
    rows, logit = weights["output_projection.weight"][ran.output], ran.logits[steps, ran.output]
    if has_other:
        rows, logit = rows - weights["output_projection.weight"][ran.output[0]], logit - ran.logits[:, ran.output[0]]
    close(found.logit, logit)
    layer = f"decoder.layers.{ran.model.config.num_decoder_layers - 1}."

    def effect(part: np.ndarray, first: int) -> np.ndarray:
        """Of what the sublayer `first` adds, carried forward through each norm on its way, with this run's σ."""
        for number in range(first, 4):
            if not ran.model.config.norm_first:
                part = weights[f"{layer}norm{number}.weight"] * (part - part.mean(axis=1, keepdims=True))
                part = part / ran.sigma(f"{layer}norm{number}")
        if "decoder.norm.weight" in weights:
            sigma = np.sqrt(ran.seen["streams"][-1].var(axis=1, keepdims=True) + 1e-5)
            part = weights["decoder.norm.weight"] * (part - part.mean(axis=1, keepdims=True)) / sigma
        return (part * rows).sum(axis=1)

    for number, name, values in ((1, "self_attn", found.self_attention), (2, "cross_attn", found.cross_attention)):
        for head, own in enumerate(ran.seen[layer + name]):
            close(values[:, head], effect(own["weights"] @ own["values"], number))
    close(found.feed_forward, effect(ran.seen[f"{layer}norm3"][1] - weights.get(f"{layer}linear2.bias", 0), 3))
    close(found.residual, effect(ran.seen[f"{layer}norm1"][0], 1))


@pytest.mark.parametrize("sublayer", [1, 2, 3])
def test_the_parts_add_up_without_a_residual_connection_too(sublayer: int, babbler: Translator) -> None:
    change = Interventions((DropResidual("decoder", 1, sublayer),))
    found = direct_effects(babbler, babbler.translate(WORDS, interventions=change), "word5")
    close(found.total, found.logit)
    assert not found.residual.any()
    assert found.self_attention.any() == (sublayer == 1)


@pytest.mark.parametrize("method", [gradient_times_input, integrated_gradients])
def test_attributions_are_derivatives_along_each_embedding(
    ran: Ran, method: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same weights in float64: a central difference on every token's scale."""
    monkeypatch.setattr(contribution, "IG_STEPS", 3)
    precise = replace(ran.translator.checkpoint, model=copy.deepcopy(ran.model).double())
    step = len(ran.output) // 2
    token, other = ran.output[step], ran.output[0]
    found = method(Translator(precise, "precise"), ran.run, step, ran.run.output[0])
    sources, tgt, tiny = len(ran.src), ran.tgt[: step + 1], 1e-7

    def logit(scales: np.ndarray) -> float:
        row = ran.naive.logits(ran.src, tgt, scales[:sources], scales[sources:])[-1]
        return row[token] - row[other]

    one = np.ones(sources + len(tgt))
    assert found.logit == pytest.approx(logit(one), abs=1e-6)
    assert found.baseline == pytest.approx(logit(0 * one), abs=1e-6)
    expected = np.zeros(len(one))
    for share in [1.0] if method is gradient_times_input else [1 / 6, 3 / 6, 5 / 6]:
        for i, unit in enumerate(np.eye(len(one)) * tiny):
            expected[i] += (logit(share * one + unit) - logit(share * one - unit)) / (2 * tiny)
    if method is integrated_gradients:
        expected /= 3
    close(np.concatenate([found.source, found.target]), expected)
    assert found.total == pytest.approx(expected.sum(), abs=1e-4)


def test_integrated_gradients_are_complete(toy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    run = toy.translate("Ich möchte ein Bier")
    for step in range(len(run.output)):
        found = integrated_gradients(toy, run, step)
        assert found.total == pytest.approx(found.logit - found.baseline, rel=0.01)
    monkeypatch.setattr(contribution, "MAX_TENSOR", 0)  # two points at a time
    close(integrated_gradients(toy, run, step).source, found.source, atol=1e-4)


def test_rollout_is_a_product_of_steps_between_all_tokens(ran: Ran) -> None:
    found, attention = attention_rollout(ran.run), ran.run.attention
    s, t = len(ran.run.source), len(ran.run.decoder_input)
    whole = np.eye(s + t)
    sublayers = [("encoder", m) for m in attention.encoder]
    for own, cross in zip(attention.decoder, attention.cross, strict=True):
        sublayers += [("decoder", own), ("cross", cross)]
    for kind, m in sublayers:
        matrix, mean = np.eye(s + t), m.weights.astype(float).mean(axis=0)
        rows = slice(0, s) if kind == "encoder" else slice(s, None)
        matrix[rows] /= 2
        matrix[rows, slice(s, None) if kind == "decoder" else slice(0, s)] += mean / 2
        whole = matrix @ whole
    close(found.encoder, whole[:s, :s])
    close(np.concatenate([found.source, found.target], axis=1), whole[s:])
    close(whole.sum(axis=1), np.ones(s + t))


def test_what_cannot_be_explained_is_refused(toy: Translator, babbler: Translator) -> None:
    run = babbler.translate(WORDS)
    with pytest.raises(ValueError, match="'unknown' is not a word that this model can output"):
        direct_effects(babbler, run, "unknown")
    for step in (-1, len(run.output)):
        with pytest.raises(ValueError, match="The steps of this run are 0 to 7"):
            gradient_times_input(babbler, run, step)
    rounded = Translator(replace(toy.checkpoint, model=copy.deepcopy(toy.checkpoint.model)), "int8")
    to_int8(rounded.checkpoint.model)
    beer = rounded.translate("Ich möchte ein Bier", value_weighted=True)
    for refused in (lambda: integrated_gradients(rounded, beer, 0), lambda: direct_effects(rounded, beer)):
        with pytest.raises(ValueError, match="load the model in float32"):
            refused()
