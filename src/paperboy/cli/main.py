"""The command `paperboy`: finds the home, imports the command, turns errors into exit codes."""

import errno
import importlib
import io
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from paperboy import __version__
from paperboy.console import lines
from paperboy.console.lines import complaint
from paperboy.console.log import catch_all
from paperboy.console.progress import Bars
from paperboy.console.streams import take_streams
from paperboy.edges import files
from paperboy.edges.text import did_you_mean, visible
from paperboy.errors import ConfigError, PaperboyError
from paperboy.features import FEATURES

logger = logging.getLogger(__name__)


_FOLDER = click.Path(file_okay=False, readable=False, path_type=Path)
_COMMANDS = {  # name: its module, and a line for --help
    "demo": ("paperboy.cli.mornings", "Run a whole morning on a bundled sample of papers."),
    "init": ("paperboy.cli.home", "Make a new home: settings, a list and its topics."),
    "once": (
        "paperboy.cli.mornings",
        "Deliver today's digests now; a second run sends nothing again.",
    ),
    "run": (
        "paperboy.cli.mornings",
        "Run the daemon, which delivers each list's digest every morning.",
    ),
    "check": ("paperboy.cli.check", "Find everything that would fail tomorrow."),
    "preview": (
        "paperboy.cli.digests",
        "Show what the files make of today's papers, or a digest as it was sent.",
    ),
    "status": ("paperboy.cli.status", "Show whether everyone got their mail, and if not, why."),
    "why": ("paperboy.cli.why", "Show what became of a paper, or of the digests to an address."),
    "resend": ("paperboy.cli.digests", "Send the newest digest again to those it did not reach."),
    "suppress": ("paperboy.cli.people", "Stop mail to an address, whatever the lists' files say."),
    "unsuppress": ("paperboy.cli.people", "Allow mail to an address again."),
    "subscribers": ("paperboy.cli.people", "Show who gets what, list by list."),
    "subscribe": ("paperboy.cli.people", "Add somebody to a list."),
    "unsubscribe": ("paperboy.cli.people", "Remove somebody from a list."),
    "web": (
        "paperboy.cli.service",
        "Serve the pages where readers leave, read again, vote and sign up.",
    ),
    "backup": ("paperboy.cli.home", "Copy the database while it is in use."),
    "forget": ("paperboy.cli.people", "Erase a person: from all lists and from the database."),
    "service": ("paperboy.cli.service", "Print the systemd unit for this home."),
    "manual": ("paperboy.cli.manual", "Read the manual, by topic."),
    "work": ("paperboy.cli.mornings", ""),  # hidden: what the daemon starts
}
for _feature in FEATURES:
    _COMMANDS |= _feature.commands


ENTER = "paperboy.enter"  # what is called with the home


class _Commands(click.Group):
    """Commands whose modules are imported on use: `--help` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, (_, line) in _COMMANDS.items() if line]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            if ctx.resilient_parsing:
                return None
            hint = did_you_mean(cmd_name, self.list_commands(ctx)) or "."
            ctx.fail(f"No such command {cmd_name!r}{hint}")

        module = importlib.import_module(_COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, cmd_name)
        if _HOME not in command.params:
            command.params.append(_HOME)

        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items() if line])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--home",
    type=_FOLDER,
    envvar="PAPERBOY_HOME",
    default=Path(),
    help="The folder with .env, subscribers.yaml, emails/ and prompts/. Default: the current one.",
)
@click.version_option(__version__, prog_name="paperboy")
@click.pass_context
def cli(ctx: click.Context, home: Path) -> None:
    """Mail the new papers of arXiv and other sources each morning, scored for what each list wants to read.

    Exit codes: 0 done · 1 something is still due, check found a fault beyond the files, or the
    results could not be written · 2 wrong usage · 75 another `run` holds this home · 78 settings,
    lists, templates or database are unusable · 130 stopped by Ctrl-C (run: 0).
    """
    from paperboy.service.app import App

    parts, ctx.meta[ENTER] = ctx.obj
    ctx.obj = ctx.with_resource(App(home.absolute(), **parts))


def invoke(
    arguments: Sequence[str] | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Callable[[], datetime] = partial(datetime.now, UTC),  # noqa: B008 - called later
    wait: Callable[[float], None] = time.sleep,
    timer: Callable[[], float] = time.monotonic,
    enter: Callable[[Path], None] = lambda _home: None,
) -> int:
    """Run one command line and return its exit code.

    Errors that a person can cause become sentences on stderr. `enter` is called with the home as
    soon as it is known.
    """
    catch_all(environ)
    parts = {
        "environ": environ,
        "clock": clock,
        "wait": wait,
        "timer": timer,
        "progress": Bars(),
        "say": partial(lines.say, err=True),
        "features": FEATURES,
    }
    try:
        code: int | None = cli.main(
            arguments, prog_name="paperboy", standalone_mode=False, obj=(parts, enter)
        )
    except click.ClickException as error:
        if not isinstance(error, click.exceptions.NoArgsIsHelpError):  # with lines of its own
            error.message = visible(error.message)  # type: ignore[misc]  # click prints it
        shown = io.StringIO()
        error.show(shown)
        lines.say(*shown.getvalue().splitlines(), err=True)
        return error.exit_code
    except PaperboyError as error:
        complaint(error, environ)
        return error.exit_code
    except PermissionError as error:
        fix = error.filename and files.denied(Path(os.fsdecode(error.filename)))
        message = f"{error.filename}: {fix or error.strerror}"
        complaint(PaperboyError(message), environ)
        return ConfigError.exit_code
    except (click.Abort, KeyboardInterrupt):
        lines.say("Stopped.", err=True)
        return 130
    except Exception:
        logger.exception("this is a bug in Paperboy")
        return 1

    return code or 0  # most commands either succeed or raise an error


def _move(ctx: click.Context, _option: click.Parameter, home: Path | None) -> None:
    if home is not None:
        ctx.obj.path = home.absolute()  # nothing was read yet
    if ctx.command.name not in {"demo", "init", "manual"}:  # which leave the home alone
        ctx.meta[ENTER](ctx.obj.path)


_HOME = click.Option(  # after the command as well, where many people put it
    ["--home"],
    type=_FOLDER,
    expose_value=False,
    callback=_move,
    help="The folder with your files.",
)


def main() -> None:
    """Run the console script.

    A command fails if its results could not be written to stdout. A failing stderr changes nothing.
    """
    os.umask(0o077)  # new files are readable by their owner alone: they hold addresses
    stdout = take_streams()
    code = invoke(enter=files.become_owner)
    if failure := stdout.failure:
        why = "it is closed" if failure.errno == errno.EBADF else failure.strerror
        lost = f"standard output: {why}; the results could not be written, and nothing else was affected"
        complaint(PaperboyError(lost), os.environ)
        code = code or PaperboyError.exit_code

    sys.exit(code)
