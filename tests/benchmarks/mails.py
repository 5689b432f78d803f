"""How large the mails of real days are, and how long they take to render: `python -m tests.benchmarks.mails`.

The days lie beside the checkout, in `../shared/data`, and are not part of the project.
"""

from __future__ import annotations

import time
from statistics import median

from paperboy.mail.fit import size
from paperboy.mail.page import Copy, page
from paperboy.models import Digest, Rendered
from tests.mail import real_days
from tests.mail.mails import TEMPLATES

RUNS = 7
COPY = Copy("Paperboy", "You get this mail because ada@example.org is on the list.", "0123456789abcdef" * 2)


def rendered(digest: Digest) -> Rendered:
    return TEMPLATES.to_readers(page(digest, copy=COPY, unsubscribe_address="papers@example.org"))


def milliseconds(digest: Digest) -> float:
    """The median time to render both parts."""
    taken = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        rendered(digest)
        taken.append(time.perf_counter() - begun)
    return 1_000 * median(taken)


def main() -> None:
    if not real_days.HERE:
        raise SystemExit(
            f"Nothing to measure: {real_days.SHARED} is absent. The real days are not part of the project."
        )
    print(f"{'day':<14}{'papers':>8}{'HTML bytes':>12}{'text bytes':>12}{'render ms':>11}")
    for name in real_days.NAMES:
        digest = real_days.digest_of(name)
        mail = rendered(digest)
        figures = (len(digest.entries), size(mail.html), len(mail.text.encode()))
        print(f"{name:<14}{figures[0]:>8,}{figures[1]:>12,}{figures[2]:>12,}{milliseconds(digest):>11.0f}")


if __name__ == "__main__":
    main()
