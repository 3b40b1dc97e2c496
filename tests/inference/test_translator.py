"""A translation is a pure function of its sentence, and a Translation holds every tensor on the right axes."""

import math
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from transformer import SentenceError, Translation, Translator
from transformer.inference.attention_maps import KINDS
from transformer.inference.decoding import Sampling
from transformer.inference.interventions import AblateHead, ForceWord, Interventions
from transformer.inference.translation import Candidates
from transformer.inference.translator import INPUT_PARTS, MAX_CHARACTERS
from transformer.storage.checkpoint import CheckpointError

from ..networks import agree, is_clear

BEER = ("Ich möchte ein Bier", "i want a beer .")
SURE = "Heute habe ich ein kaltes Bier getrunken"
COLA = ("ich mochte ein cola", "i want a coke .")


@pytest.fixture(scope="module", params=["beer", "cola", "babble"])
def run(request: pytest.FixtureRequest, toy: Translator, babbler: Translator) -> tuple[Translation, Translator]:
    """A run and its translator: both toy sentences, and an untrained network that never outputs E."""
    if request.param == "babble":
        return babbler.translate("wort3 wort1 wort4 wort1"), babbler
    return toy.translate(BEER[0] if request.param == "beer" else COLA[0]), toy


def assert_close(one: Translation, two: Translation) -> None:
    """The words are the same, and the numbers up to the rounding of another batch or thread."""
    for name in ("text", "source", "decoder_input", "output"):
        assert getattr(one, name) == getattr(two, name)
    for kind in KINDS:
        for m, n in zip(one.attention.of(kind), two.attention.of(kind), strict=True):
            assert (m.query_tokens, m.key_tokens) == (n.query_tokens, n.key_tokens)
            assert (m.allowed == n.allowed).all()
            np.testing.assert_allclose(m.weights, n.weights, atol=1e-5)
    for name in ("source_input", "target_input"):
        for part in INPUT_PARTS:
            np.testing.assert_allclose(getattr(getattr(one, name), part), getattr(getattr(two, name), part), atol=1e-5)
    for a, b in zip(one.steps, two.steps, strict=True):
        agree(a.candidates.distribution, b.candidates.distribution)


# The contents of a translation


@pytest.mark.parametrize(("sentence", "text"), [BEER, COLA, ("„ICH  mo\u0308chte\tein Bier“!", BEER[1])])
def test_the_shipped_toy_translates(toy: Translator, sentence: str, text: str) -> None:
    run = toy.translate(sentence)
    assert (run.sentence, run.text) == (sentence, text)
    assert run.complete
    assert repr(toy) == f"Translator('toy', 701,961 weights, {toy.device})"
    assert (run.checkpoint, run.device) == ("toy", "cpu")


def test_the_decoder_input_is_the_output_shifted_right(run: tuple[Translation, Translator]) -> None:
    t, translator = run
    assert t.decoder_input == ("S", *t.output[:-1])
    assert [step.token for step in t.steps] == [step.candidates[0].token for step in t.steps] == list(t.output)
    assert t.complete is (t.output[-1] == "E") is (translator.name == "toy")
    assert t.complete or len(t.output) == translator.checkpoint.output_limit


def test_candidates_are_ranked_as_a_stable_sort_ranks_them() -> None:
    torch.manual_seed(0)
    for distribution in (torch.randint(9, (100,)) / 9, torch.rand(5), torch.zeros(40), torch.full((40,), torch.nan)):
        tokens = tuple(map(str, range(len(distribution))))
        found = Candidates(tokens, distribution)
        expected = [tokens[i] for i in distribution.sort(descending=True, stable=True).indices]
        assert [each.token for each in found] == [found[i].token for i in range(len(found))] == expected
        assert [each.token for each in found[1:7]] == expected[1:7]
        assert found[-1].token == expected[-1]
        with pytest.raises(IndexError):
            found[len(found)]


