"""Complaints, as the operator sees them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from paperboy.reports.problems import NEWS, Words, of_suppression
from paperboy.service.app import App
from paperboy.store.incidents import Incident

_COMPLAINT = "complaint"  # a reader marked a mail as spam


def words() -> Mapping[str, Words]:
    """Return the words for a complaint."""
    return {
        _COMPLAINT: Words(
            "{addresses} suppressed after a complaint",
            "A reader marked a digest as spam, as their mail provider reports. Below is what they no longer get.",
            "Remove them from the lists' files. Many complaints make providers sort the mail of all readers into spam.",
        ),
    }


def problems(app: App) -> Iterator[Incident]:
    """Yield the complaints of the last days."""
    for suppression in app.store_to_ask.history.suppressed("complaint", app.clock() - NEWS):
        reason = f"{suppression.reason}, and {no_more(suppression.list_name)}"
        yield of_suppression(_COMPLAINT, replace(suppression, reason=reason))


def no_more(list_name: str) -> str:
    """Return what a reader who complained no longer gets; an empty name means all lists."""
    return f"gets no more mail from {'that' if list_name else 'any'} list"
