"""`paperboy check`: everything that would fail tomorrow, found today."""

import click

from paperboy.edges.sandbox import one_timeout
from paperboy.service import output
from paperboy.service.app import App
from paperboy.service.check import findings

_COLOURS = {"fault": "red", "note": "yellow", "ok": "green"}


@click.command()
@click.option(
    "--offline", is_flag=True, help="Contact no server: no mail server, no LLM, no arXiv."
)
@click.pass_obj
def check(app: App, *, offline: bool) -> int:
    """Find everything that would fail tomorrow: one line each, with the fix.

    It logs in to the mail server, names a recipient (ALERT_TO, else MAIL_FROM) and takes it back, asks the LLM for one
    score, and looks up whether the sender's domain has MX, SPF and DMARC records and the key of DKIM_SELECTOR.

    The exit code is 0 without a fault, 78 where settings, lists, templates or database are unusable, else 1.

    A shell cannot see the service's credentials; this can, with one -p for each:

    \b
    sudo systemd-run --pipe --wait --collect --uid=paperboy \\
      -p LoadCredential=SMTP_PASSWORD:/etc/paperboy/SMTP_PASSWORD \\
      /opt/paperboy/bin/paperboy --home /var/lib/paperboy check
    """  # noqa: D301 - click reads \b as "leave these lines as they are"
    code = 0
    with one_timeout():
        for finding in findings(app, offline=offline):
            output.say(
                f"{finding.what}: {finding.message}",
                mark=f"{finding.mark:7}",
                fg=_COLOURS[finding.mark],
            )
            code = max(code, finding.exit_code)
    return code
