"""Sentences that share one line of a length for people. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from paperboy.mail.text import clipped

MOST = 120  # characters
_LEAST = 15  # characters of a reason; where there is room for fewer, it is left out
_KEPT_FREE = 60  # characters for a reason, before another sentence may follow


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence whose reason may be shortened, or left out."""

    head: str
    reason: str = ""
    tail: str = ""

    @property
    def gist(self) -> str:
        """The reason without the advice that follows it."""
        return re.split(r"[;.] ", self.reason, maxsplit=1)[0]

    def said(self, room: int = 0) -> str:
        """With so many characters for the reason."""
        if not self.reason or room < min(_LEAST, len(self.reason) + 2):
            return f"{self.head}{self.tail}."
        reason = self.reason
        if len(reason) + 2 > room:
            reason = self.gist if room // 2 < len(self.gist) + 2 <= room else clipped(reason, room - 4)
        stop = "" if reason.endswith("…") and not self.tail else "."
        return f"{self.head}: {reason}{self.tail}{stop}"


def fitted(clauses: Sequence[Clause], most: int = MOST) -> str:
    """As many of the clauses as fit, at least the first; and of their reasons what there is room for. A reason that is
    whole only without its tail goes before it.
    """
    kept: list[Clause] = []
    for clause in clauses:
        before = sum(len(each.said(_KEPT_FREE)) + 1 for each in kept)
        for form in (clause, replace(clause, tail="")):
            if before + len(form.said()) <= most:
                kept.append(form)
                break
    kept = kept or [replace(clauses[0], tail="")]
    room = most - len(" ".join(each.said() for each in kept))
    said = []
    for each in kept:
        freed = len(each.tail) if room < len(each.gist) + 2 <= room + len(each.tail) else 0
        clause = replace(each, tail="") if freed else each
        room += freed
        said.append(clause.said(room))
        room -= len(said[-1]) - len(clause.said())
    line = " ".join(said)
    return line if len(line) <= most else f"{line[: most - 1]}…"
