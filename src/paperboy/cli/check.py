"""`paperboy check`: everything that would fail tomorrow, found today."""

import click

from paperboy.app import App
from paperboy.check import findings
from paperboy.cli import output

_COLOURS = {"fault": "red", "note": "yellow", "ok": "green"}


@click.command()
@click.option("--offline", is_flag=True, help="Contact no server: no mail server, no LLM, no arXiv.")
@click.pass_obj
def check(app: App, *, offline: bool) -> int:
    """Find everything that would fail tomorrow: one line each, with the fix."""
    code = 0
    for finding in findings(app, offline=offline):
        output.say(f"{finding.what}: {finding.message}", mark=f"{finding.mark:7}", fg=_COLOURS[finding.mark])
        code = max(code, finding.exit_code)
    return code
