"""The task of a sign-up, and what the operator sees of it.

asked      → already on the list, or suppressed by others? it ends, and nobody can tell from outside
             else freeze one mail with a link, sent before digests and worth sending for a day
confirmed  → the same careful edit as `paperboy subscribe`; if that is refused, report it and retry
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from paperboy.console.words import again
from paperboy.errors import ConfigError, PaperboyError
from paperboy.features.signups import requests
from paperboy.features.signups.requests import KIND, Signup, Stage
from paperboy.home import edits
from paperboy.home.home import Home
from paperboy.models import MailingList, Subscriber
from paperboy.reports.problems import Words
from paperboy.service.app import App
from paperboy.service.feature import Shown, Stopped
from paperboy.store.incidents import Incident
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)

_WORTH_SENDING = timedelta(days=1)


def work(app: App, task: Task, _: Stopped) -> str:
    """Mail the link or edit the list's file; return why that is to be retried."""
    database = app.store.database
    signup = requests.get(database, task.subject)
    if signup and signup.stage == Stage.ASKED:
        _mail(app, signup)
    if signup is None or signup.stage != Stage.CONFIRMED:
        return ""

    name = signup.list_name
    try:
        home = Home.load(app.path, app.environ)  # the files as they are now
        mailing_list = home.find(name)
        if mailing_list is None or not mailing_list.open:
            requests.move(database, signup, Stage.ENDED)
            logger.warning("%s: somebody signed up, but the list takes no sign-ups any more", name)
            return ""
        if not mailing_list.subscriber(signup.address):
            edits.subscribe(home, mailing_list, Subscriber(signup.address))
    except PaperboyError as error:
        problem = str(error.problems[0] if isinstance(error, ConfigError) else error)
        logger.warning("%s: a sign-up waits: %s", name, problem)
        return problem
    requests.move(database, signup, Stage.DONE)
    logger.info("%s: somebody who signed up is now on the list", name)
    return ""


def _mail(app: App, signup: Signup) -> None:
    store = app.store
    name = signup.list_name
    address = signup.address
    mailing_list = app.home.find(name)
    suppression = store.suppressions.find(name, address)

    is_refused = suppression and not suppression.own  # a reader who left may come back
    is_on_it = mailing_list and mailing_list.subscriber(address) and not suppression
    if mailing_list is None or not mailing_list.open or is_refused or is_on_it:
        requests.move(store.database, signup, Stage.ENDED)
        return

    composed, copy = app.composer.confirmation(
        mailing_list, Subscriber(address), signup.token, signup.at
    )
    now = app.clock()
    with store.transaction():
        store.ledger.freeze(composed, [copy], now, expires=now + _WORTH_SENDING, priority=1)
        requests.move(store.database, signup, Stage.MAILED)


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


def problems(app: App) -> Iterator[Incident]:
    """Yield a problem for each list to which somebody cannot be added."""
    waiting = requests.waiting(app.store_to_ask.database)
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
    for signup in requests.waiting(app.store_to_ask.database):
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
