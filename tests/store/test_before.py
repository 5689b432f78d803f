"""A home of the version before goes on: its database is migrated, nobody's paper repeats, what waited is sent."""

from __future__ import annotations

import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy import announcements, sample
from paperboy.cli.main import invoke
from paperboy.errors import StoreError
from paperboy.models import Became, DeliveryState, Paper, Score
from paperboy.store import Store
from tests.fakes import Clock
from tests.servers.arxiv_api import ArxivServer
from tests.servers.smtp import Message, SmtpServer
from tests.store.ledger import waiting

DUMP = Path(__file__).with_name("before.sql")
LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG, stat.ML]
    topics: why training works
    authors: [Noémie Okonkwo-Lindahl]
    min_relevance: 1
    subscribers: [ada@example.org, Renée Amsel <renee@example.org>, jun@example.org]
  - name: galaxies
    categories: [astro-ph.GA]
    topics: dwarf galaxies
    min_relevance: 1
    subscribers: [ada@example.org, oscar@example.org]
"""
FRIDAY = datetime(2026, 11, 20, 9, tzinfo=UTC)  # two hours after the last morning of the version before
IN_MAILS = re.compile(rb"arXiv:(\d{4}\.\d{5})")


def before(path: Path) -> Path:
    """The database of the version before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.executescript(DUMP.read_text("utf-8"))
    connection.close()
    return path


def papers_of(now: datetime, numbers: set[int]) -> list[Paper]:
    batch = announcements.newest_batch(now)
    everything = sample.papers(batch.submitted_from, batch.submitted_until)
    return [paper for number, paper in enumerate(everything) if number in numbers]


def ids(message: Message) -> set[str]:
    return {found.decode() for found in IN_MAILS.findall(message.content)}


def test_home_of_the_version_before_goes_on(tmp_path: Path) -> None:
    """The same Friday the list that waited gets its digest, and a recipient what waited; Monday brings what is new."""
    database, clock = before(tmp_path / "data" / "paperboy.db"), Clock(FRIDAY)
    (tmp_path / "subscribers.yaml").write_text(LISTS, "utf-8")
    with ArxivServer() as arxiv, SmtpServer() as smtp:
        (tmp_path / ".env").write_text(
            f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\nSMTP_HOST=127.0.0.1\nSMTP_PORT={smtp.port}\n"
            "SMTP_SECURITY=none\nMAIL_FROM=papers@example.org\n"
        )

        def once() -> list[Message]:
            already = len(smtp.messages)
            assert invoke(["--home", str(tmp_path), "once"], {}, clock, lambda _seconds: None, lambda: 0.0) == 0
            return smtp.messages[already:]

        arxiv.papers.extend(papers_of(FRIDAY - timedelta(days=1), {0, 1, 2, 3, 40, 41, 42, 50, 51, 52}))
        arxiv.papers.extend(papers_of(FRIDAY, {4, 5, 6, 7, 43, 44, 45, 53, 54, 55}))
        friday = once()
        assert {message.recipient for message in friday} == {"ada@example.org", "renee@example.org"}
        galaxies, waited = sorted(friday, key=lambda message: message.recipient)
        assert ids(galaxies) == {"2611.90054", "2611.90056"}  # which nobody had scored
        assert b"<20261120.foundations.9ee74a3b1d69d63ab46f0f11@example.org>" in waited.content  # its own Message-ID
        clock.now = FRIDAY + timedelta(days=3)
        new = papers_of(clock.now, {8, 9, 10, 46, 47})
        arxiv.papers.extend(new)
        monday = [message for message in once() if b"foundations" in message.content]
    assert {message.recipient for message in monday} == {"ada@example.org", "renee@example.org", "jun@example.org"}
    assert all(ids(message) <= {paper.arxiv_id for paper in new} for message in monday)
    with Store.open(database) as store:
        assert store.deliveries.unfinished() == 0


