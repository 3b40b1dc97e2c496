"""What a training may cost is set by the environment, or not at all."""

from dataclasses import asdict, fields

import pytest

from transformer.live.limits import PREFIX, Limits, variable

NAMES = [field.name for field in fields(Limits)]


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(variable(name), raising=False)


def test_without_variables_there_are_defaults() -> None:
    assert Limits.from_environment() == Limits()
    assert all(value >= 1 for value in asdict(Limits()).values())


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_has_a_variable_of_its_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + name.upper(), "7")
    assert asdict(Limits.from_environment()) == asdict(Limits()) | {name: 7}


def test_all_can_be_set_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(NAMES, 1):
        monkeypatch.setenv(variable(name), str(number))
    assert asdict(Limits.from_environment()) == {name: number for number, name in enumerate(NAMES, 1)}


@pytest.mark.parametrize("value", ["0", "-1", "", "2.5", "two", "1e3", "nan", "inf", "0x10", "1,000"])
@pytest.mark.parametrize("name", NAMES)
def test_a_bad_value_is_refused_with_its_variable_and_itself(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable(name), value)
    with pytest.raises(ValueError, match="a limit of training is not a whole number above 0") as error:
        Limits.from_environment()
    assert f"{variable(name)}={value!r}" in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_below_1_is_none_wherever_it_comes_from(name: str) -> None:
    assert getattr(Limits(**{name: 1}), name) == 1
    with pytest.raises(ValueError, match=rf"{variable(name)} \(0\) is below 1"):
        Limits(**{name: 0})
