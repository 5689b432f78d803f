"""Pages that were rendered lately: a hundred readers who open one mail at once cost one render."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from paperboy.web.kept import Kept


def test_readers_who_come_at_once_share_one_render() -> None:
    kept, rendered, begun = Kept(), list[int](), Event()

    def render() -> str:
        rendered.append(1)
        begun.wait(0.2)  # the others come meanwhile
        return "page"

    with ThreadPoolExecutor(20) as readers:
        found = list(readers.map(lambda _: kept.page("key", render), range(100)))
    assert len(rendered) == 1
    assert {each.body for each in found} == {b"page"}
    assert len({each.etag for each in found}) == 1


def test_page_that_is_kept_waits_for_no_render_of_another() -> None:
    kept, begun, go_on = Kept(), Event(), Event()
    kept.page("kept", lambda: "page")

    def slow() -> str:
        begun.set()
        go_on.wait(10)
        return "slow"

    other = Thread(target=kept.page, args=("other", slow))
    other.start()
    begun.wait(10)
    assert kept.page("kept", lambda: "again").body == b"page"
    assert other.is_alive()
    go_on.set()
    other.join()


def test_what_nobody_asked_for_lately_is_rendered_again() -> None:
    kept = Kept()
    kept.page("first", lambda: "one")
    for number in range(31):
        kept.page(number, lambda: "")
    assert kept.page("first", lambda: "two").body == b"one"
    for number in range(32):
        kept.page(number, lambda: "")
    assert kept.page("first", lambda: "two").body == b"two"


def test_failure_is_not_kept() -> None:
    kept = Kept()
    with pytest.raises(ZeroDivisionError):
        kept.page("key", lambda: str(1 // 0))
    assert kept.page("key", lambda: "page").body == b"page"
