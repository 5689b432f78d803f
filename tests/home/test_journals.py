"""`journals` of `subscribers.yaml`: feeds by name, which lists take as categories. A URL may hold a key."""

from pathlib import Path

import pytest

from paperboy.errors import ConfigError
from paperboy.home import edits, lists, values
from paperboy.home.home import Home
from paperboy.home.lists import journals
from paperboy.home.settings import Settings
from paperboy.models import MailingList

URL = "https://tea.example/rss?token=S3cretKey"
JOURNALS = f"""\
journals:
  Tea: {URL}
  Phys. Rev. D: http://feeds.rain.example/prd.xml
"""
FEEDS = (("journal/Tea", URL), ("journal/Phys. Rev. D", "http://feeds.rain.example/prd.xml"))


def a_list(categories: str = "journal/Tea", *lines: str) -> str:
    """A list in four lines, of which the third has the categories from column 17 on, and more lines."""
    head = ["lists:", "  - name: tea", f"    categories: [{categories}]", "    topics: Tea"]
    return "\n".join([*head, *(f"    {line}" for line in lines), ""])


def read(text: str) -> MailingList:
    (only,) = lists.parse(text, [], Settings())
    return only


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        lists.parse(text, [], Settings())
    found = [str(problem).removeprefix("subscribers.yaml:") for problem in caught.value.problems]
    assert "S3cret" not in f"{caught.value!r} {caught.value} {found}"
    return found


@pytest.mark.parametrize("text", [JOURNALS + a_list(), a_list() + JOURNALS])
def test_journals_stand_before_or_after_the_lists(text: str) -> None:
    made = read(text)
    assert (made.categories, made.journals) == (("journal/Tea",), FEEDS[:1])


@pytest.mark.parametrize(
    "written",
    [
        "journal/Tea, journal/Phys. Rev. D",
        "JOURNAL/TEA, Journal/phys. rev. d",
        "journal / tea, journal/ Phys. Rev. D, journal/TEA",
    ],
)
def test_name_is_read_in_any_case(written: str) -> None:
    made = read(JOURNALS + a_list(f"cs.LG, {written}"))
    assert made.categories == ("cs.LG", "journal/Tea", "journal/Phys. Rev. D")
    assert made.journals == FEEDS


def test_list_has_the_urls_of_its_own_journals_alone() -> None:
    made = read(JOURNALS + a_list("journal/Tea", "exclude: [journal/phys. rev. d, math.AG]"))
    assert made.exclude == ("journal/Phys. Rev. D", "math.AG")
    assert made.journals == FEEDS[:1], "what is excluded need not be read"


def test_list_without_journals_is_as_if_there_were_none() -> None:
    assert read(JOURNALS + a_list("cs.LG")) == read(a_list("cs.LG"))


def test_aliases_and_names_of_any_letters() -> None:
    text = """\
journals:
  Übergänge/Теория: &url https://a.example/feed?limit=100#now
  "Nature: News": *url
lists:
  - name: tea
    categories: &all [journal/ÜBERGÄNGE/теория, "journal/nature: news"]
    topics: Tea
  - name: rain
    categories: *all
    topics: Rain
"""
    for made in lists.parse(text, [], Settings()):
        assert made.categories == ("journal/Übergänge/Теория", "journal/Nature: News")
        assert [url for _, url in made.journals] == ["https://a.example/feed?limit=100#now"] * 2


def test_all_journals_of_a_file_are_named(tmp_path: Path) -> None:
    for text, names in (
        (JOURNALS + a_list(), ["journal/Tea", "journal/Phys. Rev. D"]),
        (a_list("cs.LG") + "journals:\n", []),
        (a_list("cs.LG"), []),
    ):
        (tmp_path / "subscribers.yaml").write_text(text, "utf-8")
        assert journals(tmp_path / "subscribers.yaml") == names


@pytest.mark.parametrize(
    ("categories", "problem"),
    [
        (
            "journal/Tee",
            (
                "6:18: categories: `journals` has no 'Tee', did you mean 'Tea'? "
                "If not, name it there, with the URL of its feed"
            ),
        ),
        (
            "cs.LG, journal/Nature",
            "6:25: categories: `journals` has no 'Nature'; name it there, with the URL of its feed",
        ),
        (
            "journal/",
            "6:18: categories: `journals` has no ''; name it there, with the URL of its feed",
        ),
        (
            "journal",
            "6:18: categories: unknown category 'journal'; write journal/NAME, with a name of `journals`",
        ),
        ("tea", "6:18: categories: unknown category 'tea', did you mean 'journal/Tea'?"),
        (
            "journals/Tea",
            "6:18: categories: unknown source 'journals', did you mean 'journal'?",
        ),
        (
            URL,
            "6:18: categories: this is a URL; name it under `journals`, and write journal/NAME here",
        ),
        (
            "HTTPS://Tea.example/rss?token=S3cretKey",
            "6:18: categories: this is a URL; name it under `journals`, and write journal/NAME here",
        ),
        (
            "http://[S3cretKey",
            "6:18: categories: this is a URL; name it under `journals`, and write journal/NAME here",
        ),
    ],
)
def test_unknown_category_is_a_problem_with_its_place_and_fix(
    categories: str, problem: str
) -> None:
    assert problems(JOURNALS + a_list(f'"{categories}"' if "[" in categories else categories)) == [
        problem
    ]


