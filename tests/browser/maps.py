"""Attention maps under a pointer. How their cells are coloured is tested in tests/js/map-canvas.test.ts."""

from playwright.sync_api import Locator, Position


def middle(picture: Locator, query: int, key: int) -> Position:
    """Where a cell is, for a pointer over the canvas."""
    box = picture.locator("canvas").bounding_box()
    assert box
    down, across = (picture.locator(f"g[data-{axis}]").count() for axis in ("query", "key"))
    return {"x": (key + 0.5) * box["width"] / across, "y": (query + 0.5) * box["height"] / down}


def point_at(picture: Locator, query: int, key: int) -> None:
    picture.locator("canvas").hover(position=middle(picture, query, key))


def click(picture: Locator, query: int, key: int) -> None:
    picture.locator("canvas").click(position=middle(picture, query, key))