def test_the_maps_have_their_tokens_and_masks(run: tuple[Translation, Translator]) -> None:
    t, translator = run
    config = translator.checkpoint.model.config
    words, past = np.array(t.source) != "P", np.tril(np.ones((len(t.output), len(t.output)), bool))
    depths = config.num_encoder_layers, config.num_decoder_layers, config.num_decoder_layers
    axes = (t.source, t.source, words), (t.decoder_input, t.decoder_input, past), (t.decoder_input, t.source, words)
    for kind, depth, (queries, keys, allowed) in zip(KINDS, depths, axes, strict=True):
        assert len(t.attention.of(kind)) == depth
        for layer, m in enumerate(t.attention.of(kind)):
            assert (m.kind, m.layer, m.n_heads) == (kind, layer, config.n_heads)
            assert (m.query_tokens, m.key_tokens) == (queries, keys)
            assert (m.allowed == allowed).all()
            assert ((m.weights > 0) == m.allowed).all()
            assert not m.weights.flags.writeable


def test_the_input_is_embedding_plus_position(run: tuple[Translation, Translator]) -> None:
    t, translator = run
    model, positions = translator.checkpoint.model, translator.checkpoint.model.positions.numpy()
    for part, tokens, table, vocab in (
        (t.source_input, t.source, model.src_embedding, translator.checkpoint.src_vocab),
        (t.target_input, t.decoder_input, model.tgt_embedding, translator.checkpoint.tgt_vocab),
    ):
        assert part.tokens == tokens
        words = table.weight.detach().numpy()[[vocab.ids[token] for token in tokens]]
        assert part.embedding == pytest.approx(words * model.config.d_model**0.5, abs=1e-5)
        assert np.array_equal(part.positions, positions[: len(tokens)])
        assert np.array_equal(part.embedding + part.positions, part.input)
        assert not part.input.flags.writeable


def test_the_tables_have_one_row_per_weight_and_per_head(run: tuple[Translation, Translator]) -> None:
    t, _ = run
    table, maps = t.table(), [m for kind in KINDS for m in t.attention.of(kind)]
    assert list(table.columns) == ["kind", "layer", "head", "query", "key", "query_token", "key_token", "weight"]
    rows = list(table.itertuples(index=False))
    assert len({row[:5] for row in rows}) == len(rows) == sum(m.weights.size for m in maps)
    for row in rows:
        m = t.attention.of(row.kind)[row.layer]
        assert (m.query_tokens[row.query], m.key_tokens[row.key]) == (row.query_token, row.key_token)
        assert m.weights[row.head, row.query, row.key] == row.weight
    heads = t.heads()
    assert list(heads.columns) == ["kind", "layer", "head", "entropy", "distance"]
    places = [(m, head) for m in maps for head in range(m.n_heads)]
    for row, (m, head) in zip(heads.itertuples(), places, strict=True):
        assert (row.kind, row.layer, row.head) == (m.kind, m.layer, head)
        assert row.entropy == pytest.approx(m.entropy()[head].mean())
        assert row.distance == pytest.approx(m.distance()[head].mean())


# A run is pure


def test_concurrent_runs_of_one_model_are_isolated(toy: Translator, beer: Translation) -> None:
    cola = toy.translate(COLA[0])
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(toy.translate, [BEER[0], COLA[0]] * 2))
    for run, alone in zip(runs, [beer, cola] * 2, strict=True):
        assert_close(run, alone)


# Many at a time


@settings(max_examples=10)
@given(st.lists(st.lists(st.integers(1, 10), min_size=1, max_size=6), max_size=5), st.integers(1, 4))
def test_any_lengths_in_one_batch_equal_one_at_a_time(
    babbler: Translator, rows: list[list[int]], batch_size: int
) -> None:
    bare = Translator(replace(babbler.checkpoint, pad_source=False), "bare")
    sentences = [" ".join(f"wort{i}" for i in row) for row in rows]
    alone = [bare.translate(sentence) for sentence in sentences]
    assume(all(is_clear(step.candidates.distribution for step in run.steps) for run in alone))
    for run, expected in zip(bare.translate_many(sentences, batch_size), alone, strict=True):
        assert_close(run, expected)


