"""`paperboy bounce`: what comes back by mail, from a mail server's pipe."""

import logging
import sys

import click

from paperboy import bounces
from paperboy.app import App
from paperboy.cli import output
from paperboy.errors import PaperboyError
from paperboy.mail.returned import MOST_BYTES

logger = logging.getLogger(__name__)

_RETRY = 75  # EX_TEMPFAIL: the mail server keeps the mail and tries again


@click.command()
@click.pass_obj
def bounce(app: App) -> int:
    """Read one mail on standard input, from a mail server's pipe.

    A report that a digest could not be delivered counts as a bounce; three in a row suppress an address that does not
    exist. A complaint (ARF) suppresses at once, for all lists; an unsubscribe mail for its list. Any other mail is left
    alone. The exit code is 0, or 75 while the database cannot be used: then the server tries again.

    For Postfix, in master.cf and in a transport map (MAIL_FROM is papers@example.org):

    \b
    paperboy unix - n n - - pipe
      user=paperboy argv=/opt/paperboy/bin/paperboy --home /var/lib/paperboy bounce
    papers@example.org    paperboy:
    """  # noqa: D301 - click reads \b as "leave these lines as they are"
    mail = sys.stdin.buffer.read(MOST_BYTES)
    try:
        app.without_mail(in_force=True)
        output.set_up(app.settings.log_level, app.environ, by_hand=False)
        logger.info("%s", bounces.take(app.store, mail, app.clock()))
    except PaperboyError as error:
        output.complaint(error, app.environ)
        return _RETRY
    return 0
