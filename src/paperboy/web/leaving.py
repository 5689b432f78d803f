"""The unsubscribe page behind the link in a mail, and a mail program's one click (RFC 8058).

GET  /leave/TOKEN       the page with its button; changes nothing
POST /leave/TOKEN       the one click: acts on any POST, whatever its body
POST /leave/TOKEN/now   the button
POST /leave/TOKEN/undo  subscribes again, if the person left by themselves

Its words are in `emails/_room.j2`.
"""

from werkzeug.wrappers import Response

from paperboy.edges.text import without_addresses
from paperboy.web.visit import Visit, found


def show(visit: Visit, token: str) -> Response:
    """Show the page; on a mail program's POST leave at once, with a short answer, no redirect."""
    if visit.request.method == "POST":
        _leave(visit, token, "left by one click in a mail program")
        return Response("You are off this list.\n", mimetype="text/plain")
    return _page(visit, token)


def now(visit: Visit, token: str) -> Response:
    """Leave the list after a click on the page."""
    if visit.from_a_click:
        _leave(visit, token, "left on the web page")
    return _page(visit, token)


def undo(visit: Visit, token: str) -> Response:
    """Come back to the list, unless somebody else has suppressed the address."""
    store = visit.store
    state = "on"
    with store.transaction():
        reader = found(store.readers.by_leave_token(token))
        suppression = store.suppressions.find(reader.list_name, reader.address)
        if visit.from_a_click and suppression and suppression.own:
            store.suppressions.lift(reader.address, suppression.list_name, visit.now)
            state = "back"
    return _page(visit, token, state)


def _leave(visit: Visit, token: str, reason: str) -> None:
    store = visit.store
    with store.transaction():  # so that a reader erased at this moment stays erased
        reader = found(store.readers.by_leave_token(token))
        store.suppressions.add(reader.address, reader.list_name, reason, visit.now, by="reader")


def _page(visit: Visit, token: str, state: str = "on") -> Response:
    """Return the page; `state` holds unless the address is suppressed."""
    reader = found(visit.store.readers.by_leave_token(token))
    suppression = visit.store.suppressions.find(reader.list_name, reader.address)
    if suppression:
        state = "left" if suppression.own else "suppressed"

    title = reader.list_name
    language = ""
    list_url = ""
    mailing_list = visit.home.find(reader.list_name)
    if mailing_list:  # None if the file no longer has it
        title = mailing_list.title
        language = mailing_list.language
        list_url = visit.list_url(mailing_list)
    return visit.page(
        "leave",
        language,
        state=state,
        title=title,
        address=without_addresses(reader.address),
        url=f"{visit.web_url}/leave/{token}",
        list_url=list_url,
    )
