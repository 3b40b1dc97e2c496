"""Attention, bitte: the original Transformer, live. `python app.py` serves the page."""

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "100000")  # else pandas runs over the queue at every event

from transformer.webui.page import LAUNCH, build

if __name__ == "__main__":
    build().launch(**LAUNCH)
