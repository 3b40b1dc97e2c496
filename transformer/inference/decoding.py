"""Greedy decoding, sampling and beam search on a key/value cache: source ids in, target ids out (§3.1, §6.1).

S source, t decoder inputs so far, L layers, H heads, V target vocabulary.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import torch
from torch import Tensor

from ..network.config import validate_field_types
from ..network.engine import DecodingEngine, EngineDecoding, StepOutput
from ..network.model import Transformer
from ..network.probe import Probe

MAX_FIRST_SEED = 1_000  # the last seed tried for a sample that differs from greedy decoding


@dataclass(frozen=True, eq=False)
class Step:
    """One decoding step: the decoder has read its t-th input and outputs a token."""

    token: int  # id of the output token
    probability: float
    distribution: Tensor  # (V,), sums to 1
    self_attention: Tensor  # (L, H, t), the newest row of every decoder self-attention
    cross_attention: Tensor  # (L, H, S), the newest row of every cross-attention


@contextmanager
def evaluating(model: torch.nn.Module | Sequence[torch.nn.Module]) -> Iterator[None]:
    """Evaluation mode without gradients inside the block; afterwards every module is back in its mode. Takes all
    modules of a model too: listing them at every step costs more than the switch."""
    modules = model.modules() if isinstance(model, torch.nn.Module) else model
    training = [part for part in modules if part.training]
    for part in training:
        part.training = False
    try:
        with torch.no_grad():  # not inference mode: a caller may use recorded tensors in a graph
            yield
    finally:
        for part in training:
            part.training = True


def most_likely(distribution: Tensor) -> int:
    """The greedy choice."""
    return int(distribution.argmax())


def ranked(distribution: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """The `most` highest probabilities of (V,) and their ids, highest first; of equal ones the lower id first.

    Sorting all of a large vocabulary takes forty times as long as finding ten.
    """
    least = distribution.topk(min(most, len(distribution))).values[-1]
    found = (~(distribution < least)).nonzero()[:, 0]  # those equal to the least too, and all of a NaN's
    probabilities, order = distribution[found].sort(descending=True, stable=True)
    return probabilities[:most], found[order[:most]]


@dataclass(frozen=True)
class Sampling:
    """Draw each token from the model's distribution instead of taking the most likely one.

    Temperature, top-k and top-p apply in this order; the distribution is renormalised after each. Raises ValueError: a
    value is out of range; the message names it.
    """

    temperature: float = 1.0  # probabilities to the power 1 / temperature: above 1 flattens them, 0 is greedy
    top_k: int = 0  # only this many most likely tokens; 0 keeps all
    top_p: float = 1.0  # only the likeliest tokens that together reach this (Holtzman et al. 2020); 1 keeps all
    seed: int = 0  # the same seed draws the same tokens

    def __post_init__(self) -> None:
        validate_field_types(self)
        if not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature ({self.temperature}) is not at least 0 and finite")
        if self.top_k < 0:
            raise ValueError(f"top_k ({self.top_k}) is below 0")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p ({self.top_p}) is not above 0 and at most 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed ({self.seed}) is not at least 0 and below 2^63")

    def distribution(self, model: Tensor) -> Tensor:
        """The distribution to draw from, given the model's own (V,): (V,), float64, on the CPU."""
        logs = model.double().cpu().log()
        if self.temperature == 0:
            return torch.zeros_like(logs).index_fill(0, logs.argmax(), 1.0)
        # The largest logit becomes 0 first, so that a tiny temperature cannot overflow.
        ranked, order = ((logs - logs.max()) / self.temperature).softmax(dim=-1).sort(descending=True, stable=True)
        ranked[self.top_k or len(ranked) :] = 0
        ranked = ranked / ranked.sum()
        if self.top_p < 1:  # the sum of the likeliest may round to 1
            ranked[ranked.cumsum(dim=-1) - ranked >= self.top_p] = 0  # the tokens before this one reach it
        return torch.zeros_like(ranked).index_put((order,), ranked / ranked.sum())

    def chooser(self) -> Callable[[Tensor], int]:
        """The `choose` argument of `decode` for one sentence; each chooser starts from the seed."""
        draw = _drawer(self.seed)
        return lambda distribution: draw(self.distribution(distribution))

    def first_other_seed(self, distributions: Sequence[Tensor]) -> int | None:
        """The first seed that draws another token than greedy decoding outputs; None if none up to
        MAX_FIRST_SEED does. It takes the distributions (V,) of a greedy run: up to the first other token a sample reads
        what greedy reads."""
        drawn_from, greedy = [self.distribution(each) for each in distributions], [*map(most_likely, distributions)]

        def follows(seed: int) -> bool:
            draw = _drawer(seed)
            return all(draw(each) == token for each, token in zip(drawn_from, greedy, strict=True))

        return next((seed for seed in range(MAX_FIRST_SEED + 1) if not follows(seed)), None)


