"""The operator's alerts in words: a function for each kind of cause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from paperboy.curate import MOST_MORNINGS
from paperboy.models import Alert, Delivery, ListReport, Outcome, Problem, Superseded
from paperboy.tex import to_text


def scoring(entries: Sequence[ListReport]) -> Alert:
    """Scored 0 of N, which is another matter than that none passed."""
    none = [entry for entry in entries if not entry.counts.scored]
    part = [entry for entry in entries if entry.counts.scored]
    before = f"For {_names_of(part)} it gave some scores first; the rest of those papers comes back next morning."
    return _alert(
        f"Scored {_of_all(none)}: no digest for {_names_of(none)}",
        f"""The LLM gave no score for any paper of {_names_of(none)}. That is not a morning on which none passed: nobody
        has judged these papers, so there is no digest and no note.

        {_reasons(entries)}

        No paper is lost. All stay unseen, and the next attempt takes them up, today's or tomorrow morning's.
        {before if part else ""}

        Mend what the reason names; paperboy check tries the LLM, paperboy once makes what is still due.""",
        map(_line, entries),
    )


def part_scored(entries: Sequence[ListReport]) -> Alert:
    """Some of every list was scored, and then the LLM failed."""
    return _alert(
        f"Scored only {_of_all(entries)} for {_names_of(entries)}",
        f"""The LLM failed before all papers had a score. What was scored is served, and the digest says how many are
        missing; they come back next morning.

        {_reasons(entries)}

        Mend what the reason names; paperboy check tries the LLM.""",
        map(_line, entries),
    )


def budget(entries: Sequence[ListReport]) -> Alert:
    """The day ended for want of money."""
    none = [entry for entry in entries if not entry.counts.scored]
    some = "What was scored is served; the rest is carried over and comes back next morning."
    nothing = f"Nothing could be scored for {_names_of(none)}, so there is no digest; all comes back next morning."
    return _alert(
        f"LLM_BUDGET_USD is used up: scored {_of_all(entries)}",
        f"""Today's budget does not cover all papers of {_names_of(entries)}. {some if len(none) < len(entries) else ""}
        {nothing if none else ""}

        {_reasons(entries)}

        To have more scored, raise LLM_BUDGET_USD in .env (0 is no limit). OPENAI_SERVICE_TIER=flex, where the server
        has it, or a cheaper OPENAI_MODEL make it last longer.""",
        map(_line, entries),
    )


def late(entries: Sequence[ListReport]) -> Alert:
    """Patience ended, and arXiv had given nothing, or nothing new."""
    without = [entry for entry in entries if entry.outcome not in {Outcome.DIGEST, Outcome.NOTE}]
    served = [entry for entry in entries if entry not in without]
    fate = f"no digest for {_names_of(without)}" if without else f"{_names_of(served)} got what was there"
    return _alert(
        f"arXiv gave no papers in time: {fate}",
        f"""The morning waited for arXiv as long as GIVE_UP_AFTER_HOURS allows, at most until the day is over, and then
        gave up for today. {f"{_names_of(served)} got what was there from before." if served and without else ""}

        {_reasons(entries)}

        No paper is lost: what arXiv gives later is in the next morning's digest.

        If arXiv itself is late (status.arxiv.org), there is nothing to do. If it has a holiday that Paperboy does not
        know, put that evening into ARXIV_HOLIDAYS. If neither, paperboy check says whether this machine reaches it.""",
        map(_line, entries),
    )


def stuck(entries: Sequence[ListReport]) -> Alert:
    """A list is due long after its hour, for another reason."""
    return _alert(
        f"Still due, long after the hour: {_names_of(entries)}",
        f"""No attempt of today has come to anything for {_names_of(entries)}. No paper is lost, and each attempt takes
        them up again.

        {_reasons(entries)}

        Mend what the reason names; paperboy once makes what is still due.""",
        map(_line, entries),
    )


def bug(entries: Sequence[ListReport]) -> Alert:
    """Something that Paperboy was not written for."""
    return _alert(
        f"A bug in Paperboy troubles {_names_of(entries)}",
        f"""Paperboy met something that it was not written for. Other lists go on, and no paper is lost: what was not
        served stays unseen, and the next attempt takes it up.

        {_reasons(entries)}

        Please report it with the traceback that the log holds; until it is mended it may well come again.""",
        map(_line, entries),
    )


def let_go(entries: Sequence[ListReport]) -> Alert:
    """Papers that no morning could score."""
    number = sum(len(entry.let_go) for entry in entries)
    return _alert(
        f"{_papers(number)} could not be scored and will not come back",
        f"""On {MOST_MORNINGS} mornings the LLM gave no score for {"it" if number == 1 else "them"}, though it
        scored others. The digest of {_names_of(entries)} names what it lets go of, so that readers can look for
        themselves.

        {_reasons(entry for entry in entries if entry.shortfall is None)}""",
        (f"{entry.list_name}: {paper.arxiv_id} {to_text(paper.title)}" for entry in entries for paper in entry.let_go),
    )


def mail(problem: str) -> Alert:
    """What waits cannot leave."""
    return _alert(
        "Mail does not leave",
        f"""{_reason(problem)}

        What waits is kept and tried again, and nothing is sent twice.

        paperboy check logs in as a morning does, and paperboy status shows what waits.""",
        (),
    )


def nobody(unreached: Mapping[str, str], superseded: Sequence[Superseded]) -> Alert:
    """Digests that reached nobody, each with the last word of the mail server."""
    back = sorted({each.list_name for each in superseded})
    return _alert(
        f"Nobody got the digest of {names(unreached)}",
        f"""{_reason(next(iter(unreached.values())))}

        {f"The papers are not lost: they come with the next digest of {names(back)}." if back else ""}

        paperboy check logs in as a morning does, and paperboy status shows what waits. Where it is the addresses that
        are wrong, mend them in subscribers.yaml, and paperboy resend {min(unreached)} sends today's.""",
        (f"{name}: {reply}" for name, reply in sorted(unreached.items())),
    )


