"""The alerts that a year must cause, and those that its mails report."""

from collections import Counter
from datetime import datetime

from tests.year.truth import PATIENCE, Truth, operators_day

Told = Counter[str]  # alerts, and how often

SCORING = "Scored 0 of"
PART_SCORED = "Scored only"
LLM_WELL = "the LLM scores"
LATE = "in time for"
LATE_WELL = "digests are in time"
FILES = "Broken:"
FILES_WELL = "subscribers.yaml can be used again"
MAIL = "Mail cannot be sent"
MAIL_WELL = "mail is sent again"
PROCESS = "A morning crashed or got stuck"
PROCESS_WELL = "a morning finished"
LET_GO = "could not be scored and will not come back"
EXPIRED = "could not be delivered"
SUPPRESSED = "suppressed"
REFUSED = "refused for good"

OVER = {
    LLM_WELL: (SCORING, PART_SCORED),
    LATE_WELL: (LATE,),
    FILES_WELL: (FILES,),
    MAIL_WELL: (MAIL,),
    PROCESS_WELL: (PROCESS,),
}
"""The causes that each piece of good news ends."""

ONCE = frozenset({LET_GO, EXPIRED, SUPPRESSED, REFUSED})  # causes without an end
_BAD_NEWS = (*(cause for causes in OVER.values() for cause in causes), *ONCE)


def news_in(subject: str) -> list[str]:
    """The causes that a mail to the operator reports."""
    headline = subject.removeprefix("Paperboy: ")
    if headline.startswith("Resolved: "):
        return headline.removeprefix("Resolved: ").split("; ")
    return [next((cause for cause in _BAD_NEWS if cause in headline), headline)]


def of_llm(truth: Truth, begins: datetime, ends: datetime) -> Told:
    """One alert for each day on which a list had its hour, and papers to score, while the LLM was down."""
    days = {
        operators_day(hour)
        for name, day, hour in truth.mornings(begins, ends)
        if truth.pending(name, day, hour)
    }
    return Counter({SCORING: len(days), LLM_WELL: bool(days)})


def of_arxiv(truth: Truth, begins: datetime, ends: datetime) -> Told:
    """One alert for each day on which a list gave up on arXiv: by its patience; or at midnight, if it had nothing. What
    it has is sent then, and is in time.
    """
    looked = max(
        (fetch.at for fetch in truth.world.fetches if fetch.well and fetch.at <= begins),
        default=begins,
    )
    days = {
        operators_day(hour)
        for name, day, hour in truth.mornings(begins, ends)
        if (midnight := truth.midnight(name, day)) < ends or hour + PATIENCE < ends
        if hour + PATIENCE < min(midnight, ends) or not truth.pending(name, day, looked)
    }
    return Counter({LATE: len(days), LATE_WELL: bool(days)})


def of_mail(truth: Truth, begins: datetime, ends: datetime, *, passing: bool) -> Told:
    """Reported when it is over, since no mail leaves before; a passing fault only after patience has ended."""
    waited = [ends - each.at for each in truth.frozen(begins, ends)]
    return Counter({MAIL_WELL: any(not passing or wait >= PATIENCE for wait in waited)})
