"""The errand of sign-ups: confirmation mails go out, and confirmed addresses come into `subscribers.yaml`.

    asked      → on the list already, or suppressed by others? it ends, and nobody can tell from outside
                 else one mail with a link, retried for a day
    confirmed  → the same careful edit as `paperboy subscribe`; where that is refused, it waits, the operator is told

A crash after a mail was accepted and before that was recorded may send it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from paperboy.due import RETRY
from paperboy.errors import ConfigError, MailServerError, PaperboyError
from paperboy.home import edits
from paperboy.home.versions import Home
from paperboy.models import DeliveryState, Subscriber
from paperboy.sending.delivery import Transport
from paperboy.store import Store
from paperboy.store.alerts import Cause, Note
from paperboy.store.signups import Signup, Stage

if TYPE_CHECKING:
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

_MAIL_RETRY, _MAIL_GIVES_UP = timedelta(minutes=5), timedelta(days=1)


@dataclass(slots=True, kw_only=True)
class Round:
    """One round. `read` gives the home as its files are now, which the edit changes; it raises ConfigError."""

    store: Store
    home: Home  # in force
    read: Callable[[], Home]
    composer: Composer
    transport: Transport
    clock: Callable[[], datetime]
    stopped: Callable[[], bool]

    def work(self) -> bool:
        """Do what is due; returns whether all went well. What failed is logged, once for each list."""
        failed = dict[str, str]()
        for each in self.store.signups.due(self.clock()):
            if self.stopped():
                break
            if problem := self._mail(each) if each.stage is Stage.ASKED else self._write(each):
                failed[each.list_name] = problem
        for name, problem in failed.items():
            logger.warning("%s: a sign-up waits: %s", name, problem)
        return not failed

    def _mail(self, signup: Signup) -> str:
        if why := self._needs_none(signup):
            self.store.signups.move(signup, Stage.ENDED, why)
            return ""
        mailing_list = self.home.list(signup.list_name)
        envelope = self.composer.confirmation(mailing_list, Subscriber(signup.address), signup.token, signup.at)
        try:
            receipt = self.transport.send(envelope)
            state, reply = receipt.state, receipt.reply
        except MailServerError as error:
            state, reply = DeliveryState.DEFERRED, str(error)
        if state in {DeliveryState.SENT, DeliveryState.AMBIGUOUS}:
            self.store.signups.move(signup, Stage.MAILED)
            logger.info("%s: a confirmation mail went out", signup.list_name)
            return ""
        if state is DeliveryState.FAILED or self.clock() - signup.at > _MAIL_GIVES_UP:
            self.store.signups.move(signup, Stage.ENDED, reply)
            logger.warning("%s: a confirmation mail was refused: %s", signup.list_name, reply)
            return ""
        until = self.clock() + _MAIL_RETRY * min(2**signup.attempts, 12)
        self.store.signups.postpone(signup, reply, until)
        return reply

    def _needs_none(self, signup: Signup) -> str:
        """Return why no mail is sent; empty: one is."""
        mailing_list = self.home.find(signup.list_name)
        if mailing_list is None or not mailing_list.open:
            return "the list takes no sign-ups"
        held = self.store.suppressions.find(signup.list_name, signup.address)
        if held and not held.own:
            return "suppressed"
        return "on the list already" if mailing_list.subscriber(signup.address) and not held else ""

    def _write(self, signup: Signup) -> str:
        name = signup.list_name
        try:
            home = self.read()
            mailing_list = home.find(name)
            if mailing_list is None or not mailing_list.open:
                self.store.signups.move(signup, Stage.ENDED, "the list takes no sign-ups")
                logger.warning("%s: somebody signed up, but the list takes no sign-ups any more", name)
                return ""
            if not mailing_list.subscriber(signup.address):
                edits.subscribe(home, mailing_list, Subscriber(signup.address))
        except PaperboyError as error:
            problem = str(error.problems[0] if isinstance(error, ConfigError) else error)
            with self.store.transaction():
                self.store.signups.postpone(signup, problem, self.clock() + RETRY)
                note = Note(Cause.SIGNUP, name, problem, problem, {"place": problem.partition(": ")[0]})
                self.store.alerts.note([note], self.clock())
            return problem
        self.store.signups.move(signup, Stage.DONE)
        logger.info("%s: somebody who signed up is now on the list", name)
        return ""
