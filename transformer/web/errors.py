"""Errors that more than one part of the server raises."""

from ..messages import MessageError


class TryAgainError(MessageError):
    """The server cannot answer now: status 503, after which the page asks again by itself."""

    def __init__(self) -> None:
        super().__init__("error.busy")
