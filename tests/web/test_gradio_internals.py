"""Each reliance on what Gradio does not document: a test fails where it is not needed any more."""

import asyncio
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from gradio.data_classes import PredictBody
from gradio.route_utils import FnIndexInferError, get_fn
from gradio.server_messages import EstimationMessage, ProcessCompletedMessage

from transformer.web import gradio_internals


def page() -> Any:
    with gr.Blocks() as page:

        def two(a: str, b: str) -> str:
            return a + b

        gr.api(two, api_name="two")  # type: ignore[attr-defined]
    return page


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
        gradio_internals.forget_unread(blocks, most)
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
