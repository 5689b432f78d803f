"""`paperboy why`: what became of a paper, list by list, or of each digest to an address."""

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

import click

from paperboy.cli.people import mailbox_from, refusal
from paperboy.console import lines
from paperboy.console.lines import say, show_page
from paperboy.console.words import in_words
from paperboy.curate import SHOWN, matched_authors, possible_authors, why_filtered
from paperboy.edges.text import counted, did_you_mean, together, visible
from paperboy.errors import UnknownNameError
from paperboy.models import MailingList, Paper, PaperOutcome, Subscribers
from paperboy.reports.status import again, reply
from paperboy.service.app import App
from paperboy.sources import links_of, named, read_id, source_of, title_of, twins
from paperboy.store.history import PaperHistory

_WEEKS = 8  # of digests to an address


@click.command()
@click.argument("text", metavar="ARXIV_ID_OR_ADDRESS")
@click.option("--list", "name", metavar="NAME", help="Only this list.")
@click.pass_obj
def why(app: App, text: str, name: str | None) -> None:
    """Show what became of a paper, or of the digests to an address.

    Of a paper, list by list: its scores and who gave them, why it was selected or not, in which
    digest it was, how many got that, and how readers voted. Of an address: its lists, whether it is
    suppressed, and each digest of the last eight weeks with the mail server's last answer, newest
    first.
    """
    app.take_own_or_in_force()
    if "@" in text:
        _address(app, mailbox_from(text, "ARXIV_ID_OR_ADDRESS").address, name)
    else:
        written = visible(text.strip())
        is_link = written.startswith(("http://", "https://"))
        by_link = app.store_to_ask.papers.with_link(written) if is_link else ""
        _paper(app, by_link or read_id(written), name)


def _lists(app: App, name: str | None) -> Sequence[MailingList]:
    return app.home.lists if name is None else [app.home.list(name)]


def _paper(app: App, paper_id: str, name: str | None) -> None:
    history = app.store_to_ask.history
    paper, fetched = history.paper(paper_id) or (None, None)
    lives = [
        (mailing_list, history.of_paper(mailing_list.name, paper_id))
        for mailing_list in _lists(app, name)
    ]
    known = [(mailing_list, life) for mailing_list, life in lives if paper or life.became]
    if not known:
        form = "an id looks like 2502.06786, astro-ph/0601001 or biorxiv:10.64898/2026.07.31.741992"
        raise UnknownNameError(
            f"{paper_id!r}: no paper with that id was fetched for a list; {form}"
        )

    settings = app.settings
    url = links_of(paper).page if paper else source_of(paper_id).links(paper_id, 1).page
    if paper and fetched:
        categories = ", ".join(dict.fromkeys([paper.primary_category, *paper.categories]))
        when = f"submitted {_moment(paper.published, settings.timezone)}"
        if source_of(paper_id).key:  # it names the day alone
            when = f"posted {paper.published:%a %d %b %Y}"
        when += f", fetched {_moment(fetched, settings.timezone)}"
        say(title_of(paper), url, f"{categories}; {when}")
    else:
        deleted = f"deleted after {settings.keep_days} days (KEEP_DAYS)"
        say(url or paper_id, f"{deleted}; its outcome is kept for ever")

    lines_of_features = [feature.why(app, paper_id) for feature in app.features if feature.why]
    for mailing_list, life in known:
        twin = _twin(app, mailing_list, paper) if paper and life.became is None else ""
        verdict = twin or _outcome(mailing_list, paper, life)
        say("", f"{mailing_list.name}: {verdict}")
        if paper and (names := possible_authors(paper, mailing_list.authors)):
            alike = f"possible author match: {together(names)}"
            say(f"  {alike}; initials alone never bring a paper in")
        for kept in life.scores:
            score = kept.score
            novelty = "" if score.novelty is None else f", novelty {score.novelty}"
            at = _moment(kept.at, mailing_list.timezone)
            say(f"  relevance {score.relevance}{novelty}, by {kept.model}, {at}")
            if score.comment:
                say(f"    {score.comment}")
        for of_lists in lines_of_features:
            if mailing_list.name in of_lists:
                say(f"  {of_lists[mailing_list.name]}")


