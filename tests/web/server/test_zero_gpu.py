"""A Space on ZeroGPU: `spaces` comes before PyTorch, hears of a function for a GPU, and nothing else relies on one."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.browser.conftest import Server
from tests.visitors import train
from transformer.messages import Message

pytestmark = pytest.mark.slow

TOKEN = "header.e30.signature"
# A Space has PyTorch with CUDA, which `spaces` reads and changes; this machine may have one without.
SITE = """
import sys

class Imports:
    def find_spec(name, path, target=None):
        if name == "torch" and "spaces" not in sys.modules and sys.argv[0] == "app.py":
            raise ImportError("torch comes before spaces")
        if name == "spaces.zero":
            import torch
            if not torch.version.cuda:
                torch.version.cuda, torch._C._cuda_init, torch.cuda._is_in_bad_fork = "12.8", None, bool

sys.meta_path.insert(0, Imports)
"""


HEARD: list[str] = []  # what the hub was asked


class Hub(BaseHTTPRequestHandler):
    """Stands in for SPACES_ZERO_DEVICE_API_URL, and has no GPU."""

    def do_POST(self) -> None:
        HEARD.append(self.path)
        self.send_response(200 if self.path == "/startup-report" else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(SITE)
    hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    with Server(
        SPACES_ZERO_GPU="true",
        SPACES_ZERO_DEVICE_API_URL=f"http://127.0.0.1:{hub.server_port}",
        TRANSFORMER_DEVICE="",
        PYTHONPATH=os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        HOME=str(folder),
    ) as server:
        yield server
    hub.shutdown()


def test_the_start_is_reported_and_the_shipped_models_are_on_the_processor(server: Server) -> None:
    assert HEARD == ["/startup-report"]
    health, config = (httpx.get(f"{server.url}{path}", trust_env=False, timeout=60) for path in ("health", "config"))
    assert health.json()["device"] == "cpu"
    assert json.dumps(Message("device.zero_gpu").for_page()["english"])[1:-1] in config.text


def test_a_large_training_asks_for_a_gpu_and_does_without(server: Server) -> None:
    asked, begun = train("me", 2, "toy", d_model=256, n_heads=4, d_ff=1024, layers=3), len(HEARD)
    how: dict[str, Any] = {"json": asked.body, "headers": asked.headers | {"X-IP-Token": TOKEN}, "timeout": 180}
    answer = httpx.post(server.url + asked.path, **how, trust_env=False)
    names = [json.loads(line)["event"] for line in answer.text.splitlines()]
    assert names.count("started") == names.count("trained") == 1
    (heard_of,) = [urlsplit(path) for path in HEARD[begun:]]
    assert (heard_of.path, parse_qs(heard_of.query)["token"]) == ("/schedule", [TOKEN])
