"""The nginx of transformer/web/README.md before servers of this machine."""

import re
import resource
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..browser.conftest import ROOT, Server, free_port, until

PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
MISSING = "there is no nginx (on Debian and Ubuntu: apt install nginx)"
(PRINTED,) = re.findall(r"^```nginx\n(.*?)^```", (ROOT / "transformer/web/README.md").read_text(), re.M | re.S)
AROUND = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {printed}
}}
"""


@contextmanager
def nginx_before(servers: list[Server], folder: Path, changed: Mapping[str, str] | None = None) -> Iterator[int]:
    """The port of nginx, whose files are in the folder; each server has TRANSFORMER_PROXIES=1.

    Args:
        servers: one or two, which answer.
        changed: text of the printed configuration, and what stands there instead.
    """
    assert PROGRAM, MISSING
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    port, printed = free_port(), PRINTED
    replicas = {f"10.0.0.{n}:7860": f"127.0.0.1:{servers[-n % len(servers)].port}" for n in (1, 2)}
    for old, new in {"listen 80": f"listen 127.0.0.1:{port}", **replicas, **(changed or {})}.items():
        assert printed.count(old) == 1
        printed = printed.replace(old, new)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, printed=printed))
    nginx = subprocess.Popen([PROGRAM, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"])
    try:
        until(lambda: nginx.poll() is not None or not socket.socket().connect_ex(("127.0.0.1", port)))
        assert nginx.poll() is None, (folder / "error.log").read_text()
        yield port
    finally:
        nginx.terminate()
        nginx.wait(30)
