"""The models of visits: trained or brought here, for one visit only, bounded in number, size and age.

Whoever knows a model's key may use it, and only the visit that it belongs to is told the key.
"""

import atexit
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from ...data import CORPORA, Corpus, uploaded_corpus
from ...inference.translator import Translator
from ...live.limits import Limits
from ...messages import MessageError
from ...storage.portable import PortableModel

OWN_MODEL_PREFIX = "own-"  # begins every key; no shipped checkpoint is called so
SAFE_SECONDS = 300  # since it was used last: until then another visit's model does not push it out
TEXT_BYTES = 12  # of memory that a byte of a file's texts takes: measured with short pairs, which take most


class ModelStoreFullError(MessageError):
    """A model cannot be kept."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model that can be asked, and what there is of its corpus."""

    translator: Translator
    corpus: Corpus
    portable: PortableModel
    visit: str
    file: Path
    size: int = field(kw_only=True)  # bytes, in memory

    def about(self) -> dict[str, Any]:
        """What the page tells of it before it runs; beside these see `about` in page.py."""
        config = self.portable.checkpoint.model.config
        return {
            "name": self.portable.name,
            "corpus": self.portable.corpus,
            "weights": sum(values.numel() for values in self.portable.checkpoint.model.parameters()),
            "layers": config.num_encoder_layers,
            "heads": config.n_heads,
            "d_model": config.d_model,
        }


class ModelStore:
    """All visits' models. May be used from any thread."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._models: dict[str, Model] = {}  # by key, the one that was used last at the end
        self._used: dict[str, float] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="attention-bitte-"))

    def put(self, portable: PortableModel, visit: str, file: Path) -> str:
        """Keep a model and its file; returns its key.

        Raises:
            ModelStoreFullError: there is no room, because others use theirs.
        """
        key = OWN_MODEL_PREFIX + secrets.token_urlsafe(24)
        model = portable.checkpoint.model
        weights = sum(values.nbytes for values in model.parameters())
        size = weights + model.positions.nbytes + TEXT_BYTES * max(0, file.stat().st_size - weights)
        kept = Model(Translator(portable.checkpoint, key), _corpus(portable), portable, visit, file, size=size)
        with self._lock:
            self._free(visit, size)
            self._models[key] = kept
            self._used[key] = self._clock()
        return key

    def find(self, key: str) -> Model | None:
        with self._lock:
            self._forget(*self._old())
            model = self._models.pop(key, None)
            if model:
                self._models[key] = model
                self._used[key] = self._clock()
            return model

    def of(self, visit: str) -> list[str]:
        """The keys of a visit's models."""
        with self._lock:
            return [key for key, model in self._models.items() if model.visit == visit]

    def forget(self, key: str) -> None:
        with self._lock:
            self._forget(*{key} & self._models.keys())

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _free(self, visit: str, size: int) -> None:
        """Make room for one more, or leave everything as it is."""
        self._forget(*self._old())
        own = [key for key, model in self._models.items() if model.visit == visit]
        out = own[: max(0, len(own) + 1 - self.limits.models)]
        room = self.limits.megabytes * 2**20 - size
        room -= sum(model.size for key, model in self._models.items() if key not in out)
        for key, model in self._models.items():
            if room < 0 and key not in out and self._clock() - self._used[key] > SAFE_SECONDS:
                out.append(key)
                room += model.size
        if room < 0:
            raise ModelStoreFullError("shelf.full")
        self._forget(*out)

    def _old(self) -> list[str]:
        now = self._clock()
        return [key for key, used in self._used.items() if now - used > self.limits.minutes * 60]

    def _forget(self, *keys: str) -> None:
        for key in keys:
            self._models.pop(key).file.unlink(missing_ok=True)
            del self._used[key]


def _corpus(portable: PortableModel) -> Corpus:
    """The corpus that the file names, with the model's own pairs and vocabularies."""
    checkpoint = portable.checkpoint
    corpus = CORPORA.get(portable.corpus) or uploaded_corpus(
        portable.pairs, portable.name, shared_vocabulary=checkpoint.model.config.tie_weights
    )
    return replace(
        corpus,
        size=len(portable.pairs),
        load=lambda: (portable.pairs, checkpoint.src_vocab, checkpoint.tgt_vocab),
    )


def file_name(name: str) -> str:
    """For a model's file, of what a visitor called it."""
    return (re.sub(r"[^\w-]+", "-", name).strip("-") or "model") + ".safetensors"


@cache
def model_store() -> ModelStore:
    """This server's."""
    kept = ModelStore(Limits.from_environment())
    atexit.register(kept.close)
    return kept
