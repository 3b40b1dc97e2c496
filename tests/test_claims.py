"""What the page and the README claim of the models and of the mathematics, computed. What an exercise shows is in
mistakes/test_mistakes.py."""

import copy
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer import Transformer, Translator
from transformer.analysis.head_ablation import ablate_cross_attention
from transformer.analysis.sublayer import ids
from transformer.data import CORPORA, TOY, classroom_corpus
from transformer.data.corpus import encode_pairs
from transformer.inference.interventions import Interventions, RemoveMask
from transformer.messages import catalogues
from transformer.mistakes.decoding import by_view, softmax_over_queries
from transformer.mistakes.training import PAIRS, SMALL, held_out, learn_classroom, toy_model
from transformer.network.config import TransformerConfig
from transformer.network.layers import sinusoidal_positions
from transformer.network.probe import Probe
from transformer.training import TrainingConfig, measure, seeded_model, train
from transformer.web.sessions.models import about

ROOT = Path(__file__).parents[1]
ENGLISH = catalogues()["en"]
COLD_BEER = "Heute habe ich ein kaltes Bier getrunken"
DOG, TEACHER = "Den Hund sieht der Lehrer", "Der Hund sieht den Lehrer"


# ---- rank collapse ----


def learned(kind: type[nn.Module], **shape: Any) -> Transformer:
    """As the exercise trains it, with Xavier in modules of a kind, in a network of this shape."""
    model = seeded_model(replace(toy_model().config, **shape), 0)
    for module in model.modules():
        if isinstance(module, kind):
            nn.init.xavier_uniform_(module.weight)  # type: ignore[arg-type]
    for _ in train(model, TOY.batch(), TrainingConfig(60)):
        pass
    return model.eval()


def similarity_and_weights(model: Transformer) -> tuple[float, dict[str, list[float]]]:
    """The least cosine of two encoded words, and by kind the largest weight on a word of each layer."""
    batch = TOY.batch()
    with torch.no_grad():
        words = model.encode(batch.src[:1]).memory[0, :4]
        maps = model(batch.src[:1], batch.tgt_in[:1]).attention
    assert maps is not None
    cosine = F.cosine_similarity(words[:, None], words[None], dim=-1)
    rows = {"encoder": maps.encoder, "cross": maps.cross, "decoder": [weights[:, :, -1] for weights in maps.decoder]}
    return float(cosine.min()), {kind: [float(each.max()) for each in layers] for kind, layers in rows.items()}


@pytest.mark.slow
def test_xavier_in_the_linear_layers_collapses_what_comes_last_in_the_encoder_and_nothing_of_the_decoder() -> None:
    cosine, weights = similarity_and_weights(learned(nn.Linear))
    assert cosine > 0.99
    assert max(weights["cross"]) < 0.26
    assert min(weights["encoder"][:2]) > 0.7 > 0.3 > weights["encoder"][-1]
    assert min(weights["decoder"]) > 0.5  # of five words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (nn.Embedding, {}),
        (nn.Linear, {"num_encoder_layers": 2, "num_decoder_layers": 2}),
        (nn.Linear, {"norm_first": True}),
    ],
)
def test_xavier_in_the_embeddings_two_layers_or_pre_norm_do_not_collapse(
    kind: type[nn.Module], shape: dict[str, Any]
) -> None:
    _, weights = similarity_and_weights(learned(kind, **shape))
    assert max(weights["cross"]) > 0.7


# ---- other mistakes ----


@pytest.mark.slow
@pytest.mark.parametrize("probe", [softmax_over_queries(), by_view], ids=["softmax_dim", "heads_by_view"])
def test_trained_with_it_a_small_model_learns_and_translates_nothing(probe: Probe) -> None:
    pairs, corpus = held_out(), classroom_corpus(PAIRS)
    data, vocab = corpus.batch(pairs), corpus.tgt_vocab
    losses = []
    learning = learn_classroom("wrong", probe)
    while True:
        try:
            losses.append(next(learning).loss)
        except StopIteration as end:
            model = end.value.model
            break
    assert losses[-1] < 0.2 * losses[0]
    read = data.tgt_in[:, :1]
    with torch.no_grad():
        for _ in range(data.target_length):  # everything again at each step
            read = torch.cat([read, model(data.src, read, probe=probe).logits[:, -1:].argmax(dim=-1)], dim=1)
    assert not any(vocab.decode(row[1:]) == target for row, (_, target) in zip(read.tolist(), pairs, strict=True))


def test_the_lengths_of_words_and_positions_that_embeddings_unscaled_names() -> None:
    d_model = int(SMALL["d_model"])
    text = ENGLISH["mistakes.embeddings_unscaled.why"]
    assert f"{sinusoidal_positions(1, d_model).norm():.1f}, so it drowns" in text
    assert f"here {math.sqrt(d_model):.1f}, the word is" in text
    corpus, losses = classroom_corpus(PAIRS), []
    sizes: dict[str, Any] = {**SMALL, "tie_output": True, "scale_embeddings": False}
    for std in (d_model**-0.5, 1.0):
        torch.manual_seed(0)
        model = Transformer(TransformerConfig(len(corpus.src_vocab), len(corpus.tgt_vocab), **sizes))
        nn.init.normal_(model.tgt_embedding.weight, std=std)
        losses.append(measure(model, corpus.batch(held_out()))[0])
    assert losses[1] > 3 * losses[0]


def test_the_two_sentences_of_positions_from_ids_are_one_bag_of_words(classroom: Translator) -> None:
    assert sorted(DOG.lower().split()) == sorted(TEACHER.lower().split())
    translated = [classroom.translate(sentence).text for sentence in (DOG, TEACHER)]
    assert translated == ["the teacher sees the dog .", "the dog sees the teacher ."]
    assert f"{DOG} and {TEACHER}" in ENGLISH["mistakes.positions_from_ids.decoding"]


