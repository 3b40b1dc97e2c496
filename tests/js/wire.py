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

from transformer.live.events import Failed
from transformer.live.mistake_training import Symptom
from transformer.web import schema
from transformer.web.api.mistakes import MistakeCode
from transformer.web.api.opening import Opening
from transformer.web.api.question import Question, Refusal
from transformer.web.api.table import QUESTIONS
from transformer.web.engine_data import EngineData
from transformer.web.page import opened
from transformer.web.sessions.models import Model

REQUESTS = {"HeadsRequest": schema.HeadsRequest}
ANSWERS = {each.__name__: each for each in (EngineData, Refusal, Model, MistakeCode, Symptom, Opening)}


def json_schema(questions: Mapping[str, Question]) -> dict[str, Any]:
    """One JSON Schema of everything here and of each question's request and answer, or of the events of its stream."""
    requests, answers = dict(REQUESTS), dict(ANSWERS)
    for name, each in questions.items():
        requests[f"{name}.request"], answer = each.types
        answers[f"{name}.answer"] = answer | Failed if each.streams else answer
    inputs: list[Any] = [(name, "validation", TypeAdapter(each)) for name, each in requests.items()]
    inputs += [(name, "serialization", TypeAdapter(each)) for name, each in answers.items()]
    references, described = TypeAdapter.json_schemas(inputs)
    place = {name: reference for (name, _), reference in references.items()}
    definitions = described["$defs"]
    for each in definitions.values():
        if "do" in each.get("properties", ()):
            each["required"] = list(each["properties"])  # a change is written whole

    def asked(streams: bool, answer: str) -> dict[str, Any]:
        names = [name for name, each in questions.items() if each.streams == streams]
        return _object(
            {name: _object({"request": place[f"{name}.request"], answer: place[f"{name}.answer"]}) for name in names}
        )

    settings = _object({name: {"type": "number"} for name in schema.settings()})
    root = {"Questions": asked(False, "answer"), "Streams": asked(True, "event")}
    root |= {name: place[name] for name in (*REQUESTS, *ANSWERS)}
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
    (folder / "schema.json").write_text(json.dumps(json_schema(QUESTIONS), indent=1))
    (folder / "page.json").write_text(json.dumps(opened()))
