"""The pace of a round: what each event of the mail server decides."""

from __future__ import annotations

import pytest

from paperboy.errors import MailServerError
from paperboy.models import Delivery, DeliveryState, MessageCopy, Receipt, Subscriber
from paperboy.sending.pace import Decision, Pace

SENT = DeliveryState.SENT
PENDING = DeliveryState.PENDING
DEFERRED = DeliveryState.DEFERRED
FAILED = DeliveryState.FAILED
AMBIGUOUS = DeliveryState.AMBIGUOUS
TAKEN = Receipt(SENT, "250 ok")
LOST = Receipt(PENDING, "connection lost")
BUSY = Receipt(DEFERRED, "421 too many messages", slow_down=True)
LATER = Receipt(DEFERRED, "450 later")
NO = Receipt(FAILED, "550 no")
OURS = Receipt(FAILED, "RCPT: 554 5.7.1 denied", unclear=True)
ADA = Delivery(
    list_name="foundations",
    copy=MessageCopy(Subscriber("ada@example.org"), "<ada>", "ada"),
    frozen_id=7,
)


def settle(
    pace: Pace, *receipts: Receipt, began: float = 0.0, now: float = 0.0, waiting: int = 999
) -> list[Decision]:
    """Settle deliveries, as `what_follows` would: lost ones are deferred."""
    states = {PENDING: DEFERRED, AMBIGUOUS: DEFERRED}
    return [
        pace.settled(
            states.get(receipt.state, receipt.state),
            receipt,
            began=began,
            now=now,
            jitter=0.5,
            waiting=waiting,
        )
        for receipt in receipts
    ]


def opened(limit: int, number: int, *, grows: bool = True) -> Pace:
    """One with so many open connections."""
    return Pace(limit=limit, grows=grows, most=number, opened=number)


@pytest.mark.parametrize("receipt", [BUSY, LOST, Receipt(AMBIGUOUS, "lost")], ids=str)
def test_each_server_error_doubles_the_pause_and_the_fifth_ends_the_round(receipt: Receipt) -> None:
    pace = Pace(limit=1)
    decisions = [
        settle(pace, receipt, began=now, now=now)[0] for now in (1.0, 101.0, 201.0, 301.0, 401.0)
    ]
    assert [decision.pause for decision in decisions] == [5, 10, 20, 40, 0]
    assert (pace.begins_at, pace.is_over, pace.transient) == (341, True, True)
    assert pace.problem == f"the mail server failed 5 times in a row: {receipt.reply}"


@pytest.mark.parametrize("receipt", [TAKEN, LATER, NO])
def test_answer_about_a_message_makes_the_next_pause_short_again(receipt: Receipt) -> None:
    pace = Pace(limit=1)
    settle(pace, BUSY, began=1, now=2)
    settle(pace, receipt, began=3, now=4)
    assert settle(pace, BUSY, began=5, now=6) == [Decision(pause=5)]


@pytest.mark.parametrize(("jitter", "seconds"), [(0.0, 3.75), (1.0, 6.25)])
def test_pause_varies_by_a_quarter(jitter: float, seconds: float) -> None:
    decision = Pace(limit=1).settled(DEFERRED, BUSY, began=0, now=1, jitter=jitter, waiting=9)
    assert decision.pause == seconds


def test_errors_of_messages_that_were_under_way_together_count_once() -> None:
    pace = opened(6, 6)
    assert settle(pace, *[LOST] * 6, began=1, now=2) == [Decision(pause=5), *[Decision()] * 5]
    assert (pace.problem, pace.begins_at) == ("", 7)
    assert [pace.must_close() for _ in range(4)] == [True, True, True, False]


def test_first_connection_goes_ahead_and_all_follow_its_first_reply() -> None:
    pace = Pace(limit=3)
    assert [pace.may_open() for _ in range(2)] == [True, False]
    settle(pace, LATER)
    assert [pace.may_open() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("taken", "waiting", "begins_at", "most"),
    [
        (9, 999, 0, 1),
        (10, 999, 0, 2),
        (30, 999, 0, 4),
        (999, 9_999, 0, 20),
        (10, 10, 0, 1),  # the one connection has enough to do with these
        (30, 21, 0, 3),
        (30, 999, 1, 1),  # the rate limit holds messages up
    ],
)
def test_each_ten_messages_taken_add_a_connection_while_all_have_ten_to_send(
    taken: int, waiting: int, begins_at: float, most: int
) -> None:
    pace = Pace(limit=20, grows=True, begins_at=begins_at)
    settle(pace, *[TAKEN] * taken, waiting=waiting)
    assert pace.most == most


