"""Every measure of contribution equals a second computation, in NumPy from the raw weights."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer import Translation, Translator
from transformer.analysis import contribution
from transformer.analysis.contribution import (
    attention_rollout,
    direct_effects,
    gradient_times_input,
    integrated_gradients,
    logit_lens,
    logit_lenses,
    value_weighted,
)
from transformer.analysis.sublayer import ids
from transformer.inference.attention_maps import KINDS, LOCATIONS, Kind
from transformer.inference.interventions import AblateHead, DropResidual, Interventions
from transformer.inference.value_weighted import ValueWeighted
from transformer.network.int8 import to_int8

from ..marian import SENTENCES
from .naive import Naive, softmax
from .test_sublayer import babbler_of

WORDS, BEER = "wort3 wort1 wort4 wort1", "Ich möchte ein Bier"
RUNS = {"toy": BEER, "classroom": "Heute habe ich ein kaltes Bier getrunken", "marian": SENTENCES[0]}
RUNS |= {"pre-norm": WORDS, "no bias": WORDS}


class Ran:
    def __init__(self, translator: Translator, sentence: str) -> None:
        self.translator, self.model = translator, translator.checkpoint.model
        self.run = translator.translate(sentence, value_weighted=True)
        self.src, self.tgt = (each[0].tolist() for each in ids(translator, self.run))
        self.output = [translator.checkpoint.tgt_vocab.ids[token] for token in self.run.output]
        self.naive = Naive(self.model)
        self.weights, self.logits = self.naive.weights, self.naive.logits(self.src, self.tgt)
        self.seen = dict(self.naive.seen)

    def normed(self, name: str, x: np.ndarray, added: np.ndarray) -> np.ndarray:
        """What a LayerNorm after x makes of a part of it, `added`, each (T, D)."""
        sigma = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        return self.weights[f"{name}.weight"] * (added - added.mean(axis=-1, keepdims=True)) / sigma


@pytest.fixture(scope="module", params=RUNS)
def ran(request: pytest.FixtureRequest, marian: Path) -> Ran:
    name: str = request.param
    if name == "pre-norm":
        translator = babbler_of(norm_first=True, final_norm="both", num_encoder_layers=1, num_decoder_layers=3)
    elif name == "no bias":
        translator = babbler_of(final_norm="encoder", bias=False, qkv_bias=False)
    else:
        translator = Translator.load(marian if name == "marian" else name, device="cpu")
    return Ran(translator, RUNS[name])


def close(actual: object, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-5, atol=1e-5)


def same(one: ValueWeighted | None, other: ValueWeighted | None) -> None:
    for kind in KINDS:
        close(one.residual[kind], other.residual[kind])
        for maps, others in ((one.maps, other.maps), (one.after_norm, other.after_norm)):
            for m, n in zip(maps.of(kind), others.of(kind), strict=True):
                close(m.weights, n.weights)


@pytest.mark.parametrize("kind", KINDS)
def test_value_weighted_maps_are_norms_of_what_is_added_up(ran: Ran, kind: Kind) -> None:
    found, place = ran.run.value_weighted, LOCATIONS[kind]
    for m, after in zip(found.maps.of(kind), found.after_norm.of(kind), strict=True):
        layer = f"{place.stack}.layers.{m.layer}."
        norm, heads = f"{layer}norm{place.number}", ran.seen[layer + ("cross_attn" if kind == "cross" else "self_attn")]
        residual, change = ran.seen[norm]
        for head, key in np.ndindex(len(heads), m.weights.shape[2]):
            weights, values = heads[head]
            added = np.stack([weight * values[key] for weight in weights[:, key]])  # (Q, D)
            close(m.weights[head, :, key], np.linalg.norm(added, axis=1))
            normed = added if ran.model.config.norm_first else ran.normed(norm, residual + change, added)
            close(after.weights[head, :, key], np.linalg.norm(normed, axis=1))
        normed = residual if ran.model.config.norm_first else ran.normed(norm, residual + change, residual)
        close(found.residual[kind][m.layer], np.linalg.norm(normed, axis=1))


def test_value_weighted_maps_are_the_same_in_a_batch_and_afterwards(ran: Ran) -> None:
    same(value_weighted(ran.translator, ran.run), ran.run.value_weighted)
    short, long = ran.translator.translate_many([ran.run.sentence.split()[0], ran.run.sentence], value_weighted=True)
    assert long.output == ran.run.output
    for run in (short, long):
        same(value_weighted(ran.translator, run), run.value_weighted)


def test_value_weighted_maps_follow_an_edit_of_the_weights(toy: Translator) -> None:
    own = copy.deepcopy(toy)
    own.translate(BEER, value_weighted=True)
    own.checkpoint.model.encoder.layers[0].self_attn.out_proj.weight.data.mul_(3)
    run = own.translate(BEER, value_weighted=True)
    assert run.value_weighted
    expected = value_weighted(own, run)
    for ours, theirs in zip(run.value_weighted.maps.encoder, expected.maps.encoder, strict=True):
        np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-5)


def test_a_caller_in_inference_mode_gets_attributions_too(toy: Translator, beer: Translation) -> None:
    with torch.inference_mode():
        found = integrated_gradients(toy, beer, 1).source
        direct_effects(toy, beer)
    np.testing.assert_allclose(found, integrated_gradients(toy, beer, 1).source, atol=1e-5)


def test_the_table_of_contributions_is_that_of_attention_with_two_more_columns(ran: Ran) -> None:
    for words in (False, True):
        table = ran.run.contributions(words=words)
        assert table.drop(columns=["value_weighted", "after_norm"]).equals(ran.run.table(words=words))
        assert ran.run.contributions("cross", words).equals(table[table.kind == "cross"].reset_index(drop=True))
    every = np.concatenate([m.weights.ravel() for kind in KINDS for m in ran.run.value_weighted.after_norm.of(kind)])
    close(ran.run.contributions().after_norm, every)
    with pytest.raises(ValueError, match="value_weighted=True"):
        replace(ran.run, value_weighted=None).contributions()
    with pytest.raises(ValueError, match="not one of encoder, decoder, cross"):
        ran.run.contributions("self")  # type: ignore[arg-type]


def test_an_ablated_head_adds_nothing(babbler: Translator) -> None:
    changed = babbler.translate(WORDS, interventions=Interventions((AblateHead("cross", 1, 2),)), value_weighted=True)
    sums = changed.value_weighted.maps.cross[1].weights.sum(axis=(1, 2))
    assert (sums > 0).tolist() == [True, True, False, True]
    assert not direct_effects(babbler, changed).cross_attention[:, 2].any()


def test_the_lens_of_many_runs_is_that_of_each(ran: Ran) -> None:
    changed = ran.translator.translate(ran.run.sentence, interventions=Interventions((AblateHead("cross", 0, 0),)))
    runs = [ran.run, changed, *ran.translator.translate_many([ran.run.sentence.split()[0], ran.run.sentence])]
    for found, run in zip(logit_lenses(ran.translator, runs, batch_size=2), runs, strict=True):
        expected = logit_lens(ran.translator, run)
        for name in ("probabilities", "output_probabilities"):
            close(getattr(found, name), getattr(expected, name))


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
        is_same = [token == output for token, output in zip(found.tokens[layer], ran.run.output, strict=True)]
        assert found.agreement[layer] == pytest.approx(np.mean(is_same))


@pytest.mark.parametrize("has_other", [False, True])
def test_the_parts_of_the_last_layer_add_up_to_the_logit(ran: Ran, has_other: bool) -> None:
    """Each is carried forward through the norms on its way, with this run's σ."""
    found = direct_effects(ran.translator, ran.run, ran.run.output[0] if has_other else None)
    rows, logit = ran.weights["output_projection.weight"][ran.output], ran.logits[range(len(ran.output)), ran.output]
    if has_other:
        rows = rows - ran.weights["output_projection.weight"][ran.output[0]]
        logit = logit - ran.logits[:, ran.output[0]]
    close(found.logit, logit)
    close(found.total, logit)
    layer = f"decoder.layers.{ran.model.config.num_decoder_layers - 1}."

    def effect(part: np.ndarray, first: int) -> np.ndarray:
        for norm in [f"{layer}norm{number}" for number in range(first, 4) if not ran.model.config.norm_first]:
            part = ran.normed(norm, sum(ran.seen[norm]), part)
        if ran.model.config.final_norm == "both":
            part = ran.normed("decoder.norm", ran.seen["streams"][-1], part)
        return (part * rows).sum(axis=1)

    for number, name, effects in ((1, "self_attn", found.self_attention), (2, "cross_attn", found.cross_attention)):
        close(effects.T, [effect(weights @ values, number) for weights, values in ran.seen[layer + name]])
    close(found.feed_forward, effect(ran.seen[f"{layer}norm3"][1] - ran.weights.get(f"{layer}linear2.bias", 0), 3))
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
    """A central difference on every token's scale, with the same weights in float64, agrees."""
    for bound in ("IG_STEPS", "MAX_IG_STEPS"):
        monkeypatch.setattr(contribution, bound, 6)
    precise = replace(ran.translator.checkpoint, model=copy.deepcopy(ran.model).double())
    step, sources = len(ran.output) // 2, len(ran.src)
    found = method(Translator(precise, "precise"), ran.run, step, ran.run.output[0])

    def logit(scales: np.ndarray) -> float:
        row = ran.naive.logits(ran.src, ran.tgt[: step + 1], scales[:sources], scales[sources:])[-1]
        return row[ran.output[step]] - row[ran.output[0]]

    one, tiny = np.ones(sources + step + 1), 1e-7
    close([found.baseline, found.logit], [logit(0 * one), logit(one)])
    points, weights = np.ones(1), np.ones(1)
    if method is integrated_gradients:  # trapezoids
        points, weights = np.linspace(0, 1, 7), np.array([1, 2, 2, 2, 2, 2, 1]) / 12
    slopes = [[logit(p * one + unit) - logit(p * one - unit) for unit in np.eye(len(one)) * tiny] for p in points]
    close(np.concatenate([found.source, found.target]), weights @ slopes / (2 * tiny))


