"""Mistakes that spoil what is learned: small models are trained with and without each, in seconds.

B batch, T target, H heads, D model width, V target vocabulary.
"""

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data import TOY, Batch, classroom_corpus
from ..data.vocabulary import END, START
from ..inference.decoding import evaluating, greedy_batch
from ..inference.translator import Translator
from ..network.config import TransformerConfig
from ..network.model import Transformer
from ..network.probe import Probe, Recorder
from ..storage.checkpoint import Checkpoint
from ..training import TrainingConfig, evaluate, measure, seeded_model, train
from .mistake import Learned, Learning, Side, Symptom, TrainingMistake

# The least that shows what the causal mask is for: on two sentences a model learns both by heart, mask or not.
STEPS, PAIRS, TESTED = 300, 4000, 100
PLACES = 10  # of a sentence, in which words are compared
SMALL = {"d_model": 48, "n_heads": 4, "d_ff": 96, "num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.0}


@dataclass(frozen=True, eq=False)
class Trained:
    """A model, its losses step by step, and its teacher-forced accuracy at the last."""

    model: Transformer
    losses: tuple[float, ...]
    accuracy: float


def _learn(
    side: Literal["right", "wrong"], model: Transformer, data: Batch, config: TrainingConfig, probe: Probe | None = None
) -> Generator[Learned, None, Trained]:
    losses = []
    for progress in train(model, data, config, probe):
        losses.append(progress.loss)
        yield Learned(side, progress.step, config.steps, progress.loss)
    return Trained(model.eval(), tuple(losses), progress.token_accuracy)


def held_out() -> list[tuple[str, str]]:
    """Sentence pairs of the classroom that training never sees, of words that it does."""
    corpus = classroom_corpus(PAIRS)
    first = next(iter(corpus.held_out.values()))
    words = {*corpus.src_vocab.words, *corpus.tgt_vocab.words}
    known = (pair for pair in first() if words.issuperset(f"{pair.source} {pair.target}".split()))
    return [(pair.source, pair.target) for pair in itertools.islice(known, TESTED)]


def learn_classroom(
    side: Literal["right", "wrong"], probe: Probe | None = None, data: Batch | None = None, **shape: int
) -> Generator[Learned, None, Trained]:
    """A small model of the classroom's sentences."""
    corpus = classroom_corpus(PAIRS)
    sizes: dict[str, Any] = {"src_vocab_size": len(corpus.src_vocab), "tgt_vocab_size": len(corpus.tgt_vocab)}
    model = seeded_model(TransformerConfig(**{**sizes, **SMALL, **shape}, max_len=64), 0)
    config = TrainingConfig(STEPS, batch_size=48, schedule="one-cycle", learning_rate=0.007)
    return (yield from _learn(side, model, data or corpus.batch(), config, probe))


def _tested(right: Trained, wrong: Trained, numbers: Callable[[Trained], Mapping[str, float]]) -> Symptom:
    """Both on sentences that neither has seen. Shown is the longest that the right one translates."""
    corpus, pairs = classroom_corpus(PAIRS), held_out()
    data, vocab = corpus.batch(pairs), corpus.tgt_vocab
    start, end = vocab.ids[START], vocab.ids[END]

    def translated(one: Trained) -> list[str]:
        rows = greedy_batch(one.model, data.src, start, end, data.target_length)
        return [vocab.decode(i for i in row if i < len(vocab)) for row in rows]

    translations = translated(right)
    shown = max(range(len(pairs)), key=lambda i: (translations[i] == pairs[i][1], len(translations[i])))

    def side(one: Trained, text: str) -> Side:
        exact_match = evaluate(one.model, data, start, end).exact_match
        return Side({**numbers(one), "exact_match": exact_match, "loss": one.losses[-1]}, text, one.losses)

    return Symptom(side(right, translations[shown]), side(wrong, translated(wrong)[shown]), *pairs[shown])


@TrainingMistake.shown_by(
    right="mask = padding & torch.ones(T, T, dtype=torch.bool).tril()",
    wrong="mask = padding",
    distractors=("rank_collapse", "embeddings_unscaled", "positions_from_ids"),
)
def causal_mask() -> Learning:
    """Every position may attend to the next word, which is the answer: it learns to copy, and has nothing to copy
    from when it decodes freely."""

    def only_padding(name: str, value: Tensor) -> Tensor:
        is_masked = name.startswith("decoder") and name.endswith("self_attention.mask")
        return value[..., -1:, :].expand_as(value) if is_masked else value  # the last row has no future

    wrong = yield from learn_classroom("wrong", only_padding)
    right = yield from learn_classroom("right")
    return _tested(right, wrong, lambda one: {"training_accuracy": one.accuracy})


@TrainingMistake.shown_by(
    right="logits = model(src, tgt[:, :-1])\nloss = F.cross_entropy(logits.transpose(1, 2), tgt[:, 1:])",
    wrong="logits = model(src, tgt[:, :-1])\nloss = F.cross_entropy(logits.transpose(1, 2), tgt[:, :-1])",
    distractors=("rank_collapse", "teacher_forced_test", "no_eval"),
)
def labels_not_shifted() -> Learning:
    """Every position is to predict the word that it reads: S after S, and so S for ever."""
    data, (sentence, gold) = TOY.batch(), TOY.pairs[0]
    wrong = yield from _learn_toy("wrong", toy_model(), replace(data, tgt_out=data.tgt_in))
    right = yield from _learn_toy("right", toy_model())

    def side(one: Trained) -> Side:
        output = _toy_translator(one.model).translate(sentence).output
        numbers = {"start_share": output.count(START) / len(output), "training_accuracy": one.accuracy}
        return Side({**numbers, "loss": one.losses[-1]}, " ".join(output), one.losses)

    return Symptom(side(right), side(wrong), sentence, gold)


@TrainingMistake.shown_by(
    right="loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)",
    wrong="loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())",
    distractors=("causal_mask", "teacher_forced_test", "no_eval"),
)
def loss_over_padding() -> Learning:
    """Padding is a label like any other: it has the id after the last word's, because the loss ignores P's own."""
    corpus = classroom_corpus(PAIRS)
    new, label = corpus.batch(held_out()), len(corpus.tgt_vocab)

    def counted(batch: Batch) -> Batch:
        return replace(batch, tgt_out=batch.tgt_out.where(batch.tgt_out != 0, label))

    wrong = yield from learn_classroom("wrong", data=counted(corpus.batch()), tgt_vocab_size=label + 1)
    right = yield from learn_classroom("right")

    def losses(one: Trained) -> dict[str, float]:
        """The loss that it was trained with: of all new sentences in one batch, and of each on its own."""
        labelled = counted if one is wrong else lambda batch: batch
        alone = [measure(one.model, labelled(new.rows(torch.tensor([i])).trimmed()))[0] for i in range(len(new))]
        words = (new.tgt_out != 0).sum(dim=1).tolist()
        together, _ = measure(one.model, labelled(new))
        return {"loss_together": together, "loss_alone": float(np.average(alone, weights=words))}

    return _tested(right, wrong, losses)


@TrainingMistake.shown_by(
    right="self.output.weight = self.embedding.weight\nx = self.embedding(ids) * math.sqrt(d_model) + self.positions",
    wrong="self.output.weight = self.embedding.weight\nx = self.embedding(ids) + self.positions",
    distractors=("positions_from_ids", "rank_collapse", "unscaled"),
)
def embeddings_unscaled() -> Learning:
    """Words of length 1 on positions of length sqrt(d_model / 2): a place counts for more than the word in it."""
    wrong = yield from learn_classroom("wrong", tie_output=True, scale_embeddings=False)
    right = yield from learn_classroom("right", tie_output=True)

    def alike(vectors: Tensor) -> float:
        """The mean cosine similarity of two of N vectors, (..., N, D)."""
        n, total = vectors.size(-2), F.normalize(vectors, dim=-1).sum(dim=-2).square().sum(dim=-1)
        return float(((total - n) / (n * (n - 1))).mean())

    def similarities(one: Trained) -> dict[str, float]:
        recorder = Recorder(lambda name: name == "decoder.input")
        words = torch.arange(1, one.model.config.tgt_vocab_size)[:, None].expand(-1, PLACES)  # each in every place
        with evaluating(one.model):
            one.model(words, words, need_weights=False, probe=recorder)
        (read,) = recorder.values["decoder.input"]  # (V, PLACES, D)
        return {"place_similarity": alike(read.transpose(0, 1)), "word_similarity": alike(read)}

    return _tested(right, wrong, similarities)


@TrainingMistake.shown_by(
    right="ids = [START]\nwhile ids[-1] != END:\n    ids.append(model(src, ids)[-1].argmax())",
    wrong="ids = model(src, gold).argmax(dim=-1)",
    distractors=("labels_not_shifted", "unscaled", "after_dropout"),
)
def teacher_forced_test() -> Learning:
    """A small model that is not done learning looks better than it is when it is shown the answer so far.

    One word too many moves all that follow: words are counted in their places, and in their order wherever they are.
    """
    corpus, pairs = classroom_corpus(PAIRS), held_out()
    one = yield from learn_classroom("wrong")
    model = one.model
    data = corpus.batch(pairs)
    start, end = corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]
    gold = [[i for i in row if i != model.config.pad_id] for row in data.tgt_out.tolist()]
    free = greedy_batch(model, data.src, start, end, data.target_length)
    with evaluating(model):
        guesses = model(data.src, data.tgt_in, need_weights=False).logits.argmax(dim=-1).tolist()
    forced = [row[: len(wanted)] for row, wanted in zip(guesses, gold, strict=True)]

    def hits(outputs: list[list[int]]) -> list[int]:
        return [sum(map(eq, ours, wanted)) for ours, wanted in zip(outputs, gold, strict=True)]

    lost = [right - ours for ours, right in zip(hits(free), hits(forced), strict=True)]
    errors = [len(wanted) - right for right, wanted in zip(hits(forced), gold, strict=True)]
    # One error, and everything after it is wrong.
    shown = max(range(len(pairs)), key=lambda i: (errors[i] <= 1, lost[i]))

    def side(outputs: list[list[int]]) -> Side:
        in_order = sum(map(_in_order, outputs, gold))
        counts = {"words_right": sum(hits(outputs)), "words_in_order": in_order}
        numbers = {name: count / sum(map(len, gold)) for name, count in counts.items()}
        return Side(numbers, corpus.tgt_vocab.decode(outputs[shown]), one.losses)

    return Symptom(side(free), side(forced), *pairs[shown])


