"""A temporary folder of this process, and an end to those of processes that were killed."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "attention-bitte-"
LOCK = ".lock"  # a file beside each folder, which its process locks as long as it lives


def make() -> Path:
    """Make one, and remove those of dead processes: each may hold a gigabyte of models."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*{LOCK}"):
        with suppress(OSError):  # another user's
            if (locked := _lock(lock)) is not None:
                remove(lock.with_suffix(""))
                os.close(locked)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    _lock(Path(f"{folder}{LOCK}"))
    return folder


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    Path(f"{folder}{LOCK}").unlink(missing_ok=True)


def _lock(file: Path) -> int | None:
    """The file, open and locked until it is closed or the process ends; None if another process has locked it."""
    try:
        import fcntl
    except ImportError:  # Windows, which does not remove what is open
        return None
    opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return opened
    except OSError:
        os.close(opened)
        return None
