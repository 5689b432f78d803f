"""What the operator sees of webhooks: calls that failed."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from paperboy.features.webhooks.rows import KIND, line, newest, since
from paperboy.models import DeliveryState, MailingList
from paperboy.reports.problems import Words
from paperboy.reports.status import again
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.store.incidents import Incident


def words() -> Mapping[str, Words]:
    """Return the words for a call that failed for good."""
    return {
        KIND: Words(
            "The webhook of {names} did not receive a digest",
            "Mail is not affected. That digest is not posted again; the next one is.",
            "Correct the list's webhook in subscribers.yaml, or remove it. paperboy status shows the last reply.",
            "the webhook of {names} works",
            concerns=lambda mailing_list: bool(mailing_list.webhook),
        )
    }


def problems(app: App) -> Iterator[Incident]:
    """Yield a problem for each list whose last call failed for good."""
    lists = {
        mailing_list.name: mailing_list for mailing_list in app.home.lists if mailing_list.webhook
    }
    database = app.store_to_ask.database
    for name, call in newest(database, lists, ended=True).items():
        if call.state is DeliveryState.FAILED:
            yield Incident(
                kind=KIND,
                subject=name,
                since=since(database, name) or call.at,
                last=call.at,
                reason=call.reply,
                facts={"lines": [line(call, lists[name], call.reply)]},
            )


def status(app: App, lists: Sequence[MailingList], _: datetime) -> Shown:
    """Show the call of each list's newest digest."""
    names = [mailing_list.name for mailing_list in lists if mailing_list.webhook]
    of_lists = {}
    wrong = []
    for name, call in newest(app.store_to_ask.database, names).items():
        of_lists[name] = {
            "date": call.date,
            "state": call.state,
            "reply": call.reply,
            "attempts": call.attempts,
            "at": call.at,
            "next_try": call.try_at,
        }
        if call.reply and call.state is not DeliveryState.SENT:
            failed = "failed, " if call.state is DeliveryState.FAILED else ""
            then = again(app.retry(call.try_at), app.clock(), app.settings.timezone)
            reply = f"{failed}{call.reply}{then}"
            wrong.append((name, f", {call.date:%a %d %b}: webhook: {reply}"))
    return Shown(key="webhook", of_lists=of_lists, wrong=wrong)
