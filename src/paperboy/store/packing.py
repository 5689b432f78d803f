"""A digest's bytes as the database has them: compressed."""

import lzma

from paperboy.models import Composed, Packed

_LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 1 << 19}]  # bytes: a mail's two parts within one window


def pack(composed: Composed) -> Packed:
    """Compress a mail's bytes, which takes as long as writing them: any process may do it."""
    if isinstance(composed, Packed):
        return composed
    message = lzma.compress(composed.message, filters=_LZMA)
    shown = lzma.compress(composed.shown, filters=_LZMA) if composed.shown else b""
    return Packed(composed.subject, composed.sender, message, composed.link, shown)
