"""`config.edits` puts one subscriber in or out of `subscribers.yaml` and leaves every other character as it is."""

import difflib
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paperboy.errors import ConfigError
from paperboy.home import edits, lists, values
from paperboy.home.home import Home
from paperboy.home.settings import Settings
from paperboy.models import MailingList, Subscriber

ZOE = values.mailbox("Zoë <zoe@b.org>")


def lists_of(text: str) -> tuple[MailingList, ...]:
    return lists.parse(text, [], Settings())


def a_list(*lines: str) -> str:
    """A sound list on lines 1 to 4, and the given lines from line 5."""
    return "\n".join(
        ["lists:", "  - name: a", "    categories: [cs.LG]", "    topics: x", *lines, ""]
    )


def subscribed(text: str, name: str = "a", who: Subscriber = ZOE) -> tuple[str, int]:
    """The text with one more subscriber, and the line."""
    with TemporaryDirectory() as folder:
        home = home_with(folder, text)
        place = edits.subscribe(home, home.list(name), who)
        return (home.path / "subscribers.yaml").read_bytes().decode(), line_of(place)


def unsubscribed(text: str, name: str = "a", address: str = ZOE.address) -> tuple[str, int]:
    """The text with one less subscriber, and the line in the old text."""
    with TemporaryDirectory() as folder:
        home = home_with(folder, text)
        who = next(
            subscriber
            for subscriber in home.list(name).subscribers
            if subscriber.address == address
        )
        place = edits.unsubscribe(home, home.list(name), who)
        return (home.path / "subscribers.yaml").read_bytes().decode(), line_of(place)


def line_of(place: str) -> int:
    name, _, line = place.partition(":")
    assert name == "subscribers.yaml"
    return int(line)


def home_with(folder: str, text: str) -> Home:
    path = Path(folder)
    (path / "subscribers.yaml").write_bytes(text.encode())
    return Home(path, Settings(), lists_of(text), path)


LINES = ["    subscribers:", "      - ada@b.org"]
SHAPES = {
    "lines": (LINES, [*LINES, "      - Zoë <zoe@b.org>"]),
    "lines in the column of their key": (
        ["    subscribers:", "    - ada@b.org", "    weekdays: [mon]"],
        ["    subscribers:", "    - ada@b.org", "    - Zoë <zoe@b.org>", "    weekdays: [mon]"],
    ),
    "a wide gap": (
        ["    subscribers:", "        -   ada@b.org"],
        ["    subscribers:", "        -   ada@b.org", "        -   Zoë <zoe@b.org>"],
    ),
    "comments": (
        [
            "    subscribers:  # us",
            "      # who began",
            "      - 'ada@b.org'  # - x, [y]",
            "",
            "    # the end",
        ],
        [
            *("    subscribers:  # us", "      # who began", "      - 'ada@b.org'  # - x, [y]"),
            *("      - Zoë <zoe@b.org>", "", "    # the end"),
        ],
    ),
    "the address in a comment first": (
        ["    # ada@b.org asked for this", *LINES],
        ["    # ada@b.org asked for this", *LINES, "      - Zoë <zoe@b.org>"],
    ),
    "an anchor": (
        ["    subscribers: &us", "      - ada@b.org"],
        ["    subscribers: &us", "      - ada@b.org", "      - Zoë <zoe@b.org>"],
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
    "quotes in brackets": (
        ['    "subscribers": ["ada@b.org"]'],
        ['    "subscribers": ["ada@b.org", Zoë <zoe@b.org>]'],
    ),
    "empty brackets": (["    subscribers: []"], ["    subscribers: [Zoë <zoe@b.org>]"]),
    "nothing after the key": (
        ["    subscribers:  # nobody yet", "      # - ada@b.org", "    weekdays: [mon]"],
        [
            *("    subscribers:  # nobody yet", "      - Zoë <zoe@b.org>", "      # - ada@b.org"),
            "    weekdays: [mon]",
        ],
    ),
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("shape", SHAPES)
def test_new_subscriber_comes_last_and_leaves_no_trace(shape: str, end: str) -> None:
    before, after = (a_list(*lines).replace("\n", end) for lines in SHAPES[shape])
    made, line = subscribed(before)
    assert made == after
    assert "zoe@b.org" in after.split(end)[line - 1]
    assert lists_of(made)[0].subscribers[-1] == Subscriber("zoe@b.org", "Zoë")
    if shape != "a comma at the end":  # the space after it stays
        assert unsubscribed(made) == (before, line)


def test_file_without_a_line_end_stays_without_one() -> None:
    before = a_list(*LINES).rstrip("\n")
    assert subscribed(before)[0] == f"{before}\n      - Zoë <zoe@b.org>"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (
            ["subscribers:", "  - x@b.org  # x", "  # y is", "  - y@b.org"],
            ["subscribers:", "  # y is", "  - y@b.org"],
        ),
        (["subscribers: # us", "  - x@b.org"], ["subscribers: # us"]),
        (["subscribers: [x@b.org]"], ["subscribers: []"]),
        (["subscribers: [x@b.org, y@b.org]"], ["subscribers: [y@b.org]"]),
        (["subscribers: [w@b.org, 'x@b.org', y@b.org]"], ["subscribers: [w@b.org, y@b.org]"]),
        (["subscribers: [w@b.org,x@b.org]"], ["subscribers: [w@b.org]"]),
        (["subscribers: [w@b.org, xx@b.org, X <X@b.org>]"], ["subscribers: [w@b.org, xx@b.org]"]),
    ],
)
def test_leaving_subscriber_takes_the_line_or_a_comma_along(
    lines: list[str], left: list[str]
) -> None:
    indented, expected = (["    " + line for line in part] for part in (lines, left))
    text = a_list(*indented)
    leaving = next(
        who.address for who in lists_of(text)[0].subscribers if who.address.lower() == "x@b.org"
    )
    assert unsubscribed(text, address=leaving)[0] == a_list(*expected)


