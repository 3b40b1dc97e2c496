"""A visitor's own model for others: a token of it in a link, and what the page of such a link has to know."""

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
    """What the page tells of a model that somebody has shared.

    Raises:
        CheckpointError: there is none of that name.
    """
    translator(request.checkpoint)
    return described(request.checkpoint)
