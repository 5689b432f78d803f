"""Foreign text, made fit for a line, a message or a terminal. Pure functions, each linear in the
text's length:

    printable           removes invisible characters
    composed            makes one line, and removes nothing
    one_line            does both: for mails, prompts and all that is stored
    folded              removes case and accents, for comparisons
    visible             escapes what a terminal or a log would obey
    shortened           cuts after a word
    cut                 finds where prose may end: after a sentence, or a word
    sentences           splits prose
    hidden              redacts a secret
    without_url         redacts a URL, which is often a secret
    without_addresses   redacts addresses, for readers beside the operator
    mentions            finds one address
    did_you_mean        suggests the word that was meant

and the words for our own numbers and names: counted, together, money.
"""

import difflib
import re
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from urllib.parse import quote, quote_plus, urlsplit

# Longer words are not composed: a run of marks would take time quadratic in its length.
_LONGEST_WORD = 1000

# Invisible characters, marks that turn the writing direction, and code points that are no
# characters: Unicode's classes Cc, Cf and Cs, without the spaces and the two joiners that shape
# emoji and letters, and the permanent non-characters.
_INVISIBLE = (
    "\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
) + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
_REMOVED = re.compile(f"[{_INVISIBLE}]")
_ESCAPED = re.compile(f"[{_INVISIBLE}\t-\r\x1c-\x1f\x85\u2028\u2029]")
# Letters that Unicode does not decompose into a base and an accent.
_PLAIN_LETTERS = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
        "’": "'",
        "‐": "-",
        "‑": "-",
    }
)
NAME_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})  # after a surname
_BREAK = r"(?:\s|\\[nrt])*"  # a server may break a long word, and quote JSON within JSON
_PART = r"[^\s<>()\[\]{}\"',;:@]"
# Tried only where a word begins, so that the time is linear.
_ADDRESS = re.compile(rf"(?<!{_PART})({_PART}){_PART}*(@{_PART}+)")

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
    surrogates and code points that XML forbids. Spaces and line ends stay.
    """
    return text if text.isprintable() else _REMOVED.sub("", text)


def one_line(text: str) -> str:
    return composed(printable(text))


def composed(text: str) -> str:
    """Return one line in NFC, from which nothing is removed."""
    words = text.split()
    return " ".join(
        word if len(word) > _LONGEST_WORD else unicodedata.normalize("NFC", word) for word in words
    )


def folded(text: str) -> str:
    """Return text in lower case, without accents, with one space for spaces and hyphens."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN_LETTERS))
    letters = "".join(char for char in decomposed if not unicodedata.combining(char))
    return re.sub(r"[\s\-–—]+", " ", letters).strip()


def visible(text: str) -> str:
    r"""Escape what `printable` removes, and every line end and tab, as \n, \x1b or \u202e."""
    return _ESCAPED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str, most: int) -> str:
    """Cut a text to at most so many characters, after a word if possible."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(" ", 1)[0][: most - 1].rstrip(",;:") + "…"


def cut(text: str, limit: int, *kinds: re.Pattern[str]) -> int:
    """Return where to cut a text that is longer than the limit: after its last sentence or word, or
    at the last end of the given kinds, in the last two thirds of the limit. A wider limit never
    cuts earlier.
    """
    for kind in kinds or (SENTENCE_END, WORD_END):
        if end := last_end(text, limit, kind, limit // 3):
            return end
    return limit


def sentences(text: str) -> list[str]:
    """Split prose into its sentences, without the spaces between them."""
    found = list[str]()
    start = 0
    for match in SENTENCE_END.finditer(text):
        if not _is_abbreviation(match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]


def last_end(text: str, limit: int, kind: re.Pattern[str], least: int = 1) -> int:
    """Return the last end of that kind from `least` to `limit`, outside of brackets if possible; 0
    if there is none.
    """
    ends = list[int]()
    for match in takewhile(lambda match: match.end() <= limit, kind.finditer(text)):
        if match.end() >= least and not _is_abbreviation(match):
            ends.append(match.end())

    # Any kind of bracket closes any other: intervals are written [0, 1).
    steps = ((character in "([") - (character in ")]") for character in text[:limit])
    depths = [0, *accumulate(steps)]
    for end in reversed(ends):
        if depths[end] <= 0:
            return end

    return ends[-1] if ends else 0


def _is_abbreviation(match: re.Match[str]) -> bool:
    if match.groupdict().get("mark") != ".":
        return False
    before = match.string[max(0, match.start() - 40) : match.start()]
    before = before.replace("\u2060", "")  # a word joiner, so that mail programs make no links
    return bool(_ABBREVIATION.search(before))


def hidden(text: str, secret: str, least: int = 8) -> str:
    """Replace each copy of the secret by "…": plain, quoted for a URL or within base64, in any
    case, and also broken by spaces or line ends.

    A secret of fewer than `least` characters stays, since ordinary words would go with it. Hide
    before shortening.
    """
    if len("".join(secret.split())) < max(least, 1):
        return text
    return _forms(secret).sub("…", text)


def without_url(text: str, url: str) -> str:
    """Hide the URL, and each part of it that a server repeats. Its scheme and host stay."""
    after_host = url.partition(urlsplit(url).netloc)[2]
    _, _, _, *parts = re.split(r"[/?&=#]", url)
    for secret in (url, after_host, *sorted(parts, key=len, reverse=True)):
        text = hidden(text, secret, least=5)
    return text


@lru_cache(maxsize=8)
def _forms(secret: str) -> re.Pattern[str]:
    plain = secret.encode(errors="replace")
    forms = {secret, quote(plain), quote(plain, safe=""), quote_plus(plain)}

    # Within base64: the characters that depend on the secret alone, at each offset modulo 3.
    for offset, first in enumerate((0, 2, 3)):
        last = (offset + len(plain)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            forms.add(encode(bytes(offset) + plain).decode()[first:last])

    alternatives = list[str]()
    for form in sorted(forms, key=len, reverse=True):
        characters = "".join(form.split())
        alternatives.append(_BREAK.join(map(re.escape, characters)))

    return re.compile("|".join(alternatives), re.IGNORECASE)


def without_addresses(text: str) -> str:
    """Hide the local part of every address, as in a…@example.org."""
    return _ADDRESS.sub(r"\1…\2", text)


def mentions(address: str) -> re.Pattern[str]:
    """Return a pattern that finds the address in any case, but not within a longer one."""
    return re.compile(rf"(?<![\w.+-]){re.escape(address)}(?!\.?[\w-])", re.IGNORECASE)


def did_you_mean(word: str, choices: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return `", did you mean 'x'?"` for the choice nearest to the word, whatever the case; empty
    if none is near.
    """
    by_folded = {choice.casefold(): choice for choice in choices}
    nearest = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=cutoff)
    return f", did you mean {by_folded[nearest[0]]!r}?" if nearest else ""


def counted(number: int, one: str, many: str = "") -> str:
    """Return the number with its noun: 1 paper, 1,200 papers."""
    noun = one if number == 1 else many or f"{one}s"
    return f"{number:,} {noun}"


def together(names: Sequence[str], most: int = 0) -> str:
    """Return all of them, as "a, b and c"; beyond `most`, as "a, b, c and 7 more"."""
    if most and len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def money(dollars: float) -> str:
    """Format dollars as a reader expects them: cents, and more digits only where there are no cents
    to see.
    """
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "under $0.0001"
