"""What a daemon has to tell that cannot begin: by mail, once a day, without a database."""

from __future__ import annotations

import logging
import secrets
from contextlib import closing
from pathlib import Path

from paperboy.alerts import words
from paperboy.cli.files import Files
from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.errors import PaperboyError
from paperboy.models import DeliveryState, Subscriber

logger = logging.getLogger(__name__)


def tell(home: Home, problem: str, around: Surroundings) -> None:
    """Mails the operator, unless today has had it. Errors are only logged."""
    now, to = around.clock(), home.settings.alert_to
    day = now.astimezone(home.settings.timezone).date().isoformat()
    if to is None or home.settings.uses_outbox or _told(home) == day:
        return
    try:
        from paperboy.cli import parts  # the daemon does without, as long as it lives

        composer = parts.composer(home, parts.renderer(home), secrets.token_bytes(32))
        envelope = composer.alert(words.no_start(problem), Subscriber(to.address, to.name), now)
        with closing(parts.smtp(home)) as transport:
            receipt = transport.send(envelope)
        if receipt.state is not DeliveryState.SENT:
            logger.error("the operator could not be told: %s (%s)", receipt.state, receipt.reply)
            return
        _mark(home).write_text(day, "utf-8")
    except (PaperboyError, OSError) as error:  # what cannot begin has a reason of its own, and that comes next
        logger.error("the operator could not be told: %s", error)  # no traceback: nothing is a bug here


def forget(home: Home) -> bool:
    """The daemon has begun. Says whether the operator knows of one that could not."""
    known = bool(_told(home))
    _mark(home).unlink(missing_ok=True)
    return known


def _mark(home: Home) -> Path:
    return Files(home.path).folder / "told"


def _told(home: Home) -> str:
    """The day of the operator's on which that was last mailed."""
    try:
        return _mark(home).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
