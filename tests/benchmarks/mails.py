"""How large the mails of real days are, how far a phone scrolls, and what is left of abstracts and TeX:
`python -m tests.benchmarks.mails`.

The days lie beside the checkout, in `../shared/data`, and are not part of the project.
"""

from __future__ import annotations

import re
import time
from itertools import groupby
from statistics import median

from paperboy.mail.fit import size
from paperboy.models import Digest, Rendered
from tests.mail import browser, layout, real_days
from tests.mail.browser import Browser
from tests.mail.reading import entries, how_much, render, visible

RUNS = 7
PHONE = 390  # px

SOURCE = re.compile(r"\\[A-Za-z]+|\$[^$\d\s][^$]*\$|[_^]\{")
SCRIPT = re.compile(r"\^(?!\{)|(?<=\b[^\W\d])_(?!\{)")  # M_V and 10^9, but no such_words

COLUMNS = (
    ("day", -12),
    ("papers", 7),
    ("HTML bytes", 11),
    ("text bytes", 11),
    ("phone px", 9),
    ("first px", 9),
    ("screens", 8),
    ("render ms", 10),
    ("TeX HTML", 9),
    ("TeX text", 9),
)


def milliseconds(digest: Digest) -> float:
    """The median time to render both parts."""
    taken = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        render(digest)
        taken.append(time.perf_counter() - begun)
    return 1_000 * median(taken)


def abstracts(digest: Digest, mail: Rendered) -> str:
    """By group: how many abstracts the HTML shows whole, cut, and not at all."""
    papers = {entry.paper.arxiv_id: entry.paper for entry in digest.entries}
    shown = [(each.group, how_much(papers.pop(each.paper).abstract, each)) for each in entries(mail.html)]
    found = []
    for group, members in groupby(shown, key=lambda each: each[0]):
        states = [state for _, state in members]
        counted = "/".join(str(states.count(state)) for state in ("whole", "cut", "absent"))
        found.append(f"{group.partition(' ')[0].lower() or 'all'} {counted}")
    return ", ".join([*found, f"not in the HTML {len(papers)}"] if papers else found)


def measured(name: str, window: Browser) -> str:
    """A day's row of the table."""
    digest = real_days.digest_of(name)
    mail = render(digest)
    window.show(mail.html, PHONE, "light", height=layout.SCREEN)
    first = layout.first_entry(window)
    cells = (
        name,
        f"{len(digest.entries):,}",
        f"{size(mail.html):,}",
        f"{len(mail.text.encode()):,}",
        f"{layout.height(window):,}",
        f"{first:,.0f}",
        f"{first / layout.SCREEN:.2f}",
        f"{milliseconds(digest):.0f}",
        _left(visible(mail.html)),
        _left(mail.text),
    )
    return f"{_row(cells)}  {abstracts(digest, mail)}"


def _left(words: str) -> str:
    return f"{len(SOURCE.findall(words))}+{len(SCRIPT.findall(words))}"


def _row(cells: tuple[str, ...]) -> str:
    return "".join(
        f"{cell:<{-width}}" if width < 0 else f"{cell:>{width}}"
        for cell, (_, width) in zip(cells, COLUMNS, strict=True)
    )


def main() -> None:
    if not real_days.HERE:
        raise SystemExit(
            f"Nothing to measure: {real_days.SHARED} is absent. The real days are not part of the project."
        )
    if absent := browser.missing():
        raise SystemExit(absent)
    print("TeX: pieces of source, and scripts with a mark, such as M_V. Abstracts: whole/cut/absent, by group.")
    print(f"{_row(tuple(label for label, _ in COLUMNS))}  abstracts")
    with browser.browser() as window:
        for name in real_days.NAMES:
            print(measured(name, window))


if __name__ == "__main__":
    main()
