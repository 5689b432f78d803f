"""The command `paperboy`: finds the home, loads the one command that is asked for, and turns errors into exit codes."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from paperboy import __version__
from paperboy.cli import output
from paperboy.errors import PaperboyError

if TYPE_CHECKING:
    from paperboy.app import App

logger = logging.getLogger(__name__)

_COMMANDS = {
    "demo": "A whole morning on a bundled sample of papers.",
    "once": "This morning's work now; a second run sends nothing again.",
    "run": "The daemon: the same work every morning.",
    "check": "Everything that would fail tomorrow, said today.",
    "preview": "A list's digest of today, or what it would be now.",
    "status": "Did everyone get their mail, and if not, why?",
    "why": "The life of one paper, list by list.",
    "resend": "A list's newest digest again, to those whom it did not reach.",
    "suppress": "Who must not get mail, whatever subscribers.yaml says.",
    "unsuppress": "Who may get mail again.",
    "subscribers": "Who gets what, list by list.",
    "subscribe": "Adds somebody to a list, in subscribers.yaml.",
    "unsubscribe": "Takes somebody off a list, in subscribers.yaml.",
    "service": "The systemd unit for this home.",
}
_FAMILIES = {  # the module with several commands of one kind
    **dict.fromkeys(("demo", "once", "run"), "mornings"),
    **dict.fromkeys(("preview", "resend"), "digests"),
    **dict.fromkeys(("suppress", "unsuppress", "subscribers", "subscribe", "unsubscribe"), "people"),
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a command may ask of the world outside: its home, the environment, the time."""

    home: Path
    environ: Mapping[str, str]
    clock: Callable[[], datetime]
    wait: Callable[[float], None] = time.sleep  # seconds
    timer: Callable[[], float] = time.monotonic  # seconds, for how long something takes

    def app(self) -> App:
        """The home's `App`, which reads and opens nothing before it is asked to."""
        from paperboy.app import App

        return App(self.home, self.environ, self.clock, self.wait, self.timer)


class _Commands(click.Group):
    """Imports a command's module when it is asked for: `--help` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = _imported(cmd_name)
        if "--home" not in {option for parameter in command.params for option in parameter.opts}:
            command.params.append(_home_option())
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _imported(name: str) -> click.Command:
    """The command of that name in the module of its family; or, as `command`, in a module of its own."""
    family = f"paperboy.cli.{_FAMILIES.get(name, name)}"
    if importlib.util.find_spec(family):
        module = importlib.import_module(family)
        if isinstance(found := getattr(module, name, None), click.Command):
            return found
    command: click.Command = importlib.import_module(f"paperboy.cli.{name}").command
    return command


def with_app(command: Callable[..., int]) -> Callable[..., int]:
    """Hands the command, as its first argument, the `App` of its home: read, with the log and the progress set up."""

    @click.pass_obj
    @wraps(command)
    def run(around: Surroundings, /, *arguments: object, **options: object) -> int:
        with around.app() as app:
            app.progress, console = output.bars()
            app.say = partial(click.echo, err=True)
            output.set_up(app.settings.log_level, around.environ, console)
            return command(app, *arguments, **options)

    return cast("Callable[..., int]", run)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="PAPERBOY_HOME",
    default=Path(),
    help="The folder with .env, subscribers.yaml, emails/ and prompts/. Default: the current one.",
)
@click.version_option(__version__, prog_name="paperboy")
@click.pass_context
def cli(ctx: click.Context, home: Path) -> None:
    """Paperboy mails the new arXiv papers, scored for what each list wants to read, once per morning.

    Exit codes: 0 done · 1 something is still due, or check found a fault · 2 wrong usage · 75 another Paperboy holds
    this home · 78 settings, lists or database are unusable.
    """
    environ, clock, wait, timer = ctx.obj or (os.environ, _now, time.sleep, time.monotonic)
    ctx.obj = Surroundings(home.absolute(), environ, clock, wait, timer)


def invoke(
    arguments: Sequence[str] | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], datetime] | None = None,
    wait: Callable[[float], None] = time.sleep,
    timer: Callable[[], float] = time.monotonic,
) -> int:
    """Runs one command line and gives its exit code. What a person can cause comes as a sentence on stderr."""
    try:
        code = cli.main(
            args=list(arguments) if arguments is not None else None,
            prog_name="paperboy",
            standalone_mode=False,
            obj=(environ, clock or _now, wait, timer),
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except PaperboyError as error:
        click.echo(output.complaint(str(error), environ), err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return 130
    except Exception:
        logger.exception("this is a bug in Paperboy")  # where all else is logged, and as that
        return 1
    return code if isinstance(code, int) else 0


def _home_option() -> click.Option:
    """`--home` after the command as well, where many look for it first."""

    def move(ctx: click.Context, _option: click.Parameter, home: Path | None) -> None:
        if home is not None and isinstance(ctx.obj, Surroundings):
            ctx.obj = replace(ctx.obj, home=home.absolute())

    kind = click.Path(file_okay=False, path_type=Path)
    return click.Option(["--home"], type=kind, expose_value=False, callback=move, help="The folder with your files.")


def main() -> None:
    """The console script."""
    sys.exit(invoke())


def _now() -> datetime:
    return datetime.now(UTC)
