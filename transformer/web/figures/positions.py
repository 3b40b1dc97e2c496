"""The positional encoding (§3.5) as figures, and how it joins the embedding.

N positions, D dimensions. Colours are those of assets/web/style.css.
"""

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from ...network.config import Sinusoid

FONT = 'ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif'

# Two hues that colour-blind eyes tell apart. The page puts its own in their place (assets/web/charts/plotly.ts),
# since a figure is made before it is known in which theme it will be seen.
DIVERGING = [[0.0, "#b42318"], [0.5, "#ffffff"], [1.0, "#4338ca"]]

_SCALE = {"colorscale": DIVERGING, "zmid": 0.0, "showscale": False}


def wavelengths(d_model: int, order: Sinusoid = "interleaved") -> np.ndarray:
    """How many positions one turn of each dimension's sine or cosine takes, (D,): 2π · 10000^(2i / D), i its pair."""
    pair = np.arange(d_model) // 2
    if order == "halves":
        pair = np.concatenate([pair[0::2], pair[1::2]])
    return 2 * np.pi * 10000.0 ** (2 * pair / d_model)


def similarity(encoding: np.ndarray) -> np.ndarray:
    """Cosine between every two positions, (N, N), of an encoding (N, D); 0 where one of them is the zero vector."""
    norm = np.linalg.norm(encoding, axis=1, keepdims=True)
    unit = encoding / np.where(norm > 0, norm, 1.0)  # position 0 of a single dimension is sin 0
    return (unit @ unit.T).astype(np.float32)


def heatmap(encoding: np.ndarray) -> go.Figure:
    """Position × dimension, -1 to 1."""
    trace = go.Heatmap(
        z=encoding, zmin=-1, zmax=1, hovertemplate="position %{y}, dimension %{x}: %{z:.3f}<extra></extra>", **_SCALE
    )
    figure = _styled(go.Figure(trace), height=432)
    figure.update_xaxes(title_text="dimension")
    figure.update_yaxes(title_text="position", autorange="reversed")
    return figure


def curve(encoding: np.ndarray, dimension: int) -> go.Figure:
    """One dimension over all positions: a sine or a cosine."""
    return _line(encoding[:, dimension], "position %{x}: %{y:.3f}<extra></extra>")


def similar(cosine: np.ndarray, position: int) -> go.Figure:
    """One position's similarity to all positions, from `similarity`."""
    return _line(cosine[position], "position %{x}: cosine %{y:.3f}<extra></extra>")


def _line(values: np.ndarray, hover: str) -> go.Figure:
    trace = go.Scatter(y=values, mode="lines", line={"width": 2}, hovertemplate=hover)
    figure = _styled(go.Figure(trace), height=170)
    figure.update_xaxes(title_text="position")
    figure.update_yaxes(range=[-1.1, 1.1], tickvals=[-1, 0, 1])
    return figure


def input_sum(tokens: Sequence[str], embedding: np.ndarray, positions: np.ndarray, total: np.ndarray) -> go.Figure:
    """Embedding + position = input as three stacked strips of tokens × dimensions, on one scale. Raises ValueError
    if a strip is not (tokens, D)."""
    strips = {"embedding": embedding, "+ position": positions, "= input": total}
    largest = float(max(np.abs(strip).max() for strip in strips.values()))
    rows, names = len(tokens), [html.escape(token) for token in tokens]
    # Numbers with words written over them: Plotly would merge repeated words and read some as markup or dates.
    ticks = {"tickvals": list(range(rows)), "ticktext": names, "autorange": "reversed"}
    figure = go.Figure()
    gap = 0.09
    share = (1 - 2 * gap) / 3
    for i, (name, strip) in enumerate(strips.items()):
        if strip.shape != embedding.shape or len(strip) != rows:
            raise ValueError(f"{name} {strip.shape} does not fit {rows} tokens")
        axis = "" if i == 0 else str(i + 1)
        labels = np.broadcast_to(np.array(names)[:, None], strip.shape)
        figure.add_heatmap(
            z=strip,
            yaxis=f"y{axis}",
            zmin=-largest,
            zmax=largest,
            customdata=labels,
            hovertemplate=f"{name}, %{{customdata}}, dimension %{{x}}: %{{z:.3f}}<extra></extra>",
            **_SCALE,
        )
        top = 1 - i * (share + gap)
        figure.update_layout({f"yaxis{axis}": {**ticks, "domain": [max(0.0, top - share), top], "anchor": "x"}})
        figure.add_annotation(
            text=name, x=0, y=top, xref="paper", yref="paper", xanchor="left", yanchor="bottom", showarrow=False
        )
    _styled(figure, height=3 * (rows * 18 + 34) + 44)  # last, so that it reaches every axis
    figure.update_layout(margin={"t": 28})
    figure.update_xaxes(title_text="dimension", anchor="y3")
    return figure


def _styled(figure: go.Figure, height: int) -> go.Figure:
    """A figure in the page's style: transparent, quiet, no title (the heading is HTML)."""
    figure.update_layout(
        template=None,
        height=height,
        margin={"l": 56, "r": 8, "t": 8, "b": 44},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13},
        hoverlabel={"font": {"family": FONT, "size": 13}},
        showlegend=False,
        dragmode=False,
    )
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": "", "title": {"font": {"size": 13}}}
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    return figure
