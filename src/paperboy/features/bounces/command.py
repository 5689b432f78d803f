"""`paperboy bounce`: one returned mail, from a mail server's pipe."""

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from paperboy.console.lines import complaint
from paperboy.errors import PaperboyError
from paperboy.features.bounces.record import record
from paperboy.features.bounces.returned import MOST_BYTES
from paperboy.home import settings
from paperboy.home.home import Home, require_folder
from paperboy.service.app import App

logger = logging.getLogger(__name__)

_RETRY = 75  # EX_TEMPFAIL: the mail server keeps the mail and tries again
_SECONDS = 30  # for the whole command; an honest mail takes less than one


@click.command()
@click.pass_obj
def bounce(app: App) -> int:
    """Read a bounce, a complaint or an unsubscribe mail from standard input.

    Three bounces in a row suppress an address that does not exist. An unsubscribe mail suppresses
    its reader for its list. A complaint (ARF) suppresses at once: for the digest's list if only its
    Message-ID is known, and for all lists if the reader's own token is. Other mail is left alone.

    The exit code is 0, or 75 if the settings or the database cannot be used; the mail server then
    tries again. `paperboy manual mail` shows how to pipe mail here from Postfix and Exim.
    """
    try:
        with deadline(_SECONDS):
            mail = sys.stdin.buffer.read(MOST_BYTES)
            # Read the rest as well: a mail server may take a closed pipe for a failure.
            while sys.stdin.buffer.read(1_000_000):
                pass

            require_folder(app.path)
            # Without the lists, which are not needed here and may be broken.
            app.home = Home(app.path, settings.load(app.path, app.environ), (), app.path)
            app.set_up_log(by_hand=False)
            logger.info("%s", record(app.store_to_ask, mail, app.clock()))
    except PaperboyError as error:
        complaint(error, app.environ)
        return _RETRY
    except OSError as error:
        complaint(PaperboyError(str(error)), app.environ)
        return _RETRY
    return 0


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after this number of seconds.

    A mail that is being parsed at that time is left alone, since a retry would take as long; at
    any other step the mail server tries again.
    """

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(
            f"paperboy bounce took more than {seconds:g} seconds: its input did not end, "
            "or the database was busy; the mail server tries again"
        )

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
