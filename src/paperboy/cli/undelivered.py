"""Who did not get their mail, and why: for `status`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from paperboy.agenda import AFTER_A_FAILURE
from paperboy.cli.answer import moment
from paperboy.cli.audience import addresses
from paperboy.mail.text import one_line
from paperboy.models import DeliveryState, MailingList
from paperboy.store.reach import WAITING, Undelivered

RESENT_FOR = timedelta(days=14)  # so long after its digest, `resend --failed` takes up what was given up
MOST = 10  # addresses that are shown, unless all are asked for
_INDENT = "    "
_WIDEST = 40  # characters of an address that the columns after it make room for

_NOT_TRIED = {
    DeliveryState.PENDING: "not tried yet",
    DeliveryState.SENDING: "under way just now; or a crash cut it off, and the next run sends it again",
    DeliveryState.AMBIGUOUS: "the connection was lost after the whole mail was handed over",
}


@dataclass(frozen=True, slots=True)
class Lack:
    """A digest that one subscriber did not get, with what is known of others like it."""

    of: Undelivered
    reason: str  # one line; empty: it was not tried, and nothing is in its way
    next_try: datetime | None  # about when; None: none is to come


def lacks(rows: Iterable[Undelivered], lists: Sequence[MailingList], now: datetime) -> tuple[Lack, ...]:
    """Those of the rows that are about somebody who is on the list now. What waits behind a delivery before which the
    mail server refused us waits for the same reason.
    """
    here = addresses(lists)
    mine = [row for row in rows if row.address.casefold() in here.get(row.list_name, ())]
    refused = [row for row in mine if row.state is DeliveryState.PENDING and row.reply]
    last = max(refused, key=lambda row: row.at, default=None)
    return tuple(_lack(row, last, now) for row in mine)


def _lack(row: Undelivered, refused: Undelivered | None, now: datetime) -> Lack:
    told = row
    if row.state is DeliveryState.PENDING and not row.reply and refused:
        told = refused
    reason = one_line(told.reply)
    if row.state not in WAITING:
        return Lack(row, reason, None)
    again = now
    if row.state is DeliveryState.DEFERRED:
        again = row.try_at or now
    elif row.state is DeliveryState.PENDING and reason:
        again = told.at + AFTER_A_FAILURE
    return Lack(row, reason, max(again, now))


def as_json(lack: Lack) -> dict[str, Any]:
    """For programs. `reply` is the last one to this address, `reason` what is in its way."""
    row = lack.of
    return {
        "list": row.list_name,
        "date": row.date.isoformat(),
        "address": row.address,
        "state": row.state.value,
        "reply": row.reply,
        "reason": lack.reason,
        "at": row.at.isoformat(),
        "next_try": lack.next_try.isoformat() if lack.next_try else None,
        "given_up": row.given_up,
    }


def lines(lacks: Sequence[Lack], now: datetime, zone: tzinfo, most: int | None = MOST) -> Iterator[str]:
    """By what became of them and why, most of one kind first; `most` addresses of all, and how many more there are."""
    groups = _groups(lacks)
    shares = _shares([len(group) for group in groups], most)
    shown = [lack for group, share in zip(groups, shares, strict=True) for lack in group[:share]]
    widths = _widths(shown)
    for group, share in zip(groups, shares, strict=True):
        if not share:
            continue
        together = len({lack.next_try for lack in group}) == 1
        yield _heading(group, _next_try(group[0], now, zone) if together else "")
        for lack in group[:share]:
            yield _line(lack, widths) + ("" if together else _next_try(lack, now, zone))
        if len(group) > share:
            yield f"{_INDENT}and {len(group) - share:,} more"
    if others := sum(len(group) for group, share in zip(groups, shares, strict=True) if not share):
        yield f"{others:,} more, for other reasons"
    if len(shown) < len(lacks):
        yield "All of them: paperboy status --undelivered"
    yield from _what_to_do(lacks, now)


def _groups(lacks: Sequence[Lack]) -> list[list[Lack]]:
    groups: dict[tuple[DeliveryState, str], list[Lack]] = {}
    for lack in lacks:
        groups.setdefault((lack.of.state, _without_address(lack)), []).append(lack)
    of_no_fault = [DeliveryState.SUPPRESSED]
    return sorted(groups.values(), key=lambda group: (group[0].of.state in of_no_fault, -len(group)))


def _without_address(lack: Lack) -> str:
    address, reason = lack.of.address, lack.reason
    if address.casefold() not in reason.casefold():
        return reason
    return re.sub(re.escape(address), "…", reason, flags=re.IGNORECASE)


def _shares(sizes: Sequence[int], most: int | None) -> list[int]:
    """How many of each group are shown: one of each, and then of the first as many as there is room for."""
    if most is None:
        return list(sizes)
    shares = [int(place < most) for place in range(len(sizes))]
    for place, size in enumerate(sizes):
        shares[place] += min(size - shares[place], most - sum(shares)) if shares[place] else 0
    return shares


def _heading(group: Sequence[Lack], next_try: str) -> str:
    state = group[0].of.state
    reason = group[0].reason if len(group) == 1 else _without_address(group[0])
    return f"{len(group):,} {state}{next_try}: {reason or _NOT_TRIED.get(state, 'no reply is known')}"


def _next_try(lack: Lack, now: datetime, zone: tzinfo) -> str:
    if lack.next_try is None:
        return ""
    return f", next try about {moment(lack.next_try, now, zone)}" if lack.next_try > now else ", to be tried now"


def _widths(shown: Sequence[Lack]) -> tuple[int, int]:
    longest = max((len(lack.of.address) for lack in shown), default=0)
    return min(longest, _WIDEST), max((len(lack.of.list_name) for lack in shown), default=0)


def _line(lack: Lack, widths: tuple[int, int]) -> str:
    row, (address, name) = lack.of, widths
    return f"{_INDENT}{one_line(row.address):{address}}  {row.list_name:{name}}  {row.date:%a %d %b}"


def _what_to_do(lacks: Sequence[Lack], now: datetime) -> Iterator[str]:
    """Of what failed, what `resend --failed` would take up."""
    gone = {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}
    since = (now - RESENT_FOR).date()
    names = dict.fromkeys(
        lack.of.list_name
        for lack in lacks
        if lack.of.state in gone and (lack.of.newest or (lack.of.given_up and lack.of.date >= since))
    )
    if names:
        commands = "; ".join(f"paperboy resend {name} --failed" for name in names)
        yield f"Once the cause, or the address, is mended: {commands}"
