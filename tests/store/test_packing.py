"""What a digest's bytes are in the database: smaller, and packed once."""

import lzma

from paperboy.models import Composed
from paperboy.store.ledger import pack
from tests.mail.mails import MAILS


def test_digest_is_packed_once() -> None:
    composed = Composed("", "", next(iter(MAILS.values()))().message)
    packed = pack(composed)
    assert lzma.decompress(packed.message) == composed.message
    assert len(packed.message) < len(composed.message) / 3
    assert pack(packed) is packed
