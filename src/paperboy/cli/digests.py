"""`paperboy preview` and `resend`: look at a digest, and send one again."""

import webbrowser
from datetime import datetime

import click

from paperboy.cli.mornings import Stop
from paperboy.cli.people import mailbox_from, refusal
from paperboy.console.lines import say
from paperboy.console.words import dry_run, in_words, not_sent
from paperboy.edges.text import counted
from paperboy.errors import PaperboyError
from paperboy.models import Composed, Delivery, DeliveryState, MailingList, Receipt, Subscriber
from paperboy.sending import outbox
from paperboy.sending.delivery import send_outside
from paperboy.sending.resend import Resend, sent
from paperboy.service import soundness
from paperboy.service.app import App
from paperboy.service.check import placeholders
from paperboy.service.soundness import Stops
from paperboy.store.history import WAITING

_COVERED = (
    "Mail programs offer one-click unsubscribing only if a DKIM signature covers it: in the source of that mail, h= of "
    "DKIM-Signature has to name list-unsubscribe and list-unsubscribe-post. With rspamd it does; for OpenDKIM, set "
    "SignHeaders *,+List-Unsubscribe-Post."
)


@click.command()
@click.argument("name", metavar="LIST")
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser.")
@click.option(
    "--to", "address", metavar="ADDRESS", help="Send it to this address only, as a test mail."
)
@click.option("--sent", "as_sent", is_flag=True, help="Show the newest digest as it was sent.")
@click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="With --sent: the digest of this local date.",
)
@click.pass_obj
def preview(
    app: App, name: str, *, open_it: bool, address: str | None, as_sent: bool, day: datetime | None
) -> int:
    """Show the digest that your files would make of today's papers; nothing counts as sent.

    Today's papers are those that the list has not seen yet, and those that it was served today.
    So you can try topics, thresholds, templates and the prompt all day. Scores are kept, so none is
    paid for twice. New topics are scored anew; the cost is announced first. New thresholds cost
    nothing.

    The digest is written to a file, opened in the browser, or sent to one address as a test mail.
    You can use this while the daemon runs; where papers have no score yet, it waits for a morning
    that is under way.
    """
    if day and not as_sent:
        raise click.UsageError("--date goes with --sent.")

    app.set_up_log()
    mailing_list = app.home.list(name)
    recipient = _recipient(address, mailing_list)

    if not as_sent:
        soundness.require(app, Stops.SENDING if recipient else Stops.MORNINGS)
        draft = app.previews("preview").of(mailing_list)
        composed = draft.mail
        about = f"{name}: there are no papers today"
        if draft.digest.counts.considered:
            about = dry_run(mailing_list, draft, "")[0]
            about += "; the list is paused, so nobody gets it" * mailing_list.paused
    else:
        sent_on, composed = sent(app.store_to_ask, name, day.date() if day else None)
        about = f"{name}: the digest of {sent_on:%a %d %b %Y}, as it was sent"

    say(about, *placeholders(mailing_list), err=True)
    if composed is None:
        return 0

    if recipient:
        return _test_mail(app, composed, name, recipient)

    page = outbox.preview(app.composer, app.settings.paperboy_outbox, name, composed, app.clock())
    say(str(page))
    if open_it:
        webbrowser.open(page.as_uri())

    return 0


def _test_mail(app: App, composed: Composed, name: str, recipient: Subscriber) -> int:
    """Send a test mail, whose links work for a subscriber of the list."""
    transport = app.transports[0]
    if recipient in app.home.list(name).subscribers:
        copy = app.composer.copy_for(name, app.clock().date(), recipient)
        with app.alone("tasks", "preview"):
            if recipient in app.home.list(name).subscribers:  # not forgotten meanwhile
                app.store.readers.add(name, [copy])

    receipt = send_outside(
        transport, app.composer, composed, name, recipient, app.clock(), test=True
    )
    code = _said(recipient, receipt)
    if app.settings.web_url and not app.signer and not code:
        say(_COVERED)
    return code


