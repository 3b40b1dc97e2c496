"""What the tests of sessions share."""

import pytest

from .clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
