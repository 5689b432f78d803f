"""The task of a sign-up: a confirmation mail goes out, or a confirmed address comes into `subscribers.yaml`.

asked      → on the list already, or suppressed by others? it ends, and nobody can tell from outside
else one mail with a link is frozen, which goes before digests and is worth sending for a day
confirmed  → the same careful edit as `paperboy subscribe`; where that is refused, it waits, the operator is told
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from paperboy.errors import ConfigError, PaperboyError
from paperboy.features.signups.requests import Signup, Signups, Stage
from paperboy.home import edits
from paperboy.home.versions import Home
from paperboy.models import Subscriber
from paperboy.service.app import App
from paperboy.store import Store
from paperboy.store.tasks import Task

if TYPE_CHECKING:
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

_WORTH_SENDING = timedelta(days=1)


def work(app: App, _: Callable[[], bool]) -> Callable[[Task], str]:
    """Return the work of a task."""
    worker = Worker(
        store=app.store,
        home=app.home,
        read=lambda: Home.load(app.path, app.environ),
        composer=app.composer,
        clock=app.clock,
    )
    return worker.work


@dataclass(slots=True, kw_only=True)
class Worker:
    """Does what a sign-up needs next. `read` gives the home as its files are now; it raises ConfigError."""

    store: Store
    home: Home  # in force
    read: Callable[[], Home]
    composer: Composer
    clock: Callable[[], datetime]

    def work(self, task: Task) -> str:
        """Mail, or write; return why that is to be tried again."""
        signup = Signups(self.store.database).get(task.subject)
        if signup is None or signup.stage not in {Stage.ASKED, Stage.CONFIRMED}:
            return ""
        problem = self._mail(signup) if signup.stage is Stage.ASKED else self._write(signup)
        if problem:
            logger.warning("%s: a sign-up waits: %s", signup.list_name, problem)
        return problem

    def _mail(self, signup: Signup) -> str:
        signups, now = Signups(self.store.database), self.clock()
        mailing_list = self.home.find(signup.list_name)
        held = self.store.suppressions.find(signup.list_name, signup.address)
        if (
            mailing_list is None
            or not mailing_list.open
            or (held and not held.own)
            or (mailing_list.subscriber(signup.address) and not held)
        ):
            signups.move(signup, Stage.ENDED)
            return ""
        to = Subscriber(signup.address)
        composed, addressed = self.composer.confirmation(mailing_list, to, signup.token, signup.at)
        with self.store.transaction():
            self.store.ledger.freeze(composed, [addressed], now, expires=now + _WORTH_SENDING, priority=1)
            signups.move(signup, Stage.MAILED)
        return ""

    def _write(self, signup: Signup) -> str:
        name, signups = signup.list_name, Signups(self.store.database)
        try:
            home = self.read()
            mailing_list = home.find(name)
            if mailing_list is None or not mailing_list.open:
                signups.move(signup, Stage.ENDED)
                logger.warning("%s: somebody signed up, but the list takes no sign-ups any more", name)
                return ""
            if not mailing_list.subscriber(signup.address):
                edits.subscribe(home, mailing_list, Subscriber(signup.address))
        except PaperboyError as error:
            return str(error.problems[0] if isinstance(error, ConfigError) else error)
        signups.move(signup, Stage.DONE)
        logger.info("%s: somebody who signed up is now on the list", name)
        return ""
