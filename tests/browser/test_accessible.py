"""Every part of the page for everybody: axe's rules, words for figures, keys, motion, contrast, small screens."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page, expect

from .catalogue import t
from .conftest import LAPTOP, Visit, in_menu, move, place
from .texts import mark_texts, strays

DOG = ("classroom", "Der Hund sieht den Lehrer")
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")

# WCAG 2.2 A and AA, and what axe calls best practice. Contrast, which is half of axe's work and which it cannot decide
# over gradients and in pictures, is measured below, and so is the size of targets, half of the rest.
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "rules": {"color-contrast": {"enabled": False}, "target-size": {"enabled": False}},
    "resultTypes": ["violations"],
}

# What breaks a rule, and where: in the open panel, an open dialog and the class, or on the whole page. Panels of closed
# tabs are emptied meanwhile: each is opened in turn, and axe would walk through all of them again and again.
AXE_SAYS = """async ([rules, whole]) => {
    const panels = [...document.querySelectorAll("[role=tabpanel]")];
    const closed = panels.filter((panel) => !panel.checkVisibility({ visibilityProperty: true }));
    const kept = closed.map((panel) => {
        const content = document.createDocumentFragment();
        content.append(...panel.childNodes);
        return content;
    });
    const beside = document.querySelectorAll("dialog[open], .class-panel");
    const open = [...panels.filter((panel) => !closed.includes(panel)), ...beside];
    const { violations } = await axe.run(whole ? { exclude: closed } : { include: open }, rules);
    closed.forEach((panel, i) => panel.append(kept[i]));
    const why = ({ any, all, none }) => [...any, ...all, ...none][0]?.message;
    const at = ({ nodes }) => nodes.map((node) => `${node.target} (${why(node)})`);
    return violations.map((each) => `${each.id}: ${at(each).join(", ")}`);
}"""

Doing = Callable[[Page], object]


def nothing(page: Page) -> None:
    pass


def clicking(selector: str, then: str = "") -> Doing:
    """A click, and what is there after it."""

    def click(page: Page) -> None:
        page.locator(selector).first.click()
        if then:
            page.locator(then).first.wait_for()

    return click


def choosing(entry: str) -> Doing:
    """An entry of the header's menu."""
    return lambda page: in_menu(page, entry)


def pressing(key: str) -> Doing:
    return lambda page: page.keyboard.press(key)


def explain_score(page: Page) -> None:
    page.locator("#inside .queries .target").first.wait_for()  # before, it was a head of the encoder
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # which draws all stages
    page.locator(".look .cell").first.click()


def unfold(page: Page) -> None:
    page.locator("#whatif .group:not([open]) summary").evaluate_all("all => all.forEach((each) => each.click())")


def pairs(page: Page) -> None:
    page.locator("#train button[value=own]").click()
    page.locator(".editor .link").first.click()
    page.locator("#train .ids").first.wait_for()


def type_sentence(page: Page, sentence: str) -> None:
    page.locator("#sentence input").fill(sentence)
    page.locator("#sentence input").press("Enter")


def undo(page: Page) -> None:
    page.locator(".changed .link").first.click()
    page.locator(".changed").wait_for(state="hidden")


def messages(page: Page) -> None:
    """A sentence that cannot be taken; and what a visitor who waits in the queue is told, as busy.js tells it."""
    page.keyboard.press("Escape")
    type_sentence(page, "Heute habe ich ein Bier getrunkn")
    page.locator("#top .message").wait_for()
    page.locator("#top.busy").wait_for(state="detached")
    page.locator("#suggestions button").first.wait_for()  # their answer hides what comes next
    page.wait_for_function(  # as does that to any other earlier request
        "() => { document.dispatchEvent(new CustomEvent('queue:changed', { detail: { waiting: 2 } }));"
        " return document.querySelector('#crowd').checkVisibility(); }"
    )


def word_list(page: Page) -> None:
    type_sentence(page, place(page)["run"][1])
    page.locator("#top .message").wait_for(state="hidden")
    page.locator(".examples > button").click()
    page.get_by_role("button", name=t("examples.words")).click()
    page.get_by_role("dialog").wait_for()


