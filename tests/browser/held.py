"""`app.py` with a gate: while the file $GATE exists, no translation ends. So a test makes a server slow."""

import os
import time
from pathlib import Path
from typing import Any

import app
from transformer.web.api import events

GATE = Path(os.environ["GATE"])
show = events.show


def held(*args: Any, **kwargs: Any) -> Any:
    while GATE.exists():
        time.sleep(0.01)
    return show(*args, **kwargs)


if __name__ == "__main__":
    events.show = held
    app.main()
