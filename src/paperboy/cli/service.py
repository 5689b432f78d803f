"""`paperboy service`: the systemd unit for this home and this interpreter."""

from __future__ import annotations

import grp
import pwd
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from paperboy.app import App
from paperboy.config import settings
from paperboy.config.settings import SETTINGS
from paperboy.errors import ConfigError
from paperboy.mail.text import together
from paperboy.models import Problem
from paperboy.systemd import Service, unit

_PATHS = frozenset({"PAPERBOY_DATABASE", "PAPERBOY_OUTBOX"})


@click.command()
@click.pass_obj
def service(app: App) -> int:
    """Print the systemd unit for this home and this interpreter; install nothing.

    The service runs as the owner of the home. On a terminal, the commands that install it are shown as well.
    """
    service = _service(app)
    click.echo(unit(service), nl=False)
    for note in _notes(app, service):
        click.echo(note, err=True)
    if sys.stdout.isatty() and sys.stderr.isatty():
        click.echo(_install(service), err=True)
    return 0


def _service(app: App) -> Service:
    """The service, from the settings alone: lists that are broken today do not matter. Raises ConfigError."""
    home = _straight(app.path)
    if not home.is_dir():
        raise ConfigError([Problem(str(home), "there is no such folder; name it with --home or PAPERBOY_HOME")])
    of_service = {name: value for name, value in app.environ.items() if name not in _PATHS}
    found = settings.load(home, of_service)
    database = found.paperboy_database
    user, group = names_of(home.stat().st_uid, home)
    return Service(
        home=home,
        python=_straight(Path(sys.executable).parent) / Path(sys.executable).name,
        user=user,
        group=group,
        writable=[
            name
            for path in (home, database.parent, database.resolve().parent, found.paperboy_outbox)
            for name in (_straight(path), path.resolve())
        ],
    )


def _straight(path: Path) -> Path:
    """The path without `..`, which systemd refuses; links stay, since a home may be called by one on purpose."""
    return path.resolve() if ".." in path.parts else path


def names_of(number: int, home: Path) -> tuple[str, str]:
    """The names of the home's owner and of that user's own group. Raises ConfigError for a number without names."""
    try:
        user = pwd.getpwuid(number)
        return user.pw_name, grp.getgrgid(user.pw_gid).gr_name
    except KeyError as error:
        fault = f"its owner, user number {number}, has no name or group here; give the home to a user with chown -R"
        raise ConfigError([Problem(str(home), fault)]) from error


def _notes(app: App, service: Service) -> Iterator[str]:
    """What would make this service behave differently from a shell."""
    if service.user == "root":
        yield (
            f"{service.home} belongs to root, and so would the service. Better give it a user of its own, and print "
            f"this again: sudo useradd --system paperboy && sudo chown -R paperboy: {shlex.quote(str(service.home))}"
        )
    if here := [name for name in SETTINGS if app.environ.get(name, "").strip()]:
        yield f"Your environment, which the service does not have, sets {together(here)}: write what it needs into .env"
    for folder in dict.fromkeys(service.writable):
        if not folder.is_dir() and not folder.resolve().is_relative_to(service.home.resolve()):
            made = f"sudo install -d -o {service.user} -g {service.group} -m 700 {shlex.quote(str(folder))}"
            yield f"{folder} does not exist, and the service could not make it: {made}"


def _install(service: Service) -> str:
    """The commands that install the unit, by way of a file: one that fails leaves the old unit in place."""
    again = shlex.join([str(service.python), "-m", "paperboy", "--home", str(service.home), "service"])
    return f"""
To install it, and to update it later:
  {again} > paperboy.service && sudo install -m 644 paperboy.service /etc/systemd/system/
  sudo systemctl daemon-reload
  sudo systemctl enable --now paperboy      # later: sudo systemctl restart paperboy
  systemctl status paperboy"""
