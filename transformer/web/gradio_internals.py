"""All that relies on what Gradio does not document; tests/web/test_gradio_internals.py fails where it is not needed.

It is imported before Gradio, by `transformer.web`.
"""

import os
import sys
import weakref
from collections import deque
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

# At each event of the queue pandas would analyse those before, for a page of figures that nobody can open.
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "100000")

# At each import Gradio writes type stubs (.pyi) beside its own components, for editors. That takes most of the time of
# `import gradio`, so it starts a second sooner without.
WRITER = "gradio.component_meta", "create_or_modify_pyi"


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        setattr(module, WRITER[1], lambda *_: None)


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == WRITER[0] else None
        if spec and spec.origin:
            spec.loader = _Loader(name, spec.origin)
        return spec


sys.meta_path.insert(0, _Finder())


def without_quotes(page: Any) -> None:
    """Where a call has too few values, Gradio would write them to the server's log: here, its error says how many."""
    import gradio as gr

    def validate(function: Any, values: list[Any]) -> None:
        if len(values) < len(function.inputs):
            error = f"This action takes {len(function.inputs)} values, and {len(values)} came."
            raise gr.Error(error, print_exception=False)

    page.validate_inputs = validate


def report_start() -> None:
    """On ZeroGPU `launch` would tell the hub that there is a function for a GPU; without one a Space is ended."""
    from spaces.zero import startup

    startup()


def ask_as(token: str) -> None:
    """`spaces` takes a GPU from the quota of whose request Gradio is answering; the process of a training has none."""
    from gradio import Request
    from gradio.context import LocalContext
    from starlette.datastructures import Headers

    LocalContext.request.set(Request(headers=Headers({"x-ip-token": token})))


def call_itself(page: Any, address: str) -> None:
    """MCP's tools call the actions over HTTP, at the server that their first request names, whichever that is: here,
    at this one."""
    if page.mcp_server_obj:
        page.mcp_server_obj._local_url = address


def forget(page: Any, most: int, sessions: int) -> None:
    """Gradio keeps every answer until its program reads it, and with it each change of its place in the queue, however
    many there are: here, the latest `most` answers, and of a program that reads nothing as many messages. And it keeps
    10,000 sessions, where `launch` says no other number; a mounted page has no `launch`."""
    from gradio.server_messages import ProcessCompletedMessage

    page.state_session_capacity = sessions
    queue, send, answers = page._queue, page._queue.send_message, deque[Any]()

    def send_message(event: Any, message: Any) -> None:
        if isinstance(message, ProcessCompletedMessage):
            answers.append(weakref.ref(message))  # one that was read is gone
            if len(answers) > most and (oldest := answers.popleft()()):
                oldest.output, oldest.success = {"error": "This answer was not read in time."}, False
        elif queue.pending_messages_per_session[event.session_hash].qsize() >= most:
            return
        send(event, message)

    queue.send_message = send_message


def error_handlers() -> dict[type[Exception], Any]:
    """Handlers of what Gradio lets escape from a call that names no action of this server: a fault, in its eyes. And of
    a body that is no call, which FastAPI would quote, or fail to where it has half of a character."""
    from fastapi.exceptions import RequestValidationError
    from gradio.route_utils import FnIndexInferError
    from starlette.responses import JSONResponse

    async def refuse(*_: Any) -> JSONResponse:
        return JSONResponse({"error": "This server does not have this action."}, 404)

    async def refuse_body(*_: Any) -> JSONResponse:
        return JSONResponse({"error": "This is no call of an action."}, 422)

    return {FnIndexInferError: refuse, KeyError: refuse, RequestValidationError: refuse_body}
