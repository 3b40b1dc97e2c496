"""The lesson: 18 stops that are walked by key, and whose answers are the run's."""

import re
from typing import NamedTuple
from urllib.parse import quote

from playwright.sync_api import Page, expect

from transformer.analysis.experiments import shipped

from .arithmetic import expect_right
from .catalogue import EN, matching, percent, t
from .conftest import BIER, FLAGSHIP, PHONE, Visit, translate

STOPS = (
    "tokens", "embeddings", "positions", "qkv", "scores", "softmax", "heads",
    "residual", "ffn", "stack", "masked", "cross", "logits", "knows", "explains", "loop",
)  # fmt: skip
LINKS = (*range(13), 17, 18, 13)  # how a link names each, from 0
ENDS = ("recap", "since")  # ask nothing, and follow the others; a link counts them after "align"
ALL = len(STOPS + ENDS)
HIDE = {"logits", "loop"}  # they show the answer
REASON = {"scores", "residual", "cross", "knows", "explains"}  # they show what it is made of


def enter(visit: Visit, checkpoint: str, sentence: str, place: str = "") -> Page:
    """The lesson of a sentence, by its link."""
    page = visit.open(f"?checkpoint={checkpoint}&sentence={quote(sentence)}&tab=lesson{place}")
    expect(page.locator(".tokens .chip.source")).to_have_text(translate(checkpoint, sentence=sentence).typed)
    page.locator("#lesson .choice").first.wait_for()
    return page


class Stop(NamedTuple):
    """What is read of a stop, once it and its figure are there."""

    choices: list[str]
    right: list[str]  # of them, those that are marked
    wrong: list[str]
    why: str
    reveal: str


def stop(page: Page, n: int) -> Stop:
    lesson = page.locator("#lesson")
    expect(lesson.locator(".stops [aria-current=step]")).to_have_attribute("aria-label", re.compile(rf"{n}\."))
    expect(lesson.locator("#stop-title")).to_have_text(matching("lesson.title", n=n))
    expect(lesson.locator(".lesson-figure").locator("svg, table, ol").first).to_be_visible()
    last = "all => all.map((choice) => choice.lastChild.textContent.trim())"
    choices = [lesson.locator(f".choice{kind}").evaluate_all(last) for kind in ("", ".right", ".wrong")]
    said = [" ".join(lesson.locator(f"{part}:visible").all_text_contents()) for part in (".why", ".reveal")]
    return Stop(*choices, *said)


def expect_veiled(page: Page, wanted: bool, is_guess: bool = False) -> None:
    """The figure that tells the answer, and the shares under the words: these also where the answer can be reasoned."""
    expect(page.locator("#lesson .veil")).to_be_visible(visible=wanted)
    shares = page.locator(".tokens .chip.source").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).getPropertyValue('--share').trim())"
    )
    assert (set(shares) == {"0"}) == (wanted or is_guess), shares


