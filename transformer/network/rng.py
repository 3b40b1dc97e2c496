"""PyTorch has one global random generator for all threads."""

import threading

# Held while drawing, so that a seed gives the same numbers whatever other threads do. Loading leaves the generator as
# it was.
rng_lock = threading.RLock()
