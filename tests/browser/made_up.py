"""Runs of any size, whose weights a test chooses, shown as if the server had answered them."""

from collections.abc import Sequence

from playwright.sync_api import Page

from .conftest import APP

SHOW = f"""async ([layers, heads, words, strong, before]) => {{
    const {{ state, showRun }} = await {APP};
    const named = (name) => Array.from({{ length: words }}, (_, i) => name + i);
    const [source, read] = [named("wort"), ["S", ...named("word").slice(1)]];
    const steps = Array.from({{ length: words }}, (_, i) => state.run.steps[i % state.run.steps.length]);
    const maps = (queries, keys, isCausal, strong) => {{
        const allowed = queries.map((_, query) => keys.map((_, key) => !isCausal || key <= query));
        const weight = (_, i) => ((i * 7919) % 90) / 100;
        const values = Float32Array.from({{ length: layers * heads * words * words }}, weight);
        for (const [layer, head, query, key, weight] of strong) {{
            values[((layer * heads + head) * words + query) * words + key] = weight;
        }}
        return {{ layers, heads, queries, keys, allowed, values }};
    }};
    const run = (strong) => ({{
        ...state.run, sentence: "made up", source, typed: source, decoder_input: read, reference: null,
        steps, output: [...read.slice(1), "E"],
        attention: {{
            encoder: maps(source, source, false, []),
            decoder: maps(read, read, true, strong),
            cross: maps(read, source, false, strong),
        }},
    }});
    if (before) showRun({{ ...run(strong), changes: [{{ do: "remove_mask", kind: "decoder" }}] }}, run(before));
    else showRun(run(strong));
}}"""

Strong = Sequence[tuple[int, int, int, int, float]]


def show(page: Page, layers: int, heads: int, words: int, strong: Strong = (), before: Strong | None = None) -> None:
    """Draw a run of this size.

    Args:
        strong: layer, head, row, column and weight of cells of the decoder and of cross-attention.
        before: the same for the original run, beside which this one is then a changed one.
    """
    page.evaluate(SHOW, [layers, heads, words, list(strong), before])
