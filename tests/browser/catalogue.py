"""The page's texts with their places filled in as the page fills them: from assets/locales, with ICU's plurals."""

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from transformer.messages import catalogues

LOCALES = catalogues()
EN = LOCALES["en"]
_BRANCH = re.compile(r"(=\d+|\w+)\s*\{((?:[^{}]|\{\w+\})*)\}")
_PLACE = re.compile(rf"\{{(\w+)(?:,\s*plural,((?:\s*{_BRANCH.pattern})+)\s*)?\}}")
_GAP = "\ue000"  # stands where anything may


def _fill(text: str, values: dict[str, Any]) -> str:
    def place(found: re.Match[str]) -> str:
        name, branches = found[1], found[2]
        value = values.get(name, _GAP)
        shown = f"{value:,}" if isinstance(value, int) else str(value)
        if branches is None or shown == _GAP:
            return shown
        forms = dict(_BRANCH.findall(branches))
        form = forms.get(f"={value}") or (forms.get("one") if value == 1 else None) or forms["other"]
        return _fill(form.replace("#", shown), values)

    return _PLACE.sub(place, text)


def t(key: str, language: str = "en", /, **values: object) -> str:
    """A text of a language, with its places filled in.

    Raises:
        KeyError: no text has this key, or a place of it has no value.
    """
    text = _fill(LOCALES[language][key], values)
    if _GAP in text:
        raise KeyError(f"{key}: {LOCALES[language][key]}")
    return text


def matching(key: str, language: str = "en", /, **values: object) -> re.Pattern[str]:
    """A text of a language as a pattern, which takes anything in the places without a value."""
    return re.compile(re.escape(_fill(LOCALES[language][key], values)).replace(_GAP, ".*"), re.DOTALL)


def percent(share: float) -> str:
    """As assets/web/state/message-format.ts writes it, in any of the languages."""
    share = float(share)
    if 0 < share < 0.0001:
        return "<\u00a00.01%"
    if 0.9995 <= share < 1:
        return ">\u00a099.9%"
    digits = 0 if share in (0, 1) else 2 if share < 0.01 else 1 if share < 0.1 or share > 0.99 else 0
    rounded = (Decimal(share) * 100).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)  # Python's rounds 12.5 to 12
    return f"{rounded}%"
