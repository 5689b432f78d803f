"""Verdict on a refusal, from the code and the words of a mail server's reply. Pure.

What decides is the enhanced code (RFC 3463), but servers put much into the codes of an unknown
address, such as a limit, a full mailbox or a blocklist. There, words beat the code: an address that
is taken for gone gets no mail.
"""

import re
from enum import Enum, auto

# Stands for the command where returned mail quotes a reply.
RETURNED = "returned"

_ENHANCED = re.compile(r"([245])\.(\d{1,3})\.(\d{1,3})(?!\d)")  # RFC 3463
_INNER = re.compile(r"(?<![\d.])5\.(\d{1,3})\.(\d{1,3})(?!\.?\d)")
_VOLUME = re.compile(
    r"too (?:many|much|fast|frequent)|throttl|\brate(?:s|d|-?limit\w*)?\b|\bfrequency\b|\bvolume\b|congest|exceed"
    r"|limit reached|per connection|concurren",
    re.IGNORECASE,
)
_ONE_MAILBOX = re.compile(
    r"\b(?:mailbox|inbox|storage|size)\b|\b(?:over|user|recipient|account|disk)\W+(?:is\W+)?(?:over\W+)?quota",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(?:daily|hourly|sending|outgoing)\W+(?:\w+\W+){0,3}?(?:limit|quota)\b", re.IGNORECASE
)
# Exchange puts our own quota and permissions among the codes of recipients.
_OUR_LIMITS = frozenset({(4, 5), (1, 90), (1, 92)})
_OUR_SENDERS = frozenset({(2, 252), (7, 60)})
_OTHER_THINGS = frozenset({7, 8, 20})  # of subject 1: about the sender, and several of them
_ADDRESS = re.compile(r"(?<!\S)[^\s@/]*[@/]\S*")  # or a link
_INNOCENT = re.compile(
    r"\b(?:limit\w*|quota|full|overquota|blocked|blocking|spf|dkim|dmarc|spam|relay\w*|gr[ae]ylist\w*|reputation"
    r"|later)\b(?![-.]\w)",
    re.IGNORECASE,
)
_BLOCKLIST = re.compile(
    r"(?:black|block|deny)-?list|spamhaus|spamcop|\b(?:dns|r)bl\b", re.IGNORECASE
)
# Exchange Online and Yahoo. A misconfigured tenant says the same of all its addresses.
_DOUBTFUL = re.compile(
    r"does(?:n't| not) have an? (?:\S+ )?account|^5\.4\.1 .*\baccess denied\b", re.IGNORECASE
)
_UNKNOWN = re.compile(
    r"no mailbox here|\b(?:no such|unknown|invalid|non-?existent|unrouteable|undeliverable) (?:local )?"
    r"(?:user|recipient|mailbox|address|account|person)\b"
    r"|\b(?:user|recipient|mailbox|address|account)\b[^.;]{0,60}?"
    r"\b(?:(?:is |was )?(?:unknown|not found|not known|invalid)|(?:does(?:n't| not)|did not) exist"
    r"|not exist|no longer (?:exists|valid|available|active)|not listed)\b",
    re.IGNORECASE,
)


_ABOUT_US = re.compile(r"\b(?:sender|verif\w*|domain|dns|ptr|ip|helo|relay\w*)\b", re.IGNORECASE)


class Verdict(Enum):
    """Meaning of a refusal."""

    LATER = auto()  # for this message
    SLOW_DOWN = auto()  # the server is overloaded, by us or by itself
    NEVER = auto()  # for this message
    # About this recipient, or us: many servers refuse client, HELO, sender or relaying only at
    # RCPT, or after the message.
    UNCLEAR = auto()
    BOUNCE = auto()  # the address does not exist
    DOUBTFUL = auto()  # the address does not exist, or its server knows none of its domain's
    LIMIT = auto()  # we have used up a quota of our own, such as a provider's daily limit
    SENDER = auto()  # every message from this sender is refused


def judge(command: str, code: int, text: str) -> Verdict:
    """Return the meaning of a refused command, from the reply's code and text."""
    subject = 0
    detail = 0
    enhanced = _ENHANCED.match(text)
    if enhanced and enhanced[1] == str(code)[0]:
        subject = int(enhanced[2])
        detail = int(enhanced[3])

    if not 500 <= code <= 599:
        # 4.3.x: the server's disk is full; 4.2.x: a mailbox is
        is_overloaded = code == 421 or subject == 3 or (subject, detail) in {(7, 28), (4, 5)}
        is_about_rate = subject != 2 and _VOLUME.search(text) and not _ONE_MAILBOX.search(text)
        if is_overloaded or is_about_rate or command == "MAIL":
            return Verdict.SLOW_DOWN
        return Verdict.LATER

    # Yahoo looks for the account only at DATA.
    is_recipient = command in {"RCPT", RETURNED} or (command != "MAIL" and _DOUBTFUL.search(text))
    gone = _gone(command, subject, detail, text) if is_recipient else None
    is_quota = subject not in {1, 2} and _LIMIT.search(text)  # those are about the recipient
    is_permission = (subject, detail) in _OUR_SENDERS or "SendAsDenied" in text
    verdict = gone or Verdict.UNCLEAR
    if (subject, detail) in _OUR_LIMITS or is_quota or "SubmissionQuotaExceeded" in text:
        verdict = Verdict.LIMIT
    elif is_permission or (command == "MAIL" and code != 552):  # 552: this message is too large
        verdict = Verdict.SENDER
    elif not gone and (code == 552 or subject == 2 or command in {"DATA", "SMTPUTF8", "MAIL"}):
        verdict = Verdict.NEVER
    return verdict


def _gone(command: str, subject: int, detail: int, text: str) -> Verdict | None:
    words = _ADDRESS.sub(" ", text)
    if _INNOCENT.search(words) or _VOLUME.search(words) or _BLOCKLIST.search(text):
        return None
    inner = {(int(code[1]), int(code[2])) for code in _INNER.finditer(words)}
    if any(code[0] != 1 for code in inner - {(subject, detail), (2, 1)}):
        return None
    if _DOUBTFUL.search(text):
        return Verdict.DOUBTFUL
    if (subject, detail) == (2, 1):
        return Verdict.BOUNCE
    if subject == 1:
        is_sender = detail in _OTHER_THINGS or re.search(r"\bsender\b", text, re.IGNORECASE)
        return None if is_sender else Verdict.BOUNCE
    # At RCPT, a server that refuses us says so without a code, too.
    is_plain = command == RETURNED and (subject, detail) == (0, 0) and not _ABOUT_US.search(words)
    return Verdict.BOUNCE if is_plain and (_UNKNOWN.search(words) or (1, 1) in inner) else None
