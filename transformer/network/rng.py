"""PyTorch draws from one random generator for all threads. Knows nothing of what is drawn."""

import threading

# Who draws beside other threads holds it, so that the same seed gives the same numbers whoever else is at work.
rng_lock = threading.RLock()
