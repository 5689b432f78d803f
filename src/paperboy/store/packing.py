"""A digest's bytes as the database has them: compressed, and without the soft line breaks of quoted-printable.

A break that stands where any encoder would make it is left out, since the same words break elsewhere in each paragraph,
and in the text and the HTML: a tenth of what compression leaves. Other breaks stay, so bytes come back as they were.
"""

import lzma
from itertools import pairwise

from paperboy.models import Composed, Packed

_LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 1 << 19}]  # bytes: a mail's two parts within one window
_SOFT, _LINE_END = b"=\r\n", b"\r\n"
_MOST = 76  # octets of a line, with the "=" of a soft break


def pack(composed: Composed) -> Packed:
    """Compress a mail's bytes, which takes as long as writing them: any process may do it."""
    if isinstance(composed, Packed):
        return composed
    short = unfolded(composed.message)
    message = short if folded(short) == composed.message else composed.message
    shown = lzma.compress(composed.shown, filters=_LZMA) if composed.shown else b""
    return Packed(composed.subject, composed.sender, lzma.compress(message, filters=_LZMA), composed.link, shown)


def unpack(message: bytes) -> bytes:
    """The mail's bytes, as they were."""
    return folded(lzma.decompress(message))


def unfolded(message: bytes) -> bytes:
    """The message without the soft line breaks that `folded` makes."""
    head, blank, body = message.partition(_LINE_END * 2)
    pieces = body.split(_SOFT)
    made = pieces[:1]
    for before, piece in pairwise(pieces):
        octets = len(before) - before.rfind(b"\n") - 1
        full = octets == _MOST - 1 or (octets in {_MOST - 3, _MOST - 2} and piece.startswith(b"="))
        goes_on = octets + len(piece.partition(_LINE_END)[0]) > _MOST
        made += [piece] if full and goes_on else [_SOFT, piece]
    return b"".join((head, blank, *made))


def folded(message: bytes) -> bytes:
    """The message with soft breaks in its body's lines of more than 76 octets, but in no "=3D"."""
    head, blank, body = message.partition(_LINE_END * 2)
    lines = []
    for line in body.split(_LINE_END):
        start = 0
        while len(line) - start > _MOST:
            end = start + _MOST - 1
            end -= 1 if line[end - 1] == ord("=") else 2 if line[end - 2] == ord("=") else 0
            lines.append(line[start:end] + b"=")
            start = end
        lines.append(line[start:])
    return head + blank + _LINE_END.join(lines)
