"""How long a training takes on this machine: what its last one took, and how busy the machine is."""

import os
import threading
import time
from collections.abc import Callable

HALF_LIFE = 120  # seconds after which the waiting of the last training counts half
LEAST_SECONDS, LEAST_STEPS = 1, 30  # of a training that says something about the machine: the first steps take longer


def busyness() -> float:
    """How many times longer work takes now than on an idle machine, by the load of the last minute; at least 1."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1.0, (load + 1) / (os.cpu_count() or 1))


class Pace:
    """Corrects estimates of `network.cost.step_seconds`. Thread-safe.

    A training's processor time shows how fast the machine is, also a busy one; what its time on the clock has beyond
    that shows how long it waited for others.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, busy: Callable[[], float] = busyness) -> None:
        self._clock, self._busy = clock, busy
        self._lock = threading.Lock()
        self._speed, self._wait, self._learned = 1.0, 1.0, clock()

    def learn(self, steps: int, estimate: float, seconds: float, processor_seconds: float) -> None:
        """What the steps of a training took that were estimated at `estimate` seconds; `processor_seconds` are those of
        one thread."""
        if steps < LEAST_STEPS or min(seconds, processor_seconds) < LEAST_SECONDS or estimate <= 0:
            return
        with self._lock:
            self._speed = processor_seconds / estimate
            self._wait = max(1.0, seconds / processor_seconds)
            self._learned = self._clock()

    def seconds(self, estimate: float) -> float:
        """The seconds that a training will take, from an estimate for an idle machine."""
        with self._lock:
            age = self._clock() - self._learned
            recent = 1 + (self._wait - 1) * 0.5 ** (age / HALF_LIFE)
            return estimate * self._speed * max(recent, self._busy())
