"""Reads $TRANSFORMER_MODELS, the list of real models."""

import json
import re
from dataclasses import replace
from pathlib import Path

from ...storage import hub, marian
from ...storage.checkpoint import available_checkpoints
from ..opus_models import OPUS, ListedModel, examples_for
from .model_store import is_own_model

LANGUAGES = re.compile(r"-([a-z]{2,3})-([a-z]{2,3})$")  # at the end of a name: opus-mt-de-en


def listed(entries: str) -> tuple[ListedModel, ...]:
    """The models of $TRANSFORMER_MODELS: `owner/name`, `owner/name@revision` or a folder, with commas between them.
    Of those that are known here, a name without a revision means the pinned commit. Raises ValueError if an entry is
    neither, or two models would have one name."""
    found: dict[str, ListedModel] = {}
    for entry in filter(None, map(str.strip, entries.split(","))):
        model = _listed(entry)
        if model.checkpoint in (*found, *available_checkpoints()) or is_own_model(model.checkpoint):
            raise ValueError(f"TRANSFORMER_MODELS: there would be two models with the name {model.checkpoint!r}")
        found[model.checkpoint] = model
    return tuple(found.values())


def _listed(entry: str) -> ListedModel:
    folder = Path(entry).expanduser()
    if folder.is_dir():
        folder = folder.resolve()
        weights, languages = marian.weights_in(folder), _languages(folder)
        size = weights.stat().st_size if weights else 0
        return ListedModel(folder.name, folder, size=size, languages=languages, examples=examples_for(languages))
    if not hub.is_on_hub(entry):
        raise ValueError(f"TRANSFORMER_MODELS: {entry!r} is neither owner/name of a model of the Hub nor a folder")
    name = entry.split("@")[0]
    for model in OPUS:
        if model.checkpoint == name:
            return replace(model, source=entry) if "@" in entry else model
    named = LANGUAGES.search(name)
    languages = named.groups() if named else ()
    return ListedModel(name, entry, languages=languages, examples=examples_for(languages))


def _languages(folder: Path) -> tuple[str, ...]:
    """As its tokenizer's configuration says."""
    try:
        told = json.loads((folder / marian.TOKENIZER).read_bytes())
        codes = tuple(str(told[side]) for side in ("source_lang", "target_lang"))
    except (OSError, ValueError, LookupError, TypeError):
        return ()
    return codes if all(re.fullmatch("[a-z]{2,3}", code) for code in codes) else ()