@pytest.mark.parametrize(
    ("pace", "later"),
    [
        (opened(10, 7), 3),
        (opened(10, 2), 1),
        (opened(10, 1), 10),  # one alone cannot be too many, so the number may grow later
        (opened(4, 4, grows=False), 4),  # the operator's number
    ],
)
def test_complaint_halves_the_number_of_connections_for_the_rest(pace: Pace, later: int) -> None:
    assert settle(pace, BUSY, began=1, now=2) == [Decision(pause=5)]
    settle(pace, *[TAKEN] * 200, began=9, now=10)
    assert pace.most == later


PASSES = MailServerError("421 too many", temporary=True)
STAYS = MailServerError("wrong password")
LIMIT = MailServerError("quota", busy=True)


@pytest.mark.parametrize(
    ("error", "connections", "after", "decision", "problem"),
    [
        (PASSES, 1, [], Decision(), "421 too many"),  # perhaps the wrong port
        (PASSES, 1, [TAKEN], Decision(pause=5), ""),
        (PASSES, 4, [LATER], Decision(closes=True), ""),
        (STAYS, 1, [TAKEN], Decision(), "wrong password"),
        (STAYS, 4, [LATER], Decision(), "wrong password"),
        (STAYS, 4, [TAKEN], Decision(closes=True), ""),
        (LIMIT, 1, [], Decision(pause=5), ""),
    ],
)
def test_server_that_refuses_us_costs_a_connection_a_pause_or_the_round(
    error: MailServerError, connections: int, after: list[Receipt], decision: Decision, problem: str
) -> None:
    pace = opened(10, connections)
    settle(pace, *after)
    assert pace.refused(error, began=1, now=2, jitter=0.5, others=connections - 1) == decision
    assert (pace.problem, pace.is_over, pace.transient) == (
        problem,
        bool(problem),
        bool(problem) and error.temporary,
    )


def test_connection_that_was_closed_is_not_opened_again() -> None:
    pace = opened(4, 4, grows=False)
    pace.refused(PASSES, began=1, now=2, jitter=0.5, others=3)
    settle(pace, TAKEN, began=1, now=3)
    assert (pace.opened, pace.may_open()) == (3, False)


def test_last_connection_of_several_is_not_one_too_many() -> None:
    pace = opened(4, 4, grows=False)
    settle(pace, TAKEN)
    assert pace.refused(PASSES, began=1, now=2, jitter=0.5, others=0) == Decision(pause=5)


def test_held_refusals_are_released_once_when_another_recipient_is_accepted() -> None:
    pace = Pace(limit=1)
    assert pace.withholds(ADA, OURS)
    assert not pace.withholds(ADA, TAKEN)
    assert (pace.released(), pace.released()) == ([(ADA, OURS)], [])


@pytest.mark.parametrize(
    ("held", "reached", "own", "turned_away"),
    [
        (0, set(), [], False),
        (1, set(), [], True),
        (2, {7}, [OURS] * 2, False),  # others got the digest before
        (3, {7}, [], True),  # too many for that
    ],
)
def test_held_refusals_are_about_us_if_nobody_is_accepted(
    held: int, reached: set[int], own: list[Receipt], turned_away: bool
) -> None:
    pace = Pace(limit=1)
    assert all(pace.withholds(ADA, OURS) for _ in range(held))
    assert pace.is_over == (held == 3)
    assert [receipt for _, receipt in pace.conclude(reached)] == own
    assert (pace.turned_away, "RCPT: 554 5.7.1 denied. It seems" in pace.problem) == (
        turned_away,
        turned_away,
    )


@pytest.mark.parametrize(
    ("receipts", "problem"),
    [
        ([BUSY], "the mail server accepts nothing: 421 too many messages"),
        ([NO, BUSY], ""),
        ([TAKEN, BUSY], ""),
    ],
)
def test_round_that_ends_in_errors_alone_has_a_problem(
    receipts: list[Receipt], problem: str
) -> None:
    pace = Pace(limit=1)
    settle(pace, *receipts, began=1, now=2)
    assert pace.conclude(set()) == []
    assert (pace.problem, pace.transient) == (problem, bool(problem))


def test_error_that_met_only_mail_beside_digests_is_no_problem() -> None:
    """A greylist that defers the digests before it says nothing of the server either."""
    pace = Pace(limit=1)
    settle(pace, LOST, LATER, began=1, now=2)
    pace.settled(DEFERRED, LOST, began=3, now=4, jitter=0.5, waiting=0, is_digest=False)
    assert (pace.conclude(()), pace.problem) == ([], "")