ANCHOR = (
    "lists:\n  - name: b\n    categories: [cs.LG]\n    topics: x\n"
    "    subscribers: &us [zoe@b.org, &ada ada@b.org]\n"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (a_list("    subscribers:", "      - Zoë", "          <zoe@b.org>"), 2),
        (a_list("    subscribers:", "      -", "        zoe@b.org"), 2),
        (f"{ANCHOR}  - name: a\n    categories: [cs.LG]\n    topics: x\n    subscribers: *us\n", 6),
        (
            f"{ANCHOR}  - name: a\n    categories: [cs.LG]\n    topics: x\n    subscribers: [zoe@b.org, *ada]\n",
            6,
        ),
    ],
)
def test_other_shapes_are_left_to_a_person(text: str, line: int) -> None:
    asked = [lambda: subscribed(text, who=values.mailbox("new@b.org"))]
    if "*ada" not in text:
        asked.append(lambda: unsubscribed(text))
    for edit in asked:
        with pytest.raises(
            ConfigError, match=rf"^subscribers.yaml:{line}: .*; edit the file by hand, then run"
        ):
            edit()


def test_list_without_the_key_is_left_to_a_person() -> None:
    with pytest.raises(ConfigError, match=r"^subscribers.yaml:2: "):
        subscribed(a_list())


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
        ("*ada@b.org", "'*ada@b.org'"),
        ("'ada'@example.org", "'''ada''@example.org'"),
        (r'"a \"b\"" <ada@b.org>', r"""'"a \"b\"" <ada@b.org>'"""),
    ],
)
def test_name_that_yaml_would_misread_is_quoted(text: str, written: str) -> None:
    mailbox = values.mailbox(text)
    for before in (
        a_list("    subscribers:", "      - bo@b.org"),
        a_list("    subscribers: [bo@b.org]"),
    ):
        made, _ = subscribed(before, who=mailbox)
        assert written in made
        assert lists_of(made)[0].subscribers[1] == mailbox


# --- files of all shapes

KINDS = ["{}", "Ada <{}>", "'{}'", '"Ada L <{}>"']
COMMENTS = st.sampled_from(["", "", "  # one of us", " # - x@example.org, [y] 'z\" {: &a *b"])
OWN_LINES = st.lists(
    st.sampled_from(["", "# of its own", "      # - gone@example.org", "  #, ] }"]), max_size=2
)
Written = tuple[str, dict[str, list[str]]]  # a file, and the addresses on each of its lists


@st.composite
def a_key(draw: st.DrawFn, addresses: list[str]) -> list[str]:
    """The lines of the key `subscribers`, from the column on in which it stands."""
    note = draw(COMMENTS)
    people = [draw(st.sampled_from(KINDS)).format(address) for address in addresses]
    if not people:
        return draw(st.sampled_from([["subscribers:" + note], ["subscribers: []" + note]]))
    if draw(st.booleans()):
        comma = draw(st.sampled_from([", ", ",  ", " , "]))
        end = draw(st.sampled_from(["", ",", " , "]))
        return [f"subscribers: [{comma.join(people)}{end}]{note}"]
    dash = draw(st.sampled_from(["- ", "  - ", "     -   "]))
    lines = [line for who in people for line in [*draw(OWN_LINES), dash + who + draw(COMMENTS)]]
    return ["subscribers:" + note, *lines]


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
            draw(
                st.sampled_from(
                    [["topics: x"], ["topics: |", "   x", "   # y", ""], ["topics: x", "  y"]]
                )
            ),
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
    return [
        line
        for line in difflib.unified_diff(*pair, n=0)
        if line.startswith("-") and not line.startswith("---")
    ]


@settings(deadline=None, max_examples=40)
@given(files(), st.data())
def test_edit_changes_one_line_of_a_file_of_any_shape(
    written: Written, data: st.DataObject
) -> None:
    text, on = written
    name = data.draw(st.sampled_from(sorted(on)))
    made, _ = subscribed(text, name)
    assert (
        len(changed(text, made)) <= 1
    )  # the one before may get a comma, or a line end where the file had none
    wanted = tuple(
        replace(
            mailing_list, subscribers=(*mailing_list.subscribers, Subscriber(ZOE.address, ZOE.name))
        )
        if mailing_list.name == name
        else mailing_list
        for mailing_list in lists_of(text)
    )
    assert lists_of(made) == wanted
    for address in data.draw(st.permutations([*on[name], ZOE.address])):
        left, _ = unsubscribed(made, name, address)
        assert len(changed(made, left)) <= 2  # the one before may lose its comma
        made = left
    assert not next(
        mailing_list for mailing_list in lists_of(made) if mailing_list.name == name
    ).subscribers
