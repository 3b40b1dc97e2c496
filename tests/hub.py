"""A local server with the Hub's addresses, for one model; its faults can be chosen."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

NAME = "owner/opus-mt-de-en"
COMMIT, OLDER = "a" * 40, "b" * 40  # of main, and of the tag "v0"


def use(address: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process and those that it starts ask this address, with a cache in this folder."""
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    # huggingface_hub reads the environment on its import.
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))


class Hub:
    """What the server has, what it does wrong, and what it was asked.

    Attributes:
        name: of the model.
        files: by commit and name.
        broken: names of files of which the connection breaks half-way, each time.
        changed: names of files of which one byte is wrong.
        asked: method and path of every request.
        may_send: until it is set, of the weights only half is sent.
    """

    def __init__(self, folder: Path, name: str = NAME) -> None:
        self.name = name
        self.files = {(COMMIT, file.name): file.read_bytes() for file in folder.iterdir()}
        self.broken: set[str] = set()
        self.changed: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self.may_send = threading.Event()
        self.may_send.set()

    def downloads(self, name: str) -> int:
        return sum(method == "GET" and path.endswith(f"/{name}") for method, path in self.asked)


COMMITS = {"main": COMMIT, COMMIT: COMMIT, "v0": OLDER, OLDER: OLDER}


def is_large(content: bytes) -> bool:
    return len(content) > 10_000


def digest(content: bytes) -> str:
    """SHA-256 of large files, Git's SHA-1 of others."""
    if is_large(content):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def entry(name: str, content: bytes) -> dict[str, Any]:
    """What the Hub's lists say about a file."""
    about = {"type": "file", "path": name, "rfilename": name, "size": len(content), "oid": digest(content)}
    large = {"oid": digest(content), "sha256": digest(content), "size": len(content), "pointerSize": 100}
    return about | ({"lfs": large} if is_large(content) else {})


@contextmanager
def served(hub: Hub) -> Iterator[str]:
    """The address of a server on this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def refuse(self, code: str) -> None:
            self.send_response(404)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def answer(self, body: bool) -> None:
            path = self.path.split("?")[0]
            hub.asked.append((self.command, path))
            if not path.startswith((f"/{hub.name}/resolve/", f"/api/models/{hub.name}/")):
                return self.refuse("RepoNotFound")
            path = path.removeprefix("/api/models").removeprefix(f"/{hub.name}/")
            about, revision, name = (*path.split("/", 2), "")[:3]
            if revision not in COMMITS:
                return self.refuse("RevisionNotFound")
            commit = COMMITS[revision]
            files = {file: content for (at, file), content in hub.files.items() if at == commit}
            if about in ("revision", "tree"):
                entries = [entry(file, content) for file, content in files.items()]
                answer = entries if about == "tree" else {"id": hub.name, "sha": commit, "siblings": entries}
                return self.send(json.dumps(answer).encode(), {"Content-Type": "application/json"}, body)
            content = files.get(name, b"")
            if not content:
                return self.refuse("EntryNotFound")
            tag = digest(content)
            if name in hub.changed:
                content = content[:-1] + bytes([content[-1] ^ 1])
            self.send(content, {"ETag": f'"{tag}"', "X-Repo-Commit": commit}, body, name in hub.broken)

        def send(self, content: bytes, headers: dict[str, str], body: bool, breaks: bool = False) -> None:
            first = 0
            if given := self.headers.get("Range"):
                first = int(given.removeprefix("bytes=").split("-")[0])
            self.send_response(206 if given else 200)
            for header, value in headers.items():
                self.send_header(header, value)
            if given:
                self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - first))
            self.end_headers()
            if body:
                half = first + (len(content) - first) // 2
                self.wfile.write(content[first:half])
                if self.path.endswith((".safetensors", ".bin")):
                    hub.may_send.wait()
                if not breaks:
                    self.wfile.write(content[half:])
                self.close_connection = breaks

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
