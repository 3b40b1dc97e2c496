"""Settings of the web server, read from the environment once. Those of trainings are in live/limits.py."""

import os
from dataclasses import dataclass
from functools import cache

from ..settings import from_environment, setting
from .opus_models import DEFAULT


@dataclass(frozen=True)
class Settings:
    """Raises ValueError for a log format that does not exist."""

    concurrency: int = setting(
        "TRANSFORMER_CONCURRENCY",
        2,
        "requests of each of the two lanes at work at a time, all but one of which an address can have; others wait",
    )
    proxies: int = setting(
        "TRANSFORMER_PROXIES",
        0,
        "proxies before the server, whose `X-Forwarded-For` is believed: a visitor's address is counted from its end",
    )
    hosts: str = setting(
        "TRANSFORMER_HOSTS",
        "",
        "names of the server, with commas between them; IP addresses and names without a dot are known, and behind a "
        "proxy all are if this is unset",
    )
    log: str = setting(
        "TRANSFORMER_LOG", "", "`json` for a line of JSON for every action; unset, only faults are logged"
    )
    models: str = setting(
        "TRANSFORMER_MODELS",
        DEFAULT,
        "real models, with commas between them: `owner/name` or `owner/name@revision` of a Marian model of the Hugging "
        "Face Hub, or the path of a folder with one; empty for none. Those of the default are pinned to commits",
    )
    loaded_megabytes: int = setting(
        "TRANSFORMER_LOADED_MEGABYTES",
        1000,
        "MB of the real models in memory; beyond it the least recently used one is unloaded",
    )
    classes: str = setting(
        "TRANSFORMER_CLASSES",
        "",
        "where classes are kept: a folder, which replicas on one machine may share, or `redis://HOST:PORT/0` for "
        "replicas on several machines; unset, a temporary folder of this user; `off` for a server without classes",
    )
    mcp: bool = setting("TRANSFORMER_MCP", False, "1 for the MCP endpoint, whose tools language models call")

    def __post_init__(self) -> None:
        if self.log not in ("", "json"):
            raise ValueError(f"TRANSFORMER_LOG={self.log!r} is not a log format: use json, or leave it unset")


@cache
def settings() -> Settings:
    """This server's. A Space has one proxy before it."""
    default = {"TRANSFORMER_PROXIES": "1"} if os.environ.get("SPACE_ID") else {}
    return from_environment(Settings, default | os.environ)
