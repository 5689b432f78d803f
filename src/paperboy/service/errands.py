"""Errands: small work beside the mail. It never holds up a morning or a sending, which run at the same time.

    webhooks    tell other programs of a digest
    sign-ups    confirmation mails go out, and who confirmed comes into the list's file
    indexing    let the papers of a public digest be found
    learning    from an LLM's scores, and from readers' votes

`work` does them all once. The daemon starts that while `waits` says so, in a child of its own kind; `once` ends with
it.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime

from paperboy.home.versions import Home
from paperboy.models import MailingList
from paperboy.reports import alerts
from paperboy.service.app import App
from paperboy.store import Store
from paperboy.store.alerts import Cause

SECONDS = 30.0  # for each kind in one round; what is left waits for the next, so that the other kinds have their turn

Stopped = Callable[[], bool]


def waits(store: Store, lists: Sequence[MailingList], now: datetime, *, from_scores: bool = False) -> bool:
    """Whether there is something to do now: one cheap query for each kind. `from_scores`: see `Learning`."""
    return (
        bool(store.webhooks.waiting(now))
        or bool(store.signups.due(now))
        or store.search.waits([each.name for each in lists if each.is_public])
        or bool(store.learned.due([each.name for each in lists if each.topics], now, scores=from_scores))
    )


def work(app: App, stopped: Stopped, *, by_hand: bool = False) -> bool:
    """Do each kind of errand once; return whether all went well. What failed is logged. A kind that cannot go on does
    not keep the others from their turn: the first such error is raised at the end. `by_hand` takes its time.
    """

    def turn() -> Stopped:
        until = app.timer() + SECONDS
        return lambda: stopped() or (not by_hand and app.timer() >= until)

    well, broken = True, None
    for errand in (_webhooks, _signups, _index, _learn):
        try:
            well = errand(app, turn()) and well
        except Exception as error:  # noqa: BLE001  # raised below
            broken = broken or error
    if broken:
        raise broken
    alerts.of_work(app.store, Cause.ERRANDS, "", app.clock())
    return well


def _webhooks(app: App, stopped: Stopped) -> bool:
    from paperboy import webhook

    if not app.store.webhooks.waiting(app.clock()):
        return True
    calls = webhook.Round(
        store=app.store,
        lists={mailing_list.name: mailing_list for mailing_list in app.home.lists},
        web_url=app.settings.web_url,
        proxy=app.proxy,
        clock=app.clock,
        stopped=stopped,
    )
    with app.progress.stage("Webhooks") as show:
        return calls.call(show)


def _signups(app: App, stopped: Stopped) -> bool:
    from paperboy import signups

    if not app.store.signups.due(app.clock()):
        return True
    with closing(app.transports[0]) as transport:
        errand = signups.Round(
            store=app.store,
            home=app.home,
            read=lambda: Home.load(app.path, app.environ),
            composer=app.composer,
            transport=transport,
            clock=app.clock,
            stopped=stopped,
        )
        return errand.work()


def _index(app: App, stopped: Stopped) -> bool:
    from paperboy import indexing

    indexing.index(app.store, app.home.lists, stopped)
    return True


def _learn(app: App, stopped: Stopped) -> bool:
    app.learning.learn(app.home.lists, app.clock(), stopped)
    return True
