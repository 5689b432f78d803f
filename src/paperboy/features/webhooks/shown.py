"""What the operator sees of webhooks: the last reply, and an alert for a call that failed for good."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from paperboy.features.webhooks.rows import KIND, Webhooks, line
from paperboy.models import DeliveryState, MailingList
from paperboy.reports.alerts import Words
from paperboy.reports.problems import Problem
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.service.output import again
from paperboy.store import Store


def words() -> Mapping[str, Words]:
    """Return the words of a webhook that was not told of a digest."""
    return {
        KIND: Words(
            "The webhook of {names} was not told of a digest",
            "Mail is not concerned. That digest is not tried again; the next one is.",
            "Correct the list's webhook in subscribers.yaml, or remove it. paperboy status shows the last reply.",
            "the webhook of {names} works",
            concerns=lambda mailing_list: bool(mailing_list.webhook),
        )
    }


def problems(store: Store, lists: Sequence[MailingList], _: datetime) -> Iterator[Problem]:
    """Yield a problem for each list whose last call failed for good."""
    called = {mailing_list.name: mailing_list for mailing_list in lists if mailing_list.webhook}
    for name, call in Webhooks(store.database).newest(called, ended=True).items():
        if call.state is DeliveryState.FAILED:
            lines = (line(call, called[name], call.reply),)
            yield Problem(kind=KIND, subject=name, since=call.at, last=call.at, reason=call.reply, lines=lines)


def status(app: App, lists: Sequence[MailingList], _: datetime) -> Shown:
    """Show the call of each list's newest digest."""
    called = [mailing_list.name for mailing_list in lists if mailing_list.webhook]
    calls = Webhooks(app.store_to_ask.database).newest(called)
    kept = ("date", "state", "reply", "attempts", "at")
    found = {}
    wrong = []
    for name, call in calls.items():
        found[name] = {**{key: getattr(call, key) for key in kept}, "next_try": call.try_at}
        if call.reply and call.state is not DeliveryState.SENT:
            how = "failed, " if call.state is DeliveryState.FAILED else ""
            wrong.append((name, f", {call.date:%a %d %b}: webhook: {how}{call.reply}{again(app, call.try_at)}"))
    return Shown(key="webhook", of_lists=found, wrong=wrong)
