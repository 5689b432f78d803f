"""What `layout` says of small pages whose layout is plain to see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mail import browser, layout
from tests.mail.browser import Browser

pytestmark = pytest.mark.skipif(bool(browser.missing()), reason=f"{browser.missing()}; .ci/run installs it")

PAGE = """<!doctype html><meta name="viewport" content="width=device-width"><style>
body{{margin:0;font:20px/30px "Liberation Mono",monospace}} h1,h2,h3,p{{margin:0;font:inherit;width:20ch}}
{style}</style>{body}"""
TITLE = '<h3 id="p1"><a href="https://arxiv.org/abs/2611.00001">A title</a></h3>'


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser.browser() as opened:
        yield opened


def shown(window: Browser, body: str, style: str = "", *, width: int = 800) -> Browser:
    window.show(PAGE.format(body=body, style=style), width, "light")
    return window


def test_offsets_of_a_page(window: Browser) -> None:
    shown(window, f'<h1 style="height:700px">List</h1><h2 style="height:200px">Group</h2>{TITLE}<p>Why</p>')
    assert layout.first_entry(window) == 900
    assert layout.height(window) == 960


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(f'{TITLE}<p class="f">9/8 cs.LG 2611.1</p>', [], id="one line"),
        pytest.param(
            f'{TITLE}<p class="f">9/8 cs.LG 2611.00001 PDF</p>', ["9/8 cs.LG 2611.00001 / PDF"], id="broken facts"
        ),
        pytest.param(f'{TITLE}<p class="f">x<sub>2</sub> and y<sup>3</sup> cs</p>', [], id="a script is no line"),
        pytest.param(f'{TITLE}<p class="f">9/8</p><p class="f">This says that this is all.</p>', [], id="a long note"),
        pytest.param('<h3>Numbers</h3><p class="f">Nothing of this is any fact.</p>', [], id="not of an entry"),
        pytest.param('<p>By all authors <b class="b">Score 8</b></p>', ["Score / 8"], id="a badge broken in a line"),
        pytest.param('<p hidden>By all authors <b class="b">Score 8</b></p>', [], id="a badge that nobody sees"),
        pytest.param(
            '<ul class="o"><li style="width:5ch"><a href="#p1"><b>9 / 10</b> A title</a></li></ul>',
            ["9 / / 10"],
            id="a score of the contents",
        ),
    ],
)
def test_broken_facts_badges_and_scores_are_found(window: Browser, body: str, expected: list[str]) -> None:
    assert layout.broken(shown(window, body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<h3>A title of two lines for us</h3>", []),
        ("<h3>A title of two lines it</h3>", ["A title of two lines / it"]),
        ("<h3>A title of two lines&nbsp;it</h3>", []),
        ("<h3>Short one</h3>", []),
        ('<p class="w">The reason in some 10.</p>', ["The reason in some / 10."]),
        ("<p>An abstract is full of 10.</p>", []),
        ("<h3>漢字漢字漢字漢字漢字漢</h3>", []),  # no words, no orphans
        ("<h3>A title of one-time-pad-use</h3>", []),  # nothing could keep the last piece with the one before it
    ],
)
def test_orphans_are_found(window: Browser, body: str, expected: list[str]) -> None:
    assert layout.orphans(shown(window, body)) == expected


@pytest.mark.parametrize(
    "row",
    [
        '<table class="o"><tr><td>9/8</td><td height="{}"><a href="#p{}">A title</a></td></tr></table>',
        '<ul class="o" style="padding:0"><li style="height:{}px"><a href="#p{}">A title</a></li></ul>',
    ],
)
def test_rows_of_the_contents(window: Browser, row: str) -> None:
    shown(window, row.format(44, 1) + row.format(36, 2) + TITLE, "table{border-spacing:0}td{padding:0}")
    assert layout.contents(window) == [(44, "#p1", True), (36, "#p2", False)]
    assert layout.entry_links(window) == [("p1", "https://arxiv.org/abs/2611.00001")]


def test_lines_of_abstracts_are_counted_without_the_last_ones(window: Browser) -> None:
    abstract = "<p>Twelve words of an abstract fill just three lines</p>"
    shown(window, f"{TITLE}<p class='w'>The reason is not counted.</p>{abstract}<h2>End</h2><p>{'Not this. ' * 9}</p>")
    assert layout.characters_per_line(window) == [len("Twelve words of an"), len("abstract fill just")]


@pytest.mark.parametrize(("padding", "found"), [(0, ["PromptTok | Completion"]), (8, [])])
def test_cells_that_touch_are_found(window: Browser, padding: int, found: list[str]) -> None:
    """Also where a style sheet holds them apart that a client drops."""
    cell = f'<td style="padding:0 0 0 {padding}px">'
    table = f'<table cellspacing="0"><tr>{cell}PromptTok</td>{cell}Completion</td></tr></table>'
    shown(window, table, "td{padding-left:20px !important}")
    assert layout.collisions(window) == []
    layout.without_style_sheets(window)
    assert layout.collisions(window) == found


def test_font_sizes(window: Browser) -> None:
    shown(window, '<p class="w">One</p><p class="w">Two</p>', ".w{font-size:17px}")
    assert layout.sizes(window, ".w") == {17}
