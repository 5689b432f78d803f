"""The task of a sign-up.

asked      → already on the list, or suppressed by others? end it; outsiders cannot tell
             else freeze one mail with a link: sent before digests, and within a day
confirmed  → the same careful edit as `paperboy subscribe`; if that is refused, report it and retry
"""

import logging
from datetime import timedelta

from paperboy.errors import PaperboyError
from paperboy.features.signups import rows
from paperboy.features.signups.rows import Signup, Stage
from paperboy.home import edits
from paperboy.home.home import Home
from paperboy.models import Subscriber
from paperboy.service.app import App
from paperboy.service.feature import Stopped
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)

_WORTH_SENDING = timedelta(days=1)


def work(app: App, task: Task, _: Stopped) -> str:
    """Mail the link or edit the list's file; return why to retry (empty: no retry)."""
    database = app.store.database
    signup = rows.get(database, task.subject)
    if signup and signup.stage == Stage.ASKED:
        _mail(app, signup)
    if signup is None or signup.stage != Stage.CONFIRMED:
        return ""

    name = signup.list_name
    try:
        home = Home.load(app.path, app.environ)  # the files as they are now
        mailing_list = home.find(name)
        if mailing_list is None or not mailing_list.open:
            rows.move(database, signup, Stage.ENDED)
            logger.warning("%s: somebody signed up, but the list no longer takes sign-ups", name)
            return ""
        if not mailing_list.subscriber(signup.address):
            edits.subscribe(home, mailing_list, Subscriber(signup.address))
    except PaperboyError as error:
        problem = str(error.problems[0])
        logger.warning("%s: a sign-up waits: %s", name, problem)
        return problem
    rows.move(database, signup, Stage.DONE)
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
        rows.move(store.database, signup, Stage.ENDED)
        return

    composed, copy = app.composer.confirmation(
        mailing_list, Subscriber(address), signup.token, signup.at
    )
    now = app.clock()
    with store.transaction():
        store.ledger.freeze(composed, [copy], now, expires=now + _WORTH_SENDING, priority=1)
        rows.move(store.database, signup, Stage.MAILED)
