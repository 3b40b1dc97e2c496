"""Where a request comes from."""

from typing import Any

import pytest

from transformer.web import client as module
from transformer.web.client import Client, client_of
from transformer.web.settings import Settings


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, ["9.9.9.9"], "1.2.3.4"),
        (1, [], "1.2.3.4"),
        (1, ["8.8.8.8, 9.9.9.9"], "9.9.9.9"),
        (1, ["8.8.8.8", "9.9.9.9"], "9.9.9.9"),
        (2, ["7.7.7.7, 8.8.8.8, 9.9.9.9"], "8.8.8.8"),
        (2, ["9.9.9.9"], "9.9.9.9"),
        (1, ["::ffff:9.9.9.9"], "9.9.9.9"),
        (1, ["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::"),
        (1, ["x" * 1000], "x" * 64),
        (1, [" , "], "1.2.3.4"),
        (1, ["9.9.9.9:5678"], "9.9.9.9"),
        (1, ["[2001:db8:1:2::9]:80"], "2001:db8:1:2::"),
    ],
)
def test_the_address_is_the_peers_or_counted_from_the_end_of_the_forwarded_ones(
    monkeypatch: pytest.MonkeyPatch, proxies: int, forwarded: list[str], address: str
) -> None:
    monkeypatch.setattr(module, "settings", lambda: Settings(proxies=proxies))
    scope: dict[str, Any] = {"type": "http", "client": ("1.2.3.4", 5), "headers": []}
    scope["headers"] = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    assert client_of(scope, "s") == Client(address, "s")
    assert client_of({"type": "http", "headers": []}) == Client()


def test_a_session_is_what_its_header_says_and_bounded() -> None:
    scope = {"type": "http", "headers": [(b"session", b"x" * 1000), (b"x-ip-token", b"t")]}
    assert client_of(scope) == Client("", "x" * 64)
    assert client_of(scope).hub_token == "t"
    assert "hub_token" not in repr(client_of(scope))  # a secret