reveal, escape = pressing("r"), pressing("Escape")
MAPS = {"tab": "attention"}
BUG = {"tab": "break", "part": "mistakes"}
WHAT_IF = {"tab": "break", "part": "whatif"}
DECODING = {"tab": "break", "part": "decoding"}
PRESENTED = "tab=lesson&stop=3&present=yes"  # the address that a walk begins at
STOP = '#lesson:has(#stop-title:text-matches("(^|[^0-9]){} (of|/) 18")) .choice:enabled'

# name, what the store is told, what is there then, what is done then
Place = tuple[str, dict[str, Any], str, Doing]
PLACES: list[Place] = [
    ("lesson, presented", {}, "#lesson .choice:enabled", nothing),
    ("lesson, stop 1, to guess", {"stop": 0}, STOP.format(1), clicking("#leave")),
    *(
        (f"lesson, stop {n}, {how}", {"stop": stop}, STOP.format(n), do)
        for n, stop in ((2, 1), (4, 3), (6, 5), (9, 8), (11, 10), (13, 12), (14, 17), (15, 18), (16, 13))
        for how, do in [("revealed", reveal) if n in (6, 9, 14, 16) else ("to guess", nothing)]
    ),
    ("translate", {"tab": "translate"}, "#story .bars li", nothing),
    ("translate, one head", {"averaged": False}, "#story .bars li", nothing),
    ("translate, why", {}, ".why-word", clicking(".why-word summary", ".why-table")),
    ("pictures", {}, "#pictures", clicking("#pictures summary")),
    ("the device", {}, "#menu", choosing("#device summary")),
    ("the checks", {}, "#menu", choosing("#checks summary")),
    ("take home", {}, "#menu", choosing("#downloads summary")),
    ("share", {}, "#menu", choosing("#share")),
    ("the messages", {}, "#sentence", messages),
    ("the word list", {}, ".examples", word_list),
    *(
        (f"attention, {kind}, {drawing}", {**MAPS, "kind": kind, "drawing": drawing}, f".large {shape}:visible", escape)
        for kind, drawing, shape in (
            ("decoder", "heatmap", ".heatmap"), ("encoder", "lines", ".lines"), ("cross", "table", "table"),
            ("cross", "all", ".model-view"),
        )
    ),
    ("attention, gold", {"kind": "cross", "drawing": "heatmap", "gold": True}, "#attention .heatmap", nothing),
    ("attention, contributions", {"gold": False, "measure": "contribution"}, "#attention .map .hint:visible", nothing),
    ("inside", {"tab": "inside", "kind": "encoder"}, "#shapes table", nothing),
    ("inside, arithmetic", {"kind": "cross"}, "#stage-qkv .cell", explain_score),
    ("what if", {"tab": "break", "part": "whatif"}, "[data-map=modified] .heatmap", unfold),
    ("what if, swept", {}, "#sweep", clicking("#sweep", "#whatif .panel [data-drop]")),
    ("what if, changed", {}, "#whatif .starters", clicking(".starters button", "#whatif [value=difference]")),
    (
        "what if, changed, encoder", {"kind": "encoder"}, "#whatif .heatmap",
        clicking("#whatif [value=difference]", "[data-map=difference]"),
    ),
    ("spot the bug", {**BUG, "exercise": "softmax_dim"}, ".exercise .say", undo),
    ("spot the bug, revealed", {}, ".exercise .say", clicking(".exercise .question > .link")),
    ("spot the bug, a training", {**BUG, "exercise": "causal_mask"}, ".exercise .live button", nothing),
    ("beam search", {**DECODING, "strategy": "beam"}, "#decoding .tree", nothing),
    ("sampling", {**DECODING, "strategy": "sampling"}, "#decoding .both", nothing),
    ("teacher forcing", {**DECODING, "strategy": "forced"}, "#decoding .two-ways", nothing),
    ("overview", {"tab": "overview"}, "#overview .part", nothing),
    ("train", {"tab": "train"}, "#train .setting", clicking("#train button[value=toy]")),
    ("train, pairs", {}, "#train .setting", pairs),
    ("positions", {"tab": "positions"}, "#positions .figure >> nth=3 >> canvas >> nth=0", nothing),
]  # fmt: skip
# axe's rules, the smallest screen and the way of Tab take longest: they are for the parts that differ most.
BY_TAB = {
    "lesson, stop 9, revealed", "translate", "attention, contributions", "positions", "inside, arithmetic",
    "train, pairs", "what if, swept", "spot the bug, revealed", "beam search",
}  # fmt: skip
AROUND = {  # where the whole page is looked at
    "lesson, presented", "the device", "the checks", "take home", "share", "the messages",
}  # fmt: skip
BY_AXE = BY_TAB | AROUND | {"overview", "the word list"}
IN_THE_DARK = {  # in another language, too (test_languages.py)
    "lesson, stop 9, revealed", "overview", "translate", "attention, decoder, heatmap", "positions", "inside", "train",
    "what if", "spot the bug, a training", "teacher forcing",
}  # fmt: skip