def test_nothing_that_counts_is_lost_by_the_migration(tmp_path: Path) -> None:
    with Store.open(before(tmp_path / "paperboy.db")) as store:
        assert store.scores.kept("galaxies", "1eb4ee89194e88bd", "gpt-6-luna", ["2611.90041"], FRIDAY) == {
            "2611.90041": Score(9, 8, "It matters.")
        }
        assert round(store.scores.spent_since(datetime(2026, 11, 19, tzinfo=UTC)), 6) == 0.008711
        assert store.history.days(["galaxies"])["galaxies"][0].counts.filtered == 0
        attempt = store.days.attempts()["galaxies"]
        assert attempt.reason.startswith("scored 0 of 2: the LLM at ")
        assert attempt.at == attempt.since == attempt.next_try == FRIDAY - timedelta(hours=2)
        assert store.days.started("foundations", timedelta(days=30)) >= {"cs.LG", "cross-list stat.ML"}
        (left,) = waiting(store, FRIDAY)
        assert (left.addressed.subscriber.name, left.state) == ("Renée Amsel", DeliveryState.DEFERRED)
        assert store.days.composed_by_id(left.digest_id).message.startswith(b"From: ")
        assert store.history.life("foundations", "2611.90052").became is Became.AUTHOR_MATCH


@pytest.mark.parametrize(
    "query",
    [
        "select list, arxiv_id, became, date from seen",
        "select list, arxiv_id, relevance, novelty, comment, at from scores",
    ],
    ids=["seen", "scores"],
)
def test_rows_that_became_short_say_what_they_said(tmp_path: Path, query: str) -> None:
    path = before(tmp_path / "paperboy.db")
    with sqlite3.connect(path) as connection:
        was = sorted(connection.execute(query))
    Store.open(path).close()
    with sqlite3.connect(path) as connection:
        assert sorted(connection.execute(query)) == was
    connection.close()
    assert was


def layout(path: Path) -> dict[str, object]:
    """Tables with their columns, and indexes as they were made."""
    with sqlite3.connect(path) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        made: dict[str, object] = {
            name: sorted(connection.execute('select name, type, "notnull", pk from pragma_table_info(?)', [name]))
            for name in tables
        }
        made |= dict(connection.execute("select name, sql from sqlite_master where type = 'index' and sql is not null"))
        made["references"] = connection.execute("pragma foreign_key_list(deliveries)").fetchall()
    connection.close()
    return made


def test_migrated_database_is_laid_out_as_a_new_one(tmp_path: Path) -> None:
    old, new = before(tmp_path / "old.db"), tmp_path / "new.db"
    for path in (old, new):
        Store.open(path).close()
    assert layout(old) == layout(new)


def test_database_of_an_older_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = before(tmp_path / "paperboy.db")
    with sqlite3.connect(path) as connection:
        connection.execute("delete from _sqlite_migrations where name = 'm008_when_a_trouble_began'")
    connection.close()
    was = path.read_bytes()
    with pytest.raises(StoreError, match="too old to migrate; open it once with the version before this one"):
        Store.open(path)
    assert path.read_bytes() == was


@pytest.mark.parametrize("since", ["m008_when_a_trouble_began", "m009_the_second_house"])
@pytest.mark.parametrize("published", ["2031-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00"])
def test_home_with_a_paper_from_the_future_detects_a_late_batch_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], since: str, published: str
) -> None:
    database, clock = before(tmp_path / "data" / "paperboy.db"), Clock(FRIDAY + timedelta(days=3))
    if since.startswith("m009"):
        Store.open(database).close()
    with sqlite3.connect(database) as connection:
        connection.execute("delete from _sqlite_migrations where name > ?", [since])
        sound = connection.execute("select count(*) from papers").fetchone()
        connection.execute(
            "insert into papers select '2611.99999', version, title, authors, abstract, primary_category, categories, "
            "?, updated, comment, doi, fetched_at from papers limit 1",
            [published],
        )
        connection.execute("insert into paper_categories values ('cs.LG', '2611.99999')")
    connection.close()
    (tmp_path / "subscribers.yaml").write_text(LISTS, "utf-8")
    with ArxivServer(papers_of(FRIDAY, {4, 5})) as arxiv:
        (tmp_path / ".env").write_text(f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\n")
        assert invoke(["--home", str(tmp_path), "once"], {}, clock, lambda _seconds: None, lambda: 0.0) == 1
    ran = capsys.readouterr()
    assert "foundations: still due\n" in ran.out
    assert "arXiv's batch of Sunday 22 November was due at 05:15 UTC and has not arrived yet" in ran.err
    with sqlite3.connect(database) as connection:
        assert connection.execute("select count(*) from papers").fetchone() == sound
        assert connection.execute("select * from paper_categories where arxiv_id = '2611.99999'").fetchall() == []
    connection.close()
    with Store.open(database) as store:
        store.deliveries.postpone(clock() + timedelta(days=2), clock() + timedelta(days=1))  # by a clock that was ahead
        assert store.settle_clock(clock())
