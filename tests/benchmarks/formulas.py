r"""How many real titles and abstracts still show TeX: `python -m tests.benchmarks.formulas [--show 20]`.

A text counts once in a row, whatever it shows:

    source    a macro, a brace or a dollar
    scripts   `_` or `^`, which plain text needs where Unicode has no script
    authors'  the same, where the author erred: a macro of no package, dollars or braces that do not pair

What stands outside formulas as it was typed, such as snake_case, {time} or 10^5, is the author's plain text and does
not count. The papers lie beside the checkout, in `../shared/data`, and are not part of the project.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pylatexenc.latex2text import get_default_latex_context_db as text_macros
from pylatexenc.latexwalker import get_default_latex_context_db as walker_macros

from paperboy.mail.text import prose

DATA = Path(__file__).parents[2].parent / "shared" / "data"
FILES = {"cs.LG and cs.AI": "days/*.jsonl", "astro-ph": "astro_scored.jsonl"}
PACKAGES = """
    SI si qty unit num ang SIrange ce isotope binom choose substack overset underset stackrel colon implies iff
    impliedby ne eqsim Pr enquote verb rlap llap raisebox color textcolor upmu uptau upalpha upbeta
    text rom romannumeral MakeUppercase uppercase operatorname ion hbox citeyear begin end item tfrac dfrac nicefrac
    boldsymbol mathbb mathds mathscr xspace lvert rvert lVert rVert coloneqq micron kms Msun arcsec degr varGamma over
"""
RUNS = 3
_SCRIPTED = re.compile(r"[_^]-?[\w*]\w*")


@cache
def _known() -> frozenset[str]:
    theirs = {spec.macroname for db in (text_macros(), walker_macros()) for spec in db.iter_macro_specs()}
    return frozenset(theirs | set(PACKAGES.split()))


def leftovers(tex: str, shown: str) -> Iterator[tuple[str, str]]:
    """Each kind of leftover with the word that has it."""
    if not re.search(r"[\\{}$_^]", shown):
        return
    typed = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|\\\(.*?\\\)", " ", tex, flags=re.DOTALL)
    words, erred = set(typed.split()), _pairs_badly(tex) or "$$" in shown
    if re.search(r"\\[{}]|\\[lr]brace|\\begin", tex):  # which a formula shows
        shown = re.sub("[{}]", " ", shown)
    for word in re.sub(r"https?://\S+", " ", shown).split():
        macros = re.findall(r"\\([A-Za-z]+)", word)
        own = any(name not in _known() for name in macros)
        scripted = _SCRIPTED.search(word)
        if not macros and (word in words or (scripted and scripted[0] in typed)):
            continue
        kind = "source" if re.search(r"[\\{}]|\$(?!\d)", word) else "scripts" if re.search(r"[_^]", word) else ""
        if kind:
            yield f"{kind}, authors'" if own or erred else kind, word


def _pairs_badly(tex: str) -> bool:
    """Whether dollars or braces do not pair, in the text or between two dollars."""
    clean = re.sub(r"\\.", "", tex, flags=re.DOTALL)
    depth, is_low = 0, False
    for character in clean:
        depth += {"{": 1, "}": -1}.get(character, 0)
        is_low |= depth < 0
    return bool(depth or is_low or clean.count("$") % 2 or "¥" in tex)


def _texts(pattern: str) -> dict[str, list[str]]:
    """The title and the abstract of each paper, once."""
    rows = (json.loads(line) for file in sorted(DATA.glob(pattern)) for line in file.open(encoding="utf-8"))
    return {row["arxiv_id"]: [row["title"], row["abstract"]] for row in rows}


def microseconds(texts: list[str]) -> float:
    """The time to make an abstract ready in both forms, the best of three."""
    taken = []
    for _ in range(RUNS):
        begun = time.thread_time()
        for text in texts:
            prose(text).__html__()
        taken.append(time.thread_time() - begun)
    return 1e6 * min(taken) / len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.formulas")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="and print N of the words of each row")
    most = parser.parse_args().show
    if not DATA.is_dir():
        raise SystemExit(f"Nothing to measure: {DATA} is absent. The papers are not part of the project.")
    kinds = ("source", "scripts", "source, authors'", "scripts, authors'")
    print(f"{'':34}" + "".join(f"{kind:>20}" for kind in kinds) + f"{'of':>8}")
    for name, pattern in FILES.items():
        papers = _texts(pattern)
        for place, what in enumerate(("titles", "abstracts")):
            for form in ("HTML", "text"):
                counts, words = Counter[str](), defaultdict[str, list[str]](list)
                for key, paper in papers.items():
                    read = prose(paper[place])
                    shown = (
                        html.unescape(re.sub("</?(?:su[bp]|code)>", "", read.__html__())) if form == "HTML" else read
                    )
                    found = dict(leftovers(paper[place], shown))
                    counts.update(found.keys())
                    for kind, word in found.items():
                        words[kind].append(f"{key} {word}")
                row = "".join(f"{counts[kind]:>20,}" for kind in kinds)
                print(f"{name:<16}{what:<11}{form:<7}{row}{len(papers):>8,}")
                for kind in kinds:
                    for word in words[kind][:most]:
                        print(f"    {kind:<20}{word}")
        abstracts = [paper[1] for paper in papers.values()]
        print(f"{name:<16}{microseconds(abstracts):.0f} µs an abstract")


if __name__ == "__main__":
    main()
