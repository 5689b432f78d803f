"""`paperboy why`: the life of one paper, list by list; or what became of each digest to an
address.
"""

from datetime import datetime, timedelta, tzinfo

import click

from paperboy.cli.people import mailbox_from, refusal
from paperboy.curate import matched_author, why_filtered
from paperboy.edges.text import did_you_mean, visible
from paperboy.errors import UnknownNameError
from paperboy.mail.text import counted, together
from paperboy.models import MailingList, Paper, PaperOutcome
from paperboy.service import output
from paperboy.service.app import App
from paperboy.sources import read_id, source_of, title_of
from paperboy.store.history import PaperHistory

_WEEKS = 8  # of digests to an address


@click.command()
@click.argument("asked_for", metavar="ARXIV_ID_OR_ADDRESS")
@click.option("--list", "name", metavar="NAME", help="Only this list.")
@click.pass_obj
def why(app: App, asked_for: str, name: str | None) -> None:
    """Show the life of one paper: considered, scored by whom and how, selected or not and why, in
    which digest, sent to how many, how readers voted. Of an address: its lists, whether it is
    suppressed, and each digest of the last eight weeks, newest first, with its state, since when it
    has that, and the mail server's last answer.
    """
    app.take_own_or_in_force()
    if "@" in asked_for:
        _person(app, asked_for, name)
        return
    history = app.store_to_ask.history
    plain = read_id(visible(asked_for.strip()))
    paper, fetched = history.paper(plain) or (None, None)
    lists = app.home.lists if name is None else [app.home.list(name)]
    lives = [(mailing_list, history.life(mailing_list.name, plain)) for mailing_list in lists]
    known = [(mailing_list, life) for mailing_list, life in lives if paper or life.became]
    if not known:
        raise UnknownNameError(
            f"{plain!r}: no paper with that id was fetched for a list; an id looks like 2502.06786 or astro-ph/0601001"
        )

    settings = app.settings
    url = source_of(plain).links(plain, paper.version if paper else 1).page
    if paper and fetched:
        categories = ", ".join(dict.fromkeys([paper.primary_category, *paper.categories]))
        when = f"submitted {_when(paper.published, settings.timezone)}, fetched {_when(fetched, settings.timezone)}"
        output.say(title_of(paper), url, f"{categories}; {when}")
    else:
        output.say(
            url,
            f"deleted after {settings.keep_days} days (KEEP_DAYS); its outcome is kept for ever",
        )

    more = [feature.why(app, plain) for feature in app.features if feature.why]
    for mailing_list, life in known:
        output.say("", f"{mailing_list.name}: {_outcome(mailing_list, paper, life)}")
        for kept in life.scores:
            novelty = "" if kept.score.novelty is None else f", novelty {kept.score.novelty}"
            when = _when(kept.at, mailing_list.timezone)
            output.say(f"  relevance {kept.score.relevance}{novelty}, by {kept.model}, {when}")
            if kept.score.comment:
                output.say(f"    {kept.score.comment}")
        for said in more:
            if mailing_list.name in said:
                output.say(f"  {said[mailing_list.name]}")


