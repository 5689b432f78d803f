"""The commands over a home whose lists take journals; its mornings are in `tests/morning/test_journals.py`."""

from __future__ import annotations

import logging

import pytest

from paperboy.models import Outcome
from tests.cli.conftest import text_of
from tests.cli.journals_world import ARXIV, BOTH, KEY, MIXED, TEA, Journals, home, path_of
from tests.mail.reading import flat
from tests.servers.arxiv_faults import redirected, unavailable
from tests.servers.journals import item, login_page, refused
from tests.web.conftest import WEB_URL, Web

__all__ = ["home"]  # a fixture

REFUSED = "127.0.0.1 answered HTTP 403 (Just a moment...); the publisher refuses programs"


def checked(home: Journals, *options: str, code: int = 0) -> list[str]:
    """Return what `check` says of journals and categories, a finding a line."""
    ran = home.world.run("check", *options)
    assert ran.code == code, ran.out
    assert KEY not in ran.out + ran.err
    heads = ("journals: ", "lists: no list", "categories: ", "authors: ")
    return [line for line in ran.out.splitlines() if line[7:].startswith(heads)]


# ---- check


def test_check_says_what_each_feed_has(home: Journals) -> None:
    home.publish("Tea", 1)
    home.publish("Tea", 2, text="", ago=3)
    home.items["Tea"].append(item("On a cup without a DOI", link="https://journal.example/0"))
    home.serve("Tea")
    home.publish("Rain", 3, text="Volume 7, Page 12")
    assert checked(home) == [
        "ok     journals: Tea: 3 papers, 1 with an abstract, 2 with a DOI, the newest of 19 Nov 2026",
        "note   journals: Tea: most entries have no abstract, so titles alone are judged: relevance will be rough",
        "ok     journals: Rain: 1 paper, 0 with an abstract, 1 with a DOI, the newest of 19 Nov 2026",
        "note   journals: Rain: most entries have no abstract, so titles alone are judged: relevance will be rough",
    ]
    assert sorted(home.server.paths) == [path_of("Rain"), path_of("Tea")]


def test_check_of_a_feed_without_entries_is_no_fault(home: Journals) -> None:
    home.write(TEA, journals=("Tea",))
    assert checked(home) == [
        "ok     journals: Tea: its feed has no paper now, which is normal for some"
    ]


@pytest.mark.quick
def test_check_says_which_feed_cannot_be_read_and_the_fix(home: Journals) -> None:
    home.publish("Tea", 1)
    home.server.faults_of[path_of("Rain")] = refused
    ok, fault = checked(home, code=1)
    assert ok.startswith("ok     journals: Tea: 1 paper")
    fix = "see whether another address serves the feed (paperboy manual journals)"
    assert fault == f"fault  journals: Rain: {REFUSED}: {fix}"
    home.server.faults_of[path_of("Rain")] = login_page
    assert "Rain: 127.0.0.1 sent a login page instead of a feed (Sign in); open the" in "".join(
        checked(home, code=1)
    )
    home.server.faults_of[path_of("Rain")] = redirected(path_of("Tea"))
    assert "Rain: 1 paper" in "".join(checked(home))


def test_check_without_network_asks_no_feed(home: Journals) -> None:
    assert checked(home, "--offline") == []
    assert home.server.requests == []


def test_check_of_a_feed_that_is_shorter_than_a_day(home: Journals) -> None:
    """It shares no entry with its last reading."""
    note = (
        "note   journals: Tea: no entry was there at its last reading; unless its address is new,"
    )
    home.write(TEA, journals=("Tea",))
    home.publish("Tea", 1)
    assert note not in "".join(checked(home)), "it was never read"
    home.once()
    home.publish("Tea", 2)
    home.world.later(days=1)
    assert note not in "".join(checked(home))
    home.items["Tea"].clear()
    home.publish("Tea", 3)
    assert note in "".join(checked(home))
    home.items["Tea"].clear()
    home.serve("Tea")
    assert note not in "".join(checked(home)), "it has none"


def test_check_names_journals_that_no_list_takes(home: Journals) -> None:
    home.write(TEA + "    exclude: [journal/snow]\n", journals=("Tea", "Rain", "Snow"))
    fix = "add that to the categories of one, or remove its feed"
    unused = f"note   lists: no list takes journal/Rain and journal/Snow; {fix}"
    assert unused in checked(home, "--offline")
    home.write(TEA, journals=("Tea",))
    assert checked(home, "--offline") == []


def test_check_says_nothing_of_journals_that_publish_rarely(home: Journals) -> None:
    """The age of the newest entry says it; and its authors have whole names as at arXiv."""
    authors = TEA.replace("    topics: what tea does\n", "    authors: [Ada Lovelace]\n")
    home.write(authors, journals=("Tea",))
    home.publish("Tea", 1)
    home.once()
    home.once(days=20)
    home.once(days=20)
    assert not [line for line in checked(home) if "categories" in line or "authors" in line]


def test_check_of_a_home_without_journals_asks_none(home: Journals) -> None:
    home.write(ARXIV)
    home.world.announce(1)
    home.world.run("check")
    assert home.server.requests == []


# ---- why


