"""What can be wrong with an answer of arXiv's API: each fault turns the right answer into a wrong one."""

import itertools
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes over the wire, and how."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (
        ("Content-Type", "application/atom+xml; charset=utf-8"),
    )
    declared: int | None = None  # Content-Length, where it is not the truth
    dropped: bool = False  # the connection is closed without an answer
    delay: float = 0.0  # seconds of silence before the answer
    # What is written instead, until the client has enough.
    raw: Callable[[], Iterable[bytes]] | None = None


Fault = Callable[[Answer], Answer]
"""Turns the right answer into a wrong one."""


def fine(answer: Answer) -> Answer:
    """No fault: lets one request pass."""
    return answer


def plain(status: int, body: str, *headers: tuple[str, str]) -> Fault:
    """That status and text, instead of a feed."""
    return lambda _: Answer(body.encode(), status, (("Content-Type", "text/plain"), *headers))


def rate_limited(retry_after: int | str | None = None, *headers: tuple[str, str]) -> Fault:
    """HTTP 429 as arXiv words it; usually it does not say for how long."""
    return plain(429, "Rate exceeded.", *_retry_after(retry_after), *headers)


def unavailable(retry_after: int | str | None = None) -> Fault:
    return plain(503, "first byte timeout", *_retry_after(retry_after))


def _retry_after(value: int | str | None) -> list[tuple[str, str]]:
    return [] if value is None else [("Retry-After", str(value))]


def refused(reason: str, status: int = 400) -> Fault:
    """arXiv's error feed: one entry that is no paper."""
    place = "https://arxiv.org/api/errors#" + re.sub(r"\W+", "_", reason)
    entry = (
        f"  <entry>\n    <id>{place}</id>\n    <title>Error</title>\n    <updated>2026-11-20T00:00:00Z</updated>\n"
        f"    <summary>{escape(reason)}</summary>\n    <author><name>arXiv api core</name></author>\n  </entry>\n"
    )
    head = (
        '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns="http://www.w3.org/2005/Atom">\n'
        "  <title>arXiv Search Results</title>\n  <opensearch:totalResults>1</opensearch:totalResults>\n"
    )
    return lambda answer: replace(answer, status=status, body=f"{head}{entry}</feed>\n".encode())


def hang(seconds: float) -> Fault:
    """Silence for that long, or until the server closes, and then the right answer."""
    return lambda answer: replace(answer, delay=seconds)


def claimed_total(total: int | str) -> Fault:
    """The right entries under a wrong totalResults."""
    return edited(r"(<opensearch:totalResults>)\d+", rf"\g<1>{total}")


def first_entries(count: int) -> Fault:
    """A page with fewer entries than were asked for."""

    def cut(answer: Answer) -> Answer:
        head, *entries = re.split(r"(?=  <entry>)", answer.body.decode().replace("</feed>\n", ""))
        return replace(answer, body="".join([head, *entries[:count], "</feed>\n"]).encode())

    return cut


def edited(pattern: str, replacement: str, *, count: int = 1) -> Fault:
    """The right answer with a pattern replaced in its text, once or `count` times (0: everywhere)."""
    return lambda answer: replace(
        answer,
        body=re.sub(
            pattern, replacement, answer.body.decode(), count=count, flags=re.DOTALL
        ).encode(),
    )


def redirected(location: str) -> Fault:
    return plain(302, "", ("Location", location))


def in_first_entry(element: str, instead: str) -> Fault:
    """The page's first entry with another element in place of the first of that name."""
    return lambda answer: replace(
        answer,
        body=re.sub(
            rf"(<entry>.*?)<{element}\b[^>]*?(?:/>|>.*?</{element}>)".encode(),
            lambda found: found[1] + instead.encode(),
            answer.body,
            count=1,
            flags=re.DOTALL,
        ),
    )


def body(*pieces: bytes) -> Fault:
    """These bytes as the body."""
    return lambda answer: replace(answer, body=b"".join(pieces))


def packed_spaces(size: int) -> Fault:
    """That many bytes of spaces, packed with gzip."""
    packer = zlib.compressobj(wbits=31)
    piece = b" " * 1_000_000
    packed = b"".join(packer.compress(piece) for _ in range(size // len(piece))) + packer.flush()
    return lambda answer: replace(answer, body=packed, headers=(("Content-Encoding", "gzip"),))


def _endless(*pieces: bytes, every: float = 0.0) -> Fault:
    """The first piece, and the others for ever: `every` so many seconds, or as fast as the client takes them."""

    def write() -> Iterator[bytes]:
        yield pieces[0]
        for piece in itertools.cycle(pieces[1:]):
            time.sleep(every)
            yield piece

    return lambda answer: replace(answer, raw=write)


_HEAD = b"HTTP/1.1 200 OK\r\n"
endless_body = _endless(_HEAD + b"\r\n", b" " * 65_536)
dripping_body = _endless(_HEAD + b"Content-Length: 1000000\r\n\r\n", b" ", every=0.02)
dripping_headers = _endless(_HEAD, b"X: y\r\n", every=0.02)
endless_headers = _endless(_HEAD, b"X: y\r\n" * 1_000)
endless_header = _endless(_HEAD + b"X: ", b"y" * 65_536)
endless_continue = _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)
dripping_continue = _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", every=0.02)


def html_page(answer: Answer) -> Answer:
    body = b"<!DOCTYPE html><html><head><title>arXiv is down for maintenance</title></head><body><br></body></html>"
    return replace(answer, body=body, headers=(("Content-Type", "text/html"),))


def empty_page(answer: Answer) -> Answer:
    """No entry, with the total still in the head."""
    return first_entries(0)(answer)


def nothing(answer: Answer) -> Answer:
    """No entry, and totalResults 0: looks like a day without papers."""
    return claimed_total(0)(empty_page(answer))


def no_body(answer: Answer) -> Answer:
    return replace(answer, body=b"")


def truncated(answer: Answer) -> Answer:
    """Half the XML, under a Content-Length that fits it."""
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def short_body(answer: Answer) -> Answer:
    """Half of what Content-Length announces."""
    return replace(answer, body=answer.body[: len(answer.body) // 2], declared=len(answer.body))


def dropped(answer: Answer) -> Answer:
    return replace(answer, dropped=True)


def dated(published: str) -> Fault:
    """Another date in the page's first entry."""
    return edited(r"<published>[^<]*", f"<published>{published}")


def updated(instant: str) -> Fault:
    """Another date of the last version in the page's first entry."""
    return in_first_entry("updated", f"<updated>{instant}</updated>")


bad_date = dated("yesterday")  # in the page's first entry, like the next two
no_id = edited(r"(<entry>\s*)<id>[^<]*</id>", r"\g<1>")
no_title = edited(r"(<entry>.*?)<title>[^<]*</title>", r"\g<1>")
all_bad_dates = edited(r"<published>[^<]*", "<published>yesterday", count=0)

BY_NAME = {
    "429": rate_limited(),
    "503": unavailable(),
    "400": refused("malformed query"),
    "html": html_page,
    "nothing": nothing,
    "no-body": no_body,
    "truncated": truncated,
    "short": short_body,
    "dropped": dropped,
}
