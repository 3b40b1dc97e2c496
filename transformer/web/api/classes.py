"""Classes that follow their teacher and answer questions together: see sessions/classes.py. Any replica answers."""

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import MessageError
from .. import schema
from ..client import Client
from ..sessions.classes import ClassBeat, ClassEnded, ClassEvent, LiveClass, LiveClasses, live_classes
from ..settings import settings


class OpenedClass(TypedDict):
    """A class as its teacher's page receives it."""

    code: str
    secret: str  # the teacher's
    address: str | None  # that students type or scan; None where other machines cannot reach this server
    qr: str | None  # its QR code, as the address of an image


async def open_class(request: schema.OpenClassRequest, client: Client) -> OpenedClass:
    """Open a class."""
    live = await _classes().open(client.address, client.replica)
    address = students_address(request.page, live.code)
    qr = None
    if address:
        import segno  # only a class needs it

        qr = segno.make(address, error="m").svg_data_uri(border=2)
    return {"code": live.code, "secret": live.secret, "address": address, "qr": qr}


async def follow_class(
    request: schema.GuestRequest, client: Client
) -> AsyncGenerator[ClassEvent | ClassEnded | ClassBeat]:
    """The class as a student or its teacher sees it: now, and after each change."""
    live = await _find(request, client)
    student = request.student if isinstance(request, schema.StudentRequest) else None
    async with aclosing(_classes().stream(live, student)) as events:
        async for event in events:
            yield event


async def vote(request: schema.VoteRequest, client: Client) -> None:
    """A student's choice."""
    live = await _find(request, client)
    await _classes().vote(live, request.student, request.question, request.round, request.choice)


async def lead_class(request: schema.AnyLeadRequest, client: Client) -> None:
    """What a teacher does."""
    live = await _find(request, client)
    match request:
        case schema.ShowRequest():
            await _classes().show(live, request.place)
        case schema.AskRequest():
            await _classes().ask(live, request.about, request.choices, request.seconds)
        case schema.RevealRequest():
            await _classes().reveal(live, request.right)
        case schema.LeadRequest(do="close"):
            await _classes().close(live)
        case schema.LeadRequest(do="vote_again"):
            await _classes().vote_again(live)
        case schema.LeadRequest(do="end"):
            await _classes().end(live)


def _classes() -> LiveClasses:
    """Raises MessageError where no class can be opened."""
    if settings().classes == "off":
        raise MessageError("room.off")
    return live_classes()


async def _find(guest: schema.StudentRequest | schema.TeacherRequest, client: Client) -> LiveClass:
    who = guest.model_dump(include={"student", "secret"})
    return await _classes().find(guest.code, client.address, **who)


def students_address(page: str, code: str) -> str | None:
    """The address that students type or scan, of a class whose teacher's page has this one; None where other machines
    cannot reach this server."""
    asked = urlsplit(page)
    base = f"{asked.scheme}://{asked.netloc}{asked.path}"
    if space := os.environ.get("SPACE_HOST"):
        base = f"https://{space}/"
    elif _is_loopback(asked.hostname or ""):
        if _is_loopback(os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1")):
            return None
        base = f"{asked.scheme}://{own_address()}{f':{asked.port}' if asked.port else ''}{asked.path}"
    return f"{base}?{urlencode({'room': code})}"


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
