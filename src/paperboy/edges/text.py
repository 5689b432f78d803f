"""Text from outside, made fit for a line, a message or a terminal. Pure; each takes time linear in
the text's length.

printable           without what is invisible
composed            one line, nothing removed
one_line            both: for mails, prompts and all that is stored
visible             what a terminal or a log would obey is shown as an escape
shortened           cut after a word
cut                 where prose may end: after a sentence, or a word
hidden              without a secret
without_url         without a URL, which is often a secret
without_addresses   for the log, and reports that more people see than the operator
mentions            finds one address
did_you_mean        suggests what a word was to be
"""

import difflib
import re
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, takewhile
from urllib.parse import quote, quote_plus, urlsplit

_LONGEST_WORD = (
    1000  # characters of a word that is composed; a run of marks takes time quadratic in its length
)

# What is invisible, turns the writing direction, or is no character: of Unicode's classes Cc, Cf
# and Cs all but the spaces and the two joiners, which shape emoji and letters; and the code points
# that never are characters.
_INVISIBLE = (
    "\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
) + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
_REMOVED = re.compile(f"[{_INVISIBLE}]")
_ESCAPED = re.compile(f"[{_INVISIBLE}\t-\r\x1c-\x1f\x85\u2028\u2029]")
_BREAK = r"(?:\s|\\[nrt])*"  # a server may break a long word, and quote JSON within JSON
_PART = r"[^\s<>()\[\]{}\"',;:@]"
_ADDRESS = re.compile(
    rf"(?<!{_PART})({_PART}){_PART}*(@{_PART}+)"
)  # tried where a word begins: the time is linear

SENTENCE_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]+)[)\]}\"'”’»]*(?=\s+[(\[{“‘\"'«*]*(?:[^\W_a-z]|[a-z](?![\w.’'-])|[a-z]+[A-Z\d∼~=]))|[。！？][」』）]*"
)
WORD_END = re.compile(r"[^\s,;:–—\-(\[{“‘](?=[,;:–—\-(\[{“‘]*\s)")
_ABBREVIATION = re.compile(
    r"""
    (?:^|[\s(\[{“‘"'])  # where a word begins
    (?:
        [A-Z]|(?:[A-Za-z]\.-?)+[A-Za-z]|\d{1,2}  # initials of a name, or U.S, i.e, a.m; or 1 of a list
        |(?i:vs|cf|ca|approx|resp|incl|al|etc|figs?|eqs?|sec|sects?|refs?|tab|no|app|vol|pp|dr|prof|mrs?|st|mt|inc|phys)
        |(?i:rev|lett)
    )$
    """,
    re.VERBOSE,
)


def printable(text: str) -> str:
    """Remove control characters, marks that turn the writing direction, invisible characters, lone
    surrogates and code points that no XML may hold. Spaces and line ends stay.
    """
    return text if text.isprintable() else _REMOVED.sub("", text)


def one_line(text: str) -> str:
    return composed(printable(text))


def composed(text: str) -> str:
    """Return one line in NFC, with all that it holds."""
    words = text.split()
    return " ".join(
        word if len(word) > _LONGEST_WORD else unicodedata.normalize("NFC", word) for word in words
    )


def visible(text: str) -> str:
    r"""Show what `printable` removes, and every line end and tab, as an escape: \n, \x1b,
    \u202e.
    """
    return _ESCAPED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str, most: int) -> str:
    """Cut a text after a word, if there is one, to at most so many characters."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(" ", 1)[0][: most - 1].rstrip(",;:") + "…"


def cut(text: str, limit: int, *kinds: re.Pattern[str]) -> int:
    """Return where to end a text that is longer than the limit: at the last sentence's or word's
    end, or the last end of the given kinds, in the last two thirds of the limit. A wider limit
    never cuts earlier.
    """
    ends = (last_end(text, limit, kind, limit // 3) for kind in kinds or (SENTENCE_END, WORD_END))
    return next(filter(None, ends), limit)


def last_end(text: str, limit: int, kind: re.Pattern[str], least: int = 1) -> int:
    """Find the last end of that kind from `least` to `limit`, before which no bracket is open if
    possible; else 0.
    """
    # Any kind of bracket closes any other: intervals are written [0, 1).
    depths = (
        0,
        *accumulate((character in "([") - (character in ")]") for character in text[:limit]),
    )
    first = takewhile(lambda match: match.end() <= limit, kind.finditer(text))
    near = [match.end() for match in first if match.end() >= least and not _is_abbreviation(match)]
    return next((end for end in reversed(near) if depths[end] <= 0), near[-1] if near else 0)


def _is_abbreviation(match: re.Match[str]) -> bool:
    """Check whether a full stop, or what else was found, ends no more than a word."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    before = before.replace(
        "\u2060", ""
    )  # a word joiner, which keeps mail programs from making links
    return match.groupdict().get("mark") == "." and bool(_ABBREVIATION.search(before))


def hidden(text: str, secret: str, least: int = 8) -> str:
    """Put "…" in place of each copy of the secret: as it is, quoted for a URL, and within base64,
    in any case, and also where spaces or line ends break it.

    A secret of fewer than `least` characters stays, since ordinary words would go with it. Hide
    before shortening.
    """
    if len("".join(secret.split())) < max(least, 1):
        return text
    return _forms(secret).sub("…", text)


def without_url(text: str, url: str) -> str:
    """Hide the URL, and each part of it that a server repeats; its scheme and its host alone
    stay.
    """
    _, _, _, *parts = re.split(r"[/?&=#]", url)
    for secret in (
        url,
        url.partition(urlsplit(url).netloc)[2],
        *sorted(parts, key=len, reverse=True),
    ):
        text = hidden(text, secret, least=5)
    return text


@lru_cache(maxsize=8)
def _forms(secret: str) -> re.Pattern[str]:
    """Find a secret in all its forms."""
    plain = secret.encode(errors="replace")
    forms = {secret, quote(plain), quote(plain, safe=""), quote_plus(plain)}

    # Within base64, the characters that the secret alone decides, wherever it begins in what was
    # encoded.
    for before, first in enumerate((0, 2, 3)):
        last = (before + len(plain)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            forms.add(encode(bytes(before) + plain).decode()[first:last])

    longest_first = ("".join(form.split()) for form in sorted(forms, key=len, reverse=True))
    return re.compile(
        "|".join(_BREAK.join(map(re.escape, form)) for form in longest_first), re.IGNORECASE
    )


def without_addresses(text: str) -> str:
    """Hide the owner of every address and leave its server visible, as a…@example.org."""
    return _ADDRESS.sub(r"\1…\2", text)


def mentions(address: str) -> re.Pattern[str]:
    """Return a pattern that finds the address in any case, and not as a part of a longer one."""
    return re.compile(rf"(?<![\w.+-]){re.escape(address)}(?!\.?[\w-])", re.IGNORECASE)


def did_you_mean(word: str, choices: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return `", did you mean 'x'?"` for the choice that is nearest to the word, whatever the case;
    else nothing.
    """
    by_folded = {choice.casefold(): choice for choice in choices}
    nearest = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    return f", did you mean {by_folded[nearest[0]]!r}?" if nearest else ""
