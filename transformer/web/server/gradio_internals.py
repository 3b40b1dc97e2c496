"""Everything that relies on Gradio's internals; tests/web/server/test_gradio_internals.py names each reliance.

The rest of the package uses what Gradio documents, but for ../without_stubs.py, which comes before Gradio is imported.
"""

import asyncio
import inspect
import json
import re
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import orjson
from fastapi.exceptions import RequestValidationError
from gradio import http_server, queueing, routes
from gradio.route_utils import CustomCORSMiddleware, FnIndexInferError
from gradio.routes import App
from gradio.server_messages import EventMessage
from gradio.state_holder import SessionState, StateHolder
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...files import PACKAGE
from ..access_log import fault
from ..fair_queue import FULL, Client, ClientLeftError, QueueFullError, client_of
from .connections import bound_connections, bound_waiting
from .logged_calls import SERVER_FAULT
from .request_limits import CALL, NO_FILES, TABLE, BodyLimit, RequestLimits
from .request_queue import LONG_SESSION, MAX_SESSION_HASH, QueueMiddleware, queued

API = "/gradio_api/"
CALLS = (f"{API}run/",)  # events and actions
SERVER_FUNCTIONS = f"{API}component_server"
UPLOAD = "/models"  # our own: routes.py bounds it by what a model can have
UNREADABLE = "The server could not read this request."
UNKNOWN = "This server does not have this action."
UNKNOWN_SESSION = "No answers wait for this session or call."

# Of Gradio's routes, those that the page, gradio_client and the documented calls use, and their methods. All others
# are 404. After an upgrade that adds a route, a test fails until the route is here or among those refused there.
REACHABLE: dict[str, tuple[str, ...]] = {
    "/": ("GET", "HEAD"),
    "/config": ("GET",),
    "/theme.css": ("GET",),
    "/favicon.ico": ("GET",),
    "/robots.txt": ("GET",),
    "/assets/{path:path}": ("GET",),
    "/static/{path:path}": ("GET",),
    f"{API}file={{path_or_url:path}}": ("GET", "HEAD"),
    f"{API}startup-events": ("GET",),  # which `launch` asks
    f"{API}info": ("GET",),
    f"{API}component_server": ("POST",),
    f"{API}component_server/": ("POST",),  # as the page asks
    f"{API}run/{{api_name}}": ("POST",),
    f"{API}call/{{api_name}}": ("POST",),
    f"{API}call/{{api_name}}/{{event_id}}": ("GET",),
    f"{API}queue/join": ("POST",),
    f"{API}queue/data": ("GET",),
    f"{API}cancel": ("POST",),
    f"{API}reset": ("POST",),
}

WRITTEN = ("/", "/config", f"{API}info")  # which Gradio writes for each request: 5 to 15 ms

# Of an address, in Gradio's own queue, which only programs use:
MAX_CALLS_WITHOUT_READER = 50  # calls whose answers no client reads yet
READER_SECONDS = 60  # for a client to begin to read a call's answer
LEFT_SECONDS = 5  # for it to come back
MAX_UNREAD = 8  # messages that a session has not read, and calls at work; until it reads, it gets no further answers


