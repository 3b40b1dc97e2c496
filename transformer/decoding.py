"""From a source to target ids, a step at a time, on a key/value cache. Knows nothing of text.

S source, t decoder inputs so far, L layers, H heads, V target vocabulary.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from .model import Transformer
from .probe import Probe


@dataclass(frozen=True, eq=False)
class Step:
    """One turn of the greedy loop: the decoder read its t-th input, and this is what it said."""

    token: int  # id of the word that was said
    probability: float
    distribution: Tensor  # (V,), sums to 1
    self_attention: Tensor  # (L, H, t), the newest row of every decoder self-attention
    cross_attention: Tensor  # (L, H, S), the newest row of every cross-attention


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards every part is in the mode that it was in."""
    training = [module for module in model.modules() if module.training]
    if training:
        model.eval()
    try:
        with torch.no_grad():  # not inference mode: what a caller records may go into a graph of their own
            yield
    finally:
        for module in training:
            module.training = True


def greedy_decode(
    model: Transformer,
    src: Tensor,
    start_id: int,
    end_id: int,
    max_steps: int,
    probe: Probe | None = None,
    forced: Sequence[int] = (),
) -> Iterator[Step]:
    """Say the likeliest next word until it is `end_id`, or `max_steps` words were said.

    Args:
        src: source ids of one sentence, (1, S).
        start_id: what the decoder reads first.
        probe: sees a pass over the source, then one new row a step.
        forced: ids that are said first, whatever the model would say; a whole reference is teacher forcing.

    Yields:
        Step by step, what was said and what the model made of it: the distribution is always its own.

    Raises:
        ValueError: there is not exactly one sentence, or positions run out (see `Transformer.forward`).
    """
    if src.size(0) != 1:
        raise ValueError(f"src holds {src.size(0)} sentences; greedy_decode takes 1, greedy_batch takes many")
    with evaluating(model):
        encoded, cache = model.encode(src, need_weights=False, probe=probe), model.start_cache()
    token = start_id
    for t in range(max_steps):
        with evaluating(model):  # entered anew each step, so that the caller's own code runs outside it
            out = model.decode_step(src.new_tensor([[token]]), encoded, cache, probe=probe)
            assert out.self_attention is not None
            assert out.cross_attention is not None
            distribution = out.logits[0, -1].softmax(dim=-1)
            token = forced[t] if t < len(forced) else int(distribution.argmax())
            step = Step(
                token=token,
                probability=float(distribution[token]),
                distribution=distribution,
                self_attention=torch.stack([weights[0, :, -1] for weights in out.self_attention]),
                cross_attention=torch.stack([weights[0, :, -1] for weights in out.cross_attention]),
            )
        yield step
        if token == end_id:
            return


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
