"""Problems: what is wrong now and lasts, and events, which are reported once.

Most are derived from other rows; the rest are stored incidents. `status` and the alerts read them. A
problem of a list that is gone or paused is moot.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from paperboy.models import MailingList, Suppression
from paperboy.sources import SOURCES
from paperboy.sources.source import Source
from paperboy.store import Store
from paperboy.store.incidents import Incident, Kind

NEWS = timedelta(days=7)  # how long an event is news


def read(store: Store, lists: Iterable[MailingList], now: datetime) -> list[Incident]:
    """Gather possible problems from one snapshot of the database."""
    names = [mailing_list.name for mailing_list in lists if mailing_list.is_active]
    with store.snapshot():
        suppressed = store.history.suppressed("bounces", now - NEWS)
        return [
            *store.incidents.all(),
            *store.history.unreached(names),
            *store.history.failed(now - NEWS),
            *(of_suppression(Kind.SUPPRESSED, suppression) for suppression in suppressed),
        ]


def problems(rows: Sequence[Incident], lists: Iterable[MailingList]) -> tuple[Incident, ...]:
    """Return the problems of active lists, subscribers and the home, by kind and age. Pure."""
    active = {"", *(mailing_list.name for mailing_list in lists if mailing_list.is_active)}
    refused = max(
        (row.last for row in rows if row.kind == Kind.MAIL and row.ended is None), default=None
    )
    named = {row.list_name for row in rows if "address" in row.facts}
    addresses = {
        mailing_list.name: {*mailing_list.addresses()}
        for mailing_list in lists
        if mailing_list.name in named
    }

    current = list[Incident]()
    for row in rows:
        if row.event:
            address = row.facts.get("address")
            is_current = not address or address.lower() in addresses.get(row.list_name, ())
        else:
            is_current = row.ended is None and row.list_name in active
            if row.kind == Kind.NOBODY and refused and row.last <= refused:
                is_current = False  # the mail server's problem explains it
        if is_current:
            current.append(row)
    return tuple(sorted(current, key=lambda row: (row.kind, row.last, row.subject)))


def of_suppression(kind: str, suppression: Suppression) -> Incident:
    """Return a suppression as an event. The suppression's reason ends with the other side's reply."""
    return Incident(
        kind=kind,
        subject=suppression.address,
        since=suppression.at,
        last=suppression.at,
        facts={"lines": [f"{suppression.address}: {suppression.reason}"]},
        event=True,
    )


# --- the words of the alerts


class Words(NamedTuple):
    """Words in which a kind of problem is reported; braces are placeholders."""

    headline: str
    means: str  # for the lists
    fix: str = ""  # what to do
    well: str = ""  # the good news when it is over; empty: it is an event, and never ends
    # Checks whether a list can have the problem.
    concerns: Callable[[MailingList], bool] = lambda mailing_list: mailing_list.is_active

    @property
    def is_event(self) -> bool:
        return not self.well


def _if_late(source: Source) -> str:
    return f"If {source.name} itself is late ({source.status_page}), wait. {source.if_late}".strip()


_SEE_LOG = (
    "The log has details (journalctl -u paperboy). If it is a bug in Paperboy, please report it "
    "with the traceback."
)
WORDS: Mapping[str, Words] = {
    Kind.SCORING: Words(
        "{score}",
        "These papers have not been scored; that does not mean that none passed. No paper is lost; all are retried.",
        "Fix what the reason names. Then paperboy check tries the LLM, and paperboy once sends what is still due.",
        "the LLM scores",
    ),
    Kind.BUDGET: Words(
        "LLM_BUDGET_USD is used up: scored {scored}",
        "Papers without a score come back next morning. A list without any score gets no digest.",
        "To score more, raise LLM_BUDGET_USD in .env (0 is no limit), or choose a cheaper OPENAI_MODEL.",
        "the LLM budget is enough",
    ),
    Kind.LATE: Words(
        "No {what} in time for {unserved}",
        "GIVE_UP_AFTER_HOURS have passed since the list's hour, or its day is over. No paper is lost: all come later.",
        "Fix what the reason names. Then paperboy once sends what is still due. "
        + " ".join(_if_late(source) for source in SOURCES if source.if_late),
        "digests are in time",
    ),
    Kind.SOURCE: Words(
        "A source of {names} could not be read",
        "The digest went out with the papers of other sources. No paper is lost: the missing ones come later.",
        "Wait, or fix the cause; paperboy check tries each source.",
        "all sources of {names} can be read",
    ),
    Kind.LET_GO: Words(
        "{papers} could not be scored and will not come back",
        "The LLM scored other papers on three mornings, but not these. The digest of {names} names them.",
    ),
    Kind.MAIL: Words(
        "Mail cannot be sent",
        "The waiting mail is kept and retried; nothing is sent twice.",
        "paperboy check tries the login; paperboy status shows the waiting mail.",
        "mail is sent again",
    ),
    Kind.NOBODY: Words(
        "Nobody got the digest of {names}",
        "{back}",
        "paperboy check tries the login; paperboy status shows the waiting mail. If the addresses are wrong, "
        "fix them in the list's file, and paperboy resend {first} sends today's.",
        "digests reach their lists",
    ),
    Kind.EXPIRED: Words(
        "{mails} could not be delivered in three days",
        "Others on {names} got the digest; these addresses did not. They are sent the next one as usual.",
        "Once the cause is fixed, paperboy resend {first} --failed sends them the digest they missed.",
    ),
    Kind.REFUSED: Words(
        "{mails} refused for good",
        "The mail server refuses mail for these addresses of {names}. They are sent the next digest as usual.",
        "Correct or remove the addresses in the lists' files, or fix what the server complains about; then paperboy "
        "resend {first} --failed sends them the digest they missed.",
    ),
    Kind.SUPPRESSED: Words(
        "{addresses} suppressed after three bounces in a row",
        "No list sends to them any more: the mail server says they do not exist, while others got their mail.",
        "Remove them from the lists' files. If one exists again, lift its suppression with paperboy unsuppress {first}",
    ),
    Kind.INACTIVE: Words(
        "No mail goes to {rows} of {names} because of the status there",
        "Such rows of a .csv are not subscribers: somebody unsubscribed, or the address failed, in another program.",
        "If one is a subscriber, correct its status. paperboy check always says how many rows there are.",
    ),
    Kind.FILES: Words(
        "Broken: {fault}",
        "The last good version stays in force: digests go out as before.",
        "Once it is fixed and saved, it is in force within 25 seconds, without a restart.",
        "{names} can be used again",
    ),
    Kind.PROCESS: Words(
        "A morning crashed or got stuck",
        "Finished work is kept, and the next try does the rest: no paper is lost, and nothing is sent twice.",
        _SEE_LOG,
        "a morning finished",
    ),
    Kind.WORKERS: Words(
        "A morning ran without its workers",
        "One process composes the digests instead, which takes longer. Nothing is lost or sent twice.",
        "paperboy check tries CLUSTER. To do without, leave CLUSTER empty and set WORKERS=1 in .env.",
        "mornings have their workers again, or need none",
    ),
    Kind.TASKS: Words(
        "Background work crashed or got stuck",
        "Mail is not affected. Waiting work, such as webhook calls, is kept and retried.",
        _SEE_LOG,
        "background work is done again",
    ),
}
