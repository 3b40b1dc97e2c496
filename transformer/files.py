"""Locations of the package's files."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """The folder `checkpoints` or `assets`: inside the package where it is installed, beside it in a checkout."""
    installed = PACKAGE / name
    return installed if installed.exists() else PACKAGE.parent / name
