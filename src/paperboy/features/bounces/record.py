"""Record what `paperboy bounce` reads: a bounce, a complaint or a request to leave.

No lock is needed, even while a morning sends: each is one transaction.
"""

from datetime import datetime

from paperboy.features.bounces.complaints import no_more
from paperboy.features.bounces.returned import Bounce, Complaint, Request, read
from paperboy.store import Store
from paperboy.store.readers import Reader
from paperboy.store.suppressions import THRICE


def record(store: Store, mail: bytes, now: datetime) -> str:
    """Do what a returned mail asks for; return what was done, without naming an address."""
    returned = read(mail)
    with store.transaction():  # so that an address erased at this moment stays erased
        if isinstance(returned, Bounce):
            return _record_bounce(store, returned, now)

        if isinstance(returned, Complaint):
            reader = store.readers.by_leave_token(returned.token) if returned.token else None
            list_name = ""  # all lists: the token is the reader's own
            if reader is None:
                delivery = store.ledger.by_message_id(returned.message_id)
                if delivery is None:
                    return "left alone: a complaint about an unknown mail"
                list_name = delivery.list_name  # every forwarded mail carries its Message-ID
                reader = Reader(list_name, delivery.copy.subscriber.address)
            reason = f"marked a mail of {reader.list_name} as spam"
            store.suppressions.add(reader.address, list_name, reason, now, by="complaint")
            return f"{reader.list_name}: a reader marked a mail as spam, and {no_more(list_name)}"

        if isinstance(returned, Request):
            reader = store.readers.by_leave_token(returned.token)
            if reader is None:
                return "left alone: an unsubscribe mail with an unknown token"
            name = reader.list_name
            store.suppressions.add(reader.address, name, "left by mail", now, by="reader")
            return f"{name}: a reader left by mail"
    return "left alone: neither a bounce nor a complaint nor an unsubscribe mail"


def _record_bounce(store: Store, bounce: Bounce, now: datetime) -> str:
    delivery = store.ledger.by_message_id(bounce.message_id)
    reader = None if bounce.message_id else store.readers.by_leave_token(bounce.token)
    if reader:
        delivery = store.ledger.last_to(reader.list_name, reader.address)
    if delivery is None:
        return "left alone: a bounce of an unknown mail"
    if not store.ledger.record_bounce(
        delivery, bounce.reply, now, gone=bounce.gone, doubtful=bounce.doubtful
    ):
        return f"{delivery.list_name}: a bounce that is known already"
    done = f"{delivery.list_name}: a digest has bounced; its delivery counts as failed"
    if store.suppressions.add_bounced(now):
        done += f"; its address is suppressed, since {THRICE}"
    return done
