"""What `paperboy status` says of learned shortlists: how much they left out, what they miss, and what that saved."""

from collections.abc import Sequence
from datetime import date, datetime

from paperboy.due import local_date
from paperboy.features.learning.learning import is_young, of
from paperboy.features.learning.lessons import Progress
from paperboy.features.learning.shortlist import LEAST_AGE, LEAST_EXAMPLES, LOOKED_BACK, Recall, off_until, share_of
from paperboy.home.settings import Share
from paperboy.mail.text import counted, money, together
from paperboy.models import MailingList, Spending
from paperboy.service.app import App
from paperboy.service.feature import Shown

_SOME = 5  # names of lists in a line
_YOUNG = "{} (learned {papers} of {papers_needed} papers, day {days} of {days_needed})"


def status(app: App, lists: Sequence[MailingList], now: datetime) -> Shown:
    """Show the shortlists of those of these lists that use one now, or did in the last 60 days: a line for each that
    left something out, and one for all that still learn.
    """
    learning = of(app)
    lessons = learning.lessons
    setting = learning.share
    names = [mailing_list.name for mailing_list in lists if mailing_list.topics]
    progress = lessons.progress(names)
    recalls = lessons.recalls(names, now.date())
    shown: dict[str, object] = {}
    lines = []
    young = []
    for mailing_list in lists:
        name = mailing_list.name
        day = local_date(mailing_list, now)
        recall, spending = recalls.get(name, (Recall(), Spending()))
        is_used = setting != 1 and mailing_list.topics and mailing_list.is_active
        if not is_used and not recall.not_called:
            continue

        passed = lessons.found(name, day)
        learned = progress.get(name)
        share = share_of(setting, passed, day)
        off = off_until(passed, day) if setting == "auto" else None
        waits = share < 1 and (learned is None or is_young(learned, now))
        learns = _progress(learned, now) if waits else None
        cost = spending.cost.total if spending.cost else 0.0
        saved = cost / max(1, recall.called) * recall.not_called if cost else None  # by what a paper cost on those days
        shown[name] = {
            "share": share,
            "off_until": off,
            "learns": learns,
            **recall._asdict(),
            "recall": recall.estimate and round(recall.estimate, 4),
            "recall_interval": recall.interval and [round(bound, 4) for bound in recall.interval],
            "saved": saved and round(saved, 6),
        }

        changed = _changed(setting, share, off, day)
        if recall.not_called:
            lines.append(f"Shortlist of {name} {_left_out(recall, saved)}{changed}")
        elif off:
            lines.append(f"Shortlist of {name}{changed}")
        if learns:
            young.append(_YOUNG.format(name, **learns))
    if young:
        lines.append(f"No shortlist yet for {together(young, _SOME)}")
    return Shown(key="shortlist", of_lists=shown, lines=lines)


def _left_out(recall: Recall, saved: float | None) -> str:
    """Say what was left out, what that found and missed, and what it saved."""
    by_chance = f"{counted(recall.sampled, 'paper')} called by chance"
    if recall.interval is None:
        finds = f"too few to say what it finds ({by_chance}, {recall.passed} passed)"
    else:
        least, most = recall.interval
        finds = f"it finds about {recall.estimate:.0%} of what passes ({100 * least:.0f}–{most:.0%}, from {by_chance})"
    money_saved = "" if saved is None else f", which saved about {money(saved)}"
    left_out = f"left out {counted(recall.not_called, 'paper')}{money_saved}"
    return f"in {LOOKED_BACK.days} days: {recall.share:.0%} of papers called; {finds}; {left_out}"


def _changed(setting: Share, share: float, off: date | None, day: date) -> str:
    """Say what has changed since, if anything."""
    if setting == 1:
        return "; off now"
    if off:
        return f"; off until {off:%a %d %b}, since it missed too much"
    usual = share_of(setting, (), day)
    return f"; raised to {share:.0%} of papers, since it missed some" if share > usual else ""


def _progress(learned: Progress | None, now: datetime) -> dict[str, int]:
    """Return how much was learned, and how much is needed."""
    papers, days = (learned.examples, (now - learned.oldest).days) if learned else (0, 0)
    return {
        "papers": min(papers, LEAST_EXAMPLES),
        "papers_needed": LEAST_EXAMPLES,
        "days": min(days, LEAST_AGE.days),
        "days_needed": LEAST_AGE.days,
    }
