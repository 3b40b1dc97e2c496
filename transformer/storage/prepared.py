"""The weights of a model as the decoding engine has laid them out, in a file from which they are mapped next time.

One file for each model of the Hub, in this project's folder beside the Hub's cache, as large as the weights in float32.
The MAX_FILES that were used last are kept. Any of them may be deleted; it is written again when it is needed.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from ..network.config import TransformerConfig
from ..network.engine import DecodingEngine
from ..network.model import Transformer
from ..network.skeleton import init_empty_weights
from .pickled import own_cache, placed

VERSION = 1  # of the layout
MAX_FILES = 8
_PLACES = "places"  # in the metadata: name of a weight -> (storage, shape, stride, offset)


def prepared(config: TransformerConfig, determined_by: Any, read: Callable[[], Transformer]) -> Transformer:
    """A model on the processor, from its prepared file if there is one; else it is read, and the file written.

    Args:
        determined_by: all that the weights depend on besides `config`, for JSON: the digest of their file and more.
        read: checks and reads the model's own files.
    """
    key = hashlib.sha256(json.dumps([VERSION, vars(config), determined_by]).encode()).hexdigest()
    file = own_cache() / f"engine-{key}.safetensors"
    with contextlib.suppress(Exception):  # there is none, or a damaged one, which may fail anywhere
        model = _mapped(file, config)
        os.utime(file)
        return model
    model = read()
    with contextlib.suppress(OSError, SafetensorError):  # of a full disk, or of one that is only read
        _write(model, file)
    return model


def _mapped(file: Path, config: TransformerConfig) -> Transformer:
    with safe_open(file, framework="pt") as stored:
        places = json.loads((stored.metadata() or {})[_PLACES])
        storages = [stored.get_tensor(str(i)) for i in range(len(stored.keys()))]
    with init_empty_weights():
        model = Transformer(config)
    made: dict[str, nn.Parameter] = {}  # weights that are tied are one
    for place in places.values():
        of, shape, stride, offset = place
        view = storages[of].as_strided(shape, stride, storages[of].storage_offset() + offset)
        made.setdefault(str(place), nn.Parameter(view))
    model.load_state_dict({name: made[str(place)] for name, place in places.items()}, assign=True)
    return model.requires_grad_(False)


def _write(model: Transformer, file: Path) -> None:
    DecodingEngine(model)  # lays out the weights
    stored: dict[int, tuple[int, Tensor]] = {}  # by address, a matrix or a weight that lies in none, and its number
    places = {}
    for name, weight in model.state_dict().items():
        matrix = weight.untyped_storage()
        if weight.is_contiguous():
            address, whole, offset = weight.data_ptr(), weight.flatten().clone(), 0
        else:
            address, whole = matrix.data_ptr(), torch.empty(0, dtype=weight.dtype).set_(matrix)
            offset = weight.storage_offset()
        number, _ = stored.setdefault(address, (len(stored), whole))
        places[name] = (number, weight.shape, weight.stride(), offset)
    with placed(file) as part:
        tensors = {str(number): whole for number, whole in stored.values()}
        save_file(tensors, part, metadata={_PLACES: json.dumps(places)})
    oldest_last = sorted(file.parent.glob("engine-*.safetensors"), key=lambda each: -each.stat().st_mtime)
    for each in oldest_last[MAX_FILES:]:
        each.unlink(missing_ok=True)
