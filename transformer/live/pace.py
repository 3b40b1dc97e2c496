"""Estimates how long a training takes on this machine, from the last training and the machine's load."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

HALF_LIFE = 120  # seconds after which the waiting of the last training counts half
LEAST_SECONDS, LEAST_STEPS = 1, 30  # of a training that says something about the machine
FIRST_STEP_SECONDS = 1.0  # more than any other step: PyTorch loads what it needs
START_SECONDS = 2.5  # of a training beside its steps: a process, the first step, the scores


def busyness() -> float:
    """How many times longer work takes now than on an idle machine, at least 1: by the load of the last minute, on
    Linux averaged with the present one, because work that has just begun or ended hardly changes the former."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with suppress(OSError, ValueError, IndexError):
        running, _, _ = Path("/proc/loadavg").read_text().split()[3].partition("/")
        load = (load + int(running) - 1) / 2  # without this thread
    return max(1.0, (load + 1) / (os.cpu_count() or 1))


class Pace:
    """Corrects estimates of `network.cost.step_seconds`: a training's processor time shows how fast the machine is,
    even under load, and the rest of its wall time how long it waited for others. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, busy: Callable[[], float] = busyness) -> None:
        self._clock, self._busy = clock, busy
        self._lock = threading.Lock()
        self._speed, self._wait, self._learned = 1.0, 1.0, clock()

    def learn(self, steps: int, estimate: float, seconds: float, processor_seconds: float) -> None:
        """Learn from a training whose steps were estimated at `estimate` seconds; `processor_seconds` are those of
        one thread."""
        usual = processor_seconds - FIRST_STEP_SECONDS
        if steps < LEAST_STEPS or min(seconds, usual) < LEAST_SECONDS or estimate <= 0:
            return
        with self._lock:
            self._speed = usual / estimate
            self._wait = max(1.0, seconds / processor_seconds)
            self._learned = self._clock()

    def seconds(self, estimate: float) -> float:
        """The seconds that a training will take, from an estimate of its steps for an idle machine."""
        with self._lock:
            age = self._clock() - self._learned
            recent = 1 + (self._wait - 1) * 0.5 ** (age / HALF_LIFE)
            return (START_SECONDS + estimate * self._speed) * max(recent, self._busy())