def _in_order(output: Sequence[int], wanted: Sequence[int]) -> int:
    """The length of the longest sequence that both have in this order, with anything between."""
    best = [0] * (len(wanted) + 1)  # of the output so far and the first n wanted
    for token in output:
        before = best.copy()
        for n, each in enumerate(wanted, 1):
            best[n] = before[n - 1] + 1 if token == each else max(before[n], best[n - 1])
    return best[-1]


def toy_model() -> Transformer:
    """As deep and as wide as the shipped toy; without dropout, so that 60 steps are enough."""
    shape = TransformerConfig(len(TOY.src_vocab), len(TOY.tgt_vocab), d_model=64, d_ff=256, dropout=0.0, max_len=64)
    return seeded_model(shape, 0)


def _learn_toy(
    side: Literal["right", "wrong"], model: Transformer, data: Batch | None = None
) -> Generator[Learned, None, Trained]:
    return (yield from _learn(side, model, data or TOY.batch(), TrainingConfig(60)))


def _toy_translator(model: Transformer) -> Translator:
    return Translator(Checkpoint(model, TOY.src_vocab, TOY.tgt_vocab, TOY.source_length, output_limit=9), "small")


@TrainingMistake.shown_by(
    right="nn.init.normal_(embedding.weight, std=d_model**-0.5)",
    wrong="nn.init.normal_(embedding.weight, std=d_model**-0.5)\n"
    "for module in model.modules():\n    if isinstance(module, nn.Linear):\n"
    "        nn.init.xavier_uniform_(module.weight)",
    distractors=("cross_padding", "unscaled", "after_dropout"),
)
def rank_collapse() -> Learning:
    """Xavier in the linear layers: after six post-norm layers all words are one vector, and no head of
    cross-attention has anything to choose between. The translations are right all the same."""
    sentence, gold = TOY.pairs[0]
    model = toy_model()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
    wrong = yield from _learn_toy("wrong", model)
    right = yield from _learn_toy("right", toy_model())
    runs = [_toy_translator(each.model).translate(sentence) for each in (right, wrong)]
    largest = [[m.weights.max(axis=(-1, -2)) for m in run.attention.cross] for run in runs]  # (L, H)
    layer = max(range(len(largest[0])), key=lambda i: float(largest[0][i].max()))

    def side(one: Trained, i: int) -> Side:
        maps = runs[i].attention.cross
        away = max(float(m.from_uniform().max()) for m in maps)
        most = max(float(each.max()) for each in largest[i])
        first = float(runs[i].attention.encoder[0].weights.max())  # where the words still differ
        numbers = {"from_uniform": away, "largest_weight": most, "first_weight": first, "loss": one.losses[-1]}
        return Side(numbers, runs[i].text, one.losses, maps[layer])

    return Symptom(side(right, 0), side(wrong, 1), sentence, gold, head=int(largest[0][layer].argmax()))


