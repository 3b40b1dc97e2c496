"""Every environment variable; a value that it cannot have is refused by name."""

from dataclasses import replace
from typing import Any

import pytest

from transformer.live.limits import Limits
from transformer.settings import Variable, from_environment, variables
from transformer.web.settings import Settings, settings

VARIABLES = [(cls, field, each) for cls in (Settings, Limits) for field, each in variables(cls).items()]


def test_without_variables_there_are_defaults() -> None:
    assert from_environment(Settings, {}) == Settings()
    assert from_environment(Limits, {}) == Limits()


@pytest.mark.parametrize(("cls", "field", "each"), VARIABLES, ids=lambda value: getattr(value, "name", ""))
def test_a_variable_sets_its_field_alone(cls: type[Any], field: str, each: Variable) -> None:
    written, read = {int: ("7", 7), bool: ("1", True), str: ("json", "json")}[type(each.default)]
    assert from_environment(cls, {each.name: written}) == replace(cls(), **{field: read})
    if type(each.default) is int:
        if each.default == 0:
            assert getattr(from_environment(cls, {each.name: "0"}), field) == 0
        for bad in (str(min(1, each.default) - 1), "-1", "", "2.5", "two", "1e3", "nan", "inf", "0x10", "1,000", "²"):
            with pytest.raises(ValueError, match="is not a whole number from") as error:
                from_environment(cls, {each.name: bad})
            assert f"{each.name}={bad!r}" in str(error.value)


def test_switches_and_log_formats() -> None:
    for value, is_on in (("", False), ("0", False), ("1", True)):
        assert from_environment(Settings, {"TRANSFORMER_MCP": value}).mcp is is_on
    with pytest.raises(ValueError, match="TRANSFORMER_LOG='xml' is not a log format"):
        from_environment(Settings, {"TRANSFORMER_LOG": "xml"})


def test_a_space_has_one_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.__wrapped__().proxies == 0
    monkeypatch.setenv("SPACE_ID", "someone/space")
    assert settings.__wrapped__().proxies == 1
    monkeypatch.setenv("TRANSFORMER_PROXIES", "2")
    assert settings.__wrapped__().proxies == 2
