"""The page, its API and its server."""

from . import gradio_internals  # noqa: F401  # before gradio