def walk(page: Page, places: Sequence[Place] = PLACES) -> Iterator[str]:
    """Every part of the page, one after the other."""
    for name, to, there, do in places:
        if to:
            move(page, to)
        page.locator(there).first.wait_for()
        do(page)
        yield name


# What no rule of axe's can tell. Left out, with the reason:
# - what has no opacity: buttons that save a picture show themselves when pointed at or focused, and then entirely;
# - what is disabled: WCAG asks for no contrast of it;
# - #js-plotly-tester: Plotly measures words in it, far outside of the page;
# - clicks on Plotly's plots, and on the cells of the broken map: sliders, and the mask's two menus, do the same by key.
LOOK = r"""async (asked) => {
    if (asked !== "everything") for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); // drawn again
    const found = [];
    const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0 && !e.closest("[inert]");
    const note = (fault, e, part = "") => {
        const text = (e.getAttribute("aria-label") ?? e.textContent).trim().slice(0, 40);
        found.push(`${fault}: ${e.tagName.toLowerCase()}.${e.getAttribute("class")}${part} in #${e.closest("[id]:not(svg *)")?.id} “${text}”`);
    };
    const remembered = (compute) => {
        const known = new Map();
        return (of) => known.get(of) ?? known.set(of, compute(of)).get(of);
    };

    const sideways = document.documentElement.scrollWidth - innerWidth;
    if (sideways > 0) found.push(`scrolls sideways by ${sideways} px`);

    // A figure says its numbers; what is hidden from a screen reader stands in something that has words.
    for (const figure of document.querySelectorAll("svg, canvas, .figure")) {
        if (!shown(figure) || figure.parentElement.closest("svg, .figure") || figure.id === "js-plotly-tester") continue;
        const hidden = figure.closest("[aria-hidden=true]");
        if (hidden) {
            const whole = figure.closest("button, figure") ?? hidden.parentElement;
            if (!/\S/.test(whole.getAttribute("aria-label") ?? whole.textContent)) note("no words", figure);
        } else if (!figure.matches("[role=img], [role=group], [role=figure]")) note("no role", figure);
        else if (!/\d/.test(figure.getAttribute("aria-label"))) note("no numbers", figure);
    }

    // Contrast of every text over what is drawn below it, in pictures as well.
    const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const rgba = remembered((colour) => {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    });
    const over = ([r, g, b, a], ground) => [r, g, b].map((c, i) => c * a + ground[i] * (1 - a));
    const linear = (c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = (rgb) => rgb.reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * linear(c), 0);
    const ratio = (...colours) => {
        const [less, more] = colours.map(luminance).sort((a, b) => a - b);
        return (more + 0.05) / (less + 0.05);
    };
    const style = remembered((e) => getComputedStyle(e));
    const groundOf = remembered((e) => (e ? over(rgba(style(e).backgroundColor), groundOf(e.parentElement)) : [255, 255, 255]));
    const opacity = remembered((e) => (e ? style(e).opacity * opacity(e.parentElement) : 1));
    const painted = remembered((svg) => // its shapes that have a colour
        [...svg.querySelectorAll("rect, circle")]
            .filter((shape) => style(shape).fill !== "none" && !style(shape).fill.startsWith("url") && style(shape).visibility === "visible")
            .map((shape) => {
                const [r, g, b, a] = rgba(style(shape).fill);
                return { shape, box: shape.getBoundingClientRect(), colour: [r, g, b, a * style(shape).fillOpacity * opacity(shape)] };
            }));
    const groundIn = (text, { x, y, width, height }) => {
        const svg = text.closest("svg:not(svg svg)");
        const below = painted(svg).filter(({ shape, box }) =>
            box.left <= x + width / 2 && x + width / 2 <= box.right && box.top <= y + height / 2 && y + height / 2 <= box.bottom &&
            shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING);
        return below.reduce((ground, { colour }) => over(colour, ground), groundOf(svg.parentElement));
    };
    const texts = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (/[\p{L}\p{N}]/u.test(walker.currentNode.data)) texts.add(walker.currentNode.parentElement);
    const unread = "script, style, option, :disabled, [aria-disabled=true], .visually-hidden, .sr-only";
    const scrolled = ".scroll, [role=tablist], .stage-index, pre, .run > p, .folded .changed, .header-controls";
    for (const e of texts) {
        if (e.closest(unread) || !shown(e) || !opacity(e)) continue;
        const [box, isDrawn] = [e.getBoundingClientRect(), e instanceof SVGElement];
        if (box.width < 2) continue;
        if ((box.right > innerWidth + 1 || box.left < -1) && !e.closest(scrolled)) note("cut off", e);
        if (asked === "size") continue;
        const ground = isDrawn ? groundIn(e, box) : groundOf(e);
        const [r, g, b, a] = rgba(isDrawn ? style(e).fill : style(e).color);
        const contrast = ratio(over([r, g, b, a * opacity(e)], ground), ground);
        const size = parseFloat(style(e).fontSize);
        const least = size >= 24 || (size >= 18.66 && style(e).fontWeight >= 700) ? 3 : 4.5;
        if (contrast < least) note(`contrast ${contrast.toFixed(2)}`, e);
    }
    for (const e of document.querySelectorAll("input:is(:not([type]), [type=text])")) {
        if (!shown(e) || e.closest(".stepper")) continue; // whose frame is around its buttons, too
        const ground = groundOf(e.parentElement);
        if (ratio(over(rgba(style(e).borderTopColor), ground), ground) < 3) note("no edge", e);
    }

    // A target of a pointer that is smaller than 24 px has as much space around its middle (WCAG 2.5.8), unless it is a word in a text.
    const targets = [...document.querySelectorAll("a[href], button, input, select, summary, [role=tab], [role=option]")]
        .filter((e) => shown(e) && opacity(e) && !e.matches(":disabled, .visually-hidden"))
        .map((e) => {
            const [box, frame] = [e, e.closest(scrolled) ?? e].map((each) => each.getBoundingClientRect());
            const isSmall = box.width < 23.5 || box.height < 23.5;
            const over = e.closest(".popover, dialog"); // which covers what is below it
            return { e, over, isSmall, left: Math.max(box.left, frame.left), right: Math.min(box.right, frame.right), top: box.top, bottom: box.bottom };
        })
        .filter(({ left, right }) => left < right);
    const away = (x, y, { left, right, top, bottom }) => Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
    for (const { e, over, isSmall, left, right, top, bottom } of targets) {
        if (!isSmall || style(e).display === "inline") continue;
        const isNear = (its) => its.over === over && !its.e.contains(e) && !e.contains(its.e) && away((left + right) / 2, (top + bottom) / 2, its) < 12;
        if (targets.some(isNear)) note("small target", e);
    }

    if (asked !== "everything") return found;
    // Nothing moves for visitors who prefer reduced motion, and the keyboard reaches everything that can be clicked.
    const longest = (list) => Math.max(...list.split(",").map((time) => parseFloat(time) * (time.endsWith("ms") ? 1 : 1000)));
    const keys = "button:not([tabindex='-1']), a[href], input, select, summary, label, [tabindex='0'], [role=tab], .word-line button"; // arrows lead to tabs, and along words
    for (const e of document.querySelectorAll("body *")) {
        if (!shown(e)) continue;
        for (const part of [null, "::before", "::after"]) {
            const { content, transitionDuration, animationDuration, animationName, cursor } = getComputedStyle(e, part);
            if (part && content === "none") continue;
            if (longest(transitionDuration) > 1 || (animationName !== "none" && longest(animationDuration) > 1)) note("moves", e, part ?? "");
            if (part || cursor !== "pointer" || e.closest(keys) || e.closest("tr")?.querySelector(keys)) continue;
            if (!e.closest(".visually-hidden, .figure, [data-map=modified] canvas")) note("by pointer only", e);
        }
    }
    return found;
}"""  # noqa: E501