def test_integrated_gradients_are_complete(
    toy: Translator, classroom: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the classroom's steps need more than the 50 points that the toy needs."""
    for translator, sentence in ((classroom, "Ich habe gestern ein Buch gelesen."), (toy, BEER)):
        run = translator.translate(sentence)
        for step in range(len(run.output)):
            found = integrated_gradients(translator, run, step)
            assert found.total == pytest.approx(found.logit - found.baseline, rel=0.0101)
    monkeypatch.setattr(contribution, "MAX_TENSOR", 0)  # two points at a time
    assert integrated_gradients(toy, run, step).total == pytest.approx(found.total, abs=1e-4)


def test_attributions_that_no_refining_completes_end_early(
    toy: Translator, beer: Translation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slopes that explain nothing of the logits, as of a random network of a real one's size."""
    asked: list[float] = []

    def line(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.extend(shares)
        return shares, np.full((len(shares), len(beer.source) + 1), 9.0)

    monkeypatch.setattr(contribution, "_line", lambda *_: line)
    assert integrated_gradients(toy, beer, 0).total > 9
    assert len(asked) <= 2.2 * contribution.IG_STEPS


def test_rollout_is_a_product_of_steps_between_all_tokens(ran: Ran) -> None:
    found, maps = attention_rollout(ran.run), ran.run.attention
    s = len(ran.run.source)
    whole = np.eye(s + len(ran.run.decoder_input))
    for m in (*maps.encoder, *(m for pair in zip(maps.decoder, maps.cross, strict=True) for m in pair)):
        matrix, rows = np.eye(len(whole)), slice(0, s) if m.kind == "encoder" else slice(s, None)
        matrix[rows] /= 2
        matrix[rows, slice(s, None) if m.kind == "decoder" else slice(0, s)] += m.weights.mean(axis=0) / 2
        whole = matrix @ whole
    close(found.encoder, whole[:s, :s])
    close(np.concatenate([found.source, found.target], axis=1), whole[s:])


def test_what_cannot_be_explained_is_refused(toy: Translator, babbler: Translator) -> None:
    run = babbler.translate(WORDS)
    with pytest.raises(ValueError, match="toy has no word 'wort3': this run was made by babbler"):
        logit_lens(toy, run)
    with pytest.raises(ValueError, match="'unknown' is not a word that this model can output"):
        direct_effects(babbler, run, "unknown")
    with pytest.raises(ValueError, match="The steps of this run are 0 to 7"):
        gradient_times_input(babbler, run, len(run.output))
    rounded = Translator(replace(toy.checkpoint, model=copy.deepcopy(toy.checkpoint.model)), "int8")
    to_int8(rounded.checkpoint.model)
    with pytest.raises(ValueError, match="load the model in float32"):
        direct_effects(rounded, rounded.translate(BEER, value_weighted=True))
