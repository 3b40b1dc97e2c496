"""Real models: Marian models of the Hugging Face Hub, or of folders, that $TRANSFORMER_MODELS lists.

A model is fetched and read in a thread when a visitor first chooses it. Visitors who choose it meanwhile share the
download, which is cancelled when none of them waits any more. Models stay in memory up to a bound; beyond it the least
recently used is unloaded. A visitor can name listed models only, never a path.
"""

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from safetensors import safe_open

from ...inference.device import pick_device
from ...inference.translator import Translator
from ...storage import hub, marian
from .. import access_log
from ..opus_models import ListedModel
from ..settings import settings
from .listed_models import listed
from .model_store import RefusedModelError, when_unloaded

MAX_PIECES = 128  # of a sentence on the page, without E; Marian models read up to 512
MAX_OUTPUT = 160  # tokens
DOWNLOADS = 4  # at a time
WAIT_SECONDS = 60  # for space, while all models in memory are in use
RETRY_SECONDS = 5  # after a failure, in which the model is not tried again
FLOAT_BYTES = 4
REFUSALS = ("real.broken", "real.digest", "real.missing", "real.not_there", "real.offline")  # by a HubError's reason


class _NobodyWaitsError(Exception):
    """Ends a download."""


@dataclass(eq=False)
class Loading:
    """A model on its way into memory: bytes that have been fetched, and all; 0 of 0 where none have to be."""

    done: Future[None] = field(default_factory=Future)
    fetched: int = 0
    size: int = 0

    async def wait(self, seconds: float | None = None) -> None:
        """Until it has ended, somehow, and no longer than this."""
        done = asyncio.wrap_future(self.done)
        done.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # which asyncio would log
        await asyncio.wait([done], timeout=seconds)


@dataclass(eq=False)
class _Model:
    """`users` are requests about it and visitors who wait for it; `used` is when the last one left."""

    listed: ListedModel
    users: int = 0
    used: float = 0.0
    size: int = 0
    translator: Translator | None = None
    loading: Loading | None = None
    failed: tuple[float, RefusedModelError] | None = None


