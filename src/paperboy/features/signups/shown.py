"""What the operator sees of sign-ups: who waits for the list's file, and an alert while that cannot be edited."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from paperboy.features.signups.requests import KIND, Signups
from paperboy.models import MailingList
from paperboy.reports.alerts import Words
from paperboy.reports.problems import Problem
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.store import Store


def words() -> Mapping[str, Words]:
    """Return the words of a list's file that cannot be edited."""
    return {
        KIND: Words(
            "Somebody who signed up for {names} cannot be added",
            "They confirmed their address, and Paperboy cannot edit the list's file. They wait; nobody is lost.",
            "Fix what is said below, or add the address that paperboy status shows by hand. Paperboy tries again as "
            "soon as it sees an edit, and at least every four hours.",
            "sign-ups for {names} are added again",
        )
    }


def problems(store: Store, _: Sequence[MailingList], now: datetime) -> Iterator[Problem]:
    """Yield a problem for each list to which somebody cannot be added."""
    refused = {signup.list_name: signup for signup in Signups(store.database).waiting() if signup.problem}
    for name, signup in refused.items():
        yield Problem(
            kind=KIND,
            subject=name,
            since=signup.at,
            last=now,
            reason=signup.problem,
            lines=(signup.problem,),
            facts={"place": signup.problem.partition(": ")[0]},
            list_name=name,
        )


def status(app: App, lists: Sequence[MailingList], _: datetime) -> Shown:
    """Show who is confirmed and not in the file yet."""
    wanted = {mailing_list.name for mailing_list in lists}
    found = dict[str, list[dict[str, Any]]]()
    wrong = []
    for signup in Signups(app.store_to_ask.database).waiting():
        if signup.list_name in wanted:
            why = f": {signup.problem}" if signup.problem else ", and comes within a minute"
            wrong.append((signup.list_name, f": {signup.address} has signed up and is not on the list yet{why}"))
            one = {"address": signup.address, "since": signup.at, "problem": signup.problem}
            found.setdefault(signup.list_name, []).append(one)
    return Shown(key="signups", of_lists=found, otherwise=[], wrong=wrong)
