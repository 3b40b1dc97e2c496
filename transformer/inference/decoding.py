"""From a source to target ids, a step at a time, on a key/value cache. Knows nothing of text.

S source, t decoder inputs so far, L layers, H heads, V target vocabulary.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from ..network.config import validate_field_types
from ..network.model import Transformer
from ..network.probe import Probe


@dataclass(frozen=True, eq=False)
class Step:
    """One turn of the loop: the decoder read its t-th input, and this is what it said."""

    token: int  # id of the word that was said
    probability: float
    distribution: Tensor  # (V,), sums to 1
    self_attention: Tensor  # (L, H, t), the newest row of every decoder self-attention
    cross_attention: Tensor  # (L, H, S), the newest row of every cross-attention


def evaluating(model: torch.nn.Module) -> AbstractContextManager[None]:
    """No dropout and no gradients inside; afterwards every part is in the mode that it was in."""
    return _evaluating(list(model.modules()))


@contextmanager
def _evaluating(parts: Sequence[torch.nn.Module]) -> Iterator[None]:
    """The same for who enters it again and again: finding all parts of a network takes longer than asking each."""
    training = [part for part in parts if part.training]
    for part in training:
        part.training = False
    try:
        with torch.no_grad():  # not inference mode: what a caller records may go into a graph of their own
            yield
    finally:
        for part in training:
            part.training = True


def likeliest(distribution: Tensor) -> int:
    """The greedy choice."""
    return int(distribution.argmax())


@dataclass(frozen=True)
class Sampling:
    """Draw each word from the model's distribution, instead of taking the likeliest.

    The three limits apply one after the other, and what is left is normalised each time.

    Args:
        temperature: probabilities are raised to the power 1 / temperature; above 1 it is bolder, 0 is greedy.
        top_k: only the so many likeliest words; 0 for all.
        top_p: only the likeliest words that together reach this probability (Holtzman et al. 2020); 1 for all.
        seed: the same seed draws the same words.

    Raises:
        ValueError: a value that means nothing; the message names it.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

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
        """What is drawn from, given the model's own distribution (V,): (V,), float64, on the CPU."""
        logs = model.double().cpu().log()
        if self.temperature == 0:
            return torch.zeros_like(logs).index_fill(0, logs.argmax(), 1.0)
        # The largest becomes 0 first, so that it stays finite however small the temperature is.
        ranked, order = ((logs - logs.max()) / self.temperature).softmax(dim=-1).sort(descending=True, stable=True)
        ranked[self.top_k or len(ranked) :] = 0
        ranked = ranked / ranked.sum()
        ranked[ranked.cumsum(dim=-1) - ranked >= self.top_p] = (
            0  # not reached before this word: it is the one that does
        )
        return torch.zeros_like(ranked).index_put((order,), ranked / ranked.sum())

    def chooser(self) -> Callable[[Tensor], int]:
        """What `decode` asks for each word of one sentence; a new one begins its draws anew."""
        generator = torch.Generator().manual_seed(self.seed)
        return lambda distribution: int(torch.multinomial(self.distribution(distribution), 1, generator=generator))


def decode(
    model: Transformer,
    src: Tensor,
    start_id: int,
    end_id: int,
    max_steps: int,
    probe: Probe | None = None,
    forced: Sequence[int | None] = (),
    choose: Callable[[Tensor], int] = likeliest,
    reread: bool = False,
) -> Iterator[Step]:
    """Say one word after another until it is `end_id`, or `max_steps` words were said.

    Args:
        src: source ids of one sentence, (1, S).
        start_id: what the decoder reads first.
        probe: sees a pass over the source, then one new row a step.
        forced: ids that are said at the first steps, whatever the model would say; None leaves a step to it. A whole
            reference is teacher forcing.
        choose: the id to say, given the distribution (V,).
        reread: read everything said so far again at each step, without a cache. The same numbers, slower, unless the
            probe lets a word look at later ones; the probe then sees whole passes.

    Yields:
        Step by step, what was said and what the model made of it: the distribution is always its own.

    Raises:
        ValueError: there is not exactly one sentence, or positions run out (see `Transformer.forward`).
    """
    if src.size(0) != 1:
        raise ValueError(f"src holds {src.size(0)} sentences; decode takes 1, greedy_batch takes many")
    parts = list(model.modules())
    with _evaluating(parts):
        encoded, cache = model.encode(src, need_weights=False, probe=probe), model.start_cache()
    unread = [start_id]
    for t in range(max_steps):
        with _evaluating(parts):  # entered anew each step, so that the caller's own code runs outside it
            cache = model.start_cache() if reread else cache
            out = model.decode_step(src.new_tensor([unread]), encoded, cache, probe=probe)
            assert out.self_attention is not None
            assert out.cross_attention is not None
            distribution = out.logits[0, -1].softmax(dim=-1)
            said = forced[t] if t < len(forced) else None
            token = choose(distribution) if said is None else said
            step = Step(
                token=token,
                probability=float(distribution[token]),
                distribution=distribution,
                self_attention=torch.cat(out.self_attention)[:, :, -1],
                cross_attention=torch.cat(out.cross_attention)[:, :, -1],
            )
        yield step
        if token == end_id:
            return
        unread = [*unread, token] if reread else [token]


def greedy_decode(
    model: Transformer,
    src: Tensor,
    start_id: int,
    end_id: int,
    max_steps: int,
    probe: Probe | None = None,
    forced: Sequence[int | None] = (),
) -> Iterator[Step]:
    """Say the likeliest next word until it is `end_id`; arguments, steps and errors as in `decode`."""
    return decode(model, src, start_id, end_id, max_steps, probe, forced)


