"""What to do about a fault of a server whose own words do not say it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_PASSES = "as a rule that passes by itself, and a morning tries again every quarter of an hour; if it lasts,"
_ASK = "ask those who run the server"
_CHECK_MODEL = "check OPENAI_MODEL, which was asked for the score of one harmless paper"

# By the line's subject. The first that is found in the message counts.
_FIXES: Mapping[str, Sequence[tuple[str, str]]] = {
    "mail": (
        (r" takes no connection: 5", f"{_ASK}, or check SMTP_HOST and SMTP_PORT"),
        (r" (?:takes no connection:|answers .* with) 4", f"{_PASSES} {_ASK}"),
        (r" answers .* with 5", _ASK),
        (r" went away | did not go through ", f"{_PASSES} {_ASK}"),
    ),
    "scoring": (
        (r" cannot be reached ", "see whether the server is up, and check OPENAI_BASE_URL and the network"),
        (r" answers 429: the account ", ""),
        (r" answers 429\b", f"{_PASSES} lower LLM_CONCURRENCY, or have the limit raised there"),
        (r" answers (?:408|409|425|5\d\d)\b", f"{_PASSES} see to the server"),
        (r" runs out of tokens ", "lower OPENAI_REASONING_EFFORT, or let it answer at length"),
        (r" (?:refuses to answer|filters the content|answers with no text)$", _CHECK_MODEL),
        (r" answers (?:400|422)\b(?!.*; check )", f"{_CHECK_MODEL}, and the server's log"),
    ),
    "arXiv": ((r" A morning would ask ", "If it stays so, see status.arxiv.org."),),
}


def with_fix(what: str, message: str) -> str:
    """The message, and after it what to do where it does not say so."""
    fix = next((fix for pattern, fix in _FIXES.get(what, ()) if re.search(pattern, message)), "")
    if not fix:
        return message
    return f"{message} {fix[0].upper()}{fix[1:]}" if message.endswith(".") else f"{message}; {fix}"
