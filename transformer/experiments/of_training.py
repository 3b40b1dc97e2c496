"""Mistakes that spoil what is learned: small models are trained with and without each, in seconds.

B batch, T target, H heads, D model width, V target vocabulary.
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn

from ..checkpoint import Checkpoint
from ..config import TransformerConfig
from ..corpus import MATERIALS, TOY, classroom
from ..decoding import greedy_batch
from ..interventions import Interventions, RemoveMask
from ..model import Transformer
from ..training import TrainingConfig, evaluate, seeded_model, train
from ..translator import Translator
from ..vocabulary import END, START
from .mistake import Mistake, Side, Symptom

# The least that shows what the causal mask is for: on two sentences a model learns both by heart, mask or not.
STEPS, PAIRS, TESTED = 200, 4000, 100
SMALL = {"d_model": 48, "n_heads": 4, "d_ff": 96, "num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.0}


@dataclass(frozen=True, eq=False)
class Trained:
    """A small model, its losses step by step, and its teacher-forced accuracy at the last."""

    model: Transformer
    losses: tuple[float, ...]
    accuracy: float


def held_out() -> list[tuple[str, str]]:
    """Sentence pairs of the classroom that training never sees."""
    first, *_ = MATERIALS["classroom"].held_out.values()
    return [(pair.source, pair.target) for pair in first()[:TESTED]]


@cache
def trained(*, causal: bool) -> Trained:
    """A small model of the classroom's sentences, trained with the causal mask or without; trained once."""
    corpus = classroom()
    shape = TransformerConfig(len(corpus.src_vocab), len(corpus.tgt_vocab), max_len=64, **SMALL)  # type: ignore[arg-type]
    model = seeded_model(shape, 0)
    probe = None if causal else Interventions((RemoveMask("decoder"),)).probe(shape, model.positions)
    config = TrainingConfig(STEPS, batch_size=48, schedule="one-cycle", learning_rate=0.007)
    steps = list(train(model, corpus.batch(corpus.pairs[:PAIRS]), config, probe))
    return Trained(model.eval(), tuple(step.loss for step in steps), steps[-1].token_accuracy)


def causal_mask(translator: Translator, sentence: str) -> Symptom:
    """Every word may look at the next one, which is the answer: it learns to copy, and has nothing to copy from when
    it speaks itself."""
    corpus = classroom()
    data = corpus.batch(held_out())
    start, end = corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]

    def side(one: Trained) -> Side:
        result = evaluate(one.model, data, start, end)
        (said,) = greedy_batch(one.model, data.src[:1], start, end, data.target_length)
        numbers = {"exact_match": result.exact_match, "loss": one.losses[-1], "training_accuracy": one.accuracy}
        return Side(numbers, corpus.tgt_vocab.decode(said), one.losses)

    return Symptom(side(trained(causal=True)), side(trained(causal=False)))


def _toy_model() -> Transformer:
    """As deep and as wide as the shipped toy; without dropout, so that 60 steps are enough."""
    shape = TransformerConfig(len(TOY.src_vocab), len(TOY.tgt_vocab), d_model=64, d_ff=256, dropout=0.0, max_len=64)
    return seeded_model(shape, 0)


def _learn_toy(model: Transformer) -> tuple[float, ...]:
    losses = tuple(step.loss for step in train(model, TOY.batch(), TrainingConfig(60)))
    model.eval()
    return losses


def _toy_translator(model: Transformer) -> Translator:
    return Translator(Checkpoint(model, TOY.src_vocab, TOY.tgt_vocab, TOY.source_length, output_limit=9), "small")


def rank_collapse(translator: Translator, sentence: str) -> Symptom:
    """Xavier everywhere: in a deep post-norm encoder all words become one vector, and every head of cross-attention
    has nothing to choose between. The translations are right all the same."""

    def side(model: Transformer) -> Side:
        losses = _learn_toy(model)
        run = _toy_translator(model).translate(TOY.pairs[0][0])
        away = max(float(m.from_uniform().max()) for m in run.attention.cross)
        largest = max(float(m.weights.max()) for m in run.attention.cross)
        return Side({"from_uniform": away, "largest_weight": largest, "loss": losses[-1]}, run.text, losses)

    wrong = _toy_model()
    for parameter in wrong.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return Symptom(right=side(_toy_model()), wrong=side(wrong))


class _FreshLinear(nn.Module):
    """The mistake itself: an output layer of every call, random each time, which nothing saves and nothing trains."""

    def __init__(self, out_features: int) -> None:
        super().__init__()
        self.out_features = out_features

    def forward(self, x: Tensor) -> Tensor:
        return nn.Linear(x.size(-1), self.out_features, device=x.device, dtype=x.dtype)(x)


def output_in_forward(translator: Translator, sentence: str) -> Symptom:
    """The output layer is random at each call, so nothing can be learned, and one sentence has many translations."""

    def side(model: Transformer) -> Side:
        losses = _learn_toy(model)
        texts = [_toy_translator(model).translate(TOY.pairs[0][0]).text for _ in range(2)]
        saved = sum(value.numel() for name, value in model.state_dict().items() if name.startswith("output_projection"))
        numbers = {"loss": losses[-1], "saved_output_values": saved, "texts": len(set(texts))}
        return Side(numbers, " | ".join(dict.fromkeys(texts)), losses)

    wrong = _toy_model()
    wrong.output_projection = _FreshLinear(len(TOY.tgt_vocab))  # type: ignore[assignment]
    with torch.random.fork_rng(devices=[]):
        return Symptom(right=side(_toy_model()), wrong=side(wrong))


OF_TRAINING = (
    Mistake(
        "causal_mask",
        "training",
        right="mask = padding & torch.ones(T, T, dtype=torch.bool).tril()",
        wrong="mask = padding",
        run=causal_mask,
    ),
    Mistake(
        "rank_collapse",
        "training",
        right="nn.init.normal_(self.embedding.weight, std=d_model**-0.5)",
        wrong="for p in model.parameters():\n    if p.dim() > 1:\n        nn.init.xavier_uniform_(p)",
        run=rank_collapse,
    ),
    Mistake(
        "output_in_forward",
        "training",
        right="def __init__(self, d_model, words):\n    self.output = nn.Linear(d_model, words)\n\n"
        "def forward(self, x):\n    return self.output(x)",
        wrong="def forward(self, x):\n    return nn.Linear(x.size(-1), self.words)(x)",
        run=output_in_forward,
    ),
)