def faults(page: Page, script: str, given: Any = None) -> list[str]:
    """What a script finds. What is being drawn is looked at again."""
    found: list[str] = page.evaluate(script, given)
    for pause in (400, 800, 1600, 3200):  # ms: a busy machine draws late
        if not found:
            break
        page.wait_for_timeout(pause)
        found = page.evaluate(script, given)
    return found


def broken_rules(page: Page, whole: bool = False) -> list[str]:
    """What axe finds in the open panel and an open dialog, or on the whole page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{AXE}; 0")
    page.evaluate("scrollTo(0, 0)")  # a control half under the frame is no smaller
    return faults(page, AXE_SAYS, [RULES, whole])


SMALL: Any = {"width": 320, "height": 640}


def barriers(page: Page, whole: bool = False) -> dict[str, list[str]]:
    """What keeps somebody from using the open tab, or the whole page, on a laptop and on the smallest screen."""
    found = {"laptop": faults(page, LOOK, "everything"), "axe": broken_rules(page, whole)}
    page.set_viewport_size(SMALL)
    found["smallest"] = faults(page, LOOK, "size")
    page.set_viewport_size(LAPTOP["viewport"])
    return {how: each for how, each in found.items() if each}


# Remembers what Tab reaches, how it looks there, and what is wrong with it.
FOLLOW = """() => {
    window.walked?.until.abort();
    document.body.tabIndex = -1; // Tab begins at the top
    document.body.focus();
    document.body.removeAttribute("tabindex");
    const walked = (window.walked = { until: new AbortController(), order: [], looks: [], faults: [], round: false });
    const rings = (e) => [e, ...e.querySelectorAll("rect")].map((each) => {
        const { outlineStyle, outline, boxShadow, stroke } = getComputedStyle(each);
        return [outlineStyle === "none" ? "" : outline, boxShadow, stroke].join();
    }).join();
    walked.look = (e) => rings(e.type === "file" ? e.labels[0] : e); // whose label is seen in its place
    walked.name = (e) => `${e.tagName.toLowerCase()}#${e.id} “${(e.getAttribute("aria-label") ?? e.textContent).trim().slice(0, 40)}”`;
    document.addEventListener("focusin", ({ target }) => {
        const { order, looks, faults, look, name } = walked;
        walked.round ||= target === order[0];
        if (walked.round) return;
        const box = target.getBoundingClientRect();
        if (order.includes(target)) faults.push(`twice: ${name(target)}`);
        if (order.at(-1)?.isConnected && !(order.at(-1).compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING)) faults.push(`back: ${name(target)}`);
        if (box.bottom <= 0 || box.top >= innerHeight || box.left < 0 || box.right > innerWidth) faults.push(`out of sight: ${name(target)}`);
        for (let e = target; e && target.type !== "file"; e = e.parentElement) if (getComputedStyle(e).opacity < 0.5) faults.push(`faint: ${name(e)}`);
        order.push(target);
        looks.push(look(target));
    }, { signal: walked.until.signal });
}"""  # noqa: E501

FOLLOWED = """() => {
    const { order, looks, faults, look, name } = walked;
    document.activeElement.blur();
    order.forEach((e, i) => e.isConnected && look(e) === looks[i] && faults.push(`not seen to have the focus: ${name(e)}`));
    const names = order.map(name);
    const reachable = (e) => e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }) && !e.closest("[inert], :disabled");
    for (const e of document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")) {
        if (reachable(e) && !names.includes(name(e))) faults.push(`never reached: ${name(e)}`);
    }
    return faults;
}"""  # noqa: E501


def tabbed(page: Page) -> list[str]:
    """What is wrong with the way that Tab takes, once around."""
    page.evaluate(FOLLOW)
    for _ in range(40):
        for _ in range(10):
            page.keyboard.down("Tab")  # held: the page hears no more of a key that comes up
        if page.evaluate("walked.round || document.activeElement === document.body"):
            break
    else:
        return ["a trap"]
    page.keyboard.up("Tab")
    return page.evaluate(FOLLOWED)


def test_what_is_pressed_by_key_keeps_the_focus(shared: Visit) -> None:
    page = shared.go(*DOG)
    named = "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent).split(',')[0]"
    for to, control in (
        ({"tab": "translate"}, ".cards button >> nth=1"),
        (MAPS, "#attention .heads button >> nth=2"),
        (MAPS, "#heads .score >> nth=3"),
        (MAPS, ".sortable th button >> nth=3"),
        ({"tab": "inside"}, "#inside .queries button >> nth=1"),
        (WHAT_IF, ".steps-beside button >> nth=2"),
        (WHAT_IF, "#whatif .panel .score >> nth=1"),  # a change: from here on the steps that it leaves alone are folded
        (DECODING, "#decoding .decoding-settings button >> nth=0"),
    ):
        move(page, to)
        shared.settle()
        page.locator(control).focus()
        name = page.evaluate(named)  # what follows a comma is its state, which the key may change
        page.keyboard.press("Enter")
        shared.settle()
        assert page.evaluate(named) == name, control


def test_what_colours_say_stays_where_a_system_forces_its_own(visit: Visit) -> None:
    visit.page.emulate_media(forced_colors="active")
    page = visit.open("?checkpoint=toy&tab=attention&kind=cross&layer=2&head=6&step=4")
    shades = """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
        .reduce((found, value, i) => i % 4 ? found : found.add(value), new Set()).size"""
    assert page.locator("#attention canvas").first.evaluate(shades) > 10  # of a weak weight, a strong one and others
    ground = "each => getComputedStyle(each).backgroundColor"
    pressed = page.locator("#attention .segmented button")
    assert len(set(pressed.evaluate_all(f"all => all.map({ground})"))) == 2  # one is chosen
    move(page, {"tab": "translate"})
    assert page.locator(".candidates i").first.evaluate(ground) != page.locator("body").evaluate(ground)


def test_keys_open_close_and_scroll(shared: Visit) -> None:
    page = shared.go(*DOG, **MAPS, drawing="table")
    page.locator("#heads").scroll_into_view_if_needed()  # the answer about its heads would draw the table again
    shared.settle()
    row = page.locator(".sortable tbody tr button").nth(5)
    name = str(row.get_attribute("aria-label"))
    row.press("Enter")
    marked = page.locator(".sortable tr.marked button")
    expect(marked).to_be_focused()
    expect(marked).to_have_accessible_name(name)
    expect(page.locator("#attention h2").first).to_contain_text(name)

    page.set_viewport_size(SMALL)
    wide = page.locator("#attention .scroll")
    expect(wide).to_have_attribute("tabindex", "0")
    step = shared.step
    wide.press("ArrowRight")
    page.wait_for_function("document.querySelector('#attention .scroll').scrollLeft > 0")
    assert shared.step == step
    page.set_viewport_size(LAPTOP["viewport"])

    for opener, popup in (("#menu > summary", "#menu > .popover"), ("#pictures summary", "#pictures .popover")):
        page.locator(opener).click()
        expect(page.locator(popup)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(popup)).to_be_hidden()
        expect(page.locator(opener)).to_be_focused()

    page.reload()
    page.locator("[role=tabpanel].open").wait_for()  # where it leads
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text(t("skip"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel", name=t("tab.attention"))).to_be_focused()


def test_every_part_is_for_everybody(visit: Visit) -> None:
    """On a laptop, on the smallest screen and by Tab alone; in the dark: test_languages.py. No text is untranslated."""
    found: dict[str, list[str]] = {}
    mark_texts(visit.page)
    page = visit.open(f"?checkpoint={DOG[0]}&sentence={DOG[1]}&__theme=light&{PRESENTED}")
    visit.settle()
    for name in walk(page):
        found[f"{name}, in no catalogue"] = strays(page)
        if name in BY_AXE:
            found |= {f"{name}, {how}": each for how, each in barriers(page, whole=name in AROUND).items()}
        else:
            found[name] = faults(page, LOOK, "everything")
        if name in BY_TAB and tabbed(page):
            page.wait_for_timeout(400)
            found[f"{name}, by Tab"] = tabbed(page)
    assert {name: each for name, each in found.items() if each} == {}
