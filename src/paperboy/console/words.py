"""What commands say about mornings and deliveries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from paperboy.edges.text import counted, money, together
from paperboy.models import (
    Counts,
    DeliveryState,
    Entry,
    MailingList,
    MorningReport,
    Outcome,
    Spending,
)
from paperboy.sources import title_of

if TYPE_CHECKING:
    from paperboy.morning import drafting
    from paperboy.sending import delivery


def a_morning(report: MorningReport, sent: delivery.Report) -> list[str]:
    """Return a line per list, then the deliveries."""
    lines = []
    for of_list in report.lists:
        line = f"{of_list.list_name}: {of_list.outcome or 'still due'}"
        if of_list.earlier:
            lines.append(f"{line}, done earlier today")
            continue

        counts = of_list.counts
        if counts.considered and of_list.outcome is None:
            line += f", scored 0 of {counted(counts.to_score, 'paper')}"
        elif counts.considered:
            line += f", {papers(counts)}"
        if of_list.outcome and of_list.spending.usage.calls:
            line += f", {cost(of_list.spending)}"
        if of_list.outcome and of_list.problem:  # without an outcome, it was logged as an error
            line += f"; {of_list.problem}"
        lines.append(line)

    lines = lines or ["Nothing is due."]
    if sent.states:
        lines.append(f"Deliveries: {in_words(sent.states)}")

    return lines


def dry_run(mailing_list: MailingList, draft: drafting.Draft, missing: str) -> list[str]:
    """Return what a list would get now: a line, its papers with their scores, and the next best."""
    name = mailing_list.name
    outcome = draft.outcome(missing)
    if outcome is None:
        return [f"{name}: would stay due; {draft.problem or missing}"]
    if outcome is Outcome.QUIET:
        return [f"{name}: quiet, no mail"]

    digest = draft.digest
    counts = papers(digest.counts)
    if outcome is Outcome.NOTE and not mailing_list.send_empty:
        first = f"{name}: {counts}; none passed, and send_empty is false, so no mail"
    else:
        recipients = counted(len(mailing_list.subscribers), "subscriber")
        first = f"{name}: {outcome}, {counts}, to {recipients}"

    lines = [first, *_scored(digest.entries)]
    if digest.nearest:
        thresholds = f"{mailing_list.min_relevance}/{mailing_list.min_novelty}"
        lines.append(f"  below the thresholds ({thresholds}), the best:")
        lines += _scored(digest.nearest)

    return lines


def _scored(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        score = entry.score
        rank = f"{entry.rank}." if entry.rank else ""
        marks = f"{score.relevance}/{score.novelty or '–'}" if score else "–"
        line = f" {rank:>3} {entry.paper.id}  {marks:<5}  {title_of(entry.paper)}"
        if entry.matched_authors:
            line += f"  (author match: {together(entry.matched_authors)})"
        yield line


def papers(counts: Counts) -> str:
    """Return the counts in a digest's words, including how many papers were left out, and why."""
    words = f"{counts.relevant} of {counts.considered} papers"
    if counts.author_matches:
        words += f" ({counted(counts.author_matches, 'author match', 'author matches')})"

    left_out = {
        "over the cap": counts.over_cap,
        "carried over": counts.carried_over,
        "let go": counts.let_go,
        "filtered": counts.filtered,
        "not called": counts.not_called,
    }
    return words + "".join(f", {number} {what}" for what, number in left_out.items() if number)


def cost(spending: Spending) -> str:
    """Return US dollars, if prices and tokens are known."""
    return "price unknown" if spending.cost is None else money(spending.cost.total)


def in_words(states: Mapping[DeliveryState, int]) -> str:
    """Return deliveries by state, as "3 sent, 1 deferred"."""
    return ", ".join(f"{states[state]} {state}" for state in DeliveryState if states.get(state))


def not_sent(waiting: int, sent: delivery.Report) -> list[str]:
    """Return why the exit code is 1 even if every list is served."""
    reasons = []
    if waiting:
        number = counted(waiting, "delivery waits", "deliveries wait")
        reasons.append(f"{number} for the next try")
    return reasons + [f"{name}: nobody got the digest" for name in sent.refused]
