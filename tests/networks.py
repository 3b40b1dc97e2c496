"""Small random networks, and batches of ids for them."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transformer import Transformer, TransformerConfig
from transformer.training import seeded_model

SIZES: dict[str, Any] = {
    "src_vocab_size": 11,
    "tgt_vocab_size": 13,
    "d_model": 16,
    "n_heads": 4,
    "d_ff": 32,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "max_len": 32,
}
LONGEST = 6


def network(seed: int = 0, **fields: Any) -> Transformer:
    """A random network in evaluation mode; `fields` replace those of SIZES."""
    return seeded_model(TransformerConfig(**(SIZES | fields)), seed).eval()


def agree(actual: Any, expected: Any, atol: float = 1e-5) -> None:
    """Assert that tensors, or tuples of them, are equal up to the rounding of any processor."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def is_clear(distributions: Iterable[Tensor]) -> bool:
    """Whether the likeliest token of each distribution leads by more than any processor's rounding."""
    highest = torch.stack([each.topk(2).values for each in distributions])
    return bool((highest[:, 0] - highest[:, 1] > 1e-4).all())


class Created(TorchDispatchMode):
    """Collects the size and the dtype of every tensor that an operation creates."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[int, torch.dtype]] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = operation(*args, **(kwargs or {}))
        self.seen |= {(each.numel(), each.dtype) for each in tree_leaves(made) if isinstance(each, Tensor)}
        return made


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Sentences as one batch, padding at their ends."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def _words(size: str) -> st.SearchStrategy[int]:
    return st.integers(1, SIZES[size] - 1)


@st.composite
def any_padding(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Source and target ids of one batch with padding anywhere: leading, in the middle, a row of nothing else."""

    def ids(size: str) -> Tensor:
        length = draw(st.integers(1, LONGEST))
        row = st.lists(st.just(0) | _words(size), min_size=length, max_size=length)
        return torch.tensor(draw(st.lists(row, min_size=batch, max_size=batch)))

    batch = draw(st.integers(1, 3))
    return ids("src_vocab_size"), ids("tgt_vocab_size")


def sentence_pairs() -> st.SearchStrategy[list[tuple[list[int], list[int]]]]:
    """(source, target) ids of sentences of different lengths, without padding."""
    source = st.lists(_words("src_vocab_size"), min_size=1, max_size=LONGEST)
    target = st.lists(_words("tgt_vocab_size"), min_size=1, max_size=LONGEST)
    return st.lists(st.tuples(source, target), min_size=1, max_size=4)