def greedy_batch(
    model: Transformer, src: Tensor, start_id: int, end_id: int, max_steps: int, probe: Probe | None = None
) -> list[list[int]]:
    """What `greedy_decode` says to each of many padded sources (B, S): ids, E included where it was reached."""
    with evaluating(model):
        encoded = model.encode(src, need_weights=False, probe=probe)
        cache = model.start_cache(src.size(0))
        token = src.new_full((src.size(0), 1), start_id)
        said, ended = [], torch.zeros_like(token, dtype=torch.bool)
        for _ in range(max_steps):
            logits = model.decode_step(token, encoded, cache, need_weights=False, probe=probe).logits
            token = logits[:, -1:].argmax(dim=-1)  # what a sentence says after its end is cut off below
            said.append(token)
            ended = ended | (token == end_id)
            if ended.all():
                break
    if not said:
        return [[] for _ in range(src.size(0))]
    rows = torch.cat(said, dim=1).tolist()
    return [row[: row.index(end_id) + 1] if end_id in row else row for row in rows]


@dataclass(frozen=True)
class Hypothesis:
    """A node of the tree that beam search grows: what was said up to here, and one more word.

    Attributes:
        token: id of its last word.
        parent: number of the hypothesis that it continues, None at the first step.
        step: from 0.
        probability: of its last word, given the words before it.
        log_probability: of all its words, nats.
        score: that, divided by the length penalty.
        fate: kept to be continued, finished on E, or dropped because likelier ones filled the beam.
    """

    token: int
    parent: int | None
    step: int
    probability: float
    log_probability: float
    score: float
    fate: Literal["kept", "finished", "dropped"]


@dataclass(frozen=True)
class BeamSearch:
    """The whole tree of one search, parents before their children, and the number of the hypothesis it ended on."""

    hypotheses: tuple[Hypothesis, ...]
    best: int

    def said(self, number: int) -> list[int]:
        """The ids of a hypothesis, from its first word on."""
        here = self.hypotheses[number]
        return [*(() if here.parent is None else self.said(here.parent)), here.token]


def length_penalty(length: int, alpha: float) -> float:
    """What a log-probability is divided by, so that a longer sentence is not worse for its length alone: Wu et al.
    2016, equation 14; the Transformer's alpha is 0.6 (§6.1). 0 is no penalty."""
    return ((5 + length) / 6) ** alpha


def beam_search(
    model: Transformer, src: Tensor, start_id: int, end_id: int, max_steps: int, width: int, alpha: float
) -> BeamSearch:
    """Keep the `width` likeliest beginnings of a translation, all of one length, instead of one alone (§6.1).

    One that says `end_id` is finished and keeps its place in the beam, so a beam of 1 is greedy. The finished one with
    the best score is chosen; where none finished within `max_steps`, the best of those that were cut off.

    Args:
        src: source ids of one sentence, (1, S).
        width: places in the beam.
        alpha: of the length penalty.

    Returns:
        Of each hypothesis that was continued, the `width` + 1 likeliest words: all that could be kept, and one more.

    Raises:
        ValueError: there is not exactly one sentence, no step or no place, or positions run out.
    """
    if src.size(0) != 1:
        raise ValueError(f"src holds {src.size(0)} sentences; beam_search takes 1")
    for name, value in (("max_steps", max_steps), ("width", width)):
        if value < 1:
            raise ValueError(f"{name} ({value}) is below 1")
    tree: list[Hypothesis] = []
    finished: list[int] = []
    live: list[int | None] = [None]  # numbers in the tree; None is the empty beginning
    with evaluating(model):
        encoded, cache = model.encode(src, need_weights=False), model.start_cache()
        unread = [start_id]
        for t in range(max_steps):
            sources = replace(encoded, memory=encoded.memory.expand(len(live), -1, -1))
            # With weights, because the fused kernel rounds otherwise than the pass that greedy decoding makes.
            logits = model.decode_step(src.new_tensor(unread)[:, None], sources, cache).logits[:, -1]
            ranked, words = logits.softmax(dim=-1).sort(descending=True, stable=True)  # (live, V)
            found = []
            for row, parent in enumerate(live):
                before = 0.0 if parent is None else tree[parent].log_probability
                for p, word in zip(ranked[row, : width + 1].tolist(), words[row, : width + 1].tolist(), strict=True):
                    if p:  # one that underflowed to 0 has no logarithm, and will not be kept
                        found.append((before + math.log(p), row, parent, p, word))
            found.sort(key=lambda one: -one[0])  # stable, so that equals keep their order
            places, rows, live, unread = width - len(finished), [], [], []
            for rank, (log, row, parent, p, word) in enumerate(found):
                fate: Literal["kept", "finished", "dropped"] = "dropped"
                if rank < places and word == end_id:
                    fate = "finished"
                    finished.append(len(tree))
                elif rank < places:
                    fate = "kept"
                    live.append(len(tree))
                    rows.append(row)
                    unread.append(word)
                tree.append(Hypothesis(word, parent, t, p, log, log / length_penalty(t + 1, alpha), fate))
            if not live:
                break
            cache.select(src.new_tensor(rows))
    last = [number for number in live if number is not None]
    return BeamSearch(tuple(tree), max(finished or last, key=lambda number: tree[number].score))
