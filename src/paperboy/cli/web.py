"""`paperboy web`: the readers' room."""

import logging
import signal
import sys

import click

from paperboy.errors import ConfigError
from paperboy.home.settings import Settings
from paperboy.service import output
from paperboy.service.app import App

logger = logging.getLogger(__name__)


@click.command()
@click.pass_obj
def web(app: App) -> int:
    """Serve the pages behind the links in the mails, until SIGTERM.

    WEB_URL is where readers reach them, through a proxy that speaks TLS; WEB_LISTEN is where that proxy finds this
    process. It works on its own: mails go out without it, and it sends none.
    """
    app.take_own_or_in_force()
    output.set_up(app, by_hand=False)
    need_url(app.settings)
    try:
        from paperboy.web.room import Room
        from paperboy.web.server import server
    except ImportError as error:
        install = f"{sys.executable} -m pip install 'werkzeug>=3.1.4,<4' 'waitress>=3.0.2,<4'"
        message = f"the web room needs two more packages ({error.name} is missing): {install}"
        raise ConfigError.at("paperboy web", message) from error
    host, port = app.settings.web_listen
    try:
        serving = server(Room(app), host, port)
    except OSError as error:
        message = f"{host}:{port} cannot be listened on ({error.strerror}); choose another address or port"
        raise ConfigError.at("WEB_LISTEN", message) from error

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    logger.info("the web room listens on %s:%d for %s", host, port, app.settings.web_url)
    serving.run()
    return 0


def need_url(settings: Settings) -> None:
    """Raise ConfigError where no web room is wanted."""
    if not settings.web_url:
        message = "WEB_URL is empty; set it to where readers reach this machine, such as https://papers.example.org"
        raise ConfigError.at(".env", message)
