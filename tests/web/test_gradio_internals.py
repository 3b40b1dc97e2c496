"""Each reliance on what Gradio does not document: a test fails where it is not needed any more."""

import asyncio
import inspect
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from gradio import component_meta
from gradio.component_meta import ComponentMeta
from gradio.data_classes import PredictBody
from gradio.route_utils import FnIndexInferError, get_fn
from gradio.server_messages import EstimationMessage, ProcessCompletedMessage
from spaces.utils import gradio_request_var
from starlette.testclient import TestClient

from transformer.web import gradio_internals


def test_gradio_writes_no_stubs_when_it_is_imported() -> None:
    """Without this it looks at each class of a component. tests/conftest.py imports what prevents that."""
    assert "create_or_modify_pyi(" in inspect.getsource(ComponentMeta)
    assert inspect.getmodule(component_meta.create_or_modify_pyi) is gradio_internals


def page() -> Any:
    with gr.Blocks() as page:

        def two(a: str, b: str) -> str:
            return a + b

        gr.api(two, api_name="two")  # type: ignore[attr-defined]
    return page


@pytest.mark.parametrize("ours", [True, False])
def test_the_queue_would_be_analysed_at_every_event(ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not ours:
        monkeypatch.delenv("GRADIO_ANALYTICS_CACHE_FREQUENCY")
    queue = page()._queue
    queue.events_recorded = 1
    summary = queue.compute_analytics_summary([{"function": "two", "status": "success", "process_time": 1}])
    assert bool(summary["functions"]) != ours


def test_a_mounted_page_takes_no_number_of_sessions() -> None:
    assert "state_session_capacity" in inspect.signature(gr.Blocks.launch).parameters
    assert "state_session_capacity" not in inspect.signature(gr.mount_gradio_app).parameters
    blocks = page()
    gradio_internals.forget(blocks, 40, sessions=3)
    mounted: Any = gr.mount_gradio_app(FastAPI(), blocks, path="/").routes[-1]
    assert mounted.app.state_holder.capacity == 3


def test_a_gpu_is_of_the_quota_of_the_request_that_gradio_answers() -> None:
    """In server/test_zero_gpu.py it reaches the hub, which hears of a start twice once `report_start` is not needed."""
    request = gradio_request_var()
    assert request.get(None) is None
    context = copy_context()
    context.run(gradio_internals.ask_as, "token")
    assert context[request].headers["x-ip-token"] == "token"


def test_a_call_with_too_few_values_is_not_quoted() -> None:
    blocks = page()
    function = next(iter(blocks.fns.values()))
    with pytest.raises(ValueError, match="geheim"):  # Gradio's own
        blocks.validate_inputs(function, ["geheim"])
    gradio_internals.without_quotes(blocks)
    blocks.validate_inputs(function, ["a", "b"])
    with pytest.raises(gr.Error, match="takes 2 values, and 1 came") as refused:
        blocks.validate_inputs(function, ["geheim"])
    assert not refused.value.print_exception


def test_tools_would_call_the_server_that_their_first_request_names() -> None:
    blocks = page()
    gr.mount_gradio_app(FastAPI(), blocks, path="/", mcp_server=True)
    assert blocks.mcp_server_obj.local_url is None  # only `launch` sets it
    gradio_internals.call_itself(blocks, "http://127.0.0.1:7860")
    assert blocks.mcp_server_obj.local_url == "http://127.0.0.1:7860"


@pytest.mark.parametrize("most", [None, 2])
def test_answers_that_nobody_reads_are_forgotten(most: int | None) -> None:
    """Without this, all of them are there for ever."""
    blocks = page().queue()
    unread: Any = asyncio.Queue()
    blocks._queue.pending_messages_per_session["me"] = unread
    if most:
        gradio_internals.forget(blocks, most, sessions=20)
    event = SimpleNamespace(alive=True, _id="x", session_hash="me")
    for _ in range(4):
        blocks._queue.send_message(event, EstimationMessage(queue_size=1))
    assert unread.qsize() == (most or 4)
    for number in range(4):
        blocks._queue.send_message(event, ProcessCompletedMessage(output={"data": number}, success=True))
    messages = [unread.get_nowait() for _ in range(unread.qsize())]
    assert [each.output["data"] for each in messages if getattr(each, "success", False)] == [0, 1, 2, 3][-(most or 4) :]


def test_what_names_no_action_escapes_from_gradio() -> None:
    escaped = []
    for body in (PredictBody(data=[]), PredictBody(data=[], fn_index=99)):
        try:
            get_fn(page(), "nothing", body)
        except Exception as error:
            escaped.append(type(error))
    assert escaped == [FnIndexInferError, KeyError]
    assert gradio_internals.error_handlers().keys() == {*escaped, RequestValidationError}


@pytest.mark.parametrize("ours", [True, False])
def test_a_body_that_is_no_call_would_be_quoted(ours: bool) -> None:
    handlers = gradio_internals.error_handlers() if ours else {}
    app = gr.mount_gradio_app(FastAPI(), page(), path="/", app_kwargs={"exception_handlers": handlers})
    answer = TestClient(app).post("/gradio_api/run/two", json={"data": "geheim"})
    assert (answer.status_code, "geheim" in answer.text) == (422, not ours)
