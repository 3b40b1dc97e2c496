"""The page, its API and its server."""

from . import without_stubs  # noqa: F401  # before gradio
