"""Routes of class rooms (see sessions/rooms.py), all but the first under the room's code, by which a proxy finds it.

POST rooms              open a room; answers {"code", "secret", "address", "qr"}
POST rooms/CODE/events  {"student"} or {"secret"}; answers a RoomEvent a line, now and after each change
POST rooms/CODE/vote    {"student", "question", "round", "choice"}
POST rooms/CODE/lead    what its teacher does (see schema.AnyLeadRequest)
"""

import os
import socket
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import Message
from .. import schema
from ..fair_queue import client_of
from ..sessions.rooms import Room, RoomError, rooms
from ..settings import settings
from .answers import UNREADABLE, Refusal, event_stream, read, route
from .request_limits import foreign


class OpenedRoom(TypedDict):
    """A room as its teacher's page receives it.

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


async def off(_: Request) -> Response:
    return Refusal(Message("room.off"), 404)


async def open_room(request: Request) -> Response:
    if foreign(request.headers):
        return Refusal(UNREADABLE)
    try:
        room = rooms().open(client_of(request.scope))
    except RoomError as error:
        return Refusal(error.message, 429)
    address, qr = _way(request, room)
    opened: OpenedRoom = {"code": room.code, "secret": room.secret, "address": address, "qr": qr}
    return JSONResponse(opened)


async def room_events(request: Request) -> Response:
    guest = await read(request, GUEST.validate_json)
    if not guest:
        return Refusal(UNREADABLE)
    student = guest.student if isinstance(guest, schema.StudentRequest) else None
    secret = guest.secret if isinstance(guest, schema.TeacherRequest) else ""
    try:
        room = await _room(request, student or "", secret)
        if student is None:
            rooms().check_teacher(room, secret)
    except RoomError as error:
        return Refusal(error.message, 404)
    return await event_stream(rooms().stream(room, student))


async def vote(request: Request) -> Response:
    given = await read(request, schema.VoteRequest.model_validate_json)
    if not given:
        return Refusal(UNREADABLE)
    try:
        room = await _room(request, given.student)
        rooms().vote(room, given.student, given.question, given.round, given.choice)
    except RoomError as error:
        return Refusal(error.message, 409)
    return JSONResponse({})


async def lead(request: Request) -> Response:
    given = await read(request, LEAD.validate_json)
    if not given:
        return Refusal(UNREADABLE)
    try:
        room = await _room(request, secret=given.secret)
        rooms().check_teacher(room, given.secret)
        _lead(room, given)
    except RoomError as error:
        return Refusal(error.message, 409)
    return JSONResponse({})


def _lead(room: Room, given: schema.AnyLeadRequest) -> None:
    match given:
        case schema.ShowRequest():
            rooms().show(room, given.place)
        case schema.AskRequest():
            rooms().ask(room, given.about, tuple(given.choices), given.seconds)
        case schema.RevealRequest():
            rooms().reveal(room, given.right)
        case schema.LeadRequest(do="close"):
            rooms().close(room)
        case schema.LeadRequest(do="vote_again"):
            rooms().vote_again(room)
        case schema.LeadRequest(do="end"):
            rooms().end(room)


async def _room(request: Request, student: str = "", secret: str = "") -> Room:
    return await rooms().find(request.path_params["code"], client_of(request.scope), student, secret)


def _way(request: Request, room: Room) -> tuple[str | None, str | None]:
    """The address that students type or scan, and its QR code as the address of an image; None where other machines
    cannot reach this server."""
    base = _public_base(request)
    if not base:
        return None, None
    import segno  # only a class needs it

    address = f"{base}?{urlencode({'room': room.code})}"
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


ROUTES = [
    route("/rooms", "POST", open_room),
    route("/rooms/{code}/events", "POST", room_events),
    route("/rooms/{code}/vote", "POST", vote),
    route("/rooms/{code}/lead", "POST", lead),
]
OFF = [route("/rooms", "POST", off), route("/rooms/{code}/{what}", "POST", off)]  # where no class can be opened