def files(problems: Sequence[Problem]) -> Alert:
    """An edit that cannot be used."""
    first = problems[0]
    return _alert(
        f"Broken: {first.place}",
        f"""{_reason(first.message)}

        The version before that edit stays in force: digests go out as they did. When it is mended, it is used within a
        minute; there is nothing to restart.""",
        map(str, problems),
    )


def no_start(problem: str) -> Alert:
    """Nothing can be done, and nothing be written down."""
    return _alert(
        "Paperboy cannot work",
        f"""{_reason(problem)}

        No digest goes out until that is mended. It is tried again by itself; paperboy check says what else is wrong.
        This is told once a day.""",
        (),
    )


def begun_again() -> Alert:
    """It can."""
    return _alert("Well again: paperboy run works", "What was wrong is over. What is due is made up for.", ())


def process(problem: str) -> Alert:
    """A morning that came to a bad end."""
    return _alert(
        "A morning came to a bad end" + (f": {problem}" if len(problem) < 60 else ""),
        f"""{_reason(problem)}

        What it had done stands. It is tried again within a quarter of an hour, and nothing is sent twice. The log has
        more: journalctl -u paperboy, where systemd runs it.""",
        (),
    )


def _alert(headline: str, text: str, details: Iterable[str]) -> Alert:
    """With a paragraph for every stretch of text between empty lines."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return Alert(headline, tuple(filter(None, paragraphs)), tuple(details))


def _reasons(entries: Iterable[ListReport]) -> str:
    """Each reason once, as a paragraph; most often there is one. The log has those beyond the third."""
    problems = dict.fromkeys(entry.problem for entry in entries if entry.problem)
    return "\n\n".join(_reason(problem) for problem in list(problems)[:3])


def _reason(problem: str) -> str:
    words = " ".join(problem.split())
    ended = words.rstrip("\"')]}”’»").endswith((".", "!", "?", "…"))  # also within what it quotes
    return f"The reason: {words}{'' if ended else '.'}"


def _line(entry: ListReport) -> str:
    """What the list's morning came to, by its counts."""
    counts = entry.counts
    came = entry.outcome or "still due"
    scored = f", {_of_all([entry])} scored" if counts.considered else ""
    carried = f", {counts.carried_over:,} carried over" if counts.carried_over else ""
    let_go = f", {counts.let_go:,} let go" if counts.let_go else ""
    return f"{entry.list_name}: {came}{scored}{carried}{let_go}"


def _papers(number: int) -> str:
    return f"{number:,} paper{'' if number == 1 else 's'}"


def _of_all(entries: Iterable[ListReport]) -> str:
    """As "20 of 40 papers"."""
    counts = [entry.counts for entry in entries]
    return f"{sum(each.scored for each in counts):,} of {_papers(sum(each.considered for each in counts))}"


def _names_of(entries: Iterable[ListReport]) -> str:
    return names([entry.list_name for entry in entries])


def names(of: Collection[str]) -> str:
    """Three names at most, as "a, b, c and 7 more"."""
    some = sorted(of)
    if len(some) > 3:
        some = [", ".join(some[:3]), f"{len(some) - 3} more"]
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)


def expired(deliveries: Sequence[Delivery]) -> Alert:
    """What was tried for three days."""
    lists = sorted({each.list_name for each in deliveries})
    one = len(deliveries) == 1
    return _alert(
        f"{_counted(len(deliveries), 'mail')} could not be delivered in three days",
        f"""The digest reached others on {names(lists)}, and {"this address" if one else "these addresses"} not.
        {"It is" if one else "They are"} tried no more for it; the next digest tries {"it" if one else "them"} again.

        When the reason is mended, paperboy resend {lists[0]} --failed sends what was given up to whom it did not
        reach.""",
        (f"{each.list_name}: {each.addressed.subscriber.address}: {each.reply or 'not tried'}" for each in deliveries),
    )


def suppressed(bounced: Sequence[tuple[str, str]]) -> Alert:
    """Addresses that are not there."""
    number = len(bounced)
    return _alert(
        f"{_counted(number, 'address')} suppressed: not there in three digests running",
        f"""The mail server said of {"it" if number == 1 else "each of them"}, three digests in a row, that there is no
        such address, while others got theirs. No list sends there any more.

        Take {"it" if number == 1 else "them"} out of subscribers.yaml; or, if {"it" if number == 1 else "one"} is right
        and there again, bring it back with
        paperboy unsuppress {bounced[0][0]}""",
        (f"{address}: {reply}" for address, reply in bounced),
    )


def _counted(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
