"""What comes back by mail: bounces, complaints and requests to leave, as `paperboy bounce` is given them.

Takes no lock: each is one transaction, also while a morning sends.
"""

from datetime import datetime

from paperboy.sending.returned import Bounce, Complaint, Request, read
from paperboy.store import Store
from paperboy.store.alerts import Cause, Note
from paperboy.store.readers import Reader

THRICE = "it did not exist for three digests in a row"


def take(store: Store, mail: bytes, now: datetime) -> str:
    """Do what the mail asks for; says what was done, without an address."""
    said = read(mail)
    with store.transaction():  # whoever is forgotten at this moment stays so
        if isinstance(said, Bounce):
            return _bounced(store, said, now)
        if isinstance(said, Complaint):
            return _complained(store, said, now)
        if isinstance(said, Request):
            return _left(store, said, now)
    return "left alone: it is no bounce, no complaint and no unsubscribe mail"


def suppress_bounced(store: Store, now: datetime) -> tuple[str, ...]:
    """The rule of three: suppress addresses that did not exist for three digests in a row; gives them."""
    found = store.deliveries.bounced_thrice()
    with store.transaction():
        for address, reply in found:
            store.suppressions.add(address, "", f"{THRICE}: {reply}", now)
            store.alerts.note([Note(Cause.SUPPRESSED, address, "", f"{address}: {reply}")], now)
    return tuple(address for address, _ in found)


def _bounced(store: Store, bounce: Bounce, now: datetime) -> str:
    delivery = store.deliveries.by_message_id(bounce.message_id)
    if delivery is None:
        return "left alone: a bounce of no mail that is known here"
    if not store.deliveries.came_back(delivery, bounce.reply, now, gone=bounce.gone):
        return f"{delivery.list_name}: a bounce that is known already"
    third = "; its address is suppressed, since " + THRICE if suppress_bounced(store, now) else ""
    return f"{delivery.list_name}: a digest has bounced; its delivery counts as failed{third}"


def _complained(store: Store, complaint: Complaint, now: datetime) -> str:
    reader = store.readers.leaving(complaint.token) if complaint.token else None
    list_name = ""  # all lists: the token is the reader's own. A Message-ID goes along with every forwarded mail.
    if reader is None:
        delivery = store.deliveries.by_message_id(complaint.message_id) if complaint.message_id else None
        if delivery is None:
            return "left alone: a complaint about no mail that is known here"
        reader = Reader(delivery.list_name, delivery.addressed.subscriber.address)
        list_name = reader.list_name
    reason = f"called a mail of {reader.list_name} spam"
    no_more = f"gets no more of {'that' if list_name else 'any'} list"
    if store.suppressions.add(reader.address, list_name, reason, now):
        note = Note(Cause.COMPLAINT, reader.address.lower(), "", f"{reader.address}: {reason}, and {no_more}")
        store.alerts.note([note], now)
    return f"{reader.list_name}: somebody called a mail spam, and {no_more}"


def _left(store: Store, request: Request, now: datetime) -> str:
    reader = store.readers.leaving(request.token)
    if reader is None:
        return "left alone: an unsubscribe mail whose token is unknown"
    store.suppressions.add(reader.address, reader.list_name, "left by mail", now, own=True)
    return f"{reader.list_name}: somebody left by mail"
