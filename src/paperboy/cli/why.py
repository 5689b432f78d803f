"""`paperboy why`: the life of one paper, list by list."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

import click

from paperboy.cli import words
from paperboy.cli.main import Surroundings
from paperboy.config.home import Home
from paperboy.curate import matched_author
from paperboy.errors import UnknownNameError
from paperboy.mail.text import one_line
from paperboy.models import Became, MailingList, Paper
from paperboy.store import Store
from paperboy.store.lives import Lives, Seen
from paperboy.tex import to_text

# What people have at hand: an address, or the id with its prefix and its version.
_ID = re.compile(r"(?:https?://)?(?:www\.)?(?:arxiv\.org/\w+/|arxiv:)?(.+?)(?:v\d+)?(?:\.pdf)?/?", re.IGNORECASE)


@click.command(name="why", short_help="The life of one paper, list by list.")
@click.argument("arxiv_id", metavar="ARXIV_ID")
@click.option("--list", "name", metavar="NAME", help="Of this list alone.")
@click.pass_obj
def command(around: Surroundings, arxiv_id: str, name: str | None) -> int:
    """The life of one paper: considered, scored by whom and how, selected or not and why, in which digest, sent to
    how many.
    """
    home = Home.load(around.home, around.environ)
    lists = [home.list(name)] if name is not None else list(home.lists)
    asked = _ID.fullmatch(arxiv_id.strip())
    plain = asked[1] if asked else arxiv_id
    if not home.settings.paperboy_database.exists():
        raise UnknownNameError(f"{plain!r}: no paper was fetched yet; the first morning fetches them")
    with Store.open(home.settings.paperboy_database) as store:
        found = store.lives.paper(plain)
        known = [entry for entry in lists if found or store.lives.seen(entry.name, plain)]
        if not known:
            raise UnknownNameError(
                f"{plain!r}: no paper of that id was fetched for any list; an id looks like 2502.06786 or "
                "astro-ph/0601001"
            )
        for line in _about(*found, home.settings.timezone) if found else _thinned(plain, home.settings.keep_days):
            click.echo(line)
        for entry in known:
            click.echo()
            for line in _life(entry, plain, found[0] if found else None, store.lives):
                click.echo(line)
    return 0


def _thinned(arxiv_id: str, keep_days: int) -> list[str]:
    return [
        f"https://arxiv.org/abs/{arxiv_id}",
        f"thinned after {keep_days} days (KEEP_DAYS); what became of it is kept for ever",
    ]


def _about(paper: Paper, fetched: datetime, zone: tzinfo) -> list[str]:
    others = [category for category in paper.categories if category != paper.primary_category]
    crossed = f", cross-listed in {', '.join(others)}" if others else ""
    return [
        one_line(to_text(paper.title)),  # a terminal obeys what a title could hold
        f"https://arxiv.org/abs/{paper.arxiv_id}",
        f"{paper.primary_category}{crossed}; submitted {_when(paper.published, zone)}, fetched {_when(fetched, zone)}",
    ]


def _life(entry: MailingList, arxiv_id: str, paper: Paper | None, lives: Lives) -> list[str]:
    """Without a paper, it was thinned, and the list has seen it."""
    judged = lives.judged(entry.name, arxiv_id)
    if seen := lives.seen(entry.name, arxiv_id):
        outcome = _outcome(entry, paper, seen)
    else:
        assert paper is not None  # noqa: S101  # the caller has told the two apart
        outcome = _not_seen(entry, paper, lives.tries(entry.name, arxiv_id), scored=bool(judged))
    lines = [f"{entry.name}: {outcome}"]
    for each in judged:
        novelty = "" if each.score.novelty is None else f", novelty {each.score.novelty}"
        lines.append(f"  relevance {each.score.relevance}{novelty}, by {each.model}, {_when(each.at, entry.timezone)}")
        if each.score.comment:
            lines.append(f"    {one_line(each.score.comment)}")
    return lines


def _outcome(entry: MailingList, paper: Paper | None, seen: Seen) -> str:
    day = f"{seen.day:%a %d %b %Y}"
    fate = (words.in_words(seen.deliveries) or "to nobody") if seen.digest_kept else "not kept any more"
    digest = f"in the digest of {day} ({fate})"
    if seen.became is Became.AUTHOR_MATCH:
        author = matched_author(paper, entry.authors) if paper else None
        return f"by {author}, whom it follows, {digest}" if author else f"by an author it followed then, {digest}"
    asked = f"it asks for relevance {entry.min_relevance} and novelty {entry.min_novelty}"
    return {
        Became.SELECTED: f"selected, {digest}; {asked}",
        Became.OVER_CAP: f"passed, but beyond the {entry.max_papers} that it takes; only named, {digest}",
        Became.BELOW: f"below the thresholds on {day}; {asked}",
        Became.LET_GO: f"let go on {day}, because it could not be scored on three mornings, though others were",
        Became.BEFORE_START: f"older than the list, or than its category, when that began on {day}; never sent",
    }[seen.became]


def _not_seen(entry: MailingList, paper: Paper, tries: int, *, scored: bool) -> str:
    """`tries`: on how many mornings it could not be scored."""
    if not set(entry.categories) & {paper.primary_category, *paper.categories}:
        return f"not in its categories ({', '.join(entry.categories)})"
    if not entry.cross_lists and paper.primary_category not in entry.categories:
        return "only cross-listed in its categories, and its cross_lists is false"
    if not entry.subscribers:
        return "not considered: the list has no subscribers"
    if scored:
        return "scored, and not in a digest yet"
    if tries:
        mornings = words.counted(tries, "morning", "mornings")
        return f"could not be scored on {mornings}, though others were; after the third it is let go"
    return "not scored yet; its next morning considers it"


def _when(at: datetime, zone: tzinfo) -> str:
    return f"{at.astimezone(zone):%a %d %b %Y %H:%M %Z}"