class Blocks(gr.Blocks):
    """Routes calls of Gradio's own queue through ours, and logs errors without the visitor's text.

    Events, actions and Gradio's queue all end in `process_api`; server functions of components do not.
    """

    def queue(self, *args: Any, **options: Any) -> "Blocks":
        super().queue(*args, **options)
        self._queue = EventQueue(self._queue)
        return self

    def launch(self, **options: Any) -> Any:  # type: ignore[override]
        http_server.Server = Server  # type: ignore[misc]
        return super().launch(**options)

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """Gradio's own message quotes the values, and it would look for files that a value names."""
        if len(inputs) < len(block_fn.inputs):
            raise gr.Error(f"This action takes {len(block_fn.inputs)} values, and {len(inputs)} came.")
        if _has_file(inputs):
            raise gr.Error(NO_FILES)

    async def process_api(self, block_fn: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        options["root_path"] = None  # else Gradio walks through every answer to prefix the addresses of files
        try:
            checkpoint = _checkpoint(block_fn, inputs, event_payload(options.get("event_data")))
            async with queued(checkpoint, _client(options.get("request"))):
                return await super().process_api(block_fn, inputs, *args, **options)
        except (QueueFullError, ClientLeftError, asyncio.CancelledError) as error:  # Gradio would print the last one
            raise gr.Error(str(error), print_exception=False) from None
        except gr.Error as error:
            error.print_exception = False  # its message may quote the visitor
            raise
        except Exception as error:
            fault(block_fn.name, error)
            raise SERVER_FAULT from None


class EventQueue(queueing.Queue):
    """Gradio's own queue, which only programs use: it hands all calls on to ours.

    Gradio would compute immediately and keep the answers until a client reads them. Here a call waits for its reader,
    and ends if none comes.
    """

    def __init__(self, made: queueing.Queue) -> None:
        threads, size = made.max_thread_count, made.max_size
        super().__init__(made.live_updates, threads, made.update_intervals, size, made.blocks, None)
        self._tasks: dict[queueing.Event, asyncio.Task[Any]] = {}  # of calls that wait or work in our queue
        self.sleep_when_free = 0.01  # s; at Gradio's 0.001 an empty queue takes 5% of a processor
        self._readers: Counter[str] = Counter()  # by session
        self._forgetting: dict[str, asyncio.TimerHandle] = {}  # by session

    def start(self) -> None:
        self.max_thread_count = self.max_size or self.max_thread_count  # calls, which here wait without a thread
        super().start()

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        address = _address(request)
        waiting = [event for event in self._waiting() if _address(event.request) == address]
        without_reader = [event for event in waiting if not self._readers[event.session_hash]]
        if len(str(body.session_hash or "")) > MAX_SESSION_HASH:
            return False, LONG_SESSION, "error"
        if len(without_reader) >= MAX_CALLS_WITHOUT_READER:
            ((most, _),) = Counter(event.session_hash for event in without_reader).most_common(1)
            self._remove(next(event for event in without_reader if event.session_hash == most))
        elif self.max_size and len(waiting) >= self.max_size // 2:
            return False, FULL, "queue_full"
        success, event_id, state = await super().push(body, request, username)
        if success:
            self._forget_after(READER_SECONDS, body.session_hash)
        return success, event_id, state

    def get_events(self) -> tuple[list[queueing.Event], bool, str] | None:
        """The first call whose answer a client reads; its turn comes in our queue."""
        running = Counter(event.session_hash for job in self.active_jobs if job for event in job)
        for event in self._waiting():
            session = event.session_hash
            unread = running[session] + self.pending_messages_per_session[session].qsize()
            if self._readers[session] and unread < MAX_UNREAD:
                self.event_queue_per_concurrency_id[event.concurrency_id].queue.remove(event)
                return [event], False, event.concurrency_id
        return None

    async def process_events(self, events: list[queueing.Event], *args: Any) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks[events[0]] = task
        try:
            await super().process_events(events, *args)
        finally:
            del self._tasks[events[0]]

    def send_message(self, event: queueing.Event, event_message: EventMessage) -> None:
        """Estimates are for sessions that a client reads."""
        unread = self.pending_messages_per_session.get(event.session_hash)
        estimate = event_message.msg == "estimation"
        if estimate and (not self._readers[event.session_hash] or (unread and unread.qsize() >= MAX_UNREAD)):
            return
        super().send_message(event, event_message)

    def session_of(self, event_id: str) -> str:
        if event := self.event_ids_to_events.get(event_id):
            return event.session_hash
        of_session = self.pending_event_ids_session.items()
        return next((session for session, ids in of_session if event_id in ids), event_id)

    @asynccontextmanager
    async def reading(self, session: str) -> AsyncIterator[None]:
        """While a client reads the messages of a session."""
        self._readers[session] += 1
        try:
            yield
        finally:
            self._readers[session] -= 1
            if not self._readers[session]:
                del self._readers[session]
                self._forget_after(LEFT_SECONDS, session)

    def _waiting(self) -> list[queueing.Event]:
        return [event for queue in self.event_queue_per_concurrency_id.values() for event in queue.queue]

    def _forget_after(self, seconds: float, session: str) -> None:
        """Unless it reads or calls again before."""
        if timer := self._forgetting.get(session):
            timer.cancel()
        self._forgetting[session] = asyncio.get_running_loop().call_later(seconds, self._forget, session)

    def _forget(self, session: str) -> None:
        """Remove all that is kept of a session that no client reads."""
        self._forgetting.pop(session, None)
        if self._readers[session]:
            return
        for event in self._waiting():
            if event.session_hash == session:
                self._remove(event)
        for event, task in self._tasks.items():
            if event.session_hash == session:
                event.alive = False
                task.cancel()
        self.pending_messages_per_session.pop(session, None)
        self.pending_event_ids_session.pop(session, None)

    def _remove(self, event: queueing.Event) -> None:
        """A call that waits."""
        self.event_queue_per_concurrency_id[event.concurrency_id].queue.remove(event)
        self.event_ids_to_events.pop(event._id, None)
        of_session = self.pending_event_ids_session.get(event.session_hash, set())
        of_session.discard(event._id)
        if not of_session:
            self.pending_messages_per_session.pop(event.session_hash, None)
            self.pending_event_ids_session.pop(event.session_hash, None)


def _address(request: Any) -> str:
    return client_of(request.scope).address if request else ""


class ReaderMiddleware:
    """Tells Gradio's own queue which sessions have a reader, and refuses readers of sessions without messages."""

    PATHS = re.compile(rf"{API}queue/data|{API}call/[^/]+/(?P<event>[^/]+)")

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = self.PATHS.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if not asked:
            return await self.app(scope, receive, send)
        queue = scope["app"].get_blocks()._queue
        event = asked["event"]
        session = queue.session_of(event) if event else Request(scope).query_params.get("session_hash", "")
        if scope["method"] == "GET" and session not in queue.pending_messages_per_session:
            return await JSONResponse({"error": UNKNOWN_SESSION}, 404)(scope, receive, send)
        async with queue.reading(session):
            await self.app(scope, receive, send)


class EmptyState(SessionState):
    """Keeps nothing. Gradio would keep every answer of every session, for links that this page does not have."""

    def __setitem__(self, key: int, value: Any) -> None:
        pass

    def _update_value_in_config(self, key: int, value: Any) -> None:
        pass


class EmptyStateHolder(StateHolder):
    """One empty state for all sessions, in which no handler keeps anything; Gradio's take 0.4 MB and 2 ms each."""

    def __init__(self, blocks: gr.Blocks) -> None:
        super().__init__()
        self.set_blocks(blocks)
        self._state = EmptyState(blocks)

    def __getitem__(self, session_id: str) -> SessionState:
        return self._state


def without_cors_and_state(app: App) -> App:
    """Remove the CORS headers, which would let other sites read answers, and the state that keeps them."""
    app.user_middleware = [each for each in app.user_middleware if each.cls != CustomCORSMiddleware]  # type: ignore[comparison-overlap]
    app.state_holder = EmptyStateHolder(app.get_blocks())
    return app


class Server(http_server.Server):
    """As Gradio starts it, with bounds."""

    def __init__(self, config: Any, *args: Any, **options: Any) -> None:
        without_cors_and_state(config.app)
        bound_connections(config)
        super().__init__(config, *args, **options)

    async def startup(self, *args: Any, **options: Any) -> None:
        await super().startup(*args, **options)
        for server in self.servers:
            bound_waiting(server.sockets)


def _dumps(value: Any, **options: Any) -> str:
    """Also of answers that are JSON text already: see `endpoints.encoded`."""
    try:
        return json.dumps(value, **options)
    except TypeError:
        return orjson.dumps(value).decode()


routes.json = SimpleNamespace(**(vars(json) | {"dumps": _dumps}))  # type: ignore[attr-defined, assignment]


def event_payload(event: gr.EventData | None) -> Any:
    """The payload of an event. It is untrusted: any client may have written it."""
    return getattr(event, "_data", None)


def _client(request: gr.Request | None) -> Client:
    asked = getattr(request, "request", None)
    return client_of(asked.scope, str(getattr(request, "session_hash", ""))) if asked else Client()


def _checkpoint(block_fn: Any, inputs: object, event: object) -> object:
    """The checkpoint that an action takes as an argument, or that an event carries."""
    names = list(inspect.signature(block_fn.fn).parameters) if block_fn and block_fn.fn else []
    if "checkpoint" not in names:
        return event.get("checkpoint") if isinstance(event, dict) else None
    position = names.index("checkpoint")
    return inputs[position] if isinstance(inputs, list) and position < len(inputs) else None


def requested_checkpoint(scope: Scope, body: dict[str, Any]) -> object:
    """The same from a request, before Gradio reads it.

    Raises:
        HTTPException: what Gradio would take for a file is in it.
    """
    data, path, index = body.get("data"), scope["path"], body.get("fn_index")
    if _has_file(data):
        raise HTTPException(422, NO_FILES)
    if path.startswith(SERVER_FUNCTIONS):
        return data.get("checkpoint") if isinstance(data, dict) else None
    functions = scope["app"].get_blocks().fns
    if index is None:
        name = path.strip("/").rsplit("/")[-1]
        block_fn = next((each for each in functions.values() if each.api_name == name), None)
    else:
        block_fn = functions.get(index) if isinstance(index, int) else None
    return _checkpoint(block_fn, data, body.get("event_data"))


def _has_file(value: Any) -> bool:
    """Whether Gradio would take some of it for a file."""
    if isinstance(value, dict):
        return {"path", "meta"} <= value.keys() or any(map(_has_file, value.values()))
    return isinstance(value, list) and any(map(_has_file, value))


def body_limit(path: str) -> BodyLimit | None:
    if path == UPLOAD:
        return None
    return CALL if path.startswith(API) and not path.startswith(SERVER_FUNCTIONS) else TABLE


def middleware(own: Sequence[Route]) -> list[Middleware]:
    """For an app that has these routes beside Gradio's."""
    reachable = dict(REACHABLE)
    for route in own:
        reachable[route.path] = (*reachable.get(route.path, ()), *(route.methods or ("GET", "POST", "DELETE")))
    return [
        Middleware(RequestLimits, reachable=reachable, limit=body_limit),
        Middleware(ReaderMiddleware),
        Middleware(
            QueueMiddleware, paths=(*CALLS, SERVER_FUNCTIONS), checkpoint_of=requested_checkpoint, pages=WRITTEN
        ),
    ]


def _refusal(why: str, status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def refuse(_: Request, error: Exception) -> Response:
        if any(PACKAGE in Path(frame.filename).parents for frame in traceback.extract_tb(error.__traceback__)):
            raise error  # our own fault
        return JSONResponse({"error": why}, status)

    return refuse


# What Gradio lets escape from a request that it cannot read, or in which it looks up something that does not exist.
EXCEPTION_HANDLERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    **{kind: _refusal(UNREADABLE, 422) for kind in (RequestValidationError, ValidationError, json.JSONDecodeError)},
    **{kind: _refusal(UNKNOWN, 404) for kind in (FnIndexInferError, KeyError)},
}
