"""What a digest's bytes are in the database: smaller, and the same when they come back."""

import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.mail.message import freeze, placeholders
from paperboy.mail.templates import Rendered
from paperboy.models import Composed
from paperboy.store.packing import folded, pack, unfolded, unpack
from tests.mail.mails import MAILS

MARKS = placeholders(b"the secret of these tests", "foundations")
LONG = "a line that is longer than a mail allows, with a mark — here: {} and more of it after that, "


@pytest.mark.parametrize("name", MAILS)
def test_mails_come_back_as_they_were(name: str) -> None:
    message = MAILS[name]().message
    packed = pack(Composed("", "", message))
    assert unpack(packed.message) == message
    assert pack(packed) is packed


@given(st.lists(st.text(".=F rom\n\tä—x", max_size=100) | st.sampled_from([*MARKS, LONG]), max_size=12))
def test_any_text_comes_back_as_it_was(texts: list[str]) -> None:
    message = freeze(["Subject: one"], Rendered("one", "".join(texts), "<br>".join(texts)), MARKS)
    assert folded(unfolded(message)) == message
    assert unpack(pack(Composed("", "", message)).message) == message


def test_breaks_of_long_lines_take_no_room() -> None:
    message = freeze(["Subject: one"], Rendered("one", LONG * 50, LONG * 50), None)
    assert message.count(b"=\r\n") > 100
    assert unfolded(message).count(b"=\r\n") == 0


def test_bytes_of_another_shape_come_back_as_they_were() -> None:
    """As from an older version, or a message whose breaks no encoder would make."""
    for body in (b"short=\r\nlines=\r\n", b"=\r\n=\r\n", b"a" * 75 + b"=\r\nb\r\n", b"=3D" * 25 + b"=\r\n=3D\r\n", b""):
        message = b"Subject: " + b"long" * 30 + b"\r\n\r\n" + body
        assert unpack(pack(Composed("", "", message)).message) == message
        assert unpack(lzma.compress(message)) == message
