"""What `python app.py` says where it cannot start."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from transformer.web.process import FIRST_PORT, listening

ROOT = Path(__file__).resolve().parents[1]


PORT, NUMBER = "is not a port: use a number from 1 to 65535", "is not a whole number from 1"
LATE = pytest.param("TRANSFORMER_CONCURRENCY", "many", NUMBER, marks=pytest.mark.slow)  # read after the imports


@pytest.mark.parametrize(
    ("name", "value", "why"), [("GRADIO_SERVER_PORT", "abc", PORT), ("GRADIO_SERVER_PORT", "65536", PORT), LATE]
)
def test_a_value_that_a_variable_cannot_have_is_refused_in_one_line(name: str, value: str, why: str) -> None:
    environment = os.environ | {name: value, "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=120
    )
    assert (run.returncode, run.stderr) == (1, f"{name}={value!r} {why}\n")


def test_only_a_taken_port_is_said_to_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADIO_SERVER_NAME", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("GRADIO_SERVER_PORT", str(port))
        with pytest.raises(
            SystemExit, match=f"^GRADIO_SERVER_PORT={port} cannot be used: another program has that port$"
        ):
            listening()
    monkeypatch.setenv("GRADIO_SERVER_NAME", "192.0.2.1")  # an address of nobody's
    with pytest.raises(SystemExit, match="assign"):
        listening()


def test_without_a_port_the_first_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with listening() as first, listening() as second:
        assert FIRST_PORT <= first.getsockname()[1] < second.getsockname()[1]


@pytest.mark.slow
def test_without_the_page_packages_one_sentence_says_what_to_install() -> None:
    code = "import sys; sys.modules['gradio'] = None; import app"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (1, "The page needs gradio: install it with pip install '.[page]'\n")
