"""The latest answers, up to a number of them or of their bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class BoundedCache(Generic[V]):
    """Keeps the latest answers up to a sum of `most`, by the `size` of each. Thread-safe."""

    def __init__(self, most: int, size: Callable[[V], int]) -> None:
        self._most, self._size = most, size
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, V] = OrderedDict()  # the latest last
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The answer that is kept under a key, else a new one, which is kept unless it alone is too large."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        answer = make()
        self.put(key, answer)
        return answer

    def put(self, key: Hashable, answer: V) -> None:
        """Keep an answer, unless it alone is too large."""
        with self._lock:
            self._remove(key)
            self._answers[key] = answer
            self._bytes += self._size(answer)
            while self._bytes > self._most:
                self._remove(next(iter(self._answers)))

    def clear(self) -> None:
        with self._lock:
            self._answers.clear()
            self._bytes = 0

    def _remove(self, key: Hashable) -> None:
        if key in self._answers:
            self._bytes -= self._size(self._answers.pop(key))
