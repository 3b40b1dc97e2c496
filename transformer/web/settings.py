"""Settings of the web server, read from the environment once; README.md says what they mean.

Those of trainings are in live/limits.py.
"""

import os
from dataclasses import dataclass
from functools import cache

from ..settings import from_environment, setting
from .opus_models import DEFAULT


@dataclass(frozen=True)
class Settings:
    """Raises ValueError for a log format that does not exist."""

    concurrency: int = setting("TRANSFORMER_CONCURRENCY", 2)  # requests of each lane at work at a time
    proxies: int = setting("TRANSFORMER_PROXIES", 0)  # before the server, whose X-Forwarded-For is believed
    hosts: str = setting("TRANSFORMER_HOSTS", "")  # names of the server, with commas between them
    log: str = setting("TRANSFORMER_LOG", "")  # "json" for a line for every action
    models: str = setting("TRANSFORMER_MODELS", DEFAULT)  # real ones, with commas between them
    loaded_megabytes: int = setting("TRANSFORMER_LOADED_MEGABYTES", 1000)  # of the real models in memory
    classes: str = setting("TRANSFORMER_CLASSES", "")  # where they are kept: a folder, a Redis, or "off"
    mcp: bool = setting("TRANSFORMER_MCP", False)

    def __post_init__(self) -> None:
        if self.log not in ("", "json"):
            raise ValueError(f"TRANSFORMER_LOG={self.log!r} is not a log format: use json, or leave it unset")


@cache
def settings() -> Settings:
    """This server's. A Space has one proxy before it."""
    default = {"TRANSFORMER_PROXIES": "1"} if os.environ.get("SPACE_ID") else {}
    return from_environment(Settings, default | os.environ)