@click.command()
@click.argument("name", metavar="[LIST]", required=False)
@click.option(
    "--failed",
    is_flag=True,
    help="Only to addresses where it failed or may have failed; also send the digests of the last two weeks that "
    "were given up.",
)
@click.option(
    "--to",
    "address",
    metavar="ADDRESS",
    help="Only to this address, even if it already got it; one that is not on the list gets a test mail.",
)
@click.pass_obj
def resend(app: App, name: str | None, *, failed: bool, address: str | None) -> int:
    """Send a list's newest digest again to subscribers who do not have it.

    These are the subscribers whom it did not reach, and those who joined since. Without LIST and
    with --failed, it is the newest digest of each list.

    The digest goes out as it was composed. Nobody who has it gets it twice, except the address
    given with --to. Mail in the outbox counts as not delivered once a mail server is set up. With
    --failed, digests of the last two weeks that were given up after three days are sent again, too.
    While the daemon is sending, this waits until it is done.
    """
    app.set_up_log()
    if failed and address is not None:
        raise click.UsageError(
            "--failed and --to exclude each other: --to is for one address, in any state."
        )
    if name is None and not failed:
        raise click.UsageError("Name a LIST; only with --failed it may be left out, for all lists.")

    _resends(app, name, address)
    soundness.require(app, Stops.SENDING)

    with app.alone("sending", "resend"), Stop() as stop:
        stop.gently = True
        resends, recipient = _resends(app, name, address)
        if recipient:
            return _to_one(app, resends[0], stop, recipient)
        for again in resends:
            try:
                _put_back(again, failed_only=failed)
            except PaperboyError as error:
                if name is not None:
                    raise
                # One list's digest that cannot be sent again stops no other list.
                say(str(error), err=True)

        report = app.deliver(stop, by_hand=True)
        if report.states:
            say(f"Deliveries of all that waited: {in_words(report.states)}")
        left = not_sent(app.store.ledger.unfinished(), report)
        say(*left, err=True)
        return 1 if left else 0


def _resends(
    app: App, name: str | None, address: str | None
) -> tuple[list[Resend], Subscriber | None]:
    """Return what to send again, and the only recipient if one is named, from the current files."""
    lists = app.home.lists if name is None else (app.home.list(name),)
    recipient = _recipient(address, lists[0])
    return [app.resend(mailing_list) for mailing_list in lists], recipient


def _put_back(again: Resend, *, failed_only: bool) -> None:
    for day, number in again.put_back(failed_only=failed_only).items():
        whom = "there is nobody to send it to"
        if number:
            whom = f"to be sent to {counted(number, 'subscriber')}"
        say(f"{again.mailing_list.name}, the digest of {day:%a %d %b}: {whom}")


def _recipient(address: str | None, mailing_list: MailingList) -> Subscriber | None:
    """Return the list's subscriber with that address, or one who is not on the list."""
    if address is None:
        return None

    recipient = mailbox_from(address, "--to")
    return mailing_list.subscriber(recipient.address) or recipient


def _to_one(app: App, again: Resend, stop: Stop, recipient: Subscriber) -> int:
    """Resend to one subscriber: through the ledger if they lack the digest, else outside it."""
    mailing_list = again.mailing_list
    if suppressed := app.store.suppressions.find(mailing_list.name, recipient.address):
        raise PaperboyError(refusal(suppressed, app.settings.timezone))

    waiting = again.put_back_for(recipient)
    if waiting is None:
        code = _said(recipient, again.outside(app.transports[0], recipient))
        if recipient not in mailing_list.subscribers:
            say(f"{recipient.address} is not on {mailing_list.name}: that was a test mail.")
        return code

    report = app.deliver(stop, by_hand=True, only=waiting.id)
    delivery = app.store.ledger.get(waiting.id)
    if delivery.state in WAITING:
        say(*not_sent(1, report), err=True)

    return _said(recipient, delivery)


def _said(recipient: Subscriber, result: Receipt | Delivery) -> int:
    say(f"{recipient.address}: {result.state}, {result.reply}")
    return 0 if result.state is DeliveryState.SENT else 1
