"""`paperboy check`: everything that would fail tomorrow, found today."""

import click

from paperboy.console.lines import say
from paperboy.service.app import App
from paperboy.service.check import findings

_COLOURS = {"fault": "red", "note": "yellow", "ok": "green"}


@click.command()
@click.option(
    "--offline", is_flag=True, help="Contact no server: no mail server, no LLM, no arXiv."
)
@click.pass_obj
def check(app: App, *, offline: bool) -> int:
    """Find everything that would fail tomorrow: a line each, with the fix.

    This checks the files, the database and the disk. It logs in to the mail server and names a
    recipient without sending anything, asks the LLM for one score (a server of your own also for a
    whole batch, as long as a call may take) and each source for its papers, and looks up the DNS
    records of the sender's domain.

    The exit code is 0 without a fault, 78 where settings, lists, templates or database are unusable,
    else 1.

    A shell cannot see a service's credentials: `paperboy manual service` has a wrapper for all commands.
    """
    code = 0
    for finding in findings(app, offline=offline):
        say(
            f"{finding.what}: {finding.message}",
            mark=f"{finding.mark:7}",
            fg=_COLOURS[finding.mark],
        )
        code = max(code, finding.exit_code)
    return code