def test_the_lesson_is_walked_by_key_on_a_phone(visit: Visit) -> None:
    """Every wrong choice says why, and nothing but the reveal tells the answer."""
    visit.page.set_viewport_size(PHONE)
    page = enter(visit, "classroom", FLAGSHIP, "&kind=encoder&layer=2&head=3&query=6&step=4")
    run = translate("classroom")
    largest = percent(run.attention.encoder[1].weights[2, 5].max())
    for n, name in enumerate(STOPS, 1):
        before = stop(page, n)
        assert len(set(before.choices)) == len(before.choices) > 1, name
        expect_veiled(page, name in HIDE, is_guess=name in REASON)
        if name in REASON:  # and neither table nor map of the answer
            answers = "table:not(.lens, .why-table), .heatmap, [data-name=sum], .lens .marked td .word"
            expect(page.locator("#lesson .lesson-figure").locator(answers)).to_have_count(0)
        assert before.reveal == ""
        if f"lesson.{name}.figure" in EN:
            expect(page.locator("#lesson .lesson-figure h4").first).to_have_text(matching(f"lesson.{name}.figure"))
        strips = page.locator("#lesson .lesson-figure .strips")
        reasons = strips.count()
        for i in range(len(before.choices)):
            page.keyboard.press(str(i + 1))
            expect(page.locator("#lesson :is(.why, .reveal):visible")).to_have_count(1)
            after = stop(page, n)
            if after.reveal:
                break
            assert after.wrong == before.choices[: i + 1]
        expect(page.locator("#lesson .reveal")).to_be_in_viewport(ratio=0.9)
        assert (after.right, len(after.wrong)) == ([before.choices[i]], i)
        expect_veiled(page, wanted=False)
        assert strips.count() >= reasons, f"{name}: what was read stays beside the answer"
        if name == "softmax":
            assert after.right == [largest]
        for line in re.findall(r"\d+\.\d+ × \d+\.\d+ = \d+\.\d+", after.reveal):
            assert expect_right(line)
        page.keyboard.press("n")
    for n, facts in enumerate(([largest, " ".join(run.output)], [t("lesson.since.norm_last")]), ALL - 1):
        assert stop(page, n).choices == []
        for fact in facts:
            expect(page.locator("#lesson .lesson-figure")).to_contain_text(fact)
        page.keyboard.press("n")  # there is no stop after the last
    page.get_by_role("button", name=t("train.set.norm_first")).click()
    expect(page.locator("#train [data-field=norm_first]")).to_be_in_viewport()
    page.locator("#return").click()
    for _ in range(3):
        page.keyboard.press("b")
    assert stop(page, 15).reveal, "what was revealed stays so"