def test_the_dropout_of_no_eval_is_the_paper_s_not_the_model_s(classroom: Translator) -> None:
    assert classroom.checkpoint.model.config.dropout == 0
    model = copy.deepcopy(classroom.checkpoint.model).train()
    src, tgt = ids(classroom, classroom.translate(DOG))
    with torch.no_grad():
        assert torch.equal(model(src, tgt).logits, model(src, tgt).logits)  # eval() forgotten, and nothing to see
    assert "dropout of 0.1" in ENGLISH["mistakes.no_eval.decoding"]


@pytest.mark.slow
def test_with_dropout_on_a_model_measures_worse_than_it_is(classroom: Translator) -> None:
    checkpoint, corpus = classroom.checkpoint, CORPORA["classroom"]
    model = Transformer(replace(checkpoint.model.config, dropout=0.1))
    model.load_state_dict(checkpoint.model.state_dict())
    pairs = [(pair.source, pair.target) for pair in next(iter(corpus.held_out.values()))()[:100]]
    batch = encode_pairs(pairs, checkpoint.src_vocab, checkpoint.tgt_vocab, corpus.source_length)

    def loss() -> float:
        with torch.no_grad():
            logits = model(batch.src, batch.tgt_in).logits
        return float(F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0))

    assert (model.eval() and loss()) < 0.8 * (model.train() and loss())


def test_what_is_left_for_the_words_depends_on_the_padding(classroom: Translator) -> None:
    checkpoint = classroom.checkpoint
    src, tgt = ids(classroom, classroom.translate(DOG))
    words = int((src != 0).sum())
    probe = Interventions((RemoveMask("cross"),)).probe(checkpoint.model.config, checkpoint.model.positions)
    left = []
    for padding in (0, 1, 3):
        with torch.no_grad():
            maps = checkpoint.model(F.pad(src[:, :words], (0, padding)), tgt, probe=probe).attention
        assert maps is not None
        left.append(float(torch.stack(maps.cross)[..., :words].sum(dim=-1).mean()))
    assert left[0] == pytest.approx(1)
    assert left[0] > left[1] + 0.03 > left[2] + 0.06


# ---- the lesson ----


@pytest.mark.parametrize("name", ["toy", "classroom"])
def test_most_of_an_encoder_layer_s_weights_are_in_its_feed_forward_network(name: str) -> None:
    layer = Translator.load(name, device="cpu").checkpoint.model.encoder.layers[0]
    counts = {part: p.numel() for part, p in layer.named_parameters()}
    network = sum(count for part, count in counts.items() if part.startswith("linear"))
    assert network > sum(counts.values()) / 2


@pytest.mark.parametrize("name", ["toy", "classroom"])
def test_positions_would_drown_embeddings_that_are_not_scaled(name: str) -> None:
    model = Translator.load(name, device="cpu").checkpoint.model
    length = model.src_embedding.weight.norm(dim=-1).median()
    assert length < 0.5 * model.positions[:10].norm(dim=-1).min() < math.sqrt(model.config.d_model) * length


# ---- alignment, and what the models are ----


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_the_readme_s_figures_of_the_deciding_step(readme: str, toy: Translator) -> None:
    run = toy.translate("Ich möchte ein Bier")
    rows = np.concatenate([m.weights[:, run.output.index("beer")] for m in run.attention.cross])  # (48, S)
    on_bier, largest = rows[:, run.source.index("bier")], rows.max(axis=-1)
    figures = [on_bier.max(), np.median(on_bier), 1 / 4, np.median(largest)]
    texts = [f"{figure:.2f}" for figure in figures] + ["0.40"]
    text = (ROOT / readme).read_text("utf-8").split("*beer*")[1]
    assert re.findall(r"0\.\d\d", text)[:5] == texts
    assert len(rows) == 48
    assert re.search(rf"\b{(largest < 0.4).sum()}\b", text.split("0.40")[0])


def test_an_example_says_what_its_words_become(classroom: Translator) -> None:
    assert f"ln 9 = {math.log(9):.3f}" in ENGLISH["mistakes.output_in_forward.symptom"]
    example = next(each for each in CORPORA["classroom"].examples if each.name == "one_to_many")
    assert "would like" in classroom.translate(example.sentence).text
    assert "would like" in ENGLISH["example.one_to_many.shows"]


def test_most_heads_of_the_classroom_model_can_be_silenced_without_changing_a_word(classroom: Translator) -> None:
    run = classroom.translate(COLD_BEER)
    silenced = ablate_cross_attention(classroom, run)
    same = [each for each in silenced if each.text == run.text]
    assert len(same) > len(silenced) / 2


def test_label_smoothing_leaves_a_word_no_more_than_its_limit(classroom: Translator) -> None:
    """Why a correct sentence has a low probability, as the page says."""
    smoothing = about("classroom")["label_smoothing"]
    assert smoothing == 0.1
    limit = 1 - smoothing + smoothing / len(classroom.checkpoint.tgt_vocab)
    words = [step.probability for step in classroom.translate(COLD_BEER).steps]
    assert math.prod(words) < 0.5
    assert np.median(words) == pytest.approx(limit, abs=0.02)
    assert about("toy")["label_smoothing"] == 0


def test_pytorchs_attention_gives_nan_where_no_key_may_be_attended_to() -> None:
    attention, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.ones(1, 3, 8)
    assert attention(x, x, x, key_padding_mask=torch.ones(1, 3, dtype=torch.bool))[0].isnan().all()
