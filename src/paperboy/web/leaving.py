"""The way out of a list: the one click of a mail program (RFC 8058), and the page behind the mail's
own link.

GET  /leave/TOKEN       the page with its button; changes nothing
POST /leave/TOKEN       the one click: acts on any POST, whatever its body
POST /leave/TOKEN/now   the button
POST /leave/TOKEN/undo  comes back, if the person left by themselves
"""

from werkzeug.wrappers import Response

from paperboy.edges.text import without_addresses
from paperboy.web.visit import Visit, found


def show(visit: Visit, token: str) -> Response:
    """The page; for a mail program's POST the deed, with a short answer and no redirect."""
    if visit.request.method == "POST":
        _leave(visit, token, "left by one click in a mail program")
        return Response("You are off this list.\n", mimetype="text/plain")
    return _page(visit, token)


def now(visit: Visit, token: str) -> Response:
    """Leave."""
    if visit.from_a_click:
        _leave(visit, token, "left on the web page")
    return _page(visit, token)


def undo(visit: Visit, token: str) -> Response:
    """Come back; not for an address that others have suppressed."""
    store = visit.store
    on = "on"
    with store.transaction():
        reader = found(store.readers.leaving(token))
        held = store.suppressions.find(reader.list_name, reader.address)
        if visit.from_a_click and held and held.own:
            store.suppressions.lift(reader.address, held.list_name, visit.now)
            on = "back"
    return _page(visit, token, on)


def _leave(visit: Visit, token: str, reason: str) -> None:
    with visit.store.transaction():  # whoever is forgotten at this moment stays so
        reader = found(visit.store.readers.leaving(token))
        visit.store.suppressions.add(
            reader.address, reader.list_name, reason, visit.now, by="reader"
        )


def _page(visit: Visit, token: str, on: str = "on") -> Response:
    reader = found(visit.store.readers.leaving(token))
    held = visit.store.suppressions.find(reader.list_name, reader.address)
    state = on if held is None else "left" if held.own else "suppressed"
    mailing_list = visit.home.find(reader.list_name)  # None: the file has it no longer
    return visit.page(
        "leave",
        mailing_list.language if mailing_list else "",
        state=state,
        title=mailing_list.title if mailing_list else reader.list_name,
        address=without_addresses(reader.address),
        url=f"{visit.web_url}/leave/{token}",
    )
