"""A run in a notebook: its page in a frame of the output, a place that Python reads and sets, a kernel that answers.

The output is the frame, as HTML, which a saved notebook and nbconvert keep without a network. The widget's model joins
it: JupyterLab and VS Code make one without a view. Others make models only with a view, which then draws the frame.
"""

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import finalize

import anywidget
import traitlets
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from traitlets import TraitError

from ..inference.translation import Translation
from ..inference.translator import Translator
from ..messages import Message
from .api import runs
from .api.frozen import frame_of
from .api.question import message
from .api.table import QUESTIONS as TABLE
from .schema import NotebookPlace
from .sessions.models import lent

# Those about runs of one model that are computed here.
QUESTIONS = {
    name: TABLE[name]
    for name in (
        *("translate", "checks", "candidates", "why", "lens", "heads", "inside", "value_output", "value_norms"),
        *("parameters", "shapes", "input_sum"),
    )
}

_PLACE = TypeAdapter(NotebookPlace)


class RunWidget(anywidget.AnyWidget):
    """See `Translator.show`."""

    _esm = Path(__file__).with_name("widget.js")
    frame = traitlets.Unicode().tag(sync=True)
    questions = traitlets.List(list(QUESTIONS)).tag(sync=True)
    place = traitlets.Dict().tag(sync=True)

    def __init__(self, translator: Translator, run: Translation, place: dict[str, Any]) -> None:
        self.run = run
        lending = ExitStack()  # as long as the widget is there: a run that it has asked about is not made again
        self._checkpoint = lending.enter_context(lent(translator))
        finalize(self, lending.close)
        self._frame = frame_of(run, translator, place, name := f"run-{uuid4().hex}")
        runs.keep(self._checkpoint, run)
        super().__init__(frame=name, place={key: place[key] for key in NotebookPlace.__annotations__ if key in place})
        self.on_msg(self._take)

    @traitlets.validate("place")
    def _check(self, proposal: Any) -> Any:
        try:
            return dict(_PLACE.validate_python(proposal["value"]))
        except ValidationError as error:
            raise TraitError(str(error)) from None

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shown = {"text/plain": repr(self.run), "text/html": self._frame}
        if "google.colab" in sys.modules:  # which makes models only with a view
            drawn: Any = super()._repr_mimebundle_(**options)
            view, metadata = drawn
            return view | shown, metadata
        return shown

    def _take(self, _: Any, asked: dict[str, Any], __: Any) -> None:
        if "figure" in asked:
            self.send({"figure": self._frame})
        else:
            self.send({"id": asked["id"], "answer": json.dumps(self._answer(asked["name"], asked["request"]))})

    def _answer(self, name: str, request: str) -> Any:
        """What a server would answer, of this model alone, which its page knows by its own name."""
        try:
            asked = json.loads(request)
            if name not in QUESTIONS or asked.get("checkpoint", self.run.checkpoint) != self.run.checkpoint:
                raise ValueError
            question = QUESTIONS[name]
            about = {"checkpoint": self._checkpoint, "or_other_model": False}
            answer = json.loads(question.dump(question.function(question.read(json.dumps(asked | about).encode()))))
        except ValueError as error:
            return {"error": to_jsonable_python(message(error).for_page())}
        except Exception:
            self.log.exception("A question of the page has failed.")
            return {"error": to_jsonable_python(Message("error.fault").for_page())}
        if name == "translate":
            for each in filter(None, (answer["run"], answer["baseline"])):
                each["checkpoint"] = self.run.checkpoint
        return answer
