"""Where a request comes from, as far as the server believes it."""

import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .settings import settings

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

MAX_NAME = 64  # characters of a name that is not an IP address, and of a session
REPLICA = re.compile(r"(?:^|; )replica=([\w-]{1,64})(?:;|$)")
PORT = re.compile(r"^\[(.*)\](?::\d+)?$|^([^:]*):\d+$")  # behind an address: 1.2.3.4:80, [::1]:80


@dataclass(frozen=True)
class Client:
    """A visitor or a program."""

    address: str = ""  # where it comes from
    session: str = ""  # which of the visitors there it is, by its own word
    replica: str = field(default="", compare=False)  # the cookie by which a proxy sends it to the same replica again
    hub_token: str = field(default="", compare=False, repr=False)  # by which the hub counts a visitor's GPU time


NOBODY = Client()


def client_of(scope: "Scope", session: str | None = None) -> Client:
    """The client of a request; its session is that of the header `Session` where none is given."""
    from starlette.datastructures import Headers  # which a saved run does not need

    headers = Headers(scope=scope)
    named = headers.get("session", "") if session is None else session
    replica = REPLICA.search(headers.get("cookie", ""))
    token = headers.get("x-ip-token", "")
    return Client(_address(scope, headers), named[:MAX_NAME], replica[1] if replica else "", token)


def _address(scope: "Scope", headers: "Headers") -> str:
    """The peer, or behind proxies ($TRANSFORMER_PROXIES) the one that the first of them heard.

    Of an IPv6 address only the network counts, because one computer has 2^64 addresses there.
    """
    peer = (scope.get("client") or ("",))[0]
    forwarded = ",".join(headers.getlist("x-forwarded-for")).split(",")
    trusted = [name.strip() for name in forwarded if name.strip()][-settings().proxies :] if settings().proxies else []
    name = PORT.sub(r"\1\2", trusted[0] if trusted else peer)
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        return name[:MAX_NAME]
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ipaddress.ip_network((ip.packed, 64), strict=False).network_address
    return str(ip)
