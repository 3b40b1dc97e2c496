"""Sentences for people that a page can say in another language. Knows nothing of what they are about."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Words:
    """Some words of a list, as one phrase: "a, b and 3 more"."""

    shown: tuple[str, ...]
    rest: int = 0

    def __str__(self) -> str:
        return ", ".join(self.shown) + (f" and {self.rest} more" if self.rest else "")


@dataclass(frozen=True)
class Message:
    """One sentence: English as text, any language by its key.

    Attributes:
        key: the sentence's name in assets/locales.
        english: the sentence with {places} for its values.
        values: place -> what stands there: text, a number, or Words.
    """

    key: str
    english: str
    values: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.english.format(**self.values)

    def for_page(self) -> dict[str, Any]:
        """What assets/js/i18n.js says: the key, its values, and the English for a key that it does not have."""
        values = {name: asdict(value) if isinstance(value, Words) else value for name, value in self.values.items()}
        return {"key": self.key, "values": values, "english": str(self)}
