"""What comes back by mail: bounces, complaints and requests to leave, as `paperboy bounce` is given them.

Takes no lock: each is one transaction, also while a morning sends.
"""

from datetime import datetime

from paperboy.features.bounces.complaints import no_more
from paperboy.features.bounces.returned import Bounce, Complaint, Request, read
from paperboy.sending.bounces import THRICE, suppress_bounced
from paperboy.store import Store
from paperboy.store.readers import Reader


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


def _bounced(store: Store, bounce: Bounce, now: datetime) -> str:
    delivery = store.ledger.by_message_id(bounce.message_id)
    if delivery is None:
        return "left alone: a bounce of no mail that is known here"
    if not store.ledger.came_back(delivery, bounce.reply, now, gone=bounce.gone):
        return f"{delivery.list_name}: a bounce that is known already"
    third = "; its address is suppressed, since " + THRICE if suppress_bounced(store, now) else ""
    return f"{delivery.list_name}: a digest has bounced; its delivery counts as failed{third}"


def _complained(store: Store, complaint: Complaint, now: datetime) -> str:
    reader = store.readers.leaving(complaint.token) if complaint.token else None
    list_name = ""  # all lists: the token is the reader's own. A Message-ID goes along with every forwarded mail.
    if reader is None:
        delivery = store.ledger.by_message_id(complaint.message_id) if complaint.message_id else None
        if delivery is None:
            return "left alone: a complaint about no mail that is known here"
        reader = Reader(delivery.list_name, delivery.addressed.subscriber.address)
        list_name = reader.list_name
    reason = f"called a mail of {reader.list_name} spam"
    store.suppressions.add(reader.address, list_name, reason, now, by="complaint")
    return f"{reader.list_name}: somebody called a mail spam, and {no_more(list_name)}"


def _left(store: Store, request: Request, now: datetime) -> str:
    reader = store.readers.leaving(request.token)
    if reader is None:
        return "left alone: an unsubscribe mail whose token is unknown"
    store.suppressions.add(reader.address, reader.list_name, "left by mail", now, by="reader")
    return f"{reader.list_name}: somebody left by mail"
