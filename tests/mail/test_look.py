"""How the mails look where they are read: in Chromium, from a small phone to a desk, light and dark."""

from __future__ import annotations

import colorsys
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lxml.html
import pytest

from paperboy.sources import links_of
from tests.mail import browser, layout, mails, real_days
from tests.mail.browser import Browser
from tests.mail.mails import Mail

MODULES = Path(os.environ.get("PAPERBOY_NODE_MODULES", ""))
AXE = MODULES / "axe-core" / "axe.min.js"

pytestmark = pytest.mark.skipif(
    bool(browser.missing()), reason=f"{browser.missing()}; .ci/run installs it"
)
needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="PAPERBOY_NODE_MODULES names no folder with axe-core; .ci/run does"
)

PHONES = (320, 360, 375, 390, 414)  # px
WIDTHS = (320, 390, 800)
ANY_WIDTH = (*PHONES, 480, 600, 640, 700, 800)
SCHEMES = ("light", "dark")
SMALLEST_TEXT = 14  # px
CONTRAST = 4.5  # WCAG 2.2 AA for text of any size

# The real days, too, where they are: without them these tests are fewer, and none of them is skipped.
REAL = {
    f"real {day}": partial(real_days.mail_of, day)
    for day in (real_days.NAMES if real_days.HERE else ())
}
SOME = (*real_days.DAYS, *real_days.ASTRO[:1])
MAILS = {
    **mails.MAILS,
    **{name: make for name, make in REAL.items() if name.removeprefix("real ") in SOME},
}
DIGESTS = {
    **{
        name: mails.MAILS[name]
        for name in (
            "digest",
            "embedded",
            "heavy",
            "heaviest",
            "single",
            "test",
            "web",
            "web-heaviest",
        )
    },
    **REAL,
}

# Rules of axe that do not apply to a mail.
NOT_FOR_MAILS = {
    "landmark-one-main": "a mail is shown inside the page of a mail program, whose landmarks they are",
    "region": "the same",
}


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser.browser() as opened:
        yield opened


TOO_WIDE = """
const [width] = arguments;
const seen = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
const named = e => `${e.tagName} ${e.className} "${e.textContent.trim().slice(0, 60)}"`;
const found = [...document.body.querySelectorAll('*')].filter(seen).filter(e => {
    const clip = getComputedStyle(e);
    const cut = clip.overflowX !== 'visible' && e.scrollWidth > e.clientWidth && clip.textOverflow !== 'ellipsis';
    return cut || e.getBoundingClientRect().right > width + 0.5 || e.getBoundingClientRect().left < -0.5;
}).map(named);
const page = document.documentElement.scrollWidth;
return page > width ? [`the page is ${page} wide`, ...found] : found;
"""


def too_wide(window: Browser, width: int) -> list[str]:
    """What sticks out of the viewport, or is cut off without an ellipsis."""
    found: list[str] = window.run(TOO_WIDE, width)
    return found


TEXTS = """
const opaque = colour => !/(, 0\\)|transparent)$/.test(colour);
const under = e => { for (; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (opaque(colour)) return colour;
} return 'rgb(255, 255, 255)'; };
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = {};
while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, words = walker.currentNode.data.trim();
    if (!words || !e.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    let line = e;
    while (line.matches('sub, sup')) line = line.parentElement;
    const kind = [getComputedStyle(e).color, under(e), parseFloat(getComputedStyle(line).fontSize)];
    found[kind.join('|')] ??= [...kind, words.slice(0, 60)];
}
return Object.values(found);
"""


def texts(window: Browser) -> list[tuple[tuple[float, ...], tuple[float, ...], float, str]]:
    """Each kind of visible text: its colour, the one under it (0 to 1 each), its size in px, and some of its words.

    A subscript has the size of the text that it belongs to.
    """
    return [(_rgb(ink), _rgb(paper), size, words) for ink, paper, size, words in window.run(TEXTS)]


