"""Sharing a visitor's own model: its token in a link, and the data that a page opened by such a link needs."""

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..schema import CheckpointRequest
from ..sessions.model_store import is_own_model, model_store
from ..sessions.models import Model, described, translator
from .endpoints import server_function


class Shared(TypedDict):
    """The name by which anyone can use a model."""

    checkpoint: str


@server_function
def share_model(request: CheckpointRequest) -> Shared:
    """A name of a model that a visitor can give away: of an own one a token, which lets nobody remove it.

    Raises:
        CheckpointError: there is none of that name.
    """
    translator(request.checkpoint)
    own = is_own_model(request.checkpoint)
    return {"checkpoint": model_store().share(request.checkpoint) if own else request.checkpoint}


@server_function
def shared_model(request: CheckpointRequest) -> Model:
    """Describe a shared model to the page.

    Raises:
        CheckpointError: there is none of that name.
    """
    translator(request.checkpoint)
    return described(request.checkpoint)
