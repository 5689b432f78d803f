"""What the operator was told: once per cause and day, and kept until somebody took it."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.models import Alert
from paperboy.store import Store
from paperboy.store.alerts import Standing

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
LATER, TOMORROW = NOW + timedelta(minutes=15), NOW + timedelta(days=1)
FRIDAY, SATURDAY = date(2026, 11, 20), date(2026, 11, 21)
FIRST = Alert("Scored 0 of 40 papers", ("What happened.", "“Ünïcode” & <b>"), ("a line",))
SECOND = Alert("Scored 0 of 55 papers", ("Again.",))
WELL = Alert("Well again", ("It scores.",))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db") as opened:
        yield opened


def only(store: Store) -> Standing:
    (standing,) = store.alerts.standing()
    return standing


def test_what_is_noted_waits_as_it_was_written(store: Store) -> None:
    store.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    assert only(store) == Standing("scoring", NOW, frozenset({"foundations"}), None, FIRST, NOW)


def test_what_was_told_waits_no_more_and_is_not_over(store: Store) -> None:
    store.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    store.alerts.told("scoring", FRIDAY)
    assert (only(store).told, only(store).waiting) == (FRIDAY, None)


def test_a_cause_waits_once_a_day(store: Store) -> None:
    store.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    store.alerts.told("scoring", FRIDAY)
    store.alerts.note("scoring", {"foundations"}, SECOND, FRIDAY, LATER)
    assert (only(store).waiting, only(store).noted) == (None, NOW)
    store.alerts.note("scoring", {"foundations"}, SECOND, SATURDAY, TOMORROW)
    assert (only(store).waiting, only(store).noted) == (SECOND, TOMORROW)
    assert (only(store).since, only(store).told) == (NOW, FRIDAY)


def test_what_nobody_took_gives_way_to_newer_words(store: Store) -> None:
    store.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    store.alerts.note("scoring", {"foundations"}, SECOND, FRIDAY, LATER)
    assert (only(store).waiting, only(store).noted, only(store).since) == (SECOND, LATER, NOW)


def test_a_cause_gathers_the_lists_that_it_troubles(store: Store) -> None:
    """Also on a day that has been told of it."""
    store.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    store.alerts.told("scoring", FRIDAY)
    store.alerts.note("scoring", {"galaxies", "foundations"}, SECOND, FRIDAY, LATER)
    assert only(store).about == {"foundations", "galaxies"}
    store.alerts.narrow("scoring", {"galaxies"})
    assert only(store).about == {"galaxies"}


def test_what_is_told_once_goes_when_it_is_told(store: Store) -> None:
    store.alerts.note("let go foundations 2611.00001", (), FIRST, FRIDAY, NOW)
    assert only(store).about == frozenset()
    store.alerts.told("let go foundations 2611.00001", FRIDAY)
    assert store.alerts.standing() == ()


def test_what_is_over_goes_and_the_good_news_waits_in_its_place(store: Store) -> None:
    for cause in ("scoring", "late", "mail"):
        store.alerts.note(cause, {"foundations"}, FIRST, FRIDAY, NOW)
    store.alerts.end(["scoring", "late"], "well again", WELL, LATER)
    mail, well = store.alerts.standing()
    assert mail.cause == "mail"
    assert well == Standing("well again", LATER, frozenset(), None, WELL, LATER)
    store.alerts.told("well again", FRIDAY)
    assert [standing.cause for standing in store.alerts.standing()] == ["mail"]


def test_what_nobody_was_told_of_ends_in_silence(store: Store) -> None:
    store.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    store.alerts.end(["scoring"], "well again", None, LATER)
    assert store.alerts.standing() == ()


def test_the_oldest_news_come_first(store: Store) -> None:
    store.alerts.note("mail", {"the mail server"}, SECOND, FRIDAY, LATER)
    store.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    assert [standing.cause for standing in store.alerts.standing()] == ["scoring", "mail"]


def test_it_outlives_the_process(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kept.db") as first:
        first.alerts.note("scoring", {"foundations"}, FIRST, FRIDAY, NOW)
    with Store.open(tmp_path / "kept.db") as second:
        assert only(second).waiting == FIRST
