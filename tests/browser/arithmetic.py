"""Arithmetic as the page writes it, worked out once more as a reader would."""

import re

LINE = re.compile(r"[\d.,\s()=×÷+−√max]+=[\s\d.−]+")
PYTHON = str.maketrans("×÷−", "*/-")


def number(text: str) -> float:
    """A shown number, which has a true minus sign and not a hyphen."""
    assert "-" not in text
    return float(text.replace("−", "-"))


def signed(value: float) -> str:
    """A number as the page shows it, with a true minus sign."""
    return f"{value:.2f}".replace("-", "−")


def near(value: float, shown: str, tolerance: float = 1e-9) -> bool:
    """Whether a value rounds to the digits that are shown."""
    return abs(value - number(shown)) <= 0.5 * 10 ** -len(shown.partition(".")[2]) + tolerance


def expect_right(line: str) -> bool:
    """Check every side of a line "… = … = result"; False if the line holds no such sum."""
    if not LINE.fullmatch(line):
        return False
    *sides, shown = (side.strip() for side in line.split("="))
    for side in filter(None, sides):
        value = eval(re.sub(r"√([\d.]+)", r"\1**.5", side.translate(PYTHON)))
        assert near(value, shown), f"{side} is {value}, not {shown}"
    return True
