"""`paperboy check`: everything that would fail tomorrow, said today."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from paperboy.cli import check_home, check_servers
from paperboy.cli.check_findings import Finding, tried
from paperboy.cli.check_servers import Outside
from paperboy.cli.main import Surroundings
from paperboy.cli.suppress import in_words, undo
from paperboy.cli.words import together
from paperboy.config import lists as mailing_lists
from paperboy.config import settings
from paperboy.config.home import LISTS_FILE, Home, folders
from paperboy.config.settings import Settings
from paperboy.errors import ConfigError, PaperboyError, StoreError
from paperboy.models import MailingList, Problem
from paperboy.store import Store

_INDENT = 7  # of what a mark stands before
_TO_COPY = re.compile(r'"[^"]*"|\b(?:chmod|paperboy) .*')  # records, and commands at a line's end: not to be folded
_EXAMPLE = re.compile(r"[@.]example\.(?:org|com|net)$", re.IGNORECASE)
_NAMED = 2  # addresses
_NO_BREAK = "\N{NO-BREAK SPACE}"


@click.command(name="check", short_help="Everything that would fail tomorrow, said today.")
@click.option("--offline", is_flag=True, help="Ask no server: neither mail, nor LLM, nor arXiv.")
@click.pass_obj
def command(around: Surroundings, *, offline: bool) -> int:
    """Everything that would fail tomorrow, said today, one line each, with the fix."""
    return report(around, Outside(), offline=offline)


def report(around: Surroundings, outside: Outside, *, offline: bool = False) -> int:
    """Prints each line as soon as it is known, in an order that is always the same; gives the exit code."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    code = 0
    for finding in _findings(around, outside, offline=offline):
        click.echo(_line(finding, width))
        code = max(code, finding.exit_code)
    return code


def _line(finding: Finding, width: int) -> str:
    """One line; on a terminal, of `width` columns, folded between words so that the marks stand out."""
    text = f"{finding.what}: {finding.message}"
    if width > 2 * _INDENT:
        text = _TO_COPY.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
        folded = textwrap.wrap(text, width - _INDENT, break_long_words=False, break_on_hyphens=False)
        text = ("\n" + " " * _INDENT).join(folded).replace(_NO_BREAK, " ")
    return f"{_mark(finding)}  {text}"


def _mark(finding: Finding) -> str:
    if finding.exit_code:
        return click.style("fault", fg="red")
    return click.style("note", fg="yellow") + " " if finding.note else click.style("ok", fg="green") + "   "


def _findings(around: Surroundings, outside: Outside, *, offline: bool) -> Iterator[Finding]:
    end = time.monotonic() + outside.patience
    found, faults = _settings(around)
    yield from faults
    lists, findings = _lists(around.home, found or Settings())
    yield from findings
    if found and found.mail_from:
        yield from _nobodys(lists)
    home = Home(around.home, found or Settings(), lists)
    asked = check_servers.ask(home, around, outside) if found and not offline else []
    yield from tried("emails", lambda: _templates(home))
    yield from tried("prompts", lambda: _prompts(home))
    if found is None:
        yield Finding("the rest", "not looked at: it needs the settings", exit_code=78)
        return
    yield from tried("database", lambda: _database(found.paperboy_database))
    yield from check_home.disk(found, outside.free)
    yield from check_home.privacy(around.home, found)
    yield from _suppressed(home)
    if found.uses_outbox:
        yield from tried("mail", lambda: _outbox(found.paperboy_outbox))
    else:
        yield _alerts(found)
    for server in asked:
        yield from server.findings(end)


def _settings(around: Surroundings) -> tuple[Settings | None, list[Finding]]:
    if not around.home.is_dir():
        return None, [Finding("home", f"{around.home}: there is no such folder; name it with --home", exit_code=78)]
    try:
        found = settings.load(around.home, around.environ)
    except ConfigError as error:
        return None, [Finding("settings", str(problem), error.exit_code) for problem in error.problems]
    source = around.home / ".env"
    return found, [Finding("settings", f"{source}" if source.exists() else f"no {source}, so the defaults hold")]