def _rgb(css: str) -> tuple[float, ...]:
    return tuple(int(part) / 255 for part in css.removeprefix("rgb(").removesuffix(")").split(","))


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The contrast ratio of WCAG, 1 to 21."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(rgb: tuple[float, ...]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def inverted(rgb: tuple[float, ...]) -> tuple[float, ...]:
    """The colour as a client makes it that turns light mails dark by itself: the same hue, its lightness reversed."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*rgb)
    return colorsys.hls_to_rgb(hue, 1 - lightness, saturation)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MAILS)
def test_mail_fits_every_screen(window: Browser, name: str, scheme: str) -> None:
    window.show(MAILS[name]().html, ANY_WIDTH[0], scheme)
    for width in ANY_WIDTH:
        window.resize(width, scheme)
        assert too_wide(window, width) == [], f"at {width} px"


@needs_axe
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MAILS)
def test_axe_finds_no_violation(window: Browser, name: str, scheme: str) -> None:
    window.show(MAILS[name]().html, WIDTHS[0], scheme)
    window.run(AXE.read_text("utf-8") + "; window.axe = axe")
    for width in WIDTHS:
        window.resize(width, scheme)
        assert violations(window) == [], f"at {width} px"


# Rules for these are run, also those that axe leaves out unless asked, such as the one for the size of targets.
STANDARDS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice")

VIOLATIONS = """
const [standards, off] = arguments;
const asked = axe.getRules(standards).map(rule => [rule.ruleId, {enabled: !off.includes(rule.ruleId)}]);
const options = {rules: Object.fromEntries(asked), resultTypes: ['violations']};
return (await axe.run(document, options)).violations;
"""


def violations(window: Browser) -> list[str]:
    """What axe-core holds against the page at WCAG 2.2 AA, best practices and all."""
    found: list[dict[str, Any]] = window.run(VIOLATIONS, STANDARDS, list(NOT_FOR_MAILS))
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
        for rule in found
        for node in rule["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", MAILS)
def test_text_has_enough_size_and_contrast(window: Browser, name: str, scheme: str) -> None:
    """In our colours, and in the light ones as a client inverts them that does not know of the dark ones."""
    window.show(MAILS[name]().html, 390, scheme)
    for ink, paper, size, words in texts(window):
        assert size >= SMALLEST_TEXT, words
        assert contrast(ink, paper) >= CONTRAST, words
        assert scheme == "dark" or contrast(inverted(ink), inverted(paper)) >= CONTRAST, (
            f"inverted: {words}"
        )


@pytest.mark.parametrize("name", MAILS)
def test_mail_is_readable_without_style_sheets(window: Browser, name: str) -> None:
    """Some clients drop `<style>`: nothing sticks out then, text stands out, and all is there in its order."""
    mail = MAILS[name]()
    window.show(mail.html, WIDTHS[0], "light")
    layout.without_style_sheets(window)
    for width in WIDTHS:
        window.resize(width, "light")
        assert too_wide(window, width) == [], f"at {width} px"
        assert layout.collisions(window) == [], f"at {width} px"
    for ink, paper, _, words in texts(window):
        assert contrast(ink, paper) >= CONTRAST, words
    assert window.run("return document.querySelectorAll('h1').length") == 1
    if mail.digest is None or not mail.digest.entries:
        return
    entries = layout.entry_links(window)
    assert entries == expected_entries(mail)[: len(entries)]
    order = "return [...document.querySelectorAll('h1, h2, h3, .w, p')].map(e => e.getBoundingClientRect().top)"
    tops = window.run(order)
    assert tops == sorted(tops)


def expected_entries(mail: Mail) -> list[str]:
    """Where the title of each paper leads."""
    assert mail.digest is not None
    return [links_of(entry.paper).page for entry in mail.digest.entries]


@pytest.mark.parametrize("name", DIGESTS)
def test_no_line_of_facts_breaks_on_a_phone(window: Browser, name: str) -> None:
    window.show(DIGESTS[name]().html, PHONES[0], "light")
    for width in PHONES:
        window.resize(width, "light")
        assert layout.broken(window) == [], f"at {width} px"


@pytest.mark.parametrize("name", ["web", "web-heaviest"])
def test_no_link_is_close_to_a_vote(window: Browser, name: str) -> None:
    """A thumb is wide, and a vote for the opposite is soon given."""
    window.show(MAILS[name]().html, WIDTHS[0], "light")
    for width in WIDTHS:
        window.resize(width, "light")
        assert layout.close_votes(window) == [], f"at {width} px"


@pytest.mark.parametrize("name", DIGESTS)
def test_no_short_word_ends_a_paragraph_alone_on_a_phone(window: Browser, name: str) -> None:
    """Also where a mail program knows no `text-wrap`."""
    html = DIGESTS[name]().html
    assert "text-wrap:pretty" in html
    window.show(html.replace("text-wrap:", "unknown:"), PHONES[0], "light")
    for width in PHONES:
        window.resize(width, "light")
        assert layout.orphans(window) == [], f"at {width} px"


@pytest.mark.parametrize("name", MAILS)
def test_screen_reader_gets_names_and_roles(name: str) -> None:
    """What axe lets pass: layout tables that say so, tables of figures with headings, one h1, and the mail's title."""
    page = lxml.html.document_fromstring(MAILS[name]().html)
    tables = [table for table in page.iter("table") if table.get("role") != "presentation"]
    assert all(table.xpath(".//th[@scope]") for table in tables)
    assert len(page.findall(".//h1")) == 1
    assert page.findtext(".//title", "") in MAILS[name]().subject


def test_dark_scheme_differs_from_light(window: Browser) -> None:
    """The dark scheme is dark, and the light one light, in the mail and around it."""
    for scheme, dark in (("light", False), ("dark", True)):
        window.show(MAILS["digest"]().html, 800, scheme)
        papers = {paper for _, paper, _, _ in texts(window)}
        assert all((_luminance(paper) < 0.1) == dark for paper in papers), scheme