def test_the_place_is_in_the_link_and_typing_does_not_move_it(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    page.keyboard.press("PageUp")  # there is no stop before the first
    page.keyboard.press("n")
    stop(page, 2)
    page.keyboard.press("ArrowRight")  # the steps are walked meanwhile
    page.wait_for_url(re.compile(r"[?&]step=2(&.*)?$"))
    page.reload()
    page.locator("#lesson .choice").first.wait_for()
    stop(page, 2)
    assert visit.step == 1
    page.locator(".stops button").nth(4).click()
    box = page.locator("#sentence input")
    box.fill("")
    box.press_sequentially("nb1r ")
    for key in ("PageDown", "PageUp", "n"):
        box.press(key)
    assert stop(page, 5).reveal == ""
    expect(box).to_have_value("nb1r n")
    for button, n in (("#stop-next", 6), ("#stop-back", 5)):
        page.locator(button).click()
        stop(page, n)
    page.locator(".stops button").nth(2).click()
    stop(page, 3)
    page.locator("#lesson .lesson-figure .cell").nth(63).click()
    expect(page.locator("#lesson .arithmetic-box h4")).to_have_text(t("cell.input", n=64))


def test_the_sum_with_the_residual_stream_is_asked_of_the_word_that_shows_it_best(visit: Visit) -> None:
    for sentence, asked, answer in ((FLAGSHIP, "heute", 0), ("Das Wasser ist kalt", "wasser", 1)):  # shorter, longer
        page = enter(visit, "classroom", sentence, "&stop=8")
        expect(page.locator("#lesson .question h3")).to_contain_text(asked)
        page.keyboard.press("r")
        found = stop(page, 8)
        assert found.right == [found.choices[answer]]
        expect(page.locator("#lesson .stop-figure")).to_contain_text(EN["lesson.evidence.residual"])


def test_a_guess_is_kept_for_its_question(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    page.keyboard.press("9")  # there are fewer
    right = stop(page, 1).choices.index(str(len(translate("toy").source)))
    for key in ("2" if right == 0 else "1", str(right + 1)):
        page.keyboard.press(key)
    expect(page.locator("#lesson .reveal")).to_contain_text(t("lesson.right"))
    first = stop(page, 1)
    assert (len(first.right), len(first.wrong)) == (1, 1)
    page.reload()
    page.locator("#lesson .choice").first.wait_for()
    assert stop(page, 1) == first
    visit.ask("ich möchte ein cola")
    expect(page.locator("#lesson .reveal")).to_be_hidden()
    assert stop(page, 1).right == []

    # The same stop asks something else at another step: a guess is judged by the question that was asked.
    visit.ask(BIER)
    page.locator(".stops button").nth(12).click()
    before = stop(page, 13).choices
    page.keyboard.press("r")
    expect(page.locator("#lesson .reveal")).to_be_visible()
    visit.words.nth(1).click()
    expect(page.locator("#lesson .reveal")).to_be_hidden()  # nobody has answered this question
    assert stop(page, 13).choices != before


def test_what_is_said_of_a_repeated_word_names_it_as_its_choice_does(visit: Visit) -> None:
    page = enter(visit, "classroom", "die Frau sieht die Katze", "&stop=5&kind=encoder&query=4")
    expect(page.locator("#lesson .question")).to_contain_text(t("lesson.scores.question", word="die (4)"))
    choices = stop(page, 5).choices
    repeated = [i for i, choice in enumerate(choices) if choice.startswith("die (")]
    assert len(repeated) == 2
    for i in repeated:
        page.keyboard.press(str(i + 1))
        expect(page.locator("#lesson :is(.why, .reveal):visible")).to_contain_text(choices[i])


def test_a_teacher_chooses_stops_and_their_order(visit: Visit) -> None:
    page = enter(visit, "toy", BIER, "&stops=12,1,14")
    bar = page.locator(".stops button")
    assert bar.all_inner_texts() == [t(f"lesson.{name}.short") for name in ("cross", "tokens", "loop")]
    page.keyboard.press("n")
    title = page.locator("#stop-title")
    expect(title).to_have_text(t("lesson.title", n=2, of=3, name=t("lesson.tokens")))
    page.locator("#plan-open").click()
    page.get_by_role("button", name=t("lesson.plan.earlier", name=t("lesson.loop"))).click()
    page.get_by_role("checkbox", name=t("lesson.logits"), exact=True).check()
    page.wait_for_url(re.compile("stops=12(,|%2C)13(,|%2C)14(,|%2C)1(&|$)"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name=t("lesson.minutes", minutes=20), exact=True).click()
    expect(page.locator("#plan-open")).to_have_text(t("lesson.plan", minutes=20, count=7))
    expect(title).to_have_text(t("lesson.title", n=1, of=7, name=t("lesson.tokens")))


def test_where_all_measures_agree_a_link_leads_to_a_sentence_where_they_differ(visit: Visit) -> None:
    page, tie = enter(visit, "classroom", FLAGSHIP, "&stop=19&length=90"), t("lesson.explains.tie")
    measures = ["attribution", "attention", "contribution", "removal"]
    expect(page.locator("#lesson .why-table tbody th")).to_have_text([t(f"why.{each}") for each in measures])
    page.locator("#lesson .choice", has_text=tie).click()
    other = shipped("classroom")["explains"].sentence
    page.locator("#lesson .reveal").get_by_role("button", name=other).click()
    expect(page.locator(".tokens .chip.source")).to_have_text(translate("classroom", sentence=other).typed)
    page.locator("#lesson .choice", has_text=tie).click()
    expect(page.locator("#lesson")).to_contain_text(t("lesson.explains.why.tie"))


def test_back_to_the_lesson_is_back_to_its_sentence(visit: Visit) -> None:
    page = enter(visit, "classroom", FLAGSHIP, "&stop=12&length=90")
    page.keyboard.press("r")
    page.get_by_role("button", name=t("lesson.try.cross")).click()
    expect(page.locator(".change")).not_to_have_count(0)
    expect(page.locator("#whatif .say")).to_be_visible()
    page.locator("#return").click()
    expect(page.locator(".tokens .chip.source")).to_have_text(translate("classroom").typed)
    expect(page.locator("#lesson .reveal")).to_be_visible()  # until then the stop is of the other sentence
    assert stop(page, 12).reveal
    page.wait_for_url(lambda address: "changes=" not in address)