def _drawer(seed: int) -> Callable[[Tensor], int]:
    """Draws an index from each distribution that it is given."""
    generator = torch.Generator().manual_seed(seed)
    return lambda distribution: int(torch.multinomial(distribution, 1, generator=generator))


class NetworkDecoding:
    """What EngineDecoding is, by the network itself, which a probe can watch and change.

    Args:
        src: source ids, (B, S).
        use_cache: False runs a full pass over the whole prefix at each step.
        need_weights: False computes no maps, by PyTorch's fused attention, which rounds differently.
    """

    def __init__(
        self,
        model: Transformer,
        src: Tensor,
        probe: Probe | None = None,
        use_cache: bool = True,
        need_weights: bool = True,
    ) -> None:
        self._model, self._probe, self._need_weights = model, probe, need_weights
        self._modules = list(model.modules())
        with evaluating(self._modules):
            self._encoded = model.encode(src, need_weights=False, probe=probe)
        self._cache = model.start_cache(len(src)) if use_cache else None
        self._inputs = src[:, :0]

    def step(self, tokens: Sequence[int]) -> StepOutput:
        newest = self._inputs.new_tensor(tokens)[:, None]
        if self._cache is None:
            newest = self._inputs = torch.cat([self._inputs, newest], dim=1)
        with evaluating(self._modules):  # entered at each step, so that the caller's code runs outside it
            out = self._model.decode_step(
                newest, self._encoded, self._cache, need_weights=self._need_weights, probe=self._probe
            )
        logits, none = out.logits[:, -1], out.logits.new_empty(0)
        maps = (torch.stack(each)[..., -1, :] if each else none for each in (out.self_attention, out.cross_attention))
        return StepOutput(logits, *maps)

    def select(self, rows: Sequence[int]) -> None:
        assert self._cache
        self._cache.select(self._inputs.new_tensor(rows))
        self._encoded = replace(self._encoded, memory=self._encoded.memory[:1].expand(len(rows), -1, -1))


Decoding = NetworkDecoding | EngineDecoding  # of some sentences, a step at a time


def continued(
    decoding: Decoding,
    start_id: int,
    end_id: int,
    max_steps: int,
    forced: Sequence[int | None] = (),
    choose: Callable[[Tensor], int] = most_likely,
) -> Iterator[Step]:
    """Output one token after another; see `decode`."""
    token = start_id
    for t in range(max_steps):
        out = decoding.step([token])
        distribution = out.logits[0].softmax(dim=-1)
        given = forced[t] if t < len(forced) else None
        token = choose(distribution) if given is None else given
        yield Step(
            token=token,
            probability=float(distribution[token]),
            distribution=distribution,
            self_attention=out.self_attention[:, 0],
            cross_attention=out.cross_attention[:, 0],
        )
        if token == end_id:
            return


def decode(
    model: Transformer,
    src: Tensor,
    start_id: int,
    end_id: int,
    max_steps: int,
    probe: Probe | None = None,
    forced: Sequence[int | None] = (),
    choose: Callable[[Tensor], int] = most_likely,
    use_cache: bool = True,
) -> Iterator[Step]:
    """Output one token after another until `end_id` or `max_steps`.

    Args:
        src: source ids of one sentence, (1, S).
        start_id: the first decoder input.
        probe: sees one pass over the source, then one new row per step.
        forced: output ids of the first steps instead of the model's choice; None leaves a step to the model. A whole
            reference is teacher forcing.
        choose: picks the output id from the distribution (V,).
        use_cache: False runs a full pass over the whole prefix at each step. Slower; the numbers differ only if the
            probe lets a position attend to later ones. The probe then sees whole passes.

    Yields:
        One Step at a time; the distribution is always the model's own.

    Raises:
        ValueError: there is not exactly one sentence, or positions run out (see `Transformer.forward`).
    """
    if src.size(0) != 1:
        raise ValueError(f"src holds {src.size(0)} sentences; decode takes 1, greedy_batch takes many")
    yield from continued(NetworkDecoding(model, src, probe, use_cache), start_id, end_id, max_steps, forced, choose)


