"""`python -m tests.js.wire FOLDER` writes what the JavaScript is checked against.

schema.json: one JSON Schema of everything that crosses the wire, from which types are made; page.json: what the page's
head tells the browser.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from transformer.live.mistake_training import Symptom
from transformer.web import schema
from transformer.web.api.endpoints import FUNCTIONS, Refusal
from transformer.web.api.events import ShownRun
from transformer.web.api.mistakes import MistakeCode
from transformer.web.page import schema_json
from transformer.web.server.class_routes import OpenedRoom
from transformer.web.server.routes import HeadsEvent, LoadingEvent
from transformer.web.sessions.classes import RoomEnded, RoomEvent
from transformer.web.sessions.models import Model
from transformer.web.sessions.training_queue import MistakeTrainingEvent, TrainingEvent

REQUESTS = {
    "AskEvent": schema.ChangedRunRequest,
    "ChooseEvent": schema.ChooseRequest,
    "SurpriseEvent": schema.SurpriseRequest,
    "StopRequest": schema.StopRequest,
    "HeadsRequest": schema.HeadsRequest,
    "MistakeTraining": schema.MistakeTrainingRequest,
    "AnyLeadRequest": schema.AnyLeadRequest,
}
ANSWERS = {
    "Refusal": Refusal,
    "ShownRun": ShownRun,
    "Model": Model,
    "MistakeCode": MistakeCode,
    "Symptom": Symptom,
    "LoadingEvent": LoadingEvent,
    "HeadsEvent": HeadsEvent,
    "TrainingEvent": TrainingEvent,
    "MistakeTrainingEvent": MistakeTrainingEvent,
    "OpenedRoom": OpenedRoom,
    "RoomEvent": RoomEvent | RoomEnded,
    "PageSchema": schema.PageSchema,
}


def json_schema(functions: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """One JSON Schema of everything here.

    Args:
        functions: each server function's request and answer.
    """
    requests = {**REQUESTS, **{f"{name}.request": request for name, (request, _) in functions.items()}}
    answers = {**ANSWERS, **{f"{name}.answer": answer for name, (_, answer) in functions.items()}}
    inputs: list[Any] = [(name, "validation", TypeAdapter(each)) for name, each in requests.items()]
    inputs += [(name, "serialization", TypeAdapter(each)) for name, each in answers.items()]
    references, described = TypeAdapter.json_schemas(inputs)
    place = {name: reference for (name, _), reference in references.items()}
    called = {name: _object({side: place[f"{name}.{side}"] for side in ("request", "answer")}) for name in functions}
    definitions = described["$defs"]
    for each in definitions.values():
        if "do" in each.get("properties", ()):
            each["required"] = list(each["properties"])  # a change is written whole
    settings = _object({name: {"type": "number"} for name in schema.settings()})
    root = {"ServerFunctions": _object(called), **{name: place[name] for name in (*REQUESTS, *ANSWERS)}}
    root["DecodingSettings"] = {"$ref": "#/$defs/DecodingSettings"}
    definitions["DecodingSettings"] = settings | {"title": "DecodingSettings"}
    return _plain({**_object(root), "title": "Wire", "$defs": definitions})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _plain(schema: Any, inside: str = "") -> Any:
    """Without the titles of fields, each of which would become a type of its own, and without fields of other names."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if inside == "properties":
        return {
            name: {key: value for key, value in _plain(each).items() if key != "title"} for name, each in schema.items()
        }
    if names := schema.get("propertyNames", {}).get("enum"):  # a dict of these keys
        schema = _object(dict.fromkeys(names, schema["additionalProperties"]))
    if "prefixItems" in schema:  # a tuple, as the generator of types still reads it
        schema = {**schema, "items": schema["prefixItems"], "prefixItems": None}
    plain = {key: _plain(value, key) for key, value in schema.items() if value is not None}
    return {"additionalProperties": False, **plain} if "properties" in plain else plain


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "schema.json").write_text(json.dumps(json_schema(FUNCTIONS), indent=1))
    (folder / "page.json").write_text(schema_json())
