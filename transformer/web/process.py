"""The server's process: its port, its memory, how it starts and ends."""

import ctypes
import errno
import gc
import os
import signal
import socket
import sys

import uvicorn

from ..inference.device import on_zero_gpu
from . import access_log, gradio_internals, page
from .server.application import application
from .sessions.model_store import when_unloaded

M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -8, -3, -1  # of malloc.h
FIRST_PORT, PORTS = 7860, 100
SECONDS_TO_END = 2  # for answers that are on their way
IDLE_SECONDS = 20  # of a connection
MAX_CONNECTIONS = 2000  # further requests are refused with status 503


def serve() -> None:
    """Serve the page until the process is told to end. A setting that it cannot be served with is reported in one
    line."""
    bound = listening()
    return_freed_memory()
    try:
        access_log.start()
        blocks = page.build()
        app = application(blocks)
    except ValueError as error:  # a device or a log format that does not exist, a corrupt checkpoint
        sys.exit(str(error))
    if on_zero_gpu():
        gradio_internals.report_start()
    gc.freeze()  # these objects are permanent: scanning them would take a quarter of a second per collection
    name, port = bound.getsockname()[:2]
    address = f"http://{f'[{name}]' if ':' in name else name}:{port}"
    gradio_internals.call_itself(blocks, address)
    print(f"* Running on local URL:  {address}", flush=True)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # client_of reads them, as far as they are believed
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn raises it again in the end: atexit removes files
    uvicorn.Server(config).run(sockets=[bound])


def listening() -> socket.socket:
    """A socket on $GRADIO_SERVER_PORT of $GRADIO_SERVER_NAME, else on the first free port from 7860."""
    name, named = os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1", os.environ.get("GRADIO_SERVER_PORT")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    for port in [int(named)] if named else range(FIRST_PORT, FIRST_PORT + PORTS):
        try:
            bound = socket.create_server((name, port), family=family, backlog=1000)
            # asyncio sets it on sockets that it opens itself; without it an answer's body waits 40 ms for its head.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return bound
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            if named or not taken:
                why = "another program has that port" if taken else error.strerror
                sys.exit(f"GRADIO_SERVER_PORT={port} cannot be used: {why}")
    sys.exit(f"none of the ports from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free")


def return_freed_memory() -> None:
    """Make glibc return freed memory. By default each thread's arena keeps it: 10 MB a minute with thirty visitors. Of
    many small pieces it still keeps pages between those in use, 300 MB after attacks on a large model of a session:
    those it gives back when such a model leaves memory."""
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
