"""Attention, bitte: the original Transformer, live. `python app.py` serves the page."""

import os
import signal
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "100000")  # else pandas runs over the queue at every event

from transformer.webui.page import LAUNCH, build


def main() -> None:
    try:
        page = build()
    except ValueError as error:  # a device that is not there, a checkpoint that is not whole
        sys.exit(str(error))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that what belongs to visits is removed
    page.launch(**LAUNCH)


if __name__ == "__main__":
    main()