class RealModels:
    """Those of one server. The weights of all in memory take at most `max_bytes`. Thread-safe."""

    def __init__(
        self, models: Sequence[ListedModel], max_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.max_bytes = max_bytes
        self._clock = clock
        self._models = {each.checkpoint: _Model(each) for each in models}
        self._changed = threading.Condition()
        self._reading = threading.Lock()  # one at a time: two would need space for both
        self._threads = ThreadPoolExecutor(DOWNLOADS, "real-model")

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def find(self, checkpoint: object) -> ListedModel | None:
        """The listed model of this name."""
        model = self._models.get(checkpoint) if isinstance(checkpoint, str) else None
        return model.listed if model else None

    def __contains__(self, checkpoint: object) -> bool:
        return self.find(checkpoint) is not None

    def counts(self) -> dict[str, Any]:
        """The bytes of each model in memory, of all, and how many they may be."""
        with self._changed:
            loaded = {name: model.size for name, model in self._models.items() if model.translator}
        return {"loaded": loaded, "bytes": sum(loaded.values()), "most": self.max_bytes}

    def translator(self, checkpoint: str) -> Translator:
        """A listed model; where it is not in memory, this thread waits for it. Raises
        RefusedModelError if that fails."""
        with self._used(checkpoint) as model:
            if loading := self._start(model):
                loading.done.result()
            if model.translator is None:
                raise RefusedModelError("real.busy", name=checkpoint)
            return model.translator

    @asynccontextmanager
    async def in_use(self, checkpoint: object) -> AsyncIterator[None]:
        """A listed model stays in memory inside, after it has been loaded; why it cannot be, `translator` says."""
        listed = self.find(checkpoint)
        if not listed:
            yield
            return
        with self._used(listed.checkpoint) as model:
            with suppress(RefusedModelError):
                if loading := self._start(model):
                    await loading.wait()
            yield

    @asynccontextmanager
    async def chosen(self, checkpoint: str) -> AsyncIterator[Loading | None]:
        """Somebody waits for a listed model inside; None where it is in memory. Raises RefusedModelError if it could
        not be had a moment ago."""
        with self._used(checkpoint) as model:
            yield self._start(model)

    @contextmanager
    def _used(self, checkpoint: str) -> Iterator[_Model]:
        model = self._models[checkpoint]
        with self._changed:
            model.users += 1
        try:
            yield model
        finally:
            with self._changed:
                model.users -= 1
                model.used = self._clock()
                self._changed.notify_all()

    def _start(self, model: _Model) -> Loading | None:
        """Load a model, unless it is loaded or on its way."""
        with self._changed:
            if model.translator:
                return None
            if model.loading is None:
                if model.failed and self._clock() - model.failed[0] < RETRY_SECONDS:
                    raise model.failed[1]
                model.loading = Loading()
                self._threads.submit(self._load, model, model.loading)
            return model.loading

    def _load(self, model: _Model, loading: Loading) -> None:
        try:
            size, translator = self._read(model, loading)
        except _NobodyWaitsError:
            loading.done.cancel()
        except BaseException as error:
            refusal = self._refusal(model.listed.checkpoint, error)
            with self._changed:
                model.loading, model.failed = None, (self._clock(), refusal)
            loading.done.set_exception(refusal)
        else:
            with self._changed:
                model.translator, model.size, model.used = translator, size, self._clock()
                model.loading = model.failed = None
            loading.done.set_result(None)

    def _refusal(self, name: str, error: BaseException) -> RefusedModelError:
        """The message for visitors; details that only the operator may see go to the log."""
        if isinstance(error, RefusedModelError):
            return error
        if isinstance(error, hub.HubError) and error.reason == "too_large":
            return RefusedModelError("real.too_large", name=name, **self._megabytes(error.size))
        if isinstance(error, hub.HubError) and f"real.{error.reason}" in REFUSALS:
            return RefusedModelError(f"real.{error.reason}", name=name)
        access_log.fault("real model", error)
        return RefusedModelError("real.failed" if isinstance(error, hub.HubError) else "real.unreadable", name=name)

    def _megabytes(self, size: int) -> dict[str, int]:
        return {"size": math.ceil(size / 10**6), "most": self.max_bytes // 10**6}

    def _read(self, model: _Model, loading: Loading) -> tuple[int, Translator]:
        """Its bytes in memory, and the model."""

        def tell(fetched: int, size: int) -> None:
            loading.fetched, loading.size = fetched, size
            self._go_on(model, loading)

        source = model.listed.source
        folder = hub.fetch(source, tell, min(self.max_bytes, hub.MAX_BYTES)) if isinstance(source, str) else source
        size = _bytes_in_memory(marian.weights_of(folder))
        with self._reading:
            self._make_space(model, loading, size)
            # Its owner may write into a folder at any time; nobody changes a file of the cache.
            checkpoint = marian.load_marian(folder, pick_device(), mapped=isinstance(source, str))
        checkpoint = replace(
            checkpoint,
            source_length=min(checkpoint.source_length, MAX_PIECES),
            output_limit=min(checkpoint.output_limit, MAX_OUTPUT),
        )
        return size, Translator(checkpoint, model.listed.checkpoint)

    def _go_on(self, model: _Model, loading: Loading) -> None:
        """Raises _NobodyWaitsError once no request waits for the model."""
        with self._changed:
            if model.users == 0 and model.loading is loading:
                model.loading = None
                raise _NobodyWaitsError

    def _make_space(self, model: _Model, loading: Loading, size: int) -> None:
        """Raises RefusedModelError where a model is too large, or the others in memory stay in use."""
        if size > self.max_bytes:
            raise RefusedModelError("real.too_large", name=model.listed.checkpoint, **self._megabytes(size))
        left = False
        until = self._clock() + WAIT_SECONDS
        with self._changed:
            while sum(each.size for each in self._models.values() if each.translator) + size > self.max_bytes:
                idle = [each for each in self._models.values() if each.translator and not each.users]
                if idle:
                    oldest = min(idle, key=lambda each: each.used)
                    oldest.translator, oldest.size, left = None, 0, True
                elif self._clock() > until:
                    raise RefusedModelError("real.busy", name=model.listed.checkpoint)
                else:
                    self._changed.wait(1)
        if left:
            for each in when_unloaded:
                each()
        self._go_on(model, loading)


def _bytes_in_memory(weights: Path) -> int:
    """The size of a safetensors file's weights in float32."""
    with safe_open(weights, framework="pt") as stored:
        shapes = (stored.get_slice(name).get_shape() for name in stored.keys())  # noqa: SIM118  # it is not a dict
        return FLOAT_BYTES * sum(map(math.prod, shapes))


@cache
def real_models() -> RealModels:
    """This server's. Raises ValueError if an entry of $TRANSFORMER_MODELS is not a model."""
    return RealModels(listed(settings().models), settings().loaded_megabytes * 2**20)
