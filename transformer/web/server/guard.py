"""The first middleware: refuses what neither the page nor a program sends.

Slow bodies, floods of connections and rates of requests are the business of a proxy: see README.md.
"""

import ipaddress
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import access_log
from ..settings import settings

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")  # which change nothing
TOO_LARGE = "The request is too large."
NO_FILES = "This server accepts no files here."
NO_BODY = "A request that changes nothing has no body here."
FOREIGN = "Another site's page may not ask this."
UNKNOWN_HOST = "This server has another name. Its operator can add this one to TRANSFORMER_HOSTS."
FAULT = "Internal error. It is in the server's log."

# Of Gradio's addresses, those that the page, gradio_client, MCP and the documented calls use, and where each may be
# posted to. Others would store files, fetch from other servers or change the page.
GRADIO = {
    "GET": (
        *("/config", "/theme.css", "/favicon.ico", "/robots.txt", "/assets/", "/static/", "/gradio_api/file="),
        *("/gradio_api/info", "/gradio_api/call/", "/gradio_api/queue/data", "/gradio_api/mcp"),
    ),
    "POST": (
        *("/gradio_api/run/", "/gradio_api/call/", "/gradio_api/queue/join", "/gradio_api/cancel"),
        *("/gradio_api/reset", "/gradio_api/mcp"),
    ),
}


class Guard:
    """Refuses unknown names of this server and other sites' pages (403), addresses of Gradio that nothing here uses
    (404), forms (415), and bodies that are larger than any valid request (413). Our `own` addresses begin like these;
    `max_body` is the bytes of a body by its path, None where the handler bounds it."""

    def __init__(self, app: ASGIApp, own: tuple[str, ...], max_body: Callable[[str], int | None]) -> None:
        self.app, self._own, self._max_body = app, own, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def write(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, self._bounded(scope, receive), write)
        except HTTPException as error:
            await PlainTextResponse(error.detail, error.status_code)(scope, receive, send)
        except ClientDisconnect:
            pass  # nobody waits for the answer
        except Exception as error:  # its message may quote a visitor
            access_log.fault("request", error)
            if not started:
                await PlainTextResponse(FAULT, 500)(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        path, method, headers = scope["path"], scope["method"], Headers(scope=scope)
        if not known_host(headers.get("host", "")):
            raise HTTPException(403, UNKNOWN_HOST)
        reachable = (*self._own, *GRADIO.get("GET" if method == "HEAD" else method, ()))
        if (path != "/" and not path.startswith(reachable)) or "://" in path:
            raise HTTPException(404, "Not found.")
        if method in SAFE_METHODS:
            if "transfer-encoding" in headers or headers.get("content-length", "0") != "0":
                raise HTTPException(413, NO_BODY)
        elif foreign(headers):
            raise HTTPException(403, FOREIGN)
        elif headers.get("content-type", "").lower().lstrip().startswith("multipart/"):
            raise HTTPException(415, NO_FILES)

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """Raises HTTPException once the body is too large, also where it says so itself."""
        most, size = self._max_body(scope["path"]), 0
        if most is None:
            return receive
        if int(Headers(scope=scope).get("content-length", 0)) > most:  # uvicorn accepts digits only
            raise HTTPException(413, TOO_LARGE)

        async def count() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise HTTPException(413, TOO_LARGE)
            return message

        return count


def known_host(host: str) -> bool:
    """Whether a request names this server: by an IP address, by a name without a dot, or by a name that it knows.
    Another site could let a name of its own lead to a private server (DNS rebinding), whose answers its page could
    then read. Behind a proxy, which chooses what it passes on, any name will do."""
    known = settings().hosts.lower().replace(",", " ").split()
    if settings().proxies and not known:
        return True
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    machine = socket.gethostname().lower()
    if "." not in name or name in (machine, f"{machine}.local", *known):
        return True
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def foreign(headers: Headers) -> bool:
    """Whether a page of another origin asks, through the browser of a visitor, who may use a private server.
    Browsers say so by Sec-Fetch-Site, and where this page has no HTTPS, by Origin alone. No other program sends
    either. A page cannot set X-Forwarded-Host, which a proxy may, without asking first, and nothing here permits it."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site not in ("same-origin", "none")
    if origin is None:
        return False
    hosts = headers.getlist("host") + headers.get("x-forwarded-host", "").replace(" ", "").split(",")
    try:
        return urlsplit(origin).netloc.lower() not in [host.lower() for host in hosts if host]
    except ValueError:  # it is no address
        return True
