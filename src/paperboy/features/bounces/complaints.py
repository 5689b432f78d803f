"""Complaints, as the operator sees them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from paperboy.reports.problems import NEWS, Words, of_suppression
from paperboy.service.app import App
from paperboy.store.incidents import Incident

_COMPLAINT = "complaint"  # of somebody who called a mail spam


def words() -> Mapping[str, Words]:
    """Return the words of a complaint."""
    return {
        _COMPLAINT: Words(
            "{addresses} suppressed after a complaint",
            "Somebody called a digest spam, as their mail provider reports. What they no longer get is said below.",
            "Remove them from the lists' files. Many complaints make providers sort the mail of all readers into spam.",
        ),
    }


def problems(app: App) -> Iterator[Incident]:
    """Yield the complaints of the last days."""
    for held in app.store_to_ask.history.suppressed("complaint", app.clock() - NEWS):
        yield of_suppression(
            _COMPLAINT, replace(held, reason=f"{held.reason}, and {no_more(held.list_name)}")
        )


def no_more(list_name: str) -> str:
    """Say what somebody who complained no longer gets; no name stands for all lists."""
    return f"gets no more of {'that' if list_name else 'any'} list"
