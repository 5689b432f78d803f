"""A subscriber comes into the text of `subscribers.yaml`, or leaves it, and nothing else in it changes."""

import difflib
import re
from dataclasses import replace
from datetime import time
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paperboy.config import list_edits, yaml_document
from paperboy.config import lists as mailing_lists
from paperboy.config import values as notation
from paperboy.config.list_edits import Edit
from paperboy.config.list_edits.adding import in_yaml
from paperboy.config.yaml_document import Fault
from paperboy.models import MailingList, Subscriber

NEW = notation.mailbox("Zoë <zoe@b.org>")


def lists_of(text: str) -> tuple[MailingList, ...]:
    """As the loader reads it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "subscribers.yaml"
        path.write_bytes(text.encode())
        return mailing_lists.load(path, prompts=[Path(folder)], send_at=time(7), timezone=ZoneInfo("UTC"))


def a_list(*lines: str) -> str:
    """A sound list on lines 1 to 4, and the given lines from line 5."""
    return "\n".join(["lists:", "  - name: a", "    categories: [cs.LG]", "    topics: x", *lines, ""])


def subscribed(text: str, name: str = "a") -> str:
    """The text with one more, which the loader reads as that and nothing else."""
    made = list_edits.subscribe(text, name, NEW)
    assert isinstance(made, Edit), made
    expected = tuple(
        replace(each, subscribers=(*each.subscribers, Subscriber(NEW.address, NEW.name))) if each.name == name else each
        for each in lists_of(text)
    )
    assert lists_of(made.text) == expected
    assert NEW.address in re.split(r"\r\n|\n|\r", made.text)[made.line - 1]
    return made.text


def unsubscribed(text: str, name: str = "a", address: str = NEW.address) -> str:
    """The text with one less, which the loader reads as that and nothing else."""
    made = list_edits.unsubscribe(text, name, address)
    assert isinstance(made, Edit), made
    before, after = lists_of(text), lists_of(made.text)
    assert after == tuple(
        replace(each, subscribers=tuple(who for who in each.subscribers if who.address != address))
        if each.name == name
        else each
        for each in before
    )
    assert after != before
    return made.text


# --- what stands in the file before, and after; from line 5 on


SHAPES = {
    "lines": (
        ["    subscribers:", "      - ada@b.org"],
        ["    subscribers:", "      - ada@b.org", "      - Zoë <zoe@b.org>"],
    ),
    "lines not indented": (
        ["    subscribers:", "    - ada@b.org", "    weekdays: [mon]"],
        ["    subscribers:", "    - ada@b.org", "    - Zoë <zoe@b.org>", "    weekdays: [mon]"],
    ),
    "a wide gap": (
        ["    subscribers:", "        -   ada@b.org"],
        ["    subscribers:", "        -   ada@b.org", "        -   Zoë <zoe@b.org>"],
    ),
    "comments": (
        ["    subscribers:  # us", "      # who began", "      - 'ada@b.org'  # - x, [y]", "", "    # the end"],
        [
            *("    subscribers:  # us", "      # who began", "      - 'ada@b.org'  # - x, [y]"),
            *("      - Zoë <zoe@b.org>", "", "    # the end"),
        ],
    ),
    "an anchor": (
        ["    subscribers: &us", "      - &ada ada@b.org"],
        ["    subscribers: &us", "      - &ada ada@b.org", "      - Zoë <zoe@b.org>"],
    ),
    "text over several lines": (
        ["    subscribers:", "      - Ada", "          Lovelace <ada@b.org>", "      - >-", "        bo@b.org"],
        [
            *("    subscribers:", "      - Ada", "          Lovelace <ada@b.org>", "      - >-"),
            *("        bo@b.org", "      - Zoë <zoe@b.org>"),
        ],
    ),
    "a dash on its own line": (
        ["    subscribers:", "      -", "        ada@b.org"],
        ["    subscribers:", "      -", "        ada@b.org", "      - Zoë <zoe@b.org>"],
    ),
    "brackets": (
        ["    subscribers: [ada@b.org, bo@b.org]  # [us, all]"],
        ["    subscribers: [ada@b.org, bo@b.org, Zoë <zoe@b.org>]  # [us, all]"],
    ),
    "brackets with space": (
        ["    subscribers: [ ada@b.org ]"],
        ["    subscribers: [ ada@b.org, Zoë <zoe@b.org> ]"],
    ),
    "a comma at the end": (
        ["    subscribers: [ada@b.org,]"],
        ["    subscribers: [ada@b.org, Zoë <zoe@b.org>,]"],
    ),
    "a comma and space at the end": (
        ["    subscribers: [ada@b.org, ]"],
        ["    subscribers: [ada@b.org, Zoë <zoe@b.org>, ]"],
    ),
    "empty brackets": (["    subscribers: []"], ["    subscribers: [Zoë <zoe@b.org>]"]),
    "empty brackets with a comment": (
        ["    subscribers: [  # nobody", "    ]"],
        ["    subscribers: [Zoë <zoe@b.org>  # nobody", "    ]"],
    ),
    "brackets over several lines": (
        ["    subscribers: [", "      ada@b.org,", "      bo@b.org,  # x", "    ]"],
        ["    subscribers: [", "      ada@b.org,", "      bo@b.org,  # x", "      Zoë <zoe@b.org>,", "    ]"],
    ),
    "brackets over several lines without a comma at the end": (
        ["    subscribers: [", "      ada@b.org,", "      bo@b.org  # x", "      # y", "    ]"],
        [
            *("    subscribers: [", "      ada@b.org,", "      bo@b.org,  # x", "      Zoë <zoe@b.org>"),
            *("      # y", "    ]"),
        ],
    ),
    "a bracket that closes behind the last": (
        ["    subscribers: [ada@b.org,", "                  bo@b.org]"],
        ["    subscribers: [ada@b.org,", "                  bo@b.org,", "                  Zoë <zoe@b.org>]"],
    ),
    "JSON": (
        ['    "subscribers": ["ada@b.org"]'],
        ['    "subscribers": ["ada@b.org", "Zoë <zoe@b.org>"]'],
    ),
    "JSON over several lines": (
        ['    subscribers: [', '      "ada@b.org",', '      "bo@b.org"', "    ]"],
        ['    subscribers: [', '      "ada@b.org",', '      "bo@b.org",', '      "Zoë <zoe@b.org>"', "    ]"],
    ),
    "quotes between brackets": (
        ["    subscribers: ['ada@b.org', 'bo@b.org']"],
        ["    subscribers: ['ada@b.org', 'bo@b.org', 'Zoë <zoe@b.org>']"],
    ),
    "quotes in lines": (
        ["    subscribers:", '      - "ada@b.org"'],
        ["    subscribers:", '      - "ada@b.org"', "      - Zoë <zoe@b.org>"],
    ),
    "tabs": (
        ["    subscribers:\t# us", "      -\tada@b.org\t# boss"],
        ["    subscribers:\t# us", "      -\tada@b.org\t# boss", "      - Zoë <zoe@b.org>"],
    ),
    "lines with several": (
        ["    subscribers: [ada@b.org,", "      bo@b.org, cy@b.org  # x", "    ]"],
        ["    subscribers: [ada@b.org,", "      bo@b.org, cy@b.org, Zoë <zoe@b.org>  # x", "    ]"],
    ),
    "commas in front": (
        ["    subscribers: [ ada@b.org", "                 , bo@b.org", "                 ]"],
        [
            *("    subscribers: [ ada@b.org", "                 , bo@b.org, Zoë <zoe@b.org>"),
            "                 ]",
        ],
    ),
    "nothing behind the key": (
        ["    subscribers:  # nobody yet", "      # - ada@b.org", "    weekdays: [mon]"],
        [
            *("    subscribers:  # nobody yet", "      - Zoë <zoe@b.org>", "      # - ada@b.org"),
            "    weekdays: [mon]",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("tail", ["", "\n", "\n  # the others\n  - {name: b, categories: [cs.CL], topics: y}\n"])
def test_somebody_comes_and_goes_and_leaves_no_trace(shape: str, line_end: str, tail: str) -> None:
    """`tail` empty: the file has no line end at its end."""
    before, after = ((a_list(*lines).removesuffix("\n") + tail).replace("\n", line_end) for lines in SHAPES[shape])
    assert subscribed(before) == after
    assert unsubscribed(after) == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            a_list("    weekdays: [mon]  # only", "", "  # b will come"),
            a_list(
                *("    weekdays: [mon]  # only", "    subscribers:", "      - Zoë <zoe@b.org>", ""),
                "  # b will come",
            ),
        ),
        (
            a_list("    weekdays:", "    - mon", "    - tue"),
            a_list("    weekdays:", "    - mon", "    - tue", "    subscribers:", "    - Zoë <zoe@b.org>"),
        ),
        (
            "lists:\n- name: a\n  categories: [cs.LG]\n  topics: |\n    x\n    # y\n\n# the end\n",
            (
                "lists:\n- name: a\n  categories: [cs.LG]\n  topics: |\n    x\n    # y\n  subscribers:\n"
                "  - Zoë <zoe@b.org>\n\n# the end\n"
            ),
        ),
        (
            "lists:\n  - &a\n    categories: [cs.LG]\n    topics: x\n      y\n    name: a",
            (
                "lists:\n  - &a\n    categories: [cs.LG]\n    topics: x\n      y\n    name: a\n    subscribers:\n"
                "      - Zoë <zoe@b.org>"
            ),
        ),
        (
            (
                "lists:\n  - name: b\n    categories: [cs.LG]\n    topics: x\n    subscribers:\n        - ada@b.org\n"
                "  - {name: c, categories: [cs.LG], topics: x}\n  - name: a\n    categories: [cs.LG]\n    topics: x\n"
            ),
            (
                "lists:\n  - name: b\n    categories: [cs.LG]\n    topics: x\n    subscribers:\n        - ada@b.org\n"
                "  - {name: c, categories: [cs.LG], topics: x}\n  - name: a\n    categories: [cs.LG]\n    topics: x\n"
                "    subscribers:\n        - Zoë <zoe@b.org>\n"
            ),
        ),
        (
            "lists: [{name: a, categories: [cs.LG], topics: x}]",
            "lists: [{name: a, categories: [cs.LG], topics: x, subscribers: [Zoë <zoe@b.org>]}]",
        ),
        (
            "lists: [{name: a, categories: [cs.LG], topics: x,  # y\n}]\n",
            "lists: [{name: a, categories: [cs.LG], topics: x, subscribers: [Zoë <zoe@b.org>]  # y\n}]\n",
        ),
        (
            "lists: [{name: a, subscribers: , categories: [cs.LG], topics: x}]",
            "lists: [{name: a, subscribers: [Zoë <zoe@b.org>] , categories: [cs.LG], topics: x}]",
        ),
        (
            '{"lists": [{"name": "a", "categories": ["cs.LG"], "topics": "x"}]}',
            '{"lists": [{"name": "a", "categories": ["cs.LG"], "topics": "x", "subscribers": ["Zoë <zoe@b.org>"]}]}',
        ),
        (
            '{"lists": [{"name": "a", "categories": ["cs.LG"], "topics": "x", "subscribers": []}]}',
            '{"lists": [{"name": "a", "categories": ["cs.LG"], "topics": "x", "subscribers": ["Zoë <zoe@b.org>"]}]}',
        ),
        (
            '{"lists": [{"name": "a", "subscribers": null, "categories": ["cs.LG"], "topics": "x"}]}',
            '{"lists": [{"name": "a", "subscribers": ["Zoë <zoe@b.org>"], "categories": ["cs.LG"], "topics": "x"}]}',
        ),
        (a_list("    subscribers: ~  # yet"), a_list("    subscribers: [Zoë <zoe@b.org>]  # yet")),
        (a_list("    'subscribers': null"), a_list("    'subscribers': [Zoë <zoe@b.org>]")),
    ],
)
def test_who_comes_first_gets_what_is_missing(before: str, after: str) -> None:
    assert subscribed(before) == after
    assert not [each for each in lists_of(unsubscribed(after)) if each.name == "a" and each.subscribers]


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (["subscribers:", "  - x@b.org  # x", "  # y is", "  - y@b.org"], ["subscribers:", "  # y is", "  - y@b.org"]),
        (["subscribers:", "  -", "    x@b.org", "  - y@b.org"], ["subscribers:", "  - y@b.org"]),
        (["subscribers:", "  - X", "    <x@b.org>", "", "  - y@b.org"], ["subscribers:", "", "  - y@b.org"]),
        (["subscribers:", "  - |", "    x@b.org", "", "  # y", "  - y@b.org"], [
            "subscribers:", "", "  # y", "  - y@b.org"]),
        (["subscribers: # us", "  - x@b.org"], ["subscribers: # us"]),
        (["subscribers: [x@b.org]"], ["subscribers: []"]),
        (["subscribers: [ x@b.org, ]"], ["subscribers: [ ]"]),
        (["subscribers: [x@b.org, y@b.org]"], ["subscribers: [y@b.org]"]),
        (["subscribers: [w@b.org, 'x@b.org', y@b.org]"], ["subscribers: [w@b.org, y@b.org]"]),
        (["subscribers: [w@b.org,x@b.org]"], ["subscribers: [w@b.org]"]),
        (["subscribers: [w@b.org, x@b.org,", "  y@b.org]"], ["subscribers: [w@b.org,", "  y@b.org]"]),
        (["subscribers: [w@b.org,", "  x@b.org, y@b.org]"], ["subscribers: [w@b.org,", "  y@b.org]"]),
        (["subscribers: [w@b.org, # w", "  x@b.org]"], ["subscribers: [w@b.org # w", "  ]"]),
        (["subscribers: [x@b.org, # x", "  y@b.org]"], ["subscribers: [ # x", "  y@b.org]"]),
        (["subscribers: [", "  w@b.org,", "  x@b.org, # x", "  y@b.org", "]"], [
            "subscribers: [", "  w@b.org,", "  y@b.org", "]"]),
        (["subscribers: [", "  w@b.org, # w", "  x@b.org # x", "  # y", "]"], [
            "subscribers: [", "  w@b.org # w", "  # y", "]"]),
        (["subscribers: [", "  x@b.org", "  , y@b.org ]"], ["subscribers: [", "  y@b.org ]"]),
        (["subscribers: [", "  w@b.org", "  , x@b.org # x", "  , y@b.org ]"], [
            "subscribers: [", "  w@b.org", "  , y@b.org ]"]),
    ],
)  # fmt: skip
def test_who_leaves_takes_a_line_along_or_a_comma(lines: list[str], left: list[str]) -> None:
    indented, expected = (["    " + line if line else line for line in each] for each in (lines, left))
    assert unsubscribed(a_list(*indented), address="x@b.org") == a_list(*expected)


@pytest.mark.parametrize(
    ("written", "address"), [("Ada@Example.org", "aDa@example.org"), ("Bo <b@bücher.org>", "b@xn--bcher-kva.org")]
)
def test_an_address_may_be_written_otherwise(written: str, address: str) -> None:
    made = list_edits.unsubscribe(a_list(f"    subscribers: [{written}]"), "a", address)
    assert made == Edit(a_list("    subscribers: []"), 5, 5)


def test_an_anchor_that_comes_twice_is_no_obstacle() -> None:
    before = a_list("    title: &x x", "    subscribers: [&x ada@b.org]")
    assert unsubscribed(subscribed(before)) == before


# --- what only a person can edit

TWO = "lists:\n  - name: b\n    categories: [cs.LG]\n    topics: x\n    subscribers: &us [zoe@b.org]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{TWO}  - name: a\n    categories: [cs.LG]\n    topics: x\n    subscribers: *us\n",
            Fault(9, 18, "the subscribers stand elsewhere, behind the alias *us"),
        ),
        (
            a_list("    ? subscribers", "    : - ada@b.org"),
            Fault(6, 7, "the subscribers begin on the line of their key"),
        ),
        (a_list("    subscribers: !!null ~"), Fault(5, 5, "the subscribers are written in an uncommon way")),
        (a_list("    subscribers: &us"), Fault(5, 5, "the subscribers are written in an uncommon way")),
        (
            "lists:\n  - <<: {name: a}\n    categories: [cs.LG]\n    topics: x\n",
            Fault(1, 1, "the list 'a' does not stand here in keys of its own"),
        ),
        (
            "lists: [{name: a, subscribers, categories: [cs.LG], topics: x}]",
            Fault(1, 19, "there is no colon behind 'subscribers'"),
        ),
        ("lists: [", Fault(1, 1, "this is no YAML; paperboy check says where")),
        ("", Fault(1, 1, "there are no lists in it")),
    ],
)
def test_what_nobody_can_be_added_to(text: str, expected: Fault) -> None:
    assert list_edits.subscribe(text, "a", NEW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "lists:\n  - &b\n    name: b\n    categories: [cs.LG]\n    topics: x\n    subscribers: [zoe@b.org]\n"
                "  - <<: *b\n    name: a\n"
            ),
            Fault(7, 5, "the subscribers of this list stand elsewhere, where << takes them from"),
        ),
        (
            a_list("    subscribers:", "      - # this is", "        # Zoë", "        zoe@b.org"),
            Fault(7, 9, "this comment stands in the middle of what has to go"),
        ),
        (a_list("    subscribers: [ada@b.org]"), Fault(5, 5, "zoe@b.org is not written here")),
        (a_list("    subscribers: [[zoe@b.org]]"), Fault(5, 5, "zoe@b.org is not written here")),
        (a_list("    subscribers: nobody"), Fault(5, 5, "the subscribers are written in an uncommon way")),
        (
            a_list("    ? subscribers", "    : - zoe@b.org"),
            Fault(6, 7, "the subscribers begin on the line of their key"),
        ),
    ],
)
def test_what_nobody_can_be_taken_from(text: str, expected: Fault) -> None:
    assert list_edits.unsubscribe(text, "a", NEW.address) == expected


# --- quotes


@pytest.mark.parametrize(
    ("quote", "text", "written"),
    [
        ('"', "ada@b.org", '"ada@b.org"'),
        ('"', '"Lovelace, Ada" <ada@b.org>', r'"\"Lovelace, Ada\" <ada@b.org>"'),
        ('"', r'"a \"b\"" <ada@b.org>', r'"\"a \\\"b\\\"\" <ada@b.org>"'),
        ("'", "O'Hara <o@b.org>", "'O''Hara <o@b.org>'"),
        ('"', "A\ufffe <a@b.org>", r'"A\U0000FFFE <a@b.org>"'),
    ],
)
def test_quotes_as_the_one_before_has_them(quote: str, text: str, written: str) -> None:
    assert in_yaml(text, quote) == written
    assert yaml_document.parse(f"[{written}]").values == [text]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Ada Lovelace <ada@b.org>", "Ada Lovelace <ada@b.org>"),
        ("Lovelace, Ada <ada@b.org>", "'\"Lovelace, Ada\" <ada@b.org>'"),
        ("N: x <ada@b.org>", "'\"N: x\" <ada@b.org>'"),
        ("Ada #1 <ada@b.org>", "'Ada #1 <ada@b.org>'"),
        ("Ada#1 <ada@b.org>", "Ada#1 <ada@b.org>"),
        ("- Ada <ada@b.org>", "'- Ada <ada@b.org>'"),
        ("[Ada] <ada@b.org>", "'\"[Ada]\" <ada@b.org>'"),
        ("{ada}@example.org", "'{ada}@example.org'"),
        ("*ada@b.org", "'*ada@b.org'"),
        ("'ada'@example.org", "'''ada''@example.org'"),
        (r'"a \"b\"" <ada@b.org>', r"""'"a \"b\"" <ada@b.org>'"""),
        ("A\ufffe ë <ada@b.org>", r'"A\U0000FFFE \U000000EB <ada@b.org>"'),
    ],
)
def test_a_name_that_yaml_would_misread_is_quoted(text: str, written: str) -> None:
    mailbox = notation.mailbox(text)
    for before in (a_list("    subscribers:", "      - bo@b.org"), a_list("    subscribers: [bo@b.org]")):
        made = list_edits.subscribe(before, "a", mailbox)
        assert isinstance(made, Edit)
        assert written in made.text
        assert lists_of(made.text)[0].subscribers[1] == Subscriber(mailbox.address, mailbox.name)
        assert list_edits.unsubscribe(made.text, "a", mailbox.address) == Edit(before, made.line, 5)


@given(st.text(min_size=1))
def test_yaml_reads_back_what_is_written(text: str) -> None:
    written = in_yaml(text)
    assert yaml_document.parse(f"- {written}\n- [{written}, x]\n").values == [text, [text, "x"]]
    assert len(written.splitlines()) == 1


# --- files of all shapes

KINDS = ["{}", "Ada <{}>", "'{}'", '"Ada L <{}>"', "'\"L, Ada: #1\" <{}>'", "!!str {}"]
COMMENTS = st.sampled_from(["", "", "  # one of us", " # - x@example.org, [y] 'z\" {: &a *b"])
OWN_LINES = st.lists(st.sampled_from(["", "# of its own", "      # - gone@example.org", "  #, ] }"]), max_size=2)
Written = tuple[str, dict[str, list[str]]]  # a file, and the addresses on each of its lists


@st.composite
def a_key(draw: st.DrawFn, addresses: list[str]) -> list[str]:
    """The lines of the key `subscribers`, from the column on in which it stands; none, if it may be left out."""
    note = draw(COMMENTS)
    people = [draw(st.sampled_from(KINDS)).format(address) for address in addresses]
    if not people:
        return draw(st.sampled_from([[], ["subscribers:" + note], ["subscribers: []" + note]]))
    style = draw(st.sampled_from(["brackets", "lines", "rows"]))
    if style == "brackets":
        comma, end = draw(st.sampled_from([", ", ",  ", " , "])), draw(st.sampled_from(["", ",", " , "]))
        return [f"subscribers: [{comma.join(people)}{end}]{note}"]
    if style == "lines":
        dash = draw(st.sampled_from(["- ", "  - ", "     -   "]))
        opening, closing, each = ["subscribers:" + note], [], [dash + who for who in people]
    else:
        indent, last = draw(st.sampled_from([" ", "  ", "     "])), draw(st.sampled_from(["", ","]))
        opening, closing = ["subscribers: [" + note], [" ]"]
        each = [f"{indent}{who}," for who in people[:-1]] + [f"{indent}{people[-1]}{last}"]
    return [*opening, *(line for one in each for line in [*draw(OWN_LINES), one + draw(COMMENTS)]), *closing]


@st.composite
def files(draw: st.DrawFn) -> Written:
    """A sound file of up to three lists, whose keys are in any order, with comments and empty lines between."""
    on = {
        f"list-{number}": [f"p{n}@example.org" for n in range(draw(st.integers(0, 4)))]
        for number in range(draw(st.integers(1, 3)))
    }
    outer = draw(st.sampled_from(["", "  "]))
    lines = [*draw(st.sampled_from([[], ["---"], ["# ours", ""]])), "lists:"]
    for name, addresses in on.items():
        keys = [
            ["categories: [cs.LG]"],
            draw(st.sampled_from([["topics: x"], ["topics: |", "   x", "   # y", ""], ["topics: x", "  y"]])),
            ["weekdays:", "- mon", "- tue"],
            draw(a_key(addresses)),
        ]
        lines += [*draw(OWN_LINES), f"{outer}- name: {name}{draw(COMMENTS)}"]
        for key in draw(st.permutations(keys)):
            lines += [f"{outer}  {line}" if line else line for line in [*key, *draw(OWN_LINES)]]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines) + draw(st.sampled_from(["", end, end + end + "# the end" + end])), on


def changed(before: str, after: str) -> list[str]:
    """The lines that are not, or not so, in the other text."""
    pair = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return [line for line in difflib.unified_diff(*pair, n=0) if line.startswith("-") and not line.startswith("---")]


def is_within(less: str, more: str) -> bool:
    """Whether nothing but insertions makes the one the other."""
    signs = iter(more)
    return all(sign in signs for sign in less)


def comments(text: str) -> list[str]:
    """Those with a line of their own."""
    return [line for line in text.splitlines() if line.lstrip().startswith("#")]


@settings(deadline=None, max_examples=60)
@given(files(), st.data())
def test_whatever_the_file_looks_like_nothing_else_changes_when_somebody_comes(
    written: Written, data: st.DataObject
) -> None:
    text, on = written
    name = data.draw(st.sampled_from(sorted(on)))
    after = subscribed(text, name)
    assert is_within(text, after)
    assert len(changed(text, after)) <= 1  # the one before may get a comma, or a line end where the file had none
    assert comments(after) == comments(text)
    if on[name]:
        assert unsubscribed(after, name) == text


@settings(deadline=None, max_examples=60)
@given(files(), st.data())
def test_whatever_the_file_looks_like_nothing_else_changes_when_somebody_leaves(
    written: Written, data: st.DataObject
) -> None:
    text, on = written
    name = data.draw(st.sampled_from(sorted(on)))
    for address in data.draw(st.permutations(on[name])):
        after = unsubscribed(text, name, address)
        assert is_within(after, text)
        assert len(changed(text, after)) <= 2  # the one before may lose its comma
        assert comments(after) == comments(text)
        text = after
