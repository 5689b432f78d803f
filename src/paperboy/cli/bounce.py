"""`paperboy bounce`: what comes back by mail, from a mail server's pipe."""

import logging
import sys
from dataclasses import replace

import click

from paperboy import bounces
from paperboy.app import App
from paperboy.cli import output
from paperboy.config.home import Home
from paperboy.config.settings import Settings
from paperboy.errors import ConfigError, PaperboyError
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

    For Exim, a transport and, before the other routers, a router:

    \b
    paperboy:
      driver = pipe
      user = paperboy
      command = /opt/paperboy/bin/paperboy --home /var/lib/paperboy bounce
      log_output
    paperboy_bounces:
      driver = accept
      domains = example.org
      local_parts = papers
      transport = paperboy
    """  # noqa: D301 - click reads \b as "leave these lines as they are"
    mail = sys.stdin.buffer.read(MOST_BYTES)
    while sys.stdin.buffer.read(1_000_000):  # what is left: a server may take a closed pipe for a failure
        pass
    try:
        app.home = _home(app)
        output.set_up(app.settings.log_level, app.environ, by_hand=False)
        logger.info("%s", bounces.take(app.store_to_ask, mail, app.clock()))
    except (PaperboyError, OSError) as error:
        output.complaint(error if isinstance(error, PaperboyError) else PaperboyError(str(error)), app.environ)
        return _RETRY
    return 0


def _home(app: App) -> Home:
    """The files as they are; where they are broken, no more than the place of the database. Raises ConfigError."""
    try:
        return Home.load(app.path, app.environ, mails=False, tried=True)
    except ConfigError:
        if not app.path.is_dir():
            raise
        bare = Home(app.path, Settings(), (), app.path)
        return replace(bare, settings=Settings(paperboy_database=bare.database_in_force(app.environ)))
