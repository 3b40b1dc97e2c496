"""Attention, bitte: the original Transformer, live. `python app.py` serves the page."""

import gc
import os
import signal
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "100000")  # else pandas analyses the queue at every event
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the products are tiny: more threads would only wait for each other

from transformer.web.page import build, launch
from transformer.web.server import access_log


def main() -> None:
    try:
        access_log.start()
        page, options = build(), launch()
    except ValueError as error:  # a device or a log format that does not exist, a corrupt checkpoint
        sys.exit(str(error))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that atexit removes the sessions' files
    gc.freeze()  # what is here stays: collecting it would take a quarter of a second each time
    page.launch(**options)


if __name__ == "__main__":
    main()
