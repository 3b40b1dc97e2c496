"""Sentences for people, by their key in assets/locales: English as text here, any language on the page."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from .files import shipped

# ICU MessageFormat's plural, "{pairs, plural, one {# pair} other {# pairs}}"; state/message-format.ts of assets/web
# reads it in every language.
_FORM = r"(\w+) \{((?:[^{}]|\{\w+\})*)\}"
_PLURAL = re.compile(rf"\{{(\w+), plural, ((?:{_FORM} ?)+)\}}")

LOCALES = shipped("assets") / "locales"


@cache
def catalogues() -> dict[str, dict[str, str]]:
    """Every text of the page by its key, by language, English first."""
    files = sorted(LOCALES.glob("*.json"), key=lambda file: (file.stem != "en", file.stem))
    return {file.stem: json.loads(file.read_text("utf-8")) for file in files}


@dataclass(frozen=True)
class Listed:
    """The first words of a list and the number of the others: "a, b and 3 more"."""

    shown: tuple[str, ...]
    rest: int = 0

    def __str__(self) -> str:
        items = [*self.shown, *([f"{self.rest} more"] if self.rest else [])]
        return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def formatted(text: str, values: Mapping[str, Any]) -> str:
    """An English text of the catalogue with its placeholders and plurals filled in."""

    def chosen(plural: re.Match[str]) -> str:
        name, forms = plural[1], dict(re.findall(_FORM, plural[2]))
        return forms["one" if values[name] == 1 else "other"].replace("#", f"{{{name}}}")

    return _PLURAL.sub(chosen, text).format(**values)


class ListedJSON(TypedDict):
    """The first words of a list, and the number of the others."""

    shown: tuple[str, ...]
    rest: int


class MessageJSON(TypedDict):
    """A sentence of the catalogue, the values of its places, and all of it in English."""

    key: str
    values: dict[str, str | int | float | ListedJSON]
    english: str


@dataclass(frozen=True)
class Message:
    """One sentence that the page can show in any language."""

    key: str  # the sentence's key in assets/locales
    values: dict[str, Any] = field(default_factory=dict)  # placeholder -> a text, a number or Listed

    def __str__(self) -> str:
        return formatted(catalogues()["en"][self.key], self.values)

    def for_page(self) -> MessageJSON:
        """As JSON: the key, its values, and the sentence in English."""
        values: dict[str, Any] = {
            name: asdict(value) if isinstance(value, Listed) else value for name, value in self.values.items()
        }
        return {"key": self.key, "values": values, "english": str(self)}

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        """Pydantic serialises a message in an answer as `for_page` does."""
        from pydantic_core import core_schema  # here, because only the page needs it

        page = core_schema.plain_serializer_function_ser_schema(
            cls.for_page, return_schema=handler.generate_schema(MessageJSON)
        )
        return core_schema.is_instance_schema(cls, serialization=page)


class MessageError(ValueError):
    """An error whose message is for visitors; its arguments are those of `Message`."""

    def __init__(self, key: str, **values: Any) -> None:
        self.message = Message(key, values)
        super().__init__(str(self.message))