greedy_decode = decode  # which takes the most likely token at each step (§3.1), unless it is told otherwise


def batch_steps(
    decoding: Decoding, rows: int, start_id: int, end_id: int, max_steps: int
) -> Iterator[tuple[list[int], StepOutput]]:
    """Greedy decoding of many sentences: what each outputs at a step, until all have reached the end. Tokens after an
    end mean nothing."""
    tokens, ended = [start_id] * rows, [False] * rows
    for _ in range(max_steps):
        out = decoding.step(tokens)
        tokens = out.logits.argmax(dim=-1).tolist()
        yield tokens, out
        ended = [before or token == end_id for before, token in zip(ended, tokens, strict=True)]
        if all(ended):
            return


def until_end(tokens: Sequence[int], end_id: int) -> list[int]:
    """E included where it was reached."""
    return [*tokens[: tokens.index(end_id) + 1]] if end_id in tokens else [*tokens]


def greedy_batch(
    model: Transformer, src: Tensor, start_id: int, end_id: int, max_steps: int, probe: Probe | None = None
) -> list[list[int]]:
    """Greedy decoding of many padded sources (B, S): output ids per sentence, E included where it was reached."""
    decoding = NetworkDecoding(model, src, probe, need_weights=False)
    steps = [tokens for tokens, _ in batch_steps(decoding, len(src), start_id, end_id, max_steps)]
    return [until_end(row, end_id) for row in zip(*steps, strict=True)] or [[] for _ in src]


Token = TypeVar("Token", int, str)
Fate = Literal["kept", "finished", "dropped"]


@dataclass(frozen=True)
class Hypothesis(Generic[Token]):
    """A node of the tree that beam search grows: its parent's tokens and one more."""

    token: Token  # its last token, an id or a word
    parent: int | None  # index of the hypothesis that it extends, None at the first step
    step: int  # from 0
    probability: float  # of its last token, given those before
    log_probability: float  # of all its tokens, nats
    score: float  # log_probability divided by the length penalty
    fate: Fate  # kept in the beam, finished on E, or dropped (pruned) because better ones filled the beam


def output_of(index: int, tree: Sequence[Hypothesis[Token]]) -> list[Token]:
    """The tokens of a hypothesis, from its first one on."""
    here: Hypothesis[Token] = tree[index]
    return [*(() if here.parent is None else output_of(here.parent, tree)), here.token]


@dataclass(frozen=True)
class BeamSearch:
    """The whole tree of one search, parents before children, and the index of the chosen hypothesis."""

    hypotheses: tuple[Hypothesis[int], ...]
    best: int


Penalty = Literal["paper", "length"]


def length_penalty(length: int, alpha: float, penalty: Penalty = "paper") -> float:
    """The divisor of a log-probability, so that longer sentences can compete: Wu et al. 2016, equation 14.

    The paper's alpha is 0.6 (§6.1); 0 turns the penalty off. With "length" the divisor is length ** alpha, as in
    `transformers`, which calls alpha `length_penalty`, 1 by default.
    """
    return (length if penalty == "length" else (5 + length) / 6) ** alpha