def test_excluded_journal_is_checked_too() -> None:
    assert problems(JOURNALS + a_list("cs.LG", "exclude: [journal/Tee]")) == [
        "8:15: exclude: `journals` has no 'Tee', did you mean 'Tea'? If not, name it there, with the URL of its feed"
    ]


FULL_URL = "journals: must be a full URL, such as https://www.nature.com/nature.rss"
NAME = "journals: a name has 1 to 60 characters in one line"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("  Tea: tea.example/rss?S3cretKey", [f"2:8: {FULL_URL}"]),
        ("  Tea: ftp://tea.example/S3cretKey", [f"2:8: {FULL_URL}"]),
        ("  Tea: file:///S3cretKey", [f"2:8: {FULL_URL}"]),
        ("  Tea: https:///rss?S3cretKey", [f"2:8: {FULL_URL}"]),
        ("  Tea: 'https://[::1/S3cretKey'", [f"2:8: {FULL_URL}"]),
        ("  Tea: https://tea.example:99999/S3cretKey", [f"2:8: {FULL_URL}"]),
        ("  Tea: https://tea.example:rss/S3cretKey", [f"2:8: {FULL_URL}"]),
        ("  Tea: [https://tea.example/S3cretKey]", ["2:8: journals: must be text; put it in quotes"]),
        ("  Tea: {url: https://tea.example/S3cretKey}", ["2:8: journals: must be text; put it in quotes"]),
        (f"  {'T' * 61}: {URL}", [f"2:3: {NAME}"]),
        (f'  "": {URL}', [f"2:3: {NAME}"]),
        (f'  "a\\nb": {URL}', [f"2:3: {NAME}"]),
        (f'  "a\\u202eb": {URL}', [f"2:3: {NAME}"]),
        (f"  Tea: {URL}\n  TEA: {URL}", ["3:3: journals: there is already a 'TEA', in line 2"]),
        (f"  - Tea: {URL}", [f"2:3: journals: must have names and URLs, such as 'Nature: {FULL_URL[38:]}'"]),
        (f"  {URL}", [f"2:3: journals: must have names and URLs, such as 'Nature: {FULL_URL[38:]}'"]),
    ],
)  # fmt: skip
def test_broken_journal_is_a_problem_with_its_place(lines: str, found: list[str]) -> None:
    assert problems(f"journals:\n{lines}\n{a_list('cs.LG')}") == found


def test_longest_name_is_sound() -> None:
    name = "T" * 60
    assert read(f"journals:\n  {name}: {URL}\n{a_list(f'journal/{name}')}").journals


def test_problem_of_a_feed_does_not_hide_that_of_a_list() -> None:
    text = f"journals:\n  Tea: tea.example\n{a_list('cs.XX')}"
    first, second = problems(text)
    assert first == f"2:8: {FULL_URL}"
    assert second.startswith("5:18: categories: unknown category 'cs.XX'")


def test_mistyped_key_is_a_problem_with_a_suggestion() -> None:
    first, _ = problems(JOURNALS.replace("journals:", "journal:") + a_list())
    assert first == "1:1: unknown key 'journal', did you mean 'journals'?"


def test_url_is_in_no_repr() -> None:
    made = read(JOURNALS + a_list())
    home = Home(Path(), Settings(), (made,), Path())
    assert "S3cret" not in f"{made!r} {made} {home!r}"


def test_edits_leave_journals_alone(tmp_path: Path) -> None:
    text = f"# ours\n{JOURNALS}  # more\n{a_list('journal/Tea', 'subscribers: [ada@b.org]')}"
    path = tmp_path / "subscribers.yaml"
    path.write_text(text, "utf-8")
    home = Home(tmp_path, Settings(), (read(text),), tmp_path)
    edits.subscribe(home, home.list("tea"), values.mailbox("zoe@b.org"))
    changed = path.read_text("utf-8")
    assert changed == text.replace("[ada@b.org]", "[ada@b.org, zoe@b.org]")
    assert read(changed).journals == FEEDS[:1]
