"""Models: loading real ones, sharing and deleting a visitor's own."""

from collections.abc import AsyncGenerator
from typing import Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import Listed, MessageError
from ..client import Client
from ..schema import CheckpointRequest
from ..sessions.model_store import is_own_model, model_store
from ..sessions.models import Model, described, translator
from ..sessions.real_models import real_models

LOADING_SECONDS = 0.5  # between two events


class Loading(TypedDict):
    """`fetched` of `size` bytes are here; both are 0 where none has to be fetched."""

    event: Literal["loading"]
    fetched: int
    size: int


class Ready(TypedDict):
    """The model is in memory."""

    event: Literal["ready"]


async def load_model(request: CheckpointRequest, client: Client) -> AsyncGenerator[Loading | Ready]:
    """Fetch a real model and read it into memory, for all who wait for it. A download that nobody waits for ends.
    Raises MessageError if the server lists none of that name, or it cannot be had."""
    if request.checkpoint not in real_models():
        raise MessageError("error.no_checkpoint", names=Listed(tuple(real_models())))
    async with real_models().chosen(request.checkpoint) as loading:
        while loading and not loading.done.done():
            yield {"event": "loading", "fetched": loading.fetched, "size": loading.size}
            await loading.wait(LOADING_SECONDS)
        if loading:
            loading.done.result()
    yield {"event": "ready"}


async def delete_model(request: CheckpointRequest, client: Client) -> None:
    """Delete a session's model."""
    model_store().delete(request.checkpoint)


class Shared(TypedDict):
    """The name by which anyone can use a model."""

    checkpoint: str


def share_model(request: CheckpointRequest) -> Shared:
    """A name of a model that a visitor can give away: of an own one a token, which lets nobody remove it."""
    translator(request.checkpoint)  # raises where there is none
    own = is_own_model(request.checkpoint)
    return {"checkpoint": model_store().share(request.checkpoint) if own else request.checkpoint}


def shared_model(request: CheckpointRequest) -> Model:
    """Describe a shared model to the page."""
    translator(request.checkpoint)  # raises where there is none
    return described(request.checkpoint)