def _outcome(mailing_list: MailingList, paper: Paper | None, life: PaperHistory) -> str:
    """`paper` is None if retention deleted it after the list saw it."""
    if life.became is None or life.day is None:
        return _not_seen(mailing_list, paper, life)

    day = f"{life.day:%a %d %b %Y}"
    recipients = "no longer kept"
    if life.deliveries is not None:
        recipients = in_words(life.deliveries) or "to nobody"

    digest = f"in the digest of {day} ({recipients})"

    thresholds = f"relevance {mailing_list.min_relevance} and novelty {mailing_list.min_novelty}"
    limits = f"the thresholds are {thresholds}"
    if life.scores and life.scores[0].score.novelty is None:
        limits = f"the threshold is relevance {mailing_list.min_relevance}; novelty was not judged"

    authors = matched_authors(paper, mailing_list.authors) if paper else ()
    followed = f"{together(authors)}, whom it follows" if authors else "an author it followed then"
    filtered_by = why_filtered(mailing_list, paper) if paper else ""
    return {
        PaperOutcome.AUTHOR_MATCH: f"by {followed}, {digest}",
        PaperOutcome.SELECTED: f"selected, {digest}; {limits}",
        PaperOutcome.OVER_CAP: f"passed, but over the cap of {mailing_list.max_papers}; only named, {digest}",
        PaperOutcome.BELOW: f"below the thresholds on {day}; {limits}",
        PaperOutcome.FILTERED: f"filtered on {day}: {filtered_by or 'the filter is gone'}",
        PaperOutcome.NOT_CALLED: f"not called on {day}: by what the list has learned, others of that day "
        "were more likely to pass, and the LLM was asked about those alone (LLM_SHORTLIST)",
        PaperOutcome.LET_GO: f"let go on {day}, because it could not be scored on three mornings, though others were",
        PaperOutcome.BEFORE_START: f"older than the list, or than its category, when that began on {day}; never sent",
    }[life.became]


def _twin(app: App, mailing_list: MailingList, paper: Paper) -> str:
    for twin in twins(paper):
        life = app.store_to_ask.history.of_paper(mailing_list.name, twin)
        if life.day and life.became in SHOWN:
            return f"the same paper as {twin}, which it has seen on {life.day:%a %d %b %Y}"
    return ""


def _not_seen(mailing_list: MailingList, paper: Paper | None, life: PaperHistory) -> str:
    ways = {*paper.categories} & {*mailing_list.cross_listed} if paper else set()
    if not ways and (paper and paper.primary_category) not in mailing_list.categories:
        without = "" if mailing_list.cross_lists else "; cross_lists is false"
        return f"not in its categories ({', '.join(named(mailing_list.categories))}{without})"

    if not mailing_list.subscribers:
        return "not considered: the list has no subscribers"
    if paper and (why := why_filtered(mailing_list, paper)):
        return f"its next morning filters it: {why}"
    if life.scores:
        return "scored, but not in a digest yet"
    if life.failures:
        mornings = counted(life.failures, "morning")
        return (
            f"could not be scored on {mornings}, though others were; after the third it is let go"
        )

    return "not scored yet; its next morning considers it"


def _moment(at: datetime, zone: tzinfo) -> str:
    return f"{at.astimezone(zone):%a %d %b %Y %H:%M %Z}"


def _address(app: App, address: str, name: str | None) -> None:
    store = app.store_to_ask
    now = app.clock()
    zone = app.settings.timezone
    subscribed = [
        mailing_list.name for mailing_list in _lists(app, name) if mailing_list.subscriber(address)
    ]
    digests = [
        record
        for record in store.history.deliveries_to(address, now - timedelta(weeks=_WEEKS))
        if not name or record.list_name == name
    ]
    suppressions = [
        suppression
        for suppression in store.suppressions.of(address)
        if not name or suppression.list_name in {"", name}
    ]

    where = f"on {together(subscribed)}" if subscribed else f"not on {name or 'any list'}"
    marked = [] if subscribed else _marks(_lists(app, name), address)
    where += f" ({together(marked)})" * bool(marked)
    no_digest = f"no digest went there in the last {_WEEKS} weeks"
    if not (subscribed or digests or suppressions):
        known = (other for mailing_list in app.home.lists for other in mailing_list.addresses())
        hint = "" if marked else did_you_mean(address, known, cutoff=0.85)
        raise UnknownNameError(f"{address} is {where}, and {no_digest}{hint}")

    rows = []
    for record in digests:
        answer = reply(record) + again(app.retry(record.next_try(now)), now, app.settings.timezone)
        at = f"{record.at.astimezone(zone):%d %b %H:%M %Z}"
        rows.append((f"{record.date:%a %d %b}", record.list_name, record.state, at, answer))

    table = lines.table(("Digest", "List", "State", "At", "Answer"), rows)
    refusals = [refusal(suppression, zone) for suppression in suppressions]
    show_page([[f"{address} is {where}", *refusals], table or [f"{no_digest.capitalize()}."]])


def _marks(mailing_lists: Sequence[MailingList], address: str) -> list[str]:
    """Return the statuses because of which an address in a list's file is no subscriber."""
    marks = [
        f"marked {status} in {mailing_list.subscribers_file}"
        for mailing_list in mailing_lists
        if isinstance(mailing_list.subscribers, Subscribers)
        for row, status in mailing_list.subscribers.inactive()
        if row == address.lower()
    ]
    return list(dict.fromkeys(marks))
