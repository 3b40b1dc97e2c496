"""Attention, bitte: the original Transformer, live. `python app.py` serves the page."""

import gc
import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the products are tiny: more threads would only wait for each other
if os.environ.get("GRADIO_SERVER_PORT", "7860") not in map(str, range(1, 2**16)):  # Gradio reads it on import
    sys.exit(f"GRADIO_SERVER_PORT={os.environ['GRADIO_SERVER_PORT']!r} is not a port: use a number from 1 to 65535")
if os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true"):
    import spaces  # noqa: F401  # a Space on ZeroGPU: before torch, which it changes

import transformer.web  # before gradio, which then starts a second sooner

try:
    gc.disable()  # while all is imported: there is no garbage, and the search for it takes most of a second
    import gradio  # noqa: F401
    import plotly  # noqa: F401
except ImportError as error:
    sys.exit(f"The page needs {error.name}: install it with pip install '.[page]'")

from transformer.inference.device import on_zero_gpu
from transformer.web.process import serve as main

if on_zero_gpu():
    import transformer.web.server.zero_gpu  # noqa: F401  # its function on the GPU must be there before the start

gc.freeze()
gc.enable()

if __name__ == "__main__":
    main()
