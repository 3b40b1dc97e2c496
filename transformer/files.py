"""The package's files: where they are, and tables."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """The folder `checkpoints` or `assets`: inside the package where it is installed, beside it in a checkout."""
    installed = PACKAGE / name
    return installed if installed.exists() else PACKAGE.parent / name


def read_table(file: Path) -> list[dict[str, str]]:
    """The rows of a file of tab-separated cells, by the columns of its header; "-" is an empty cell."""
    header, *rows = (line.split("\t") for line in file.read_text("utf-8").splitlines())
    return [{column: "" if cell == "-" else cell for column, cell in zip(header, row, strict=True)} for row in rows]
