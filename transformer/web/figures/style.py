"""What all figures share: fonts, colours, margins, hover. Colours are those of assets/web/style.css."""

import plotly.graph_objects as go

FONT = 'ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif'

# Two hues that colour-blind eyes tell apart. The page puts its own in their place (assets/web/charts/plotly.ts),
# since a figure is made before it is known in which theme it will be seen.
DIVERGING = [[0.0, "#b42318"], [0.5, "#ffffff"], [1.0, "#4338ca"]]


def styled(figure: go.Figure, height: int) -> go.Figure:
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
