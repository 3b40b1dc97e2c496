"""The server's process: its port, its memory, how it ends."""

import ctypes
import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from .. import access_log
from ..sessions.model_store import when_unloaded

M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -8, -3, -1  # of malloc.h


def serve(build: Callable[[], Any], launch: Callable[[], dict[str, Any]]) -> None:
    """Serve a page until the process is told to end. A setting that it cannot be served with is reported in one line.

    Args:
        build: makes the page.
        launch: how to launch it.
    """
    named = os.environ.get("GRADIO_SERVER_PORT")  # which Gradio would take for the first of a hundred to try
    port = int(named) if named else None
    if port and (reason := why_not(port)):
        sys.exit(f"GRADIO_SERVER_PORT={port} cannot be used: {reason}")
    return_freed_memory()
    try:
        access_log.start()
        page, options = build(), launch()
    except ValueError as error:  # a device or a log format that does not exist, a corrupt checkpoint
        sys.exit(str(error))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that atexit removes the sessions' files
    gc.freeze()  # these objects are permanent: scanning them would take a quarter of a second per collection
    try:
        page.launch(**options, server_port=port)
    except OSError as error:  # the port was taken meanwhile
        sys.exit(str(error))


def why_not(port: int) -> str | None:
    """The error that keeps the server off its port, which Gradio hides; None if the port is free."""
    name = os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1"
    try:
        socket.create_server((name, port), family=socket.AF_INET6 if ":" in name else socket.AF_INET).close()
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        return "another program has that port" if taken else error.strerror
    return None


def return_freed_memory() -> None:
    """Make glibc return freed memory. By default each thread's arena keeps it: 10 MB a minute with thirty visitors.

    Of many small pieces it still keeps pages between those in use, 300 MB after attacks on a large model of a session:
    those it gives back when such a model leaves memory.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):  # musl
        return
    for option, value in (M_ARENA_MAX, 1), (M_MMAP_THRESHOLD, 64 * 2**10), (M_TRIM_THRESHOLD, 128 * 2**10):
        libc.mallopt(option, value)

    def trim() -> None:
        gc.collect()  # of cycles that hold what was computed
        libc.malloc_trim(0)

    when_unloaded.append(trim)
