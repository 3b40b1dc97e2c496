"""Mistakes that spoil what is learned: small models are trained with and without each, in seconds.

B batch, T target, H heads, D model width, V target vocabulary.
"""

import itertools
from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from ..data import TOY, Batch, classroom_corpus
from ..data.vocabulary import END, START
from ..inference.decoding import evaluating, greedy_batch
from ..inference.interventions import Interventions, RemoveMask
from ..inference.translator import Translator
from ..network.config import TransformerConfig
from ..network.model import Transformer
from ..network.probe import Probe
from ..storage.checkpoint import Checkpoint
from ..training import TrainingConfig, evaluate, measure, seeded_model, train
from .mistake import Learned, Learning, Side, Symptom, TrainingMistake

# The least that shows what the causal mask is for: on two sentences a model learns both by heart, mask or not.
STEPS, PAIRS, TESTED = 300, 4000, 100
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


def _held_out() -> list[tuple[str, str]]:
    """Sentence pairs of the classroom that training never sees, of words that it does."""
    corpus = classroom_corpus(PAIRS)
    first = next(iter(corpus.held_out.values()))
    words = {*corpus.src_vocab.words, *corpus.tgt_vocab.words}
    known = (pair for pair in first() if words.issuperset(f"{pair.source} {pair.target}".split()))
    return [(pair.source, pair.target) for pair in itertools.islice(known, TESTED)]


def _learn_classroom(side: Literal["right", "wrong"], *, causal: bool) -> Generator[Learned, None, Trained]:
    """A small model of the classroom's sentences, with the causal mask or without."""
    corpus = classroom_corpus(PAIRS)
    shape = TransformerConfig(len(corpus.src_vocab), len(corpus.tgt_vocab), max_len=64, **SMALL)  # type: ignore[arg-type]
    model = seeded_model(shape, 0)
    probe = None if causal else Interventions((RemoveMask("decoder"),)).probe(shape, model.positions)
    config = TrainingConfig(STEPS, batch_size=48, schedule="one-cycle", learning_rate=0.007)
    return (yield from _learn(side, model, corpus.batch(), config, probe))


@TrainingMistake.shown_by(
    right="mask = padding & torch.ones(T, T, dtype=torch.bool).tril()",
    wrong="mask = padding",
    distractors=("rank_collapse", "never_stops", "positions_from_ids"),
)
def causal_mask() -> Learning:
    """Every position may attend to the next word, which is the answer: it learns to copy, and has nothing to copy
    from when it decodes freely. Both are shown on the longest sentence that the right one can."""
    corpus, pairs = classroom_corpus(PAIRS), _held_out()
    data = corpus.batch(pairs)
    start, end = corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]
    wrong = yield from _learn_classroom("wrong", causal=False)
    right = yield from _learn_classroom("right", causal=True)

    def translated(one: Trained) -> list[str]:
        return [*map(corpus.tgt_vocab.decode, greedy_batch(one.model, data.src, start, end, data.target_length))]

    translations = translated(right)
    shown = max(range(len(pairs)), key=lambda i: (translations[i] == pairs[i][1], len(translations[i])))

    def side(one: Trained, text: str) -> Side:
        result = evaluate(one.model, data, start, end)
        numbers = {"exact_match": result.exact_match, "loss": one.losses[-1], "training_accuracy": one.accuracy}
        return Side(numbers, text, one.losses)

    return Symptom(side(right, translations[shown]), side(wrong, translated(wrong)[shown]), *pairs[shown])


@TrainingMistake.shown_by(
    right="ids = [START]\nwhile ids[-1] != END:\n    ids.append(model(src, ids)[-1].argmax())",
    wrong="ids = model(src, gold).argmax(dim=-1)",
    distractors=("never_stops", "unscaled", "after_dropout"),
)
def teacher_forced_test() -> Learning:
    """A small model that is not done learning looks better than it is when it is shown the answer so far."""
    corpus, pairs = classroom_corpus(PAIRS), _held_out()
    one = yield from _learn_classroom("wrong", causal=True)
    model = one.model
    data = corpus.batch(pairs)
    start, end = corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]
    free = greedy_batch(model, data.src, start, end, data.target_length)
    with evaluating(model):
        forced = model(data.src, data.tgt_in, need_weights=False).logits.argmax(dim=-1).tolist()
    gold = [[i for i in row if i != model.config.pad_id] for row in data.tgt_out.tolist()]

    def hits(outputs: list[list[int]]) -> list[int]:
        return [
            sum(a == b for a, b in zip(ours, wanted, strict=False)) for ours, wanted in zip(outputs, gold, strict=True)
        ]

    lost = [right - ours for ours, right in zip(hits(free), hits(forced), strict=True)]
    errors = [len(wanted) - right for right, wanted in zip(hits(forced), gold, strict=True)]
    # One error, and everything after it is wrong.
    shown = max(range(len(pairs)), key=lambda i: (errors[i] <= 1, lost[i]))
    _, accuracy = measure(model, data)
    decoded = corpus.tgt_vocab.decode
    words_right = sum(hits(free)) / sum(map(len, gold))
    return Symptom(
        Side({"words_right": words_right}, decoded(free[shown]), one.losses),
        Side({"words_right": accuracy}, decoded(forced[shown]), one.losses),
        *pairs[shown],
    )


def _toy_model() -> Transformer:
    """As deep and as wide as the shipped toy; without dropout, so that 60 steps are enough."""
    shape = TransformerConfig(len(TOY.src_vocab), len(TOY.tgt_vocab), d_model=64, d_ff=256, dropout=0.0, max_len=64)
    return seeded_model(shape, 0)


def _learn_toy(side: Literal["right", "wrong"], model: Transformer) -> Generator[Learned, None, Trained]:
    return (yield from _learn(side, model, TOY.batch(), TrainingConfig(60)))


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
    """Xavier in the linear layers: in a deep post-norm encoder all words become one vector, and no head of
    cross-attention has anything to choose between. The translations are right all the same."""
    sentence, gold = TOY.pairs[0]
    model = _toy_model()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
    wrong = yield from _learn_toy("wrong", model)
    right = yield from _learn_toy("right", _toy_model())
    runs = [_toy_translator(each.model).translate(sentence) for each in (right, wrong)]
    largest = [[m.weights.max(axis=(-1, -2)) for m in run.attention.cross] for run in runs]  # (L, H)
    layer = max(range(len(largest[0])), key=lambda i: float(largest[0][i].max()))

    def side(one: Trained, i: int) -> Side:
        maps = runs[i].attention.cross
        away = max(float(m.from_uniform().max()) for m in maps)
        most = max(float(each.max()) for each in largest[i])
        numbers = {"from_uniform": away, "largest_weight": most, "loss": one.losses[-1]}
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

    model = _toy_model()
    model.output_projection = _FreshLinear(len(TOY.tgt_vocab))  # type: ignore[assignment]
    wrong = side((yield from _learn_toy("wrong", model)))
    right = side((yield from _learn_toy("right", _toy_model())))
    return Symptom(right, wrong, sentence, gold)


TRAINING_MISTAKES = (causal_mask, rank_collapse, output_in_forward, teacher_forced_test)
