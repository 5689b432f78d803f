"""What `paperboy status` says of learned shortlists: how much they left out, what they miss, and what that saved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from paperboy.learning import LEAST_AGE, LEAST_EXAMPLES, Standing
from paperboy.mail.text import counted, money, together
from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.shortlist import LOOKED_BACK, Recall, Share, share_of

_SOME = 5  # names of lists in a line


@dataclass(frozen=True, slots=True)
class Shortlists:
    """Where the shortlists stand of lists that use one now, or did in the last 60 days."""

    setting: Share  # 1: none is used
    of: Mapping[str, Standing]  # by list

    @property
    def young(self) -> dict[str, Standing]:
        """Those that leave nothing out before they have learned more."""
        return {name: each for name, each in self.of.items() if each.is_young and each.share < 1}


def look(app: App, lists: Sequence[MailingList]) -> Shortlists:
    """Where the shortlists of these lists stand."""
    setting = app.settings.llm_shortlist if app.settings.has_llm else 1.0
    at_work = {each.name for each in lists if setting != 1 and each.topics and each.is_active}
    found = {
        name: each
        for name, each in app.learning.standing(lists, app.clock()).items()
        if name in at_work or each.recall.not_called
    }
    if setting == 1:
        found = {name: replace(each, share=1.0, off_until=None) for name, each in found.items()}
    return Shortlists(setting, found)


def lines(shortlists: Shortlists, now: datetime) -> Iterator[str]:
    """A line for each shortlist that left something out, and one for all that still learn."""
    for name, each in shortlists.of.items():
        head, after = f"Shortlist of {name}", _now(each, shortlists.setting, now)
        if (recall := each.recall).not_called:
            saved = "" if each.saved is None else f", which saved about {money(each.saved)}"
            called = f"in {LOOKED_BACK.days} days: {recall.share:.0%} of papers called; {_finds(recall)}"
            yield f"{head} {called}; left out {counted(recall.not_called, 'paper')}{saved}{after}"
        elif each.off_until:
            yield f"{head}{after}"
    if young := shortlists.young:
        names = together([f"{name} ({_learned(each, now)})" for name, each in young.items()], _SOME)
        yield f"No shortlist yet for {names}"


def _finds(recall: Recall) -> str:
    by_chance = f"{counted(recall.sampled, 'paper')} called by chance"
    if recall.estimate is None or recall.interval is None:
        return f"too few to say what it finds ({by_chance}, {recall.passed} passed)"
    least, most = recall.interval
    return f"it finds about {recall.estimate:.0%} of what passes ({100 * least:.0f}–{most:.0%}, from {by_chance})"


def _now(each: Standing, setting: Share, now: datetime) -> str:
    """What has changed since, if anything."""
    if setting == 1:
        return "; off now"
    if each.off_until:
        return f"; off until {each.off_until:%a %d %b}, since it missed too much"
    usual = share_of(setting, (), now.date())
    return f"; raised to {each.share:.0%} of papers, since it missed some" if each.share > usual else ""


def _learned(each: Standing, now: datetime) -> str:
    return "learned {papers} of {papers_needed} papers, day {days} of {days_needed}".format_map(_progress(each, now))


def _progress(each: Standing, now: datetime) -> dict[str, int]:
    """How much was learned, and how much is needed."""
    papers, days = (each.progress.examples, (now - each.progress.oldest).days) if each.progress else (0, 0)
    return {
        "papers": min(papers, LEAST_EXAMPLES),
        "papers_needed": LEAST_EXAMPLES,
        "days": min(days, LEAST_AGE.days),
        "days_needed": LEAST_AGE.days,
    }


def as_json(shortlists: Shortlists, name: str, now: datetime) -> dict[str, Any] | None:
    """One list's; null where it uses none and did not in 60 days, and where something is unknown."""
    each = shortlists.of.get(name)
    if each is None:
        return None
    recall = each.recall
    return {
        "share": each.share,
        "off_until": each.off_until,
        "learns": _progress(each, now) if name in shortlists.young else None,
        **asdict(recall),
        "recall": recall.estimate and round(recall.estimate, 4),
        "recall_interval": recall.interval and [round(bound, 4) for bound in recall.interval],
        "saved": each.saved and round(each.saved, 6),
    }
