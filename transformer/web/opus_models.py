"""The real models that a server lists if its settings name no others: five of OPUS-MT, with sentences to try.

They are pinned to commits, so that a page shows tomorrow what it shows today. Their sizes and licences are those that
the Hub states.
"""

from dataclasses import dataclass
from pathlib import Path

from ..data import Example
from ..files import read_table

IN_ANY_LANGUAGE = (Example("", "1987 + 30 = 2017", ""),)


@dataclass(frozen=True)
class ListedModel:
    """A model that may be chosen, and what is known of it."""

    checkpoint: str  # as requests and links name it
    source: str | Path  # `owner/name@revision` on the Hub, or a folder
    licence: str = ""  # as the Hub names it
    size: int = 0  # bytes of its weights
    languages: tuple[str, ...] = ()  # codes of source and target
    examples: tuple[Example, ...] = IN_ANY_LANGUAGE  # sentences to try, at least one


SENTENCES = read_table(Path(__file__).with_name("opus_sentences.tsv"))  # for each phenomenon one


def _opus(pair: str, revision: str, licence: str, megabytes: int) -> ListedModel:
    """One of OPUS-MT."""
    name = f"Helsinki-NLP/opus-mt-{pair}"
    examples = tuple(Example(f"real.{row['shows']}", row["sentence"], "") for row in SENTENCES if row["pair"] == pair)
    return ListedModel(name, f"{name}@{revision}", licence, megabytes * 10**6, tuple(pair.split("-")), examples)


OPUS = (
    _opus("de-en", "1a922f3b32a8e809e17a47d4b32142d8105924e5", "apache-2.0", 298),
    _opus("fr-en", "b4a9a384c2ec68a224bbd2ee3fd5df0c71ca5b1b", "apache-2.0", 301),
    _opus("zh-en", "cf109095479db38d6df799875e34039d4938aaa6", "cc-by-4.0", 312),
    _opus("en-de", "6183067f769a302e3861815543b9f312c71b0ca4", "cc-by-4.0", 298),
    _opus("en-zh", "408d9bc410a388e1d9aef112a2daba955b945255", "apache-2.0", 312),
)
DEFAULT = ", ".join(model.checkpoint for model in OPUS)


def examples_for(languages: tuple[str, ...]) -> tuple[Example, ...]:
    """Sentences for any model of two languages."""
    return next((model.examples for model in OPUS if model.languages == languages), IN_ANY_LANGUAGE)
