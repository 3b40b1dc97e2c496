"""Networks whose weights have shapes but no numbers, to be filled with those of a file or of another network."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

# On tensors without numbers PyTorch's own would import its compiler: a second and 70 MB.
_INITIALISERS = {
    *(nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_),
    *(torch.Tensor.normal_, torch.Tensor.uniform_),
}


class _WithoutInitialisers(TorchFunctionMode):
    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return None if func in _INITIALISERS else func(*args, **(kwargs or {}))


@contextmanager
def init_empty_weights() -> Iterator[None]:
    """Modules that are made inside take no memory for their weights, and draw no random number."""
    with torch.device("meta"), _WithoutInitialisers():
        yield
