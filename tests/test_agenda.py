"""What was tried and came to nothing rests; all else goes on."""

from datetime import UTC, datetime, timedelta

from paperboy.agenda import AFTER_A_FAILURE, Agenda

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
MOMENT = timedelta(seconds=1)


def test_what_was_never_tried_may_be_tried() -> None:
    assert Agenda().ready({"foundations", "the mail"}, NOW) == {"foundations", "the mail"}
    assert Agenda().ready((), NOW) == frozenset()


def test_what_is_left_after_a_try_rests_for_a_quarter_of_an_hour() -> None:
    agenda = Agenda()
    agenda.tried({"foundations"}, {"foundations"}, NOW)
    assert agenda.ready({"foundations"}, NOW + AFTER_A_FAILURE - MOMENT) == frozenset()
    assert agenda.next_try({"foundations"}) == NOW + AFTER_A_FAILURE
    assert agenda.ready({"foundations"}, NOW + AFTER_A_FAILURE) == {"foundations"}


def test_each_thing_rests_for_itself() -> None:
    """A late arXiv holds up no list whose hour comes meanwhile, and a dead mail server no list at all."""
    agenda = Agenda()
    agenda.tried({"foundations", "the mail"}, {"foundations", "the mail"}, NOW)
    waiting = {"foundations", "the mail", "galaxies"}
    assert agenda.ready(waiting, NOW + MOMENT) == {"galaxies"}
    agenda.tried(waiting, {"the mail"}, NOW + 5 * MOMENT)
    assert agenda.next_try(waiting) == NOW + 5 * MOMENT + AFTER_A_FAILURE


def test_what_came_while_others_were_tried_was_not_tried() -> None:
    agenda = Agenda()
    agenda.tried({"foundations"}, {"foundations", "galaxies"}, NOW)
    assert agenda.ready({"foundations", "galaxies"}, NOW) == {"galaxies"}


def test_what_may_never_succeed_rests_twice_as_long_each_time() -> None:
    """As an alert to an address that does not exist; up to four hours, and each alert for itself."""
    agenda, now, rests = Agenda(growing=lambda thing: thing.startswith("alert")), NOW, []
    for _ in range(6):
        agenda.tried({"alert 1", "foundations"}, {"alert 1", "foundations"}, now)
        following = agenda.next_try({"alert 1"})
        assert following is not None
        assert agenda.next_try({"foundations"}) == now + AFTER_A_FAILURE
        rests.append(following - now)
        now = following
    assert [rest // AFTER_A_FAILURE for rest in rests] == [1, 2, 4, 8, 16, 16]
    assert agenda.ready({"alert 2"}, now) == {"alert 2"}
    agenda.forget()
    assert agenda.ready({"alert 1"}, now) == {"alert 1"}


def test_what_is_done_is_forgotten() -> None:
    agenda = Agenda()
    agenda.tried({"foundations"}, {"foundations"}, NOW)
    agenda.tried({"foundations"}, (), NOW + MOMENT)
    assert agenda.next_try({"foundations"}) is None
    assert agenda.ready({"foundations"}, NOW + MOMENT) == {"foundations"}


def test_a_clock_that_was_put_back_holds_nothing_up() -> None:
    agenda = Agenda()
    agenda.tried({"foundations"}, {"foundations"}, NOW)
    assert agenda.ready({"foundations"}, NOW - timedelta(days=3)) == {"foundations"}
