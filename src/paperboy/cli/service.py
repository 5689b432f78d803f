"""`paperboy service`: the systemd unit for this home and this interpreter."""

from __future__ import annotations

import grp
import importlib.resources
import pwd
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from paperboy.cli.main import Surroundings
from paperboy.cli.words import together
from paperboy.config import settings
from paperboy.config.home import LISTS_FILE, Home
from paperboy.config.settings import SETTINGS
from paperboy.errors import ConfigError
from paperboy.models import Problem
from paperboy.systemd import HIDDEN, Service, unit

_PATHS = frozenset({"PAPERBOY_DATABASE", "PAPERBOY_OUTBOX"})


@click.command(name="service", short_help="The systemd unit for this home.")
@click.pass_obj
def command(around: Surroundings) -> int:
    """Prints the systemd unit for this home and this interpreter; nothing is installed.

    The service runs as the owner of the home. On a terminal, the commands that install it are shown as well.
    """
    seen = {name: value for name, value in around.environ.items() if name not in _PATHS}  # the service has no others
    home = _home(_straight(around.home), seen)
    service = _service(home)
    click.echo(unit(service), nl=False)
    for note in _notes(around, home, service):
        click.echo(note, err=True)
    if sys.stdout.isatty() and sys.stderr.isatty():
        click.echo(_install(service), err=True)
    return 0


def _home(path: Path, environ: Mapping[str, str]) -> Home:
    """With its settings alone: a list that is broken today has no part in the unit. Raises ConfigError."""
    if not path.is_dir():
        raise ConfigError([Problem(str(path), "there is no such folder; name it with --home or PAPERBOY_HOME")])
    return Home(path, settings.load(path, environ), ())


def _service(home: Home) -> Service:
    user, group = names_of(home.path.stat().st_uid, home.path)
    database, outbox = home.settings.paperboy_database, home.settings.paperboy_outbox
    folders = [home.path, database.parent, database.resolve().parent, outbox]
    return Service(
        home=home.path,
        python=_straight(Path(sys.executable).parent) / Path(sys.executable).name,
        user=user,
        group=group,
        writable=_by_both_names(folders),
        needed=_by_both_names([*_program(), *_inherited(home), *_linked(home.path)]),
        hidden=_by_both_names([*HIDDEN]),
    )


def _straight(path: Path) -> Path:
    """A path that systemd takes; links stay, as far as they can, since a home may be called by one on purpose."""
    return path.resolve() if ".." in path.parts else path


def _by_both_names(paths: list[Path]) -> list[Path]:
    """As they are called, and without links: either may lie where the service sees an empty folder."""
    return list(dict.fromkeys(name for path in paths for name in (_straight(path), path.resolve())))


def names_of(number: int, home: Path) -> tuple[str, str]:
    """The home's owner and that user's own group, by name. Raises ConfigError where there is none of that number."""
    try:
        user = pwd.getpwuid(number)
        return user.pw_name, grp.getgrgid(user.pw_gid).gr_name
    except KeyError as error:
        fault = f"its owner, user number {number}, has no name or group here; give the home to a user with chown -R"
        raise ConfigError([Problem(str(home), fault)]) from error


def _program() -> list[Path]:
    package = Path(str(importlib.resources.files("paperboy")))
    return [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parents[1], package.parent]


def _inherited(home: Home) -> Iterator[Path]:
    """Where the templates and prompts lie that are not the home's own: in a checkout, beside the program."""
    for kind in ("emails", "prompts"):
        yield from (folder for folder in home.folders(kind) if not folder.is_relative_to(home.path))


def _linked(home: Path) -> Iterator[Path]:
    """Where the operator's files lie that are links. The whole folder: a file that is replaced is another one."""
    for name in (".env", LISTS_FILE, "emails", "prompts"):
        entry = home / name
        if entry.is_symlink() and entry.exists():
            target = entry.resolve()
            yield target if target.is_dir() else target.parent


def _notes(around: Surroundings, home: Home, service: Service) -> Iterator[str]:
    """What would keep this service from doing what a shell does."""
    if service.user == "root":
        yield (
            f"{home.path} belongs to root, and so would the service. Better give it a user of its own, and print this "
            f"again: sudo useradd --system paperboy && sudo chown -R paperboy: {shlex.quote(str(home.path))}"
        )
    if here := [name for name in SETTINGS if around.environ.get(name, "").strip()]:
        yield f"Your environment, which the service does not have, sets {together(here)}: write what it needs into .env"
    for folder in service.writable:
        if not folder.is_dir() and not folder.resolve().is_relative_to(home.path.resolve()):
            made = f"sudo install -d -o {service.user} -g {service.group} -m 700 {shlex.quote(str(folder))}"
            yield f"{folder} does not exist, and the service could not make it: {made}"


def _install(service: Service) -> str:
    """By way of a file: a command that fails leaves the unit as it was."""
    again = shlex.join([str(service.python), "-m", "paperboy", "--home", str(service.home), "service"])
    return f"""
To install it, and to update it later:
  {again} > paperboy.service && sudo install -m 644 paperboy.service /etc/systemd/system/
  sudo systemctl daemon-reload
  sudo systemctl enable --now paperboy      # later: sudo systemctl restart paperboy
  systemctl status paperboy"""