def test_of_many_sentences_the_refused_one_is_named(toy: Translator) -> None:
    with pytest.raises(SentenceError, match=r"^sentences\[1\]: .*“wein”") as error:
        toy.translate_many([BEER[0], "ich mochte ein wein", ""])
    assert error.value.message.key == "error.unknown"
    with pytest.raises(TypeError, match=r"^sentences\[0\]: a sentence is a str, not a int"):
        toy.translate_many([3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="sentences is a str"):
        toy.translate_many(BEER[0])
    with pytest.raises(ValueError, match=r"batch_size \(0\) is below 1"):
        toy.translate_many([BEER[0]], batch_size=0)
    assert toy.translate_many([]) == []


# Forced words


def test_decoding_continues_from_a_forced_prefix(toy: Translator, beer: Translation) -> None:
    assert toy.translate(BEER[0], forced=("i", "want", "a", "coke")).text == COLA[1]
    for n in range(len(beer.output) + 1):  # its own output
        assert_close(toy.translate(BEER[0], forced=beer.output[:n]), beer)


@pytest.mark.parametrize(
    ("forced", "message"),
    [
        (["i", "tea"], "'tea' is not a word that this model can output"),
        (["i", "S"], "'S' is not"),
        (["\ud800"], r"'\\ud800' is not"),
        (["x" * 500], "'x{40}' is not"),
        (["i"] * 10, "10 forced words are more than the 9"),
    ],
)
def test_an_invalid_forced_word_is_refused(toy: Translator, forced: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=rf"{message}.*\.$"):
        toy.translate(BEER[0], forced=forced)


@pytest.mark.parametrize("forced", ["i want", ["i", 3]])
def test_forced_words_are_a_list_of_words(toy: Translator, forced: Any) -> None:
    with pytest.raises(TypeError, match="forced is a list of words"):
        toy.translate(BEER[0], forced=forced)


def test_changes_that_were_not_parsed_are_refused(toy: Translator) -> None:
    changes: Any = [{"do": "positions", "stack": "encoder", "how": "removed"}]
    with pytest.raises(TypeError, match=r"is a list; .*Interventions\.parse"):
        toy.translate(BEER[0], interventions=changes)


# Refusals


@pytest.mark.parametrize(
    ("sentence", "key"),
    [
        ("", "error.empty"),
        ("ich mochte ein wein", "error.unknown"),
        ("ich mochte ein bier bier bier", "error.too_many_words"),
        ("x" * MAX_CHARACTERS, "error.unknown"),
        ("x" * (MAX_CHARACTERS + 1), "error.too_long"),
        ("ich\u200bmochte", "error.invisible"),
    ],
)
def test_an_unusable_sentence_is_refused(toy: Translator, sentence: str, key: str) -> None:
    assert toy.reads(BEER[0])
    assert not toy.reads(sentence)
    for refuse in (toy.translate, toy.beam):
        with pytest.raises(SentenceError) as error:
            refuse(sentence)
        assert error.value.message.key == key
        assert str(error.value).isprintable()


def test_only_a_padded_checkpoint_pads_its_source(babbler: Translator) -> None:
    sentence = "wort3 wort1 wort4"
    bare = Translator(replace(babbler.checkpoint, pad_source=False), "bare").translate(sentence)
    padded = babbler.translate(sentence)
    assert bare.source == ("wort3", "wort1", "wort4")
    assert padded.source == ("wort3", "wort1", "wort4", "P", "P", "P")
    assert bare.output == padded.output  # padding is masked
    with pytest.raises(SentenceError, match="7"):
        Translator(replace(babbler.checkpoint, pad_source=False), "bare").translate("wort1 " * 7)
    for one, other in zip(bare.attention.cross, padded.attention.cross, strict=True):
        assert one.weights == pytest.approx(other.weights[:, :, :3], abs=1e-5)
        assert one.allowed.all()


@pytest.mark.parametrize("name", ["nonesuch", "", "toy/config.json", "\0", "a\nb", "n" * 300], ids=range(6))
def test_a_missing_checkpoint_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(CheckpointError) as error:
        Translator.load(name, device="cpu")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions_translate(dtype: torch.dtype) -> None:
    translator = Translator.load("toy", device="cpu")
    translator.checkpoint.model.to(dtype)
    run = translator.translate("Ich möchte ein Bier", value_weighted=True)
    assert run.text == "i want a beer ."
    assert {m.weights.dtype for kind in KINDS for m in run.attention.of(kind)} == {np.dtype("float32")}


# Other decoding strategies


def test_a_beam_has_words_and_one_of_width_1_is_greedy(classroom: Translator) -> None:
    run, tree = classroom.translate(SURE), classroom.beam(SURE, width=1, alpha=1.0)
    path = [branch for branch in tree.branches if branch.fate != "dropped"]
    assert (tree.text, tree.branches[tree.best]) == (run.text, path[-1])
    assert [branch.token for branch in path] == list(run.output)
    for arguments in ({"width": 0}, {"width": 6}, {"width": True}, {"width": 2.0}, {"alpha": -1}, {"alpha": math.nan}):
        with pytest.raises(ValueError, match=r"width|penalty"):
            classroom.beam(SURE, **arguments)
    with pytest.raises(TypeError, match="not a list"):
        classroom.beam(["ich"])  # type: ignore[arg-type]


def test_a_sampled_run_repeats_by_its_seed_and_combines_with_changes_and_forced_words(babbler: Translator) -> None:
    how: dict[str, Any] = {
        "forced": ("word5",),
        "interventions": Interventions((AblateHead("cross", 0, 0), ForceWord(1, "word7"))),
    }
    one, again, other = (babbler.translate("wort3 wort1", sampling=Sampling(seed=seed), **how) for seed in (3, 3, 1))
    assert_close(one, again)
    assert one.output[:2] == other.output[:2] == ("word5", "word7")
    assert one.output != other.output
    assert one.steps[0].candidates[0].token == other.steps[0].candidates[0].token  # the model's own


def test_a_forced_token_whose_probability_underflows_has_a_finite_logarithm(toy: Translator) -> None:
    model = deepcopy(toy.checkpoint.model)
    with torch.no_grad():
        model.output_projection.weight *= 100
    run = Translator(replace(toy.checkpoint, model=model), "sharp").translate(BEER[0], forced=("coke",))
    assert run.steps[0].probability == 0
    assert -1000 < run.log_probability < -700


def test_a_part_that_somebody_replaced_or_watches_is_computed(classroom: Translator) -> None:
    sentence, checkpoint, seen = "Der Hund schläft", deepcopy(classroom.checkpoint), list[int]()
    translator = Translator(checkpoint, "classroom")
    expected = translator.translate(sentence)
    hook = checkpoint.model.decoder.layers[0].register_forward_hook(lambda *_: seen.append(1))
    assert translator.translate(sentence).output == expected.output
    assert len(seen) == len(expected.output)
    hook.remove()

    class Last(torch.nn.Linear):
        """Always the same word."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*x.shape[:-1], self.out_features).index_fill(-1, torch.tensor(5), 1.0)

    checkpoint.model.output_projection = Last(1, len(checkpoint.tgt_vocab))
    word = checkpoint.tgt_vocab.tokens[5]
    assert {*translator.translate(sentence).output} == {word}
    assert {*translator.translate_many([sentence])[0].output} == {word}
    assert translator.beam(sentence).branches[0].token == word