def _outcome(mailing_list: MailingList, paper: Paper | None, life: PaperHistory) -> str:
    """Return the list's verdict. Without a paper it was deleted by retention, and the list has seen
    it.
    """
    if life.became is None or life.day is None:
        return _not_seen(mailing_list, paper, life)
    day = f"{life.day:%a %d %b %Y}"
    fate = (
        "no longer kept"
        if life.deliveries is None
        else output.in_words(life.deliveries) or "to nobody"
    )
    digest = f"in the digest of {day} ({fate})"
    least = f"relevance {mailing_list.min_relevance}"
    limit = "thresholds"
    asked = f"the thresholds are {least} and novelty {mailing_list.min_novelty}"
    if life.scores and all(
        kept.score.novelty is None for kept in life.scores
    ):  # by the embedded scorer
        limit = "threshold"
        asked = f"the threshold is {least}"
    author = matched_author(paper, mailing_list.authors) if paper else None
    followed = f"{author}, whom it follows" if author else "an author it followed then"
    filtered_by = why_filtered(mailing_list, paper) if paper else ""
    return {
        PaperOutcome.AUTHOR_MATCH: f"by {followed}, {digest}",
        PaperOutcome.SELECTED: f"selected, {digest}; {asked}",
        PaperOutcome.OVER_CAP: f"passed, but over the cap of {mailing_list.max_papers}; only named, {digest}",
        PaperOutcome.BELOW: f"below the {limit} on {day}; {asked if life.scores else 'its score is no longer kept'}",
        PaperOutcome.FILTERED: f"filtered on {day}: {filtered_by or 'the filter is gone'}",
        PaperOutcome.NOT_CALLED: f"not called on {day}: by what the list has learned, others of that day "
        "were more likely to pass, and the LLM was asked about those alone (LLM_SHORTLIST)",
        PaperOutcome.LET_GO: f"let go on {day}, because it could not be scored on three mornings, though others were",
        PaperOutcome.BEFORE_START: f"older than the list, or than its category, when that began on {day}; never sent",
    }[life.became]


def _not_seen(mailing_list: MailingList, paper: Paper | None, life: PaperHistory) -> str:
    crossed = paper.categories if paper and mailing_list.cross_lists else ()
    if {paper and paper.primary_category, *crossed}.isdisjoint(mailing_list.categories):
        without = "" if mailing_list.cross_lists else "; cross_lists is false"
        return f"not in its categories ({', '.join(mailing_list.categories)}{without})"
    if not mailing_list.subscribers:
        return "not considered: the list has no subscribers"
    if why := why_filtered(mailing_list, paper) if paper else "":
        return f"its next morning filters it: {why}"
    if life.scores:
        return "scored, but not in a digest yet"
    if life.failures:
        mornings = counted(life.failures, "morning")
        return (
            f"could not be scored on {mornings}, though others were; after the third it is let go"
        )
    return "not scored yet; its next morning considers it"


def _when(at: datetime, zone: tzinfo) -> str:
    return f"{at.astimezone(zone):%a %d %b %Y %H:%M %Z}"


def _person(app: App, who: str, name: str | None) -> None:
    """Print on which lists an address is, whether it is suppressed, and what became of its digests,
    newest first.
    """
    address = mailbox_from(who, "ARXIV_ID_OR_ADDRESS").address
    store = app.store_to_ask
    now = app.clock()
    zone = app.settings.timezone
    lists = app.home.lists if name is None else [app.home.list(name)]
    digests = store.history.posted(address, now - timedelta(weeks=_WEEKS))
    posted = [row for row in digests if not name or row.list_name == name]
    held = [
        row for row in store.suppressions.of(address) if not name or row.list_name in {"", name}
    ]
    on = [of.name for of in lists if of.subscriber(address)]
    where = f"on {together(on)}" if on else f"not on {name or 'any list'}"
    none = f"no digest went there in the last {_WEEKS} weeks"
    if not (on or posted or held):
        everybody = (known for of in app.home.lists for known in of.addresses())
        raise UnknownNameError(
            f"{address} is {where}, and {none}{did_you_mean(address, everybody, cutoff=0.85)}"
        )

    rows = []
    for row in posted:
        answer = row.reason or output.NO_REPLY.get(row.state, "no answer is known")
        answer += output.again(app, row.next_try(now))
        at = f"{row.at.astimezone(zone):%d %b %H:%M %Z}"
        rows.append((f"{row.date:%a %d %b}", row.list_name, row.state, at, answer))
    table = output.table(("Digest", "List", "State", "At", "Answer"), rows)
    refusals = (refusal(suppression, zone) for suppression in held)
    output.show_page([[f"{address} is {where}", *refusals], table or [f"{none.capitalize()}."]])
