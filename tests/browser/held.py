"""`app.py` with a gate: while the file $GATE is there, no translation ends. So a test makes a server slow."""

import os
import time
from pathlib import Path

import app
from transformer.web.api import events

GATE = Path(os.environ["GATE"])
show = events.show


def held(*asked: object) -> object:
    while GATE.exists():
        time.sleep(0.01)
    return show(*asked)  # type: ignore[arg-type]


if __name__ == "__main__":
    events.show = held  # type: ignore[assignment]
    app.main()
