"""`paperboy web` and `service`: the pages for readers, and the systemd units."""

import grp
import logging
import pwd
import shlex
import signal
import sys
from pathlib import Path

import click

from paperboy.console.lines import say
from paperboy.edges.text import together
from paperboy.errors import ConfigError
from paperboy.home.home import require_folder
from paperboy.home.settings import SETTINGS, Settings, load
from paperboy.home.values import is_loopback
from paperboy.service.app import App
from paperboy.service.systemd import unit

logger = logging.getLogger(__name__)

# Through a file, so that a failing command leaves the old unit in place.
_INSTALL = """
To install it, and to update it later:
  {again} > {name}.service && sudo install -m 644 {name}.service /etc/systemd/system/
  sudo systemctl daemon-reload
  sudo systemctl enable --now {name}      # later: sudo systemctl restart {name}
  systemctl status {name}"""
_INSTALL_AS_USER = """
To install it, and to update it later:
  mkdir -p ~/.config/systemd/user && {again} > {name}.service && mv {name}.service ~/.config/systemd/user/
  systemctl --user daemon-reload
  systemctl --user enable --now {name}    # later: systemctl --user restart {name}
  loginctl enable-linger                    # so that it runs while you are logged out
  systemctl --user status {name}"""

_COPY = (
    "sudo useradd --system paperboy && sudo mv {home} {old} && "
    "sudo install -d -m 700 -o paperboy -g paperboy {home} && "
    "sudo tar -c -C {old} . | sudo -u paperboy tar -x -C {home}"
)


@click.command()
@click.pass_obj
def web(app: App) -> None:
    """Serve the pages that the mails link to, until SIGTERM.

    WEB_URL is the address that readers use, of a proxy that speaks TLS; WEB_LISTEN is the address
    to which the proxy passes their requests. Mail goes out whether this runs or not. `paperboy
    manual web` describes the pages.
    """
    app.take_own_or_in_force()
    app.set_up_log(by_hand=False)
    _need_url(app.settings)
    try:
        from paperboy.web.server import server
        from paperboy.web.site import Site
    except ImportError as error:
        install = f"{sys.executable} -m pip install 'werkzeug>=3.1.4,<4' 'waitress>=3.0.2,<4'"
        message = f"the pages need two more packages ({error.name} is missing): {install}"
        raise ConfigError.at("paperboy web", message) from error

    host, port = app.settings.web_listen
    try:
        serving = server(Site(app), host, port)
    except OSError as error:
        message = (
            f"cannot listen on {host}:{port} ({error.strerror}); choose another address or port"
        )
        raise ConfigError.at("WEB_LISTEN", message) from error

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    logger.info("the site listens on %s:%d for %s", host, port, app.settings.web_url)
    serving.run()


def _need_url(settings: Settings) -> None:
    if not settings.web_url:
        message = "WEB_URL is empty; set it to where readers reach this machine, such as https://papers.example.org"
        raise ConfigError.at(".env", message)


@click.command()
@click.option(
    "--user", "as_user", is_flag=True, help="Print a unit for systemctl --user, without root."
)
@click.option(
    "--web", "for_web", is_flag=True, help="Print the unit of the pages for readers, paperboy-web."
)
@click.pass_obj
def service(app: App, *, as_user: bool, for_web: bool) -> None:
    """Print the systemd unit for this home and this interpreter; install nothing.

    The service runs as the owner of the home; with --user, as yourself and with less of a sandbox. With --web, it runs
    `paperboy web`, beside the daemon's service; this needs WEB_URL. On a terminal, the commands that install the unit
    are shown as well. `paperboy manual service` has the rest.

    To remove a service that was installed as the manual says, with its home and program:

    \b
    sudo systemctl disable --now paperboy; sudo systemctl disable --now paperboy-web
    sudo userdel paperboy
    sudo rm -rf /etc/systemd/system/paperboy.service /etc/systemd/system/paperboy.service.d /etc/paperboy
    sudo rm -rf /etc/systemd/system/paperboy-web.service /etc/systemd/system/paperboy-web.service.d
    sudo rm -rf /opt/paperboy /var/lib/paperboy
    """  # noqa: D301 - click reads \b as "leave these lines as they are"
    home = _straight(app.path)
    require_folder(home)
    program = Path(sys.executable)
    python = _straight(program.parent) / program.name
    settings = load(home, {})
    if for_web:
        _need_url(settings)

    user = ""
    group = ""
    if not as_user:
        user, group = names_of(home.stat().st_uid, home)

    folders = _written(settings, home, for_web=for_web)
    text = unit(
        home,
        python,
        user,
        group,
        folders if for_web else [home, *folders],
        web=for_web,
        local=is_loopback(settings.web_listen[0]),
    )
    say(*text.splitlines())

    if user == "root":
        copy = _COPY.format(home=shlex.quote(str(home)), old=shlex.quote(f"{home}.root"))
        note = f"{home} belongs to root, and so would the service; make it a copy of a user's own, and print this again"
        say(f"{note}: {copy}", err=True)

    if here := [name for name in SETTINGS if app.environ.get(name, "").strip()]:
        which = f"Your environment, which the service does not have, sets {together(here)}"
        say(f"{which}: put what the service needs into .env", err=True)

    if sys.stdout.isatty() and sys.stderr.isatty():
        again = shlex.join([str(python), "-m", "paperboy", "--home", str(home), "service"])
        again += " --user" * as_user + " --web" * for_web
        name = "paperboy-web" if for_web else "paperboy"
        install = (_INSTALL_AS_USER if as_user else _INSTALL).format(again=again, name=name)
        say(*install.split("\n"), err=True)


def _written(settings: Settings, home: Path, *, for_web: bool) -> list[Path]:
    """Return the folders in which the service writes, each as it is called and as it is."""
    database = settings.paperboy_database
    places = [database.parent, database.resolve().parent]
    if not for_web:
        places += [home, settings.paperboy_outbox]

    names = [name for path in places for name in (_straight(path), path.resolve())]
    return list(dict.fromkeys(names))


def _straight(path: Path) -> Path:
    """Return the path without `..`, which systemd refuses.

    Links stay: a home may be called by one on purpose.
    """
    return path.resolve() if ".." in path.parts else path


def names_of(number: int, home: Path) -> tuple[str, str]:
    """Return the names of a user and of their own group. Raises ConfigError if there are none."""
    try:
        user = pwd.getpwuid(number)
        return user.pw_name, grp.getgrgid(user.pw_gid).gr_name
    except KeyError as error:
        fix = f"add them, as by sudo useradd --system --uid {number} paperboy"
        fault = f"its owner, user number {number}, has no name or group here; {fix}"
        raise ConfigError.at(home, fault) from error
