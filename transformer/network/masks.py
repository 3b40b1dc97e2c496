"""Which keys each query may attend to. True = may attend, everywhere in this package.

B batch, Q queries, K keys.
"""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Masks padding keys: ids (B, K) -> (B, 1, 1, K), bool.

    The mask covers key *columns*. Over query rows, (B, 1, Q, 1), it would mask a padded row completely.
    """
    return (ids != pad_id)[:, None, None, :]


def causal_mask(length: int, past: int = 0, device: torch.device | None = None) -> Tensor:
    """Each position may attend to itself and to earlier positions (§3.2.3): (Q, past + Q), bool.

    The queries are the last `length` positions; the keys of `past` positions before them are cached.
    """
    return torch.ones(length, past + length, dtype=torch.bool, device=device).tril(past)
