"""What is to be told where no database can be written or opened: by mail, once a day."""

from __future__ import annotations

import logging
import os
import secrets
import time
from contextlib import closing, suppress
from datetime import date, datetime

from paperboy.alerts import words
from paperboy.cli.files import Files
from paperboy.config.home import Home
from paperboy.errors import PaperboyError
from paperboy.models import DeliveryState, Subscriber

logger = logging.getLogger(__name__)

_MARK = "told"  # a file whose time is when that was last mailed; 0: not since the daemon last began


def tell(home: Home, problem: str, now: datetime) -> None:
    """Mails the operator, unless today has had it. Errors are only logged."""
    to = home.settings.alert_to
    if to is None or home.settings.uses_outbox:
        return
    mark = Files(home.path).folder / _MARK
    try:
        if not mark.exists():
            mark.touch()
            os.utime(mark, (0, 0))
        before = mark.stat().st_mtime
        if _day(before, home) == _day(now.timestamp(), home):
            return
        os.utime(mark, (now.timestamp(),) * 2)  # first, and in a way for which a full disk has room
        if not _mailed(home, problem, Subscriber(to.address, to.name), now):
            os.utime(mark, (before,) * 2)
    except (PaperboyError, OSError) as error:  # what cannot begin has a reason of its own, and that comes next
        logger.error("the operator could not be told: %s", error)  # no traceback: nothing is a bug here


def forget(home: Home) -> bool:
    """The daemon has begun. Says whether the operator knows of one that could not."""
    mark = Files(home.path).folder / _MARK
    with suppress(OSError):
        known = mark.exists() and mark.stat().st_mtime > 0
        mark.touch()  # while there is room for it
        os.utime(mark, (0, 0))
        return known
    return False


def _mailed(home: Home, problem: str, to: Subscriber, now: datetime) -> bool:
    from paperboy.app import App  # the daemon does without, as long as it lives
    from paperboy.mail.message import Composer

    try:
        app = App.of(home, {}, lambda: now, time.sleep, time.monotonic)
        composer = Composer(
            app.templates, sender=str(home.settings.mail_from or ""), reply_to="", secret=secrets.token_bytes(32)
        )
        envelope = composer.alert(words.no_start(problem), to, now)
        with closing(app.smtp()) as transport:
            receipt = transport.send(envelope)
    except PaperboyError as error:
        logger.error("the operator could not be told: %s", error)  # nothing is a bug here either
        return False
    if receipt.state is not DeliveryState.SENT:
        logger.error("the operator could not be told: %s (%s)", receipt.state, receipt.reply)
    return receipt.state is DeliveryState.SENT


def _day(seconds: float, home: Home) -> date:
    """Of the operator's."""
    return datetime.fromtimestamp(seconds, home.settings.timezone).date()
