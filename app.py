"""Attention, bitte: the original Transformer, live. `python app.py` serves the page."""

import gc
import os
import signal
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "100000")  # else pandas runs over the queue at every event
os.environ.setdefault("OMP_NUM_THREADS", "1")  # more only wait for each other over tiny products

from transformer.web.page import build, launch
from transformer.web.server import access_log as log


def main() -> None:
    try:
        log.start()
        page, how = build(), launch()
    except ValueError as error:  # a device or a kind of log that is not there, a checkpoint that is not whole
        sys.exit(str(error))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that what belongs to visits is removed
    gc.freeze()  # what is here stays: to look through it for garbage would take a quarter of a second each time
    page.launch(**how)


if __name__ == "__main__":
    main()
