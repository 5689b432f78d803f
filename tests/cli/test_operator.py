"""Alerts: each cause is mailed once a day, and once when it is resolved, over a real mail server and database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from paperboy.console.log import set_up
from paperboy.features import FEATURES
from paperboy.models import Counts, ListReport, Outcome, Shortfall
from paperboy.morning import incidents
from paperboy.morning.fetching import FetchResult
from paperboy.sending import delivery
from paperboy.service.app import App
from tests.builders import paper
from tests.cli.conftest import FRIDAY, LISTS, World, text_of
from tests.fakes import NoProgress

OPERATOR = "Olga Operator <ops@example.org>"
NOTHING_SENT = delivery.Report({})
UNSCORED = ListReport(
    "foundations",
    None,
    Counts(considered=40, carried_over=40),
    problem="the LLM answers 401: <b>the key</b> & more\r\nBcc: eve@example.org",
    shortfall=Shortfall.SERVER,
)
DIGEST = ListReport("foundations", Outcome.DIGEST, Counts(considered=40, selected=8, below=32))
LET_GO = ListReport(
    "foundations",
    Outcome.DIGEST,
    Counts(considered=40, let_go=1, below=39),
    let_go=(paper("2611.00007"),),
)
REFUSES = delivery.Report({}, "mail server m:587 refuses the login", since=FRIDAY)


@pytest.fixture
def told(world: World) -> World:
    """A home whose operator has an address."""
    world.env(llm=False, ALERT_TO=OPERATOR)
    return world


@contextmanager
def at_work(world: World) -> Iterator[App]:
    with App(
        world.path,
        world.environ,
        world.clock,
        world.waits.append,
        lambda: 0.0,
        NoProgress(),
        features=FEATURES,
    ) as app:
        assert app.store  # opened, and so made
        yield app


def note(app: App, *entries: ListReport) -> None:
    """Record what a morning with these results records."""
    now = app.clock()
    for entry in entries:
        incidents.record(app.store, entry, FetchResult(news=True), now, overdue=False)


def run(world: World, *entries: ListReport, sent: delivery.Report = NOTHING_SENT) -> str:
    """One process that notes and reports; gives what it logged."""
    world.capture.readouterr()
    with at_work(world) as app:
        set_up(app.settings.log_level, app.environ)
        note(app, *entries)
        delivery.record(app.store, sent, app.clock(), app.patience)
        if sent.problem:
            app.report()
        else:
            app.deliver_rest(lambda: False)
    return world.capture.readouterr().err


def subjects(world: World) -> list[str]:
    return [mail["Subject"] for mail in world.messages()]


ZERO = "Paperboy: Scored 0 of 40 papers: no digest for foundations"
WELL = "Paperboy: Resolved: the LLM scores"


def test_a_dead_llm_is_reported_to_the_operator_alone_with_its_words_as_text(told: World) -> None:
    assert "WARNING Scored 0 of 40 papers: no digest for foundations" in run(told, UNSCORED)
    assert told.mails() == ["ops@example.org"]
    (mail,) = told.messages()
    assert (mail["To"], mail["Subject"], mail["Bcc"]) == (OPERATOR, ZERO, None)
    plain, html = (" ".join(text_of(mail, kind).split()) for kind in ("plain", "html"))
    assert "<b>the key</b> & more Bcc: eve@example.org" in plain
    assert "&lt;b&gt;the key&lt;/b&gt; &amp; more Bcc: eve@example.org" in html
    assert "<b>" not in html


def test_cause_is_mailed_once_a_day_and_once_when_it_is_over(told: World) -> None:
    for _ in range(4):
        run(told, UNSCORED)
        told.later(minutes=15)
    assert subjects(told) == [ZERO]
    told.clock.now = FRIDAY + timedelta(days=1)
    run(told, UNSCORED)
    assert subjects(told) == [ZERO, ZERO]
    told.later(minutes=15)
    run(told, DIGEST)
    assert subjects(told) == [ZERO, ZERO, WELL]
    told.later(days=1)
    run(told, DIGEST)
    assert len(subjects(told)) == 3
    assert len({mail["Message-ID"] for mail in told.messages()}) == 3


def test_alert_day_is_that_of_the_operators_timezone(told: World) -> None:
    """Between 10:50 and 11:10 UTC a new day begins in Auckland, and none does in Berlin."""
    told.env(llm=False, ALERT_TO=OPERATOR, TIMEZONE="Pacific/Auckland")
    for minute in (0, 15, 30):
        told.clock.now = FRIDAY.replace(hour=10, minute=50) + timedelta(minutes=minute)
        run(told, UNSCORED)
    assert subjects(told) == [ZERO, ZERO]


@pytest.mark.parametrize(
    "lists", [LISTS.partition("  - name: galaxies")[0], LISTS.replace("[vera@example.org]", "[]")]
)
def test_a_list_that_is_gone_or_has_no_subscribers_delays_no_good_news(
    told: World, lists: str
) -> None:
    run(told, UNSCORED, replace(UNSCORED, list_name="galaxies"))
    told.write("subscribers.yaml", lists)
    run(told, DIGEST)
    assert subjects(told)[1:] == [WELL]


# --- when the alert cannot be sent


def test_without_alert_to_each_cause_is_logged_once_a_day(world: World) -> None:
    world.env(llm=False)
    headline = "WARNING Scored 0 of 40 papers: no digest for foundations"
    assert headline in run(world, UNSCORED)
    assert headline not in run(world, UNSCORED)
    world.later(days=1)
    assert headline in run(world, UNSCORED)
    assert "INFO Resolved: the LLM scores" in run(world, DIGEST)
    assert "Resolved" not in run(world, DIGEST)
    assert subjects(world) == []


def test_rows_that_get_no_mail_because_of_their_status_are_reported_once(told: World) -> None:
    """They did before Paperboy read this column, or would in the operator's mind."""
    told.write("subscribers.yaml", f"{LISTS}    subscribers_file: readers.csv\n")
    told.write(
        "readers.csv", "address,status\nbo@wren.edu,\nc@wren.edu,cleaned\nd@wren.edu,unsubscribed\n"
    )
    said = "no mail goes to 2 rows of readers.csv marked cleaned or unsubscribed"
    fix = "if one of them should get mail, correct its status"
    assert f"note   lists: galaxies: {said}; {fix}\n" in told.run("check", "--offline").out

    headline = "No mail goes to 2 rows of galaxies because of the status there"
    for day in range(12):
        told.clock.now = FRIDAY + timedelta(days=day)
        told.announce(day, categories=("astro-ph.GA",))
        assert (f"WARNING {headline}\n" in told.once("galaxies").err) is (day == 0)

    (mail,) = told.messages("ops@example.org")
    assert mail["Subject"] == f"Paperboy: {headline}"
    assert f"The reason: {said}." in " ".join(text_of(mail).split())
    assert {"vera@example.org", "bo@wren.edu", "ops@example.org"} == set(told.mails())


def test_without_a_mail_server_alerts_go_to_the_outbox(told: World) -> None:
    told.env(llm=False, smtp=False, ALERT_TO=OPERATOR)
    run(told, UNSCORED)
    run(told, UNSCORED)
    (mail,) = (told.path / "outbox" / "Maildir" / "new").iterdir()
    assert "Scored 0 of 40 papers" in mail.read_text("utf-8")


# --- errors while alerting break no morning


def test_broken_alert_template_is_logged(told: World) -> None:
    told.write("emails/alert.txt.j2", "{{ nonsense.at_all }}")
    log = run(told, replace(UNSCORED, list_name="galaxies"), LET_GO)
    assert log.count("ALERT_TO could not be alerted: emails/alert.txt.j2:1") == 2
    assert subjects(told) == []


def test_database_error_while_alerting_is_logged(told: World) -> None:
    with at_work(told) as app:
        other = sqlite3.connect(app.settings.paperboy_database)
        other.execute(
            "create trigger full before insert on messages begin select raise(abort, 'a bug'); end"
        )
        other.close()
    log = run(told, sent=REFUSES)
    assert "ALERT_TO could not be alerted: this is a bug in Paperboy" in log
    assert "Traceback" in log
    assert subjects(told) == []
