"""Routes of classes (see sessions/classes.py). Any replica answers them; status 503 says to try again.

POST rooms              open a class; answers {"code", "secret", "address", "qr"}
POST rooms/CODE/events  {"student"} or {"secret"}; answers a RoomEvent a line, now and after each change
POST rooms/CODE/vote    {"student", "question", "round", "choice"}
POST rooms/CODE/lead    what its teacher does (see schema.AnyLeadRequest)
"""

import os
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import Message
from .. import schema
from ..fair_queue import client_of
from ..sessions.classes import ClassError, LiveClass, StoreError, live_classes
from ..settings import settings
from .answers import UNREADABLE, Refusal, event_stream, read, route
from .request_limits import foreign


class OpenedRoom(TypedDict):
    """A class as its teacher's page receives it.

    Attributes:
        secret: the teacher's.
        address: that students type or scan; None where other machines cannot reach this server.
        qr: its QR code, as the address of an image.
    """

    code: str
    secret: str
    address: str | None
    qr: str | None


GUEST: TypeAdapter[schema.StudentRequest | schema.TeacherRequest] = TypeAdapter(
    schema.StudentRequest | schema.TeacherRequest
)
LEAD: TypeAdapter[schema.AnyLeadRequest] = TypeAdapter(schema.AnyLeadRequest)
REPLICA = "replica"  # a proxy's cookie, by which it sends a visitor to the same replica again


async def off(_: Request) -> Response:
    return Refusal(Message("room.off"), 404)


async def open_class(request: Request) -> Response:
    if foreign(request.headers):
        return Refusal(UNREADABLE)
    replica = re.fullmatch(r"[\w-]{1,64}", request.cookies.get(REPLICA, ""))
    try:
        live = await live_classes().open(client_of(request.scope).address, replica[0] if replica else "")
    except ClassError as error:
        return Refusal(error.message, 429)
    address, qr = _way(request, live)
    opened: OpenedRoom = {"code": live.code, "secret": live.secret, "address": address, "qr": qr}
    return JSONResponse(opened)


async def class_events(request: Request) -> Response:
    """A guest's next requests go to the teacher's replica, which has the teacher's own models and live runs."""
    guest = await read(request, GUEST.validate_json)
    if not guest:
        return Refusal(UNREADABLE)
    try:
        live = await _find(request, guest)
    except ClassError as error:
        return Refusal(error.message, 404)
    student = guest.student if isinstance(guest, schema.StudentRequest) else None
    response = await event_stream(live_classes().stream(live, student))
    if live.replica not in ("", request.cookies.get(REPLICA)):
        response.set_cookie(REPLICA, live.replica, httponly=True)
    return response


async def vote(request: Request) -> Response:
    return await _act(request, schema.VoteRequest.model_validate_json)


async def lead(request: Request) -> Response:
    return await _act(request, LEAD.validate_json)


async def _act(request: Request, validate: Callable[[bytes], schema.VoteRequest | schema.AnyLeadRequest]) -> Response:
    given = await read(request, validate)
    if not given:
        return Refusal(UNREADABLE)
    try:
        live = await _find(request, given)
        match given:
            case schema.VoteRequest():
                await live_classes().vote(live, given.student, given.question, given.round, given.choice)
            case schema.ShowRequest():
                await live_classes().show(live, given.place)
            case schema.AskRequest():
                await live_classes().ask(live, given.about, given.choices, given.seconds)
            case schema.RevealRequest():
                await live_classes().reveal(live, given.right)
            case schema.LeadRequest(do="close"):
                await live_classes().close(live)
            case schema.LeadRequest(do="vote_again"):
                await live_classes().vote_again(live)
            case schema.LeadRequest(do="end"):
                await live_classes().end(live)
    except ClassError as error:
        return Refusal(error.message, 409)
    return JSONResponse({})


async def _find(request: Request, guest: schema.StudentRequest | schema.TeacherRequest) -> LiveClass:
    who = guest.model_dump(include={"student", "secret"})
    return await live_classes().find(request.path_params["code"], client_of(request.scope).address, **who)


def _way(request: Request, live: LiveClass) -> tuple[str | None, str | None]:
    """The address that students type or scan, and its QR code as the address of an image; None where other machines
    cannot reach this server."""
    base = _public_base(request)
    if not base:
        return None, None
    import segno  # only a class needs it

    address = f"{base}?{urlencode({'room': live.code})}"
    return address, segno.make(address, error="m").svg_data_uri(border=2)


def _public_base(request: Request) -> str | None:
    """The address of the page for other machines: a Space's own, the one that a proxy was asked for, or this
    machine's in the local network."""
    if space := os.environ.get("SPACE_HOST"):
        return f"https://{space}/"
    headers, path = request.headers, request.scope.get("root_path", "").rstrip("/") + "/"
    scheme, host = request.url.scheme, headers.get("host", "")
    if settings().proxies:
        scheme = headers.get("x-forwarded-proto", scheme).split(",")[0].strip()
        host = headers.get("x-forwarded-host", host).split(",")[0].strip()
    name = urlsplit(f"//{host}").hostname or ""
    if not _is_loopback(name):
        return f"{scheme}://{host}{path}"
    listens_on = (request.scope.get("server") or ("", 0))[0]
    if _is_loopback(os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1")) or not listens_on:
        return None
    port = urlsplit(f"//{host}").port
    return f"{scheme}://{own_address()}{f':{port}' if port else ''}{path}"


def own_address() -> str:
    """This machine's address in its network; a name if it has none."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: the system only chooses the interface
        return str(probe.getsockname()[0])
    return socket.gethostname()


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name in ("", "localhost")


async def _try_again(_: Request, __: Exception) -> Response:
    """The store fails now: without a refusal, after which a page would leave the class."""
    return Response(status_code=503, headers={"Retry-After": "1"})


EXCEPTION_HANDLERS = {StoreError: _try_again}


def routes() -> list[Route]:
    """Raises ValueError: classes cannot be kept where a setting says."""
    if settings().classes == "off":
        return [route("/rooms", "POST", off), route("/rooms/{code}/{what}", "POST", off)]
    live_classes()
    return [
        route("/rooms", "POST", open_class),
        route("/rooms/{code}/events", "POST", class_events),
        route("/rooms/{code}/vote", "POST", vote),
        route("/rooms/{code}/lead", "POST", lead),
    ]