class _FreshLinear(nn.Module):
    """The mistake itself: an output layer of every call, random each time, which nothing saves and nothing trains."""

    bias = None  # that a checkpoint could have

    def __init__(self, out_features: int) -> None:
        super().__init__()
        self.out_features = out_features

    def forward(self, x: Tensor) -> Tensor:
        return nn.Linear(x.size(-1), self.out_features, device=x.device, dtype=x.dtype)(x)


@TrainingMistake.shown_by(
    right="def __init__(self, d_model, words):\n    self.output = nn.Linear(d_model, words)\n\n"
    "def forward(self, x):\n    return self.output(x)",
    wrong="def forward(self, x):\n    return nn.Linear(x.size(-1), self.words)(x)",
    distractors=("causal_mask", "no_eval", "unscaled"),
)
def output_in_forward() -> Learning:
    """The output layer is random at each call, so nothing can be learned, and one sentence has many translations."""
    sentence, gold = TOY.pairs[0]

    def side(one: Trained) -> Side:
        texts = [_toy_translator(one.model).translate(sentence).text for _ in range(2)]
        saved = sum(v.numel() for name, v in one.model.state_dict().items() if name.startswith("output_projection"))
        numbers = {"loss": one.losses[-1], "saved_output_values": saved, "texts": len(set(texts))}
        return Side(numbers, " | ".join(texts), one.losses)

    model = toy_model()
    model.output_projection = _FreshLinear(len(TOY.tgt_vocab))  # type: ignore[assignment]
    wrong = side((yield from _learn_toy("wrong", model)))
    right = side((yield from _learn_toy("right", toy_model())))
    return Symptom(right, wrong, sentence, gold)


TRAINING_MISTAKES = (
    causal_mask,
    labels_not_shifted,
    loss_over_padding,
    rank_collapse,
    embeddings_unscaled,
    output_in_forward,
    teacher_forced_test,
)
