"""What a visitor meets in the first minute: three captions, and another model where one cannot read a sentence."""

from playwright.sync_api import Browser, Locator, expect

from .catalogue import matching, t
from .conftest import PHONE, SENTENCES, Visit, hold_timers, in_menu, until, visiting

CAPTION_MS = 10_000
MAX_FRAME, MAX_CONTROLS = 200, 22  # px over the open tab at 1280 x 720; on the first screen
CONTROLS = """() => [...document.querySelectorAll("button, a, input, select, summary")].filter((each) => {
    const { width, height, top } = each.getBoundingClientRect();
    return width && height && top < innerHeight && getComputedStyle(each).visibility !== "hidden";
}).length"""


def top(place: Locator) -> float:
    box = place.bounding_box()
    assert box
    return box["y"]


def bottom(place: Locator) -> float:
    box = place.bounding_box()
    assert box
    return box["y"] + box["height"]


def height_of_frame(visit: Visit) -> float:
    return top(visit.page.locator("[role=tabpanel].open"))


def test_three_captions_play_once_and_can_be_skipped(browser: Browser, url: str) -> None:
    with visiting(browser, url) as visit:  # whose timers are nobody else's
        page = visit.page
        hold_timers(page, CAPTION_MS)
        visit.open("")
        captions = page.locator(".intro")
        for name in ("vectors", "heads", "word"):
            expect(captions).to_contain_text(t(f"intro.{name}"))
            page.evaluate("ring()")
        expect(captions).to_be_hidden()
        page.reload()
        visit.words.first.wait_for()
        expect(captions).to_be_hidden()
        visit.ask("Ich möchte ein Cola")
        in_menu(page, "#intro-play")
        expect(captions).to_contain_text(t("intro.vectors"))
        page.locator("#intro-skip").click()
        expect(captions).to_be_hidden()

        page.keyboard.press("f")  # in front of a class, which nothing may cover
        page.get_by_role("button", name=t("frame.unfold")).click()
        page.locator("#menu > summary").click()
        expect(page.locator("#theme")).to_be_visible()
        expect(page.locator("#intro-play")).to_be_hidden()

        page.set_viewport_size(PHONE)  # where no caption covers what it is about
        page.evaluate("localStorage.clear()")
        visit.open("")
        for name, about in (("vectors", ".positions"), ("heads", ".head"), ("word", ".word-out")):
            expect(captions).to_contain_text(t(f"intro.{name}"))
            part, tabs = (page.locator(each).first for each in (f".overview {about}", "#tabs"))
            until(lambda: bottom(tabs) <= top(part) < bottom(part) <= top(captions))  # noqa: B023  # in a few frames
            if name == "vectors":
                assert top(page.locator("h1 small")) >= 0  # the first sight says what this is
            page.evaluate("ring()")
        assert bottom(page.locator("#run")) < 0  # there, the picture has the source itself


def test_the_frame_is_low_and_the_first_screen_has_few_controls(visit: Visit) -> None:
    visit.open("")
    visit.page.set_viewport_size({"width": 1280, "height": 720})
    assert visit.step == 0
    assert height_of_frame(visit) <= MAX_FRAME
    assert visit.page.evaluate(CONTROLS) <= MAX_CONTROLS
    visit.choose_model("classroom")
    assert height_of_frame(visit) <= MAX_FRAME
    visit.tab("break")
    with visit.answered():
        visit.page.locator(".starters button").nth(3).click()
    expect(visit.page.locator(".changed li")).to_have_count(2)  # the change, and what undoes all
    for tab in ("break", "attention"):
        visit.tab(tab)
        assert height_of_frame(visit) <= MAX_FRAME


def test_another_model_answers_where_the_toy_cannot_read_a_sentence(shared: Visit) -> None:
    page = shared.go()
    shared.ask("Ich sehe einen Hund")
    expect(page.locator("#checkpoint")).to_have_value("classroom")
    expect(page.locator(".note")).to_contain_text(t("note.instead", asked="toy", name="classroom"))
    with shared.answered():
        page.locator(".note .link").click()
    expect(page.locator("#checkpoint")).to_have_value("toy")
    expect(shared.box).to_have_value(SENTENCES["toy"])
    shared.ask("Wo ist der Flughafenbus?")  # which neither can read
    expect(shared.message).to_contain_text(matching("run.refused", sentence=SENTENCES["toy"]))
    expect(page.locator("#checkpoint")).to_have_value("toy")
    shared.ask(SENTENCES["toy"])  # other tests share this page


def test_a_finger_finds_every_example_and_the_entries_of_the_menu_in_line(browser: Browser, url: str) -> None:
    with visiting(browser, url, viewport=PHONE, has_touch=True, is_mobile=True) as visit:
        page = visit.open("?checkpoint=toy")
        examples = page.locator(".example-list")
        assert bottom(examples.locator("button").last) <= bottom(examples)
        page.locator("#menu > summary").click()
        edges = "all => new Set(all.map((each) => each.getBoundingClientRect().left)).size"
        assert page.locator("#menu .entry").evaluate_all(edges) == 1
