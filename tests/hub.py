"""A local server with the Hub's addresses, for one model; its faults can be chosen."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAME = "owner/opus-mt-de-en"
COMMIT, REQUEST = "a" * 40, "b" * 40  # of main, and of pull request 4


class Hub:
    """What the server has, what it does wrong, and what it was asked.

    Attributes:
        name: of the model.
        files: by commit and name.
        author: of pull request 4.
        broken: names of files of which the connection breaks half-way, each time.
        changed: names of files of which one byte is wrong.
        asked: method and path of every request.
        may_send: until it is set, of the weights only half is sent.
    """

    def __init__(self, folder: Path, name: str = NAME) -> None:
        self.name = name
        self.files = {(COMMIT, file.name): file.read_bytes() for file in folder.iterdir()}
        self.author = "SFconvertbot"
        self.broken: set[str] = set()
        self.changed: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self.may_send = threading.Event()
        self.may_send.set()

    def downloads(self, name: str) -> int:
        return sum(method == "GET" and path.endswith(f"/{name}") for method, path in self.asked)


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
            if path == f"/api/models/{hub.name}/discussions":
                request = {
                    "title": "Adding `safetensors` variant of this model",
                    "num": 4,
                    "author": {"name": hub.author},
                    "createdAt": "2023-05-01T00:00:00.000Z",
                    "status": "open",
                    "repo": {"name": hub.name, "type": "model"},
                    "isPullRequest": True,
                }
                content = json.dumps({"count": 1, "start": 0, "discussions": [request]}).encode()
                return self.send(content, {"Content-Type": "application/json"}, body)
            if not path.startswith(f"/{hub.name}/resolve/"):
                return self.refuse("RepoNotFound")
            revision, name = path.removeprefix(f"/{hub.name}/resolve/").rsplit("/", 1)
            commits = {"main": COMMIT, COMMIT: COMMIT, "refs%2Fpr%2F4": REQUEST, REQUEST: REQUEST}
            if revision not in commits:
                return self.refuse("RevisionNotFound")
            commit = commits[revision]
            content = hub.files.get((commit, name), b"")
            if not content:
                return self.refuse("EntryNotFound")
            if len(content) > 10_000:
                tag = hashlib.sha256(content).hexdigest()
            else:
                tag = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
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
