"""Sign-up pages of an open list: the form, and the page behind the link in the confirmation mail.

GET  /list/NAME/join       the form
POST /list/NAME/join       records the request; the answer is the same for every address, or 429
                           while the rate limit is reached
GET  /confirm/TOKEN/NAME   the page with its button; changes nothing
POST /confirm/TOKEN/NAME   confirms: a task writes the address into the list's file
"""

from collections.abc import Iterator, Sequence

from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule
from werkzeug.wrappers import Response

from paperboy.edges.text import without_addresses
from paperboy.edges.tokens import signup_token, unsubscribe_token
from paperboy.features.signups import rows
from paperboy.features.signups.rows import KIND, WINDOW, Stage
from paperboy.home import values
from paperboy.mail.page import Page
from paperboy.mail.templates import PageSample
from paperboy.models import MailingList, MessageCopy, Subscriber
from paperboy.web.visit import Visit, found

_CONFIRMED = frozenset({Stage.CONFIRMED, Stage.DONE})
_LONGEST = 254  # characters of an address


def rules() -> Sequence[Rule]:
    """Return the routes of these pages."""
    methods = ["GET", "POST"]
    link = "/confirm/<string(length=32):token>"
    return [
        Rule("/list/<name>/join", endpoint=form, methods=methods),
        Rule(f"{link}/<name>", endpoint=confirm, methods=methods),
        Rule(link, endpoint=confirm, methods=methods),  # in mails of 1.0
    ]


def samples(page: Page) -> Iterator[PageSample]:
    """Yield samples of these pages."""
    shown = {
        "title": page.title,
        "description": "",
        "looks_for": "" if page.library_size else "Samples",
        "library_size": page.library_size,
        "url": page.join_url,
        "list_url": page.list_url,
        "address": "ada@example.org",
        "typed": "ada@",
        "wrong": True,
    }
    yield "expired", shown
    for state in ("form", "asked", "confirm", "done"):
        yield "join", shown | {"state": state}


def form(visit: Visit, name: str) -> Response:
    """Show the form; after a click, say that a mail is on its way."""
    mailing_list = _open_list(visit, name)
    if visit.request.method == "GET" or not visit.from_a_click:
        return _form(visit, mailing_list)

    typed = visit.request.form.get("address", "").strip()
    address = _address(typed)
    if not address:
        return _form(visit, mailing_list, typed=typed[:_LONGEST], wrong=True)

    is_robot = bool(visit.request.form.get("trap"))  # people do not see this field
    if not is_robot:
        token = signup_token(name, address, visit.now, visit.store.secret())
        if not rows.ask(visit.store.database, token, name, address, visit.now):
            response = visit.page("error", mailing_list.language, status=429, code=429)
            response.headers["Retry-After"] = f"{WINDOW.total_seconds():.0f}"
            return response
    return visit.page(
        "join",
        mailing_list.language,
        state="asked",
        title=mailing_list.title,
        list_url=visit.list_url(mailing_list),
    )


def confirm(visit: Visit, token: str, name: str = "") -> Response:
    """Show the page; after a click, say that the address is on the list. `name` is the list's, in
    case the link has expired.
    """
    store = visit.store
    signup = rows.find(store.database, token, visit.now)
    if signup is None:
        return _expired(visit, _open_list(visit, name))
    name = signup.list_name
    address = signup.address

    mailing_list = visit.home.find(name)
    is_done = signup.stage in _CONFIRMED
    if mailing_list is None or not (mailing_list.open or is_done):
        raise NotFound

    suppression = store.suppressions.find(name, address)
    if suppression and not suppression.own:  # after the mail was sent
        raise NotFound

    leave = unsubscribe_token(name, address, store.secret())
    if visit.request.method == "POST" and visit.from_a_click and not is_done:
        with store.transaction():
            rows.move(store.database, signup, Stage.CONFIRMED)
            # NotFound if the address was erased meanwhile, so that nothing of it is stored.
            signup = found(rows.find(store.database, token, visit.now))
            is_done = signup.stage in _CONFIRMED
            store.tasks.add(KIND, token, visit.now)
            store.readers.add(name, [MessageCopy(Subscriber(address), "", leave)])
            if suppression:  # the reader had left, and comes back
                store.suppressions.lift(address, suppression.list_name, visit.now)

    way_out = f"{visit.web_url}/leave/{leave}"
    here = f"{visit.web_url}/confirm/{token}/{name}"
    return visit.page(
        "join",
        mailing_list.language,
        state="done" if is_done else "confirm",
        title=mailing_list.title,
        address=without_addresses(address),
        url=way_out if is_done else here,
        list_url=visit.list_url(mailing_list),
    )


def _open_list(visit: Visit, name: str) -> MailingList:
    """Return a list that takes sign-ups. Raises NotFound."""
    mailing_list = visit.home.find(name)
    if mailing_list is None or not visit.join_url(mailing_list):
        raise NotFound
    return mailing_list


def _expired(visit: Visit, mailing_list: MailingList) -> Response:
    return visit.page(
        "expired",
        mailing_list.language,
        status=410,
        title=mailing_list.title,
        url=visit.join_url(mailing_list),
        list_url=visit.list_url(mailing_list),
    )


def _form(
    visit: Visit,
    mailing_list: MailingList,
    *,
    typed: str = "",
    wrong: bool = False,
) -> Response:
    return visit.page(
        "join",
        mailing_list.language,
        state="form",
        title=mailing_list.title,
        description=mailing_list.description,
        looks_for=visit.looks_for(mailing_list),
        library_size=mailing_list.library_size,
        url=visit.join_url(mailing_list),
        list_url=visit.list_url(mailing_list),
        typed=typed,
        wrong=wrong,
    )


def _address(typed: str) -> str:
    """Return the bare address, or an empty string if no mail can be sent to it."""
    if len(typed) > _LONGEST or "<" in typed or typed.startswith("-"):
        return ""

    try:
        address = values.mailbox(typed).address
    except ValueError:
        return ""

    is_local = "." not in address.rpartition("@")[2]  # a mailbox of this machine
    return "" if is_local else address
