"""What is wrong now: lasting problems, and events, each of which is reported once.

Most is read off rows that are kept anyway; what no such row shows was noted as an incident.
`status` and the alerts read this. A problem of a list that is gone or paused is moot.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from paperboy.models import MailingList, Suppression
from paperboy.sources import SOURCES
from paperboy.sources.source import Source
from paperboy.store import Store
from paperboy.store.incidents import Incident, Kind

NEWS = timedelta(days=7)  # after which an event is no news any more


def read(store: Store, lists: Iterable[MailingList], now: datetime) -> list[Incident]:
    """Gather what may be wrong, within one moment of the database."""
    names = [mailing_list.name for mailing_list in lists if mailing_list.is_active]
    with store.snapshot():
        suppressed = store.history.suppressed("bounces", now - NEWS)
        return [
            *store.incidents.all(),
            *store.history.nobody(names),
            *store.history.failed(now - NEWS),
            *(of_suppression(Kind.SUPPRESSED, held) for held in suppressed),
        ]


def problems(rows: Sequence[Incident], lists: Iterable[MailingList]) -> tuple[Incident, ...]:
    """Return all that is wrong, by kind and subject. Pure."""
    active = {"", *(mailing_list.name for mailing_list in lists if mailing_list.is_active)}
    lasting = [
        row for row in rows if not row.event and row.ended is None and row.list_name in active
    ]
    refused = max((row.last for row in lasting if row.kind == Kind.MAIL), default=None)
    if refused:  # that is why
        lasting = [row for row in lasting if row.kind != Kind.NOBODY or row.last > refused]
    named = {row.list_name for row in rows if "address" in row.facts}
    readers = {of.name: {*of.addresses()} for of in lists if of.name in named}
    events = [
        row
        for row in rows
        if row.event
        and (
            "address" not in row.facts
            or row.facts["address"].lower() in readers.get(row.list_name, ())
        )
    ]
    return tuple(sorted([*lasting, *events], key=lambda row: (row.kind, row.last, row.subject)))


def of_suppression(kind: str, held: Suppression) -> Incident:
    """Return the event of a suppression, whose reason ends with what the other side said."""
    lines = [f"{held.address}: {held.reason}"]
    return Incident(
        kind=kind,
        subject=held.address,
        since=held.at,
        last=held.at,
        facts={"lines": lines},
        event=True,
    )


# --- the words of the alerts


class Words(NamedTuple):
    """How a kind of problem is reported; braces are placeholders."""

    headline: str
    means: str  # for the lists
    fix: str = ""  # what to do
    well: str = ""  # the good news when it is over; empty: it is an event, and never ends
    concerns: Callable[[MailingList], bool] = lambda mailing_list: (
        mailing_list.is_active
    )  # can a list have it?


def _if_late(source: Source) -> str:
    return f"If {source.name} itself is late ({source.status_page}), wait. {source.if_late}".strip()


WORDS: Mapping[str, Words] = {
    Kind.SCORING: Words(
        "{score}",
        "Nobody judged these papers, which is not the same as none passing. No paper is lost; all are retried.",
        "Fix the cause. paperboy check tries the LLM; {once} makes the digests that are still due.",
        "the LLM scores",
    ),
    Kind.BUDGET: Words(
        "LLM_BUDGET_USD is used up: scored {scored}",
        "Papers without a score come back next morning. A list without any score has no digest.",
        "To have more scored, raise LLM_BUDGET_USD in .env (0 is no limit), or choose a cheaper OPENAI_MODEL.",
        "the LLM budget is enough",
    ),
    Kind.LATE: Words(
        "No {what} in time for {unserved}",
        "GIVE_UP_AFTER_HOURS have passed since the list's hour, or its day is over. No paper is lost: all come later.",
        "Fix the cause; {once} makes the digests still due. " + " ".join(map(_if_late, SOURCES)),
        "digests are in time",
    ),
    Kind.SOURCE: Words(
        "{names} had to do without a source",
        "The digest left with the papers of other sources. No paper is lost: those that are missing come later.",
        "Wait, or fix the cause; paperboy check asks each source.",
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
        "Others on {names} got the digest; these addresses did not. The next digest is sent to them again.",
        "Once the cause is fixed, paperboy resend {first} --failed sends them the digest they missed.",
    ),
    Kind.REFUSED: Words(
        "{mails} refused for good",
        "The mail server takes no mail for these addresses of {names}. Their next digest is sent to them again.",
        "Correct or remove the addresses in the lists' files, or fix what the server complains about; then paperboy "
        "resend {first} --failed sends them the digest they missed.",
    ),
    Kind.SUPPRESSED: Words(
        "{addresses} suppressed after three bounces in a row",
        "No list sends to them any more: the mail server says they do not exist, while others got their mail.",
        "Remove them from the lists' files. If one exists again, lift its suppression with paperboy unsuppress {first}",
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
        "The log has more (journalctl -u paperboy). If it is a bug in Paperboy, please report it with the traceback.",
        "a morning finished",
    ),
    Kind.WORKERS: Words(
        "A morning had to do without its workers",
        "The digests are made all the same, by one process alone, which takes longer. Nothing is lost or sent twice.",
        "paperboy check tries CLUSTER. To do without, leave CLUSTER empty and set WORKERS=1 in .env.",
        "mornings do without workers, or have them again",
    ),
    Kind.TASKS: Words(
        "Work beside the mail crashed or got stuck",
        "Mail is not concerned. What waits, such as the calls of webhooks, is kept and retried.",
        "The log has more (journalctl -u paperboy). If it is a bug in Paperboy, please report it with the traceback.",
        "work beside the mail is done",
    ),
}