def _lists(home: Path, found: Settings) -> tuple[tuple[MailingList, ...], list[Finding]]:
    try:
        lists = mailing_lists.load(
            home / LISTS_FILE, prompts=folders(home, "prompts"), send_at=found.send_at, timezone=found.timezone
        )
    except ConfigError as error:
        return (), [Finding("lists", str(problem), error.exit_code) for problem in error.problems]
    return lists, [Finding("lists", _in_words(entry)) for entry in lists]


def _in_words(entry: MailingList) -> str:
    categories = ", ".join(entry.categories)
    if not entry.subscribers:
        return f"{entry.name}: {categories}; no subscribers, so it is never due"
    number = len(entry.subscribers)
    return (
        f"{entry.name}: {categories}; {number} subscriber{'s' if number > 1 else ''}, "
        f"{entry.send_at:%H:%M} {entry.timezone.key}"
    )


def _nobodys(lists: Sequence[MailingList]) -> Iterator[Finding]:
    """Addresses as those of the lists that came with Paperboy."""
    addresses = dict.fromkeys(subscriber.address.casefold() for entry in lists for subscriber in entry.subscribers)
    if found := [address for address in addresses if _EXAMPLE.search(address)]:
        rest = [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
        message = f"mail to {together([*found[:_NAMED], *rest])} reaches nobody; put your readers into {LISTS_FILE}"
        yield Finding("lists", message, note=True)


def _templates(home: Home) -> str:
    from paperboy.mail.render import Renderer

    Renderer(home.folders("emails")).check()
    return f"the templates render{_yours(home)}"


def _yours(home: Home) -> str:
    """Which templates are the operator's own, and which of those stand for none of ours: a misspelt name does not."""
    own, *shipped = home.folders("emails")
    if not shipped or any(folder.samefile(own) for folder in shipped):
        return ""
    try:
        theirs = sorted(file.name for file in own.iterdir() if file.suffix == ".j2" and file.is_file())
    except OSError as error:
        raise ConfigError([Problem(str(own), f"cannot be read: {error.strerror}; let this user read it")]) from error
    names = {file.name for folder in shipped for file in folder.glob("*.j2")}
    words = {"yours are": [name for name in theirs if name in names]}
    words |= {"only templates of yours can use": [name for name in theirs if name not in names]}
    return "".join(f"; {said} {', '.join(found)}" for said, found in words.items() if found)


def _prompts(home: Home) -> str:
    from paperboy.scoring.prompt import Prompt

    Prompt(home.folders("prompts"))
    return "the prompt renders"


def _database(path: Path) -> str:
    if path.exists():
        with Store.open(path, check=True):
            return f"{path}"
    if not check_home.may_be_made(path):
        raise StoreError(f"{path}: cannot be made; let this user write there, or set PAPERBOY_DATABASE")
    return f"{path} will be made by the first morning"


def _suppressed(home: Home) -> Iterator[Finding]:
    """Who is on a list and gets nothing: so that nobody is added in vain and without a word."""
    if not home.settings.paperboy_database.exists():
        return
    try:
        with Store.open(home.settings.paperboy_database) as store:
            found = [
                store.suppressions.find(entry.name, subscriber.address)
                for entry in home.lists
                for subscriber in entry.subscribers
            ]
    except StoreError:
        return  # said of the database already
    for suppression in dict.fromkeys(filter(None, found)):
        message = f"{in_words(suppression, home.settings.timezone)} and gets nothing. {undo(suppression)}"
        yield Finding("suppressed", message, note=True)


def _outbox(outbox: Path) -> str:
    if not check_home.may_be_made(outbox / "Maildir"):
        raise PaperboyError(f"{outbox} cannot hold mail; let this user write there, or set PAPERBOY_OUTBOX")
    return f"no SMTP_HOST, so mail goes to the outbox {outbox}"


def _alerts(found: Settings) -> Finding:
    if found.alert_to is None:
        return Finding("alerts", "nobody hears when a morning fails; set ALERT_TO", note=True)
    return Finding("alerts", f"{found.alert_to.address} hears when a morning fails")
