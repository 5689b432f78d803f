"""Tells the operator what a morning came to, where it needs a hand: by the log, and by mail to ALERT_TO."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from paperboy import alerts, delivery
from paperboy.config.home import Home
from paperboy.errors import MailServerError, PaperboyError
from paperboy.models import Alert, DeliveryState, MorningReport, Subscriber

if TYPE_CHECKING:
    from paperboy.app import App

logger = logging.getLogger(__name__)


def note(work: App, home: Home, report: MorningReport, now: datetime) -> None:
    """Keeps what a morning's first half has to tell. Never raises."""

    def both() -> None:
        _note(work, home, report, delivery.Report({}), now)
        _end_what_is_over(work, home, report, delivery.Report({}), now)

    _safely(both)


def tell(work: App, home: Home, report: MorningReport, sent: delivery.Report, now: datetime) -> None:
    """One mail for each cause and day of the operator's zone, and one when it is well again. None through a mail server
    that has just refused us for good.

    What could not be mailed is kept, and goes out with the next run that can, dated when it was found. Never raises:
    what a morning came to does not depend on who hears of it.
    """

    def both() -> None:
        _note(work, home, report, sent, now)
        _end_what_is_over(work, home, report, sent, now)
        _post(work, home, now, by_mail=not sent.problem or sent.passing)

    _safely(both)


def post(work: App, home: Home, now: datetime) -> None:
    """Mails what waits: before a sending, for that may crash. Never raises."""
    _safely(lambda: _post(work, home, now, by_mail=True))


def _safely(work: Callable[[], None]) -> None:
    try:
        work()
    except PaperboyError as error:
        logger.error("the operator could not be told: %s", error)
    except Exception:
        logger.exception("the operator could not be told: this is a bug in Paperboy")


def _note(work: App, home: Home, report: MorningReport, sent: delivery.Report, now: datetime) -> None:
    """Brings what stands up to date with this run."""
    ledger, zone = work.store.alerts, home.settings.timezone
    patience = timedelta(hours=home.settings.give_up_after_hours)
    superseded, attempts = work.store.days.untold(), work.store.days.attempts()
    for cause in alerts.causes(report, sent, home.lists, now, patience, superseded, attempts):
        if cause.key == alerts.Kind.NOBODY and sent.problem:
            continue  # that tells it already
        alerts.note(ledger, cause, zone, now)
    if superseded:
        work.store.days.told()
    if sent.expired:
        work.store.deliveries.told()  # a kill just before repeats the note, which has the same key
    if sent.suppressed:
        work.store.suppressions.told()


def _end_what_is_over(work: App, home: Home, report: MorningReport, sent: delivery.Report, now: datetime) -> None:
    ledger, zone = work.store.alerts, home.settings.timezone
    there = {entry.name for entry in home.lists if entry.subscribers} | alerts.BESIDE_LISTS
    well = alerts.well(report, sent)
    over: list[str] = []
    ended: list[alerts.Ended] = []
    for standing in ledger.standing():
        better = standing.about & well.get(standing.cause, frozenset())
        left = (standing.about & there) - better
        if left != standing.about and left:
            ledger.narrow(standing.cause, left)
        elif left != standing.about:
            over.append(standing.cause)
            if better:
                since, untold = standing.since.astimezone(zone), alerts.untold(standing)
                ended.append(alerts.Ended(standing.cause, since, better, untold))
    if over:
        ledger.end(over, f"{alerts.WELL_AGAIN} {now.isoformat()}", alerts.well_again(ended) if ended else None, now)


def _post(work: App, home: Home, now: datetime, *, by_mail: bool) -> None:
    """Tells what waits, the oldest first, and marks each as told when somebody took it; else only the log has it."""
    to, day = home.settings.alert_to, now.astimezone(home.settings.timezone).date()
    waiting = [(each.cause, each.waiting, each.noted) for each in work.store.alerts.standing() if each.waiting]
    for cause, alert, _ in waiting:
        logger.log(logging.INFO if cause.startswith(alerts.WELL_AGAIN) else logging.WARNING, "%s", alert.headline)
    with closing(work.transports[0]) as transport:
        for cause, alert, noted in waiting if by_mail or to is None else ():
            work.store.alerts.touch(cause)  # raises where it could not be marked as told, and would be again and again
            if to is None or _mailed(work, transport, alert, Subscriber(to.address, to.name), noted):
                work.store.alerts.told(cause, day)


def _mailed(work: App, transport: delivery.Transport, alert: Alert, to: Subscriber, noted: datetime) -> bool:
    """Dated when it was found, so that every try is the same message. Raises MailServerError: no other would go."""
    try:
        receipt = transport.send(work.composer.alert(alert, to, noted))
    except MailServerError:
        raise
    except PaperboyError as error:
        logger.error("%s: the operator could not be told: %s", alert.headline, error)
        return False
    except Exception:  # those behind it go all the same
        logger.exception("%s: the operator could not be told: this is a bug in Paperboy", alert.headline)
        return False
    if receipt.state is not DeliveryState.SENT:
        logger.error("%s: the operator could not be told: %s (%s)", alert.headline, receipt.state, receipt.reply)
    return receipt.state is DeliveryState.SENT
