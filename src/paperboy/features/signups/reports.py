"""What the operator sees of sign-ups: who waits, and why."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from paperboy.features.signups import rows
from paperboy.features.signups.rows import KIND
from paperboy.models import MailingList
from paperboy.reports.problems import Words
from paperboy.reports.status import again
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.store.incidents import Incident


def words() -> Mapping[str, Words]:
    """Return the words for a list's file that cannot be edited."""
    return {
        KIND: Words(
            "Somebody who signed up for {names} cannot be added",
            "They confirmed their address, but Paperboy cannot edit the list's file. They wait until it can.",
            "Fix the problem below, or add the address, which paperboy status shows, by hand. Paperboy tries again as "
            "soon as it sees an edit, and at least every four hours.",
            "sign-ups for {names} are added again",
        )
    }


def problems(app: App) -> Iterator[Incident]:
    """Yield a problem for each list to which somebody cannot be added."""
    waiting = rows.waiting(app.store_to_ask.database)
    refused = {signup.list_name: signup for signup in waiting if signup.problem}
    for name, signup in refused.items():
        problem = signup.problem
        yield Incident(
            kind=KIND,
            subject=name,
            since=signup.at,
            last=app.clock(),
            reason=problem,
            facts={"list": name, "lines": [problem], "place": problem.partition(": ")[0]},
        )


def status(app: App, lists: Sequence[MailingList], _: datetime) -> Shown:
    """Show who has confirmed and is not in the file yet."""
    of_lists: dict[str, list[dict[str, Any]]] = {mailing_list.name: [] for mailing_list in lists}
    wrong = []
    for signup in rows.waiting(app.store_to_ask.database):
        name = signup.list_name
        if name not in of_lists:
            continue

        why = f": {signup.problem}" if signup.problem else ""
        then = again(app.retry(signup.due), app.clock(), app.settings.timezone)
        line = f": {signup.address} has signed up and is not on the list yet{why}{then}"
        wrong.append((name, line))
        row = {"address": signup.address, "since": signup.at, "problem": signup.problem}
        of_lists[name].append(row)
    return Shown(key="signups", of_lists=of_lists, wrong=wrong)
