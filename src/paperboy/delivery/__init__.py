"""The imperative shell, second half: from frozen digests to receipts.

    each connection, until nothing waits:
        the next delivery, oldest digest first
        gone from its list, suppressed, or three days old? that is what becomes of it
        just leaving its list? passed over: it waits, as it was, for what the next round finds
        wait for a turn     ← the rate, and pauses that grow while the server is busy
        reserve             ← its own commit, before the first word to the server
        send                ← the frozen bytes, with what makes this copy the subscriber's own
        settle              ← its own commit, after the server's last word and before the connection's next message
    a server that refuses us, not a recipient, ends the round; what waits goes on waiting
    addresses that did not exist in three digests running are suppressed

A delivery that a crash left in `sending` waits like a pending one, and goes out with the same bytes and Message-ID. The
connections work side by side; whatever touches the ledger is done by one of them at a time.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from paperboy.delivery.ports import Audience, Digests, Ledger, Membership, Parts, Suppressions, Transport
from paperboy.delivery.round import Round, what_follows
from paperboy.models import Delivery, DeliveryState
from paperboy.pace import Pace
from paperboy.privacy import masked

__all__ = [
    "Audience",
    "Digests",
    "Ledger",
    "Membership",
    "Parts",
    "Report",
    "Suppressions",
    "Transport",
    "deliver",
    "what_follows",
]

logger = logging.getLogger(__name__)

_WHY_PASSED_OVER = "not on the list now, which may be half an edit; whoever is not back a minute later gets nothing"


@dataclass(frozen=True, slots=True)
class Report:
    """How a round of sending ended, and what the operator was not told yet, of earlier rounds too. `problem`: the
    server refused us, and what waits goes on waiting.
    """

    states: Mapping[DeliveryState, int]
    problem: str = ""
    passing: bool = False  # the problem may be gone soon, without anybody's doing
    since: datetime | None = None  # nothing of what waits has left since then
    expired: tuple[Delivery, ...] = ()  # tried for three days, and given up
    suppressed: tuple[tuple[str, str], ...] = ()  # addresses that do not exist, with the server's last reply
    refused: tuple[tuple[str, str], ...] = ()  # lists whose digest nobody could get, with the server's last reply
    reached: frozenset[str] = frozenset()  # lists of which somebody got mail
    passed_over: int = 0  # deliveries that go on waiting, since who they are for may be leaving


def deliver(
    parts: Parts, audience: Audience, *, stopped: Callable[[], bool], hurried: Callable[[], bool] | None = None
) -> Report:
    """Sends what waits. `audience` is asked before each message; `stopped` ends the round between two messages, and
    `hurried`, which is the same where it is not given, breaks off what takes too long then.
    """
    now = parts.clock()
    number, since = parts.ledger.queue(now)
    if not number:
        return Report({}, expired=parts.ledger.untold(), suppressed=parts.suppressions.untold())
    begun = parts.timer()
    round_ = Round(parts, audience, stopped, hurried or stopped, now, Pace(parts.most_per_minute))
    with parts.progress.stage("Sending") as progress:
        round_.run(lambda: progress(round_.done, number))
    round_.end()
    if round_.problem:
        logger.error("%s", round_.problem)
    states: Counter[DeliveryState] = Counter()
    by_list: dict[str, list[str]] = {}
    for (name, state), count in sorted(round_.states.items()):
        states[state] += count
        by_list.setdefault(name, []).append(f"{count} {state}")
    seconds = parts.timer() - begun
    for name, counts in by_list.items():
        logger.info("%s: %s, in %.1f s", name, ", ".join(counts), seconds)
    for name, count in sorted(round_.passed_over.items()):
        logger.warning("%s: %d passed over: %s", name, count, _WHY_PASSED_OVER)
    for address, reply in parts.ledger.bounced_thrice():
        reason = "it did not exist in three digests running"
        parts.suppressions.add(address, "", f"{reason}: {reply}", parts.clock(), tell=reply)
        logger.warning("%s is suppressed: %s", masked(address), reason)
    return Report(
        states,
        round_.problem,
        round_.passing,
        since,
        parts.ledger.untold(),
        parts.suppressions.untold(),
        parts.ledger.refused_by_all(round_.failed),
        frozenset(round_.reached_now),
        round_.passed_over.total(),
    )
