"""`paperboy demo`: a whole morning on the bundled sample."""

from __future__ import annotations

import importlib.resources
import tempfile
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console

from paperboy import announcements, sample
from paperboy.cli import parts, words
from paperboy.cli.main import Surroundings
from paperboy.cli.progress import Bars
from paperboy.config import lists as mailing_lists
from paperboy.config.home import Home
from paperboy.config.settings import Settings
from paperboy.models import Paper


@click.command(name="demo", short_help="A whole morning on a bundled sample of papers.")
@click.option("--open", "open_it", is_flag=True, help="Show the digests in the browser.")
@click.pass_obj
def command(around: Surroundings, *, open_it: bool) -> int:
    """A whole morning on a bundled sample of invented papers.

    Needs no key, no server and no network: the embedded scorer ranks, and the mail goes to an outbox in a new folder.
    The home is left alone; only its `emails/`, if it has any, give the mails their look.
    """
    home = _home(Path(tempfile.mkdtemp(prefix="paperboy-demo-")), around.home / "emails")
    console = Console(stderr=True)
    with parts.working(home, around, Bars(console), SampleFeed(around.clock())) as work:
        report = work.morning(home.named(()))
        sent = work.deliver(lambda *_: True, stopped=lambda: False)
    click.echo(words.a_morning(report, sent, home.lists))
    click.echo("\nThe papers are invented, and no LLM judged them. The mail lies in")
    outbox = home.settings.paperboy_outbox
    for mailing_list in home.lists:
        page = outbox / f"{mailing_list.name}.html"
        click.echo(f"  {page}   (and .txt, .eml)")
        if open_it and not webbrowser.open(page.as_uri()):
            click.echo("No browser could be opened.", err=True)
    click.echo(f"  {outbox / 'Maildir'}   (every copy, as: mutt -f {outbox / 'Maildir'})")
    return 0


@dataclass(frozen=True, slots=True)
class SampleFeed:
    """Announces the sample as arXiv's newest batch."""

    now: datetime

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        until: datetime,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Paper]:
        """The sample's papers of these categories."""
        batch = announcements.newest_batch(self.now)
        papers = [
            paper
            for paper in sample.papers(batch.submitted_from, batch.submitted_until)
            if not set(categories).isdisjoint(paper.categories)
        ]
        if progress:
            progress(len(papers), len(papers))
        return papers

    def has_news(self, since: datetime, until: datetime) -> bool:
        """Always: it is the newest batch."""
        return since < until


def _home(folder: Path, emails: Path) -> Home:
    """A home of its own, but with the operator's templates, where there are any: so the demo shows them, too."""
    if emails.is_dir():
        (folder / "emails").symlink_to(emails.resolve())
    settings = replace(Settings(), paperboy_database=folder / "data" / "paperboy.db", paperboy_outbox=folder / "outbox")
    with importlib.resources.as_file(sample.LISTS) as file:
        lists = mailing_lists.load(file, prompts=[], send_at=settings.send_at, timezone=settings.timezone)
    return Home(folder, settings, lists)
