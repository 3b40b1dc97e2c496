"""Attention maps as a visitor sees them: canvases, of which each cell has a colour and a place."""

from playwright.sync_api import Locator, Position

PIXELS = """
    const canvas = picture.querySelector("canvas");
    const [down, across] = ["query", "key"].map((axis) => picture.querySelectorAll(`g[data-${axis}]`).length);
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const isAt = (x, y, [...colour]) => {
        const at = 4 * (Math.floor(y) * width + Math.floor(x));
        return [0, 1, 2].every((i) => Math.abs(colour[i] - data[at + i]) <= 1);
    };
    const colours = (names) => {
        const context = new OffscreenCanvas(1, 1).getContext("2d");
        const probe = document.body.appendChild(document.createElement("i"));
        const found = names.map((name) => {
            probe.style.color = name;
            context.fillStyle = getComputedStyle(probe).color;
            context.fillRect(0, 0, 1, 1);
            return context.getImageData(0, 0, 1, 1).data;
        });
        probe.remove();
        return found;
    };
    const cells = Array.from({ length: down * across }, (_, i) => [Math.floor(i / across), i % across]);
"""
# Of each cell, row by row, which per cent of the hue its colour is: below 0 of the negative hue, null of neither.
LEVELS = f"""(picture) => {{{PIXELS}
    const known = colours(["accent", "negative"].flatMap((hue) =>
        Array.from({{ length: 101 }}, (_, i) => `color-mix(in oklab, var(--${{hue}}) ${{i}}%, var(--surface))`)));
    return cells.map(([query, key]) => {{
        const [x, y] = [((key + 0.4) / across) * width, ((query + 0.15) / down) * height];
        const level = known.findIndex((colour) => isAt(x, y, colour));
        return level < 0 ? null : level > 100 ? 101 - level : level;
    }});
}}"""
# The cells that have a line of ink inside their left edge.
RINGED = f"""(picture) => {{{PIXELS}
    const [ink] = colours(["var(--ink)"]);
    const px = width / canvas.getBoundingClientRect().width;
    return cells.filter(([query, key]) => Array.from({{ length: 20 }}).some((_, i) =>
        isAt((key / across) * width + 1.5 * px, ((query + 0.2 + i / 40) / down) * height, ink)));
}}"""
NEAR = 0.0055  # of a weight: as near as a colour tells it


def weights(picture: Locator, largest: float | None = None) -> list[float | None]:
    """What the cells of a `.heatmap` stand for, row by row; None where the mask is closed.

    Args:
        largest: of a difference, the change that has the strongest colour.
    """
    levels: list[float | None] = picture.evaluate(LEVELS)
    scaled = (lambda level: (level - 4) / 96) if largest is None else (lambda level: level * largest / 96)
    return [None if level is None else scaled(level) for level in levels]


def ringed(picture: Locator) -> list[tuple[int, int]]:
    """The cells that gold links are drawn around."""
    return [(query, key) for query, key in picture.evaluate(RINGED)]


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
