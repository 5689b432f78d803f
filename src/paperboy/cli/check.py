"""`paperboy check`: everything that would fail tomorrow, said today."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from paperboy import mailing_lists, settings
from paperboy.cli import parts
from paperboy.cli.home import LISTS_FILE, Home, folders
from paperboy.cli.main import Surroundings
from paperboy.cli.suppress import in_words, undo
from paperboy.errors import ConfigError, PaperboyError, StoreError
from paperboy.models import MailingList, Problem
from paperboy.settings import Settings
from paperboy.store import Store


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the check. `exit_code` 0: all is well, though a `note` is something to know."""

    what: str
    message: str
    exit_code: int = 0
    note: bool = False


@click.command(name="check", short_help="Everything that would fail tomorrow, said today.")
@click.option("--offline", is_flag=True, help="Ask no server: neither mail, nor LLM, nor arXiv.")
@click.pass_obj
def command(around: Surroundings, *, offline: bool) -> int:
    """Everything that would fail tomorrow, said today, one line each, with the fix."""
    code = 0
    for finding in _findings(around, offline=offline):
        click.echo(f"{_mark(finding)}  {finding.what}: {finding.message}")
        code = max(code, finding.exit_code)
    return code


def _mark(finding: Finding) -> str:
    if finding.exit_code:
        return click.style("fault", fg="red")
    return click.style("note", fg="yellow") + " " if finding.note else click.style("ok", fg="green") + "   "


def _findings(around: Surroundings, *, offline: bool) -> Iterator[Finding]:
    found, faults = _settings(around)
    yield from faults
    lists, findings = _lists(around.home, found or Settings())
    yield from findings
    home = Home(around.home, found or Settings(), lists)
    yield from _tried("emails", lambda: _templates(home))
    yield from _tried("prompts", lambda: _prompts(home))
    if found is None:
        yield Finding("the rest", "not looked at: it needs the settings", exit_code=78)
        return
    yield from _tried("database", lambda: _database(found.paperboy_database))
    yield from _suppressed(home)
    if found.uses_outbox or not offline:
        yield from _tried("mail", lambda: _mail(home))
    if offline:
        return
    yield from _tried("scoring", lambda: _scoring(home, around.wait))
    yield from _tried("arXiv", lambda: _arxiv(home))


def _tried(what: str, look: Callable[[], str]) -> Iterator[Finding]:
    try:
        yield Finding(what, look())
    except ConfigError as error:
        yield from (Finding(what, str(problem), error.exit_code) for problem in error.problems)
    except PaperboyError as error:
        yield Finding(what, str(error), error.exit_code)


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


def _templates(home: Home) -> str:
    parts.renderer(home).check()
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
        with Store.open(path):
            return f"{path}"
    if not _may_be_made(path):
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


def _mail(home: Home) -> str:
    outbox = home.settings.paperboy_outbox
    if home.settings.uses_outbox:
        if not _may_be_made(outbox / "Maildir"):
            raise PaperboyError(f"{outbox} cannot hold mail; let this user write there, or set PAPERBOY_OUTBOX")
        return f"no SMTP_HOST, so mail goes to the outbox {outbox}"
    sender = home.settings.mail_from
    return parts.smtp(home, timeout=15).probe(sender.address if sender else "")


def _may_be_made(path: Path) -> bool:
    """Whether the nearest folder that exists is one, and may be written."""
    nearest = next(parent for parent in path.parents if parent.exists() or parent.is_symlink())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def _scoring(home: Home, wait: Callable[[float], None]) -> str:
    if not home.settings.has_llm:
        return "no OPENAI_API_KEY and no OPENAI_BASE_URL, so the embedded scorer ranks by words; no LLM judges"
    with closing(parts.llm(home, wait)) as scorer:
        return scorer.probe()


def _arxiv(home: Home) -> str:
    category = next((category for entry in home.lists for category in entry.categories), "cs.LG")
    total = parts.arxiv(home).probe(category)
    return f"{home.settings.arxiv_api_url} answers; {total:,} papers in {category}"