@pytest.mark.parametrize(
    "written",
    [
        "journal:10.5555/1",
        "10.5555/1",
        "doi:10.5555/1",
        "https://doi.org/10.5555/1",
        "http://dx.doi.org/10.5555/1",
    ],
)
def test_why_knows_a_paper_by_its_doi(home: Journals, written: str) -> None:
    home.publish("Tea", 1)
    home.once()
    said = home.world.run("why", written).out
    assert said.startswith("On cup 1\nhttps://doi.org/10.5555/1\njournal/Tea; ")
    assert "tea: selected, in the digest of Fri 20 Nov 2026 (1 sent)" in said
    assert "preprint" not in said


def test_why_has_the_link_of_a_paper_without_a_doi(home: Journals) -> None:
    home.items["Tea"].append(item("On a cup", link="https://journal.example/0?x=1"))
    home.serve("Tea")
    home.once("tea")
    (paper_id,) = home.sent("tea")
    said = home.world.run("why", paper_id).out
    assert home.world.run("why", "https://journal.example/0?x=1").out == said
    assert said.startswith("On a cup\nhttps://journal.example/0?x=1\n")


def test_why_of_a_journal_whose_dois_begin_as_preprints_do(home: Journals) -> None:
    """Genome Research is not bioRxiv."""
    paper_id = home.publish("Tea", 1, guid="10.1101/gr.280000.126")
    assert home.publish("Tea", 2, guid="10.1101/gad.352000.126") != paper_id
    home.once("tea")
    assert home.sent("tea") == ["journal:10.1101/gad.352000.126", "journal:10.1101/gr.280000.126"]
    said = home.world.run("why", "https://doi.org/10.1101/GR.280000.126").out
    assert "https://doi.org/10.1101/gr.280000.126\n" in said


# ---- once and status


def test_once_says_what_each_list_got(home: Journals) -> None:
    home.publish("Tea", 1)
    home.publish("Rain", 2)
    home.world.env()
    home.write(TEA, MIXED)
    home.world.announce(1)
    ran = home.world.run("once")
    assert ran.code == 0
    assert "tea: digest, 1 of 1 papers" in ran.out
    assert "both: digest, 3 of 3 papers" in ran.out
    assert "journals: 2 papers in Rain, Tea; fresh" in ran.err
    (mail,) = home.world.messages("grace@example.org")
    text = flat(text_of(mail))
    assert "preprint" not in text
    assert "https://doi.org/10.5555/1" in text_of(mail)


def test_status_has_the_reason_of_a_feed(home: Journals) -> None:
    home.publish("Tea", 1)
    home.once()
    home.world.later(days=1)
    home.server.lasting_fault = refused
    home.once()
    assert f"Tea: {REFUSED}" in flat(home.world.run("status").out)
    status = home.world.json("status")
    assert KEY not in f"{status}"
    assert f"Tea: {REFUSED}" in f"{status}"
    assert home.outcome("tea")[0] is Outcome.QUIET


@pytest.mark.quick
def test_no_command_shows_the_key_of_a_feed(
    home: Journals, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor do mails, pages, logs and the files that are written; whatever the feed's server says."""
    caplog.set_level(logging.DEBUG, "paperboy")
    home.world.env(ALERT_TO="ops@example.org", WEB_URL=WEB_URL)
    home.publish("Tea", 1)
    home.publish("Rain", 2)
    shown = ""
    commands = [
        ["check"],
        ["preview", "both"],
        ["once", "--dry-run"],
        ["once"],
        ["status"],
        ["status", "--json"],
        ["why", "10.5555/1"],
    ]

    def echoed(answer: object) -> object:
        return redirected(f"{home.server.url}{path_of('Tea')}x")(unavailable()(answer))  # type: ignore[arg-type]

    for fault in (None, refused, unavailable(), login_page, echoed):
        home.server.lasting_fault = fault  # type: ignore[assignment]
        for command in commands:
            ran = home.world.run(*command)
            shown += ran.out + ran.err
        home.world.later(days=1)
    web = Web(home.world)
    shown += web.get("/list/both/2026-11-20").text + web.get("/list/both/feed.atom").text
    shown += "".join(sent.content.decode() for sent in home.world.smtp.messages)
    shown += caplog.text
    files = [file for file in home.world.path.rglob("*") if file.is_file()]
    written = {file.name for file in files if KEY.encode() in file.read_bytes()}
    assert "On cup 1" in shown
    assert KEY not in shown
    assert written == {"subscribers.yaml"}


def test_page_of_a_list_that_takes_the_journal_no_more_calls_nothing_a_preprint(
    home: Journals,
) -> None:
    home.world.env(WEB_URL=WEB_URL)
    home.publish("Rain", 1)
    home.world.once("both")
    home.write(BOTH.replace("journal/rain, ", ""))
    page = flat(Web(home.world).get("/list/both/2026-11-20").text)
    assert "On cup 1" in page
    assert "preprint" not in page


def test_llm_is_told_that_there_is_no_abstract(home: Journals) -> None:
    home.publish("Tea", 1, text="")
    home.once("tea")
    assert "(no abstract)" in str(home.world.llm.requests)
    (mail,) = home.world.messages("grace@example.org")
    assert "title only" in flat(text_of(mail))
