"""Results as sentences for stdout. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from paperboy import delivery, drafting
from paperboy.models import Cost, Counts, DeliveryState, ListReport, MailingList, MorningReport, Outcome, Usage
from paperboy.privacy import without_addresses
from paperboy.tex import to_text


def a_morning(report: MorningReport, sent: delivery.Report, lists: Sequence[MailingList]) -> str:
    """A line per list; then why several of them are still due, once; then how sending went."""
    waiting: dict[str, list[str]] = {}
    for entry in report.lists:
        if entry.outcome is None and entry.problem:
            waiting.setdefault(entry.problem, []).append(entry.list_name)
    shared = {problem: names for problem, names in waiting.items() if len(names) > 1}
    lines = [_list_line(entry, told_below=entry.problem in shared) for entry in report.lists]
    lines += [f"{entry.name}: no subscribers, nothing to do" for entry in lists if not entry.subscribers]
    lines += [f"Why {together(names)} are still due: {problem}" for problem, names in shared.items()]
    if not report.lists and not lines:
        lines.append("Nothing is due.")
    if sent.states:
        lines.append(f"Deliveries: {in_words(sent.states)}")
    return "\n".join(lines)


def _list_line(entry: ListReport, *, told_below: bool) -> str:
    if entry.outcome is None:
        line = f"{entry.list_name}: still due{_none_scored(entry.counts)}."
        return line if told_below else f"{line} {sentence(entry.problem)}"
    if entry.earlier:
        return f"{entry.list_name}: {entry.outcome}, done earlier today"
    line = f"{entry.list_name}: {entry.outcome}"
    if entry.counts.considered:
        line += f", {papers(entry.counts)}"
    if entry.spending.usage.calls:
        line += f", {money(entry.spending.cost, 'cost not known' if uncounted(entry.spending.usage) else UNPRICED)}"
    return f"{line}. {sentence(entry.problem)}" if entry.problem else line


def sentence(problem: str) -> str:
    """A problem as it follows a full stop. What is no plain word stays as it is: hosts, files, arXiv."""
    return re.sub(r"^[a-z]+(?=\s)", lambda word: word[0].capitalize(), problem)


def together(names: Sequence[str]) -> str:
    """All of them, as "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _none_scored(counts: Counts) -> str:
    """That nothing could be scored is another matter than that nothing passed."""
    return f", scored 0 of {counted(counts.considered, 'paper', 'papers')}" if counts.considered else ""


def papers(counts: Counts) -> str:
    """The counts that a reader knows, and what could not be scored."""
    words = f"{counts.relevant} of {counts.considered} papers"
    if counts.author_matches:
        words += f" ({counted(counts.author_matches, 'author match', 'author matches')})"
    if counts.over_cap:
        words += f", {counts.over_cap} over the cap"
    if counts.carried_over:
        words += f", {counts.carried_over} carried over"
    if counts.let_go:
        words += f", {counts.let_go} let go"
    return words


UNPRICED = "price unknown"


def uncounted(usage: Usage) -> bool:
    """No model answers with nothing: such a server does not count tokens, and the price is not what is unknown."""
    return usage.calls > 0 and not usage.total_tokens


def money(cost: Cost | None, unknown: str = UNPRICED) -> str:
    """US dollars, to a tenth of a cent where there is little of them."""
    if cost is None:
        return unknown
    return f"${cost.total:.2f}" if cost.total >= 0.1 or not cost.total else f"${cost.total:.4f}"


def in_words(states: Mapping[DeliveryState, int]) -> str:
    """Deliveries by state, as "3 sent, 1 deferred"."""
    return ", ".join(f"{states[state]} {state}" for state in DeliveryState if states.get(state))


def unfinished(number: int, sent: delivery.Report) -> str:
    """Why the exit code is 1 although all lists are served."""
    why = f": {without_addresses(sent.problem)}" if sent.problem else "; the log says why"
    return f"{waiting(number)}{why}"


def waiting(number: int) -> str:
    """How many deliveries are not through."""
    return f"{counted(number, 'delivery waits', 'deliveries wait')} for the next try"


def went_to_outbox(list_names: Sequence[str]) -> str:
    """What to say when mail leaves by SMTP from now on, and did not until now."""
    commands = "; ".join(f"paperboy resend {name}" for name in list_names)
    return f"Until now mail went to the outbox. To send the newest digests by mail: {commands}"


def dry_run(mailing_list: MailingList, made: drafting.Draft, missing: str) -> str:
    """What a list would get now."""
    head = f"{mailing_list.name}: "
    if made.stays_due(missing):
        return f"{head}would stay due. {sentence(made.problem or missing)}"
    if made.outcome is Outcome.QUIET:
        return f"{head}quiet, no mail"
    if made.outcome is Outcome.NOTE and not mailing_list.send_empty:
        return f"{head}{papers(made.digest.counts)}; none passed, and send_empty is false, so no mail"
    to = counted(len(mailing_list.subscribers), "subscriber", "subscribers")
    lines = [f"{head}{made.outcome}, {papers(made.digest.counts)}, to {to}"]
    lines += [f"  {entry.rank}. {entry.paper.arxiv_id}  {to_text(entry.paper.title)}" for entry in made.digest.entries]
    return "\n".join(lines)


def counted(number: int, one: str, many: str) -> str:
    """The number with its noun."""
    return f"{number} {one if number == 1 else many}"
