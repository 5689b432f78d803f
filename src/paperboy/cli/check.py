"""`paperboy check`: everything that would fail tomorrow, found today."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

import click

from paperboy.app import App
from paperboy.check import Finding

_INDENT = 7  # columns of the mark before a finding
_TO_COPY = re.compile(r'"[^"]*"|\b(?:chmod|paperboy) .*')  # records, and commands at a line's end: never folded
_NO_BREAK = "\N{NO-BREAK SPACE}"


@click.command()
@click.option("--offline", is_flag=True, help="Ask no server: neither mail, nor LLM, nor arXiv.")
@click.pass_obj
def check(app: App, *, offline: bool) -> int:
    """Find everything that would fail tomorrow: one line each, with the fix."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    code = 0
    for finding in app.check(offline=offline):
        click.echo(line(finding, width))
        code = max(code, finding.exit_code)
    return code


def line(finding: Finding, width: int) -> str:
    """One line; on a terminal of `width` columns, folded between words so that the marks stand out."""
    text = f"{finding.what}: {finding.message}"
    if width > 2 * _INDENT:
        text = _TO_COPY.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
        folded = textwrap.wrap(text, width - _INDENT, break_long_words=False, break_on_hyphens=False)
        text = ("\n" + " " * _INDENT).join(folded).replace(_NO_BREAK, " ")
    if finding.exit_code:
        return f"{click.style('fault', fg='red')}  {text}"
    return (
        f"{click.style('note', fg='yellow')}   {text}"
        if finding.note
        else f"{click.style('ok', fg='green')}     {text}"
    )