class _Tree:
    """The state of a search so far."""

    def __init__(self, end_id: int, width: int, alpha: float, penalty: Penalty) -> None:
        self._end_id, self._width, self._alpha, self._penalty = end_id, width, alpha, penalty
        self.hypotheses: list[Hypothesis[int]] = []
        self.live: list[int | None] = [None]  # the prefixes that go on, the most likely first; None is the empty one
        self.finished: list[int] = []  # the hypotheses that have ended

    def grow(self, logits: Tensor, refills: bool) -> tuple[list[int], list[int]]:
        """Extend all live prefixes by a step, given their logits, (prefixes, V).

        Args:
            refills: whether a prefix takes the place of each that ends.

        Returns:
            For each live prefix, the row of the prefix that it extends, and its last token.
        """
        t = 0 if self.live == [None] else self.hypotheses[-1].step + 1
        places = self._width if self._penalty == "length" else self._width - len(self.finished)
        found, rows, tokens = self._extensions(logits, self._width + 1), [], []
        self.live = []
        for rank, (log, row, parent, p, token) in enumerate(found):
            fate: Fate = "dropped"
            if token == self._end_id and rank < places:
                fate = "finished"
                self.finished.append(len(self.hypotheses))
            elif token != self._end_id and len(self.live) < self._width and (rank < places or refills):
                fate = "kept"
                self.live.append(len(self.hypotheses))
                rows.append(row)
                tokens.append(token)
            self._add(token, parent, t, p, log, fate)
        return rows, tokens

    def _extensions(self, logits: Tensor, count: int) -> list[tuple[float, int, int | None, float, int]]:
        """The `count` most likely tokens after each live prefix, the most likely hypothesis first: its log-probability,
        the row and the index of what it extends, the token's probability and the token."""
        found = []
        distributions, logs = logits.softmax(dim=-1), logits.log_softmax(dim=-1)  # a probability may underflow to 0
        for row, (parent, distribution, log) in enumerate(zip(self.live, distributions, logs, strict=True)):
            before = 0.0 if parent is None else self.hypotheses[parent].log_probability
            values, tokens = ranked(log, count)
            for value, token, p in zip(values.tolist(), tokens.tolist(), distribution[tokens].tolist(), strict=True):
                if value != -math.inf:  # is never output
                    found.append((before + value, row, parent, p, token))
        return sorted(found, key=lambda one: -one[0])  # stable, so that ties keep their order

    def _add(self, token: int, parent: int | None, step: int, p: float, log: float, fate: Fate) -> None:
        score = log / length_penalty(step + 1, self._alpha, self._penalty)
        self.hypotheses.append(Hypothesis(token, parent, step, p, log, score, fate))

    def end_all(self) -> None:
        """End every live prefix on E, whatever its probability."""
        for parent in self.live:
            assert parent is not None
            one = self.hypotheses[parent]
            self.finished.append(len(self.hypotheses))
            self._add(self._end_id, parent, one.step + 1, 1.0, one.log_probability, "finished")
        self.live = []

    def is_settled(self) -> bool:
        """Whether `width` have ended that the most likely prefix, were it to end now, would not beat."""
        scores = sorted((self.hypotheses[i].score for i in self.finished), reverse=True)[: self._width]
        best = next((self.hypotheses[i].score for i in self.live if i is not None), -math.inf)
        return len(scores) == self._width and best <= scores[-1]

    def best(self, among: Sequence[int | None]) -> BeamSearch:
        """The whole tree, with the best of these chosen."""
        indices = [i for i in among if i is not None]
        return BeamSearch(tuple(self.hypotheses), max(indices, key=lambda i: self.hypotheses[i].score))


def beam_search(
    model: Transformer | DecodingEngine,
    src: Tensor,
    start_id: int,
    end_id: int,
    max_steps: int,
    width: int,
    alpha: float,
    penalty: Penalty = "paper",
    forces_end: bool = False,
) -> BeamSearch:
    """Keep the `width` most likely prefixes, all of one length, instead of a single one (§6.1).

    A hypothesis that ends keeps its place in the beam, so a beam of 1 is greedy. The finished hypothesis with the best
    score is chosen; if none finished within `max_steps`, the best unfinished one.

    With the penalty "length" the search is that of `transformers` with its `early_stopping=False`. A hypothesis that
    ends leaves its place to the next prefix. The search is over when `width` have ended and the most likely prefix,
    were it to end now, would beat none of them; after `max_steps` the unfinished ones compete, too.

    Args:
        src: source ids of one sentence, (1, S).
        width: size of the beam.
        alpha: exponent of the length penalty.
        penalty: its base, see `length_penalty`, and the search.
        forces_end: whether, with "length", what is unfinished after `max_steps` ends on E, as the next token.

    Returns:
        For each hypothesis that was extended, its `width` + 1 most likely tokens: all that could be kept, and one more.

    Raises:
        ValueError: not exactly one sentence, max_steps or width below 1, or positions run out.
    """
    if src.size(0) != 1:
        raise ValueError(f"src holds {src.size(0)} sentences; beam_search takes 1")
    for name, value in (("max_steps", max_steps), ("width", width)):
        if value < 1:
            raise ValueError(f"{name} ({value}) is below 1")
    tree, leaves = _Tree(end_id, width, alpha, penalty), penalty == "length"
    decoding = (
        EngineDecoding(model, src, max_steps) if isinstance(model, DecodingEngine) else NetworkDecoding(model, src)
    )
    unread = [start_id]
    for t in range(max_steps):
        rows, unread = tree.grow(decoding.step(unread).logits, refills=leaves and (forces_end or t + 1 < max_steps))
        if leaves and tree.is_settled():
            return tree.best(tree.finished)
        if not unread:
            break
        decoding.select(rows)
    if leaves and forces_end:
        tree.end_all()
    return tree.best([*tree.finished, *tree.live] if leaves else tree.finished or tree.live)
