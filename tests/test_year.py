"""A year of Paperboy, simulated: a leap year with all of arXiv's holidays, three lists in three zones, real servers and
a real database. What befalls it is in `tests/year/`; here is what it has to prove, from what the servers saw.

PAPERBOY_YEAR_DAYS says how many of its days are lived: a quarter, or with 366 all of them (some minutes).
PAPERBOY_YEAR_SEED draws another year, PAPERBOY_YEARS so many of them. To look into one: PAPERBOY_YEAR_KINDS names the
only incidents to befall it; its log and its home stay in pytest's folder.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
import trustme

from tests.servers.llm import invented_score
from tests.year.happenings import BROKEN, PIECES
from tests.year.home import LISTS, OPERATOR
from tests.year.ledger import Day
from tests.year.lived import ADOPTED, Year
from tests.year.records import KILLED, Mail
from tests.year.script import INCIDENTS, write
from tests.year.told import FILES, ONCE, OVER, PROCESS_WELL, news_in
from tests.year.truth import DAY, HOUR, MINUTE, NAMES, PATIENCE, RETRY, Truth, operators_day
from tests.year.world import HALVES, World

SEED = int(os.environ.get("PAPERBOY_YEAR_SEED", "1"))
DAYS = int(os.environ.get("PAPERBOY_YEAR_DAYS", "91"))
BEGIN = datetime(2028, 1, 3, tzinfo=UTC)
IN_FORCE = timedelta(seconds=25)  # after its save, an edit is
YEARS = int(os.environ.get("PAPERBOY_YEARS", "1"))
KINDS = os.environ.get("PAPERBOY_YEAR_KINDS", " ".join(INCIDENTS)).split()


@pytest.fixture(scope="module", params=range(SEED, SEED + YEARS))
def year(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Year]:
    path = tmp_path_factory.mktemp("year")
    # The LLM's client reads all that the system trusts, for each morning anew.
    authority = path / "authority.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))
    random.seed(request.param)  # the jitter of waits
    with pytest.MonkeyPatch.context() as patch, World(path, request.param, BEGIN) as world:
        patch.setenv("SSL_CERT_FILE", str(authority))
        script = write(world, DAYS, KINDS)
        begun = time.perf_counter()
        world.live(BEGIN + DAYS * DAY)
        truth = Truth(world, script.blocks, script.batches)
        yield Year(world, truth, script, time.perf_counter() - begun)


# ---- papers


def became_of(year: Year, name: str) -> dict[str, str]:
    """What became of each paper that the list has seen."""
    seen = year.truth.ledger.seen.items()
    return {paper: found.became for (of, paper), found in seen if of == name}


def test_each_announced_paper_is_considered_exactly_once_per_list(year: Year) -> None:
    """Held ones, late ones and those of gaps, too; over outages, kills, restarts; and second versions are no news."""
    for name in NAMES:
        days = year.days(name)
        last = max(year.look(day) for day in days if day.outcome in {"digest", "note", "quiet"})
        start = year.truth.start(name, days[0].at)
        too_old = {
            arrived.paper.id
            for arrived in year.truth.wanted(name, year.look(days[0]))
            if arrived.paper.published < start
        }
        owed = {arrived.paper.id for arrived in year.truth.wanted(name, last)} - too_old
        seen = became_of(year, name)
        assert {paper for paper, became in seen.items() if became == "before start"} == too_old
        assert seen.keys() - too_old == owed
        considered = (day.considered - day.carried_over for day in days if not day.superseded)
        assert sum(considered) == len(owed)


def test_late_cross_list_is_found_on_its_day_if_the_feed_answers_then(
    year: Year,
) -> None:
    """And then each list of its categories gets it, as any paper, once."""
    found = {crossed.paper.id for crossed in year.world.announced}
    for edition in filter(lambda edition: edition.late is not None, year.world.editions):
        read = any(edition.since <= at < edition.until for at in year.world.reads)
        assert edition.late is not None
        assert (edition.late.id in found) is read, edition.since
    assert {edition.late.id for edition in year.world.editions if edition.late} & found


def test_paper_is_paid_for_once_unless_it_was_in_flight_at_a_kill(year: Year) -> None:
    times: Counter[tuple[str, str]] = Counter()
    for asked in year.world.asked:
        times.update((asked.list_name, paper) for paper in asked.papers if asked.answered)
    for run in year.world.runs:
        if run.code == KILLED:
            answered = [
                request
                for request in year.world.asked
                if run.began <= request.at <= run.ended and request.answered
            ]
            times.subtract(
                (request.list_name, paper) for request in answered[-1:] for paper in request.papers
            )
    assert not {pair: number for pair, number in times.items() if number > 1}


def test_batch_in_two_pieces_is_served_together_if_both_are_there(year: Year) -> None:
    """That is, at the list's hour; else the second comes the next morning."""
    reading = LISTS[0]
    for _, incident in year.script.incidents:
        hour = reading.starts(reading.local(incident.ends))
        if incident.what == PIECES and incident.ends <= hour:
            there = {
                paper.id
                for paper in year.truth.arrived(incident.begins, incident.ends)
                if reading.wants(paper)
            }
            assert {year.truth.ledger.seen[reading.name, paper].date for paper in there} <= {
                reading.local(hour)
            }


# ---- days


def test_each_local_day_of_a_list_has_one_digest_or_one_explained_absence(year: Year) -> None:
    wrong = []
    for name in NAMES:
        days = year.days(name)
        last = year.truth.version(name, BEGIN).local(year.world.now)
        assert [day.date for day in days] == [
            days[0].date + number * DAY for number in range(len(days))
        ]
        assert days[-1].date >= last - DAY
        wrong += [f"{day}: {why}" for day in days if (why := unexplained(year, day))]
    assert not wrong, "\n".join(wrong)


def unexplained(year: Year, day: Day) -> str:
    """What is wrong with what a day came to; empty: nothing is."""
    reading = year.truth.version(day.name, day.at)
    copies = sum(copy.list_name == day.name and copy.day == day.date for copy in year.world.copies)
    pending = year.truth.pending(day.name, day.date, year.look(day))
    expected = {"digest": 1, "note": reading.send_empty}.get(day.outcome, 0)
    if bool(copies) is not bool(expected):
        return f"it was addressed to {copies}"
    if (day.outcome == "skipped") is reading.sends_on(day.date):
        return "skipped, or not, against its weekdays"
    match day.outcome:
        case "digest" | "note" if day.considered != len(pending):
            return f"of {len(pending)} papers"
        case "quiet" if pending - year.script.unspeakable:
            return f"though there were {pending}"
        case "gave up":
            return unexcused(year, day)
    return ""


def unexcused(year: Year, day: Day) -> str:
    """Why a list should not have been given up on that day."""
    hour = year.truth.hour(day.name, day.date)
    midnight = year.truth.midnight(day.name, day.date)
    blocks = year.truth.blocks
    off = year.world.away
    ends = min(year.truth.free(hour, off) + PATIENCE, midnight)
    if year.truth.free(hour, blocks.arxiv, blocks.llm, off) + RETRY < ends:
        return "though all was well in time"
    if year.truth.free(hour, off) + RETRY >= midnight:
        return (
            ""
            if day.reason.startswith("no morning of this list finished")
            else "though the machine was off"
        )
    return "" if "arXiv" in day.reason or "127.0.0.1" in day.reason else "without a reason"


def test_digest_starts_at_its_hour_or_right_after_an_outage(year: Year) -> None:
    wrong = []
    for day in year.truth.ledger.days:
        hour = year.truth.hour(day.name, day.date)
        latest = year.latest(day)
        if day.outcome in {"digest", "note", "quiet"} and not hour <= day.at <= latest:
            wrong.append(f"{day}: not from {hour:%a %d %b %H:%M} to {latest:%a %d %b %H:%M}")
    assert not wrong, "\n".join(wrong)


# ---- mail


def test_every_subscriber_gets_each_digest_once(year: Year) -> None:
    """Whoever joined before it was made and did not leave before it was sent; and what a kill cut may come again, under
    the same Message-ID.
    """
    mails: dict[str, list[Mail]] = defaultdict(list)
    for mail in year.world.mails:
        mails[mail.message_id].append(mail)
    missed = [
        f"{address}: {day}"
        for day in year.truth.frozen(BEGIN, year.world.now)
        for address in year.owed(day)
        if not mails[year.message_ids.get((day.name, day.date, address), "")]
    ]
    assert not missed, "\n".join(missed)
    killed = [run for run in year.world.runs if run.code == KILLED]
    for number, copies in mails.items():
        assert len(copies) <= 1 + sum(
            copies[0].at <= run.ended <= copies[-1].at for run in killed
        ), number
        assert len({mail.message.content for mail in copies}) == 1


def test_nobody_gets_mail_of_a_list_they_are_not_on(year: Year) -> None:
    for mail in year.world.mails:
        if mail.to == OPERATOR:
            continue
        name, day = year.digest_of[mail.message_id, mail.to]
        # an edit made while the laptop slept is in force some seconds after it woke
        asleep = (begin for begin, end in year.world.away if end <= mail.at <= end + IN_FORCE)
        on_list = {
            who
            for at in (mail.at, mail.at - IN_FORCE, *asleep)
            for who in year.truth.members(name, at)
        }
        assert mail.to in on_list, f"{mail.to} had left {name}"
        assert mail.at >= year.truth.hour(name, day)


def test_each_paper_that_passes_and_no_other_is_in_one_digest_per_list(year: Year) -> None:
    for name in NAMES:
        reading = year.truth.version(name, BEGIN)
        shown: dict[str, set[date]] = defaultdict(set)
        for mail in year.world.mails:
            of, day = year.digest_of.get((mail.message_id, mail.to), ("", None))
            if of == name and day is not None:
                for paper in mail.papers:
                    shown[paper].add(day)
        seen = became_of(year, name)
        assert shown.keys() == {paper for paper, became in seen.items() if became == "selected"}
        assert all(len(days) == 1 for days in shown.values())
        scores = {
            paper: invented_score(paper)
            for paper, became in seen.items()
            if became in {"selected", "below"}
        }
        passed = {
            paper
            for paper, score in scores.items()
            if score.relevance >= 7 and (score.novelty or 0) >= 6
        }
        assert {paper for paper in passed if reading.name == name} == shown.keys()


# ---- the operator


def test_alerts_equal_the_number_of_causes(year: Year) -> None:
    wrong = []
    ends = [*(slot for slot, _ in year.script.incidents[1:]), year.world.now]
    assert all(mail.at >= year.script.incidents[0][0] for mail in year.told)
    for (slot, incident), until in zip(year.script.incidents, ends, strict=False):
        if incident.told is not None:
            heard = Counter(
                news
                for mail in year.told
                if slot <= mail.at < until
                for news in news_in(mail.subject)
            )
            if heard != (expected := +incident.told(year.truth)):
                wrong.append(f"{incident}: {dict(heard)}, and not {dict(expected)}")
    assert not wrong, "\n".join(wrong)


def test_cause_is_reported_once_a_day_and_once_when_it_is_over(year: Year) -> None:
    """Also in storms. After its end it may be reported again on the same day."""
    last: dict[str, date] = {}
    for mail in year.told:
        for news in news_in(mail.subject):
            if news in OVER:
                killed = (run.ended for run in year.world.runs if run.code == KILLED)
                assert news != PROCESS_WELL or min(killed) <= mail.at
                for cause in OVER[news]:
                    last.pop(cause, None)
            else:
                day = operators_day(mail.at)
                assert last.get(news) != day, f"{mail.subject} again on {day}"
                last[news] = day
    assert last.keys() <= ONCE, "nobody was told that it is over"


def test_broken_edit_is_reported_at_once(year: Year) -> None:
    for _, incident in year.script.incidents:
        if incident.what == BROKEN:
            told = min(
                mail.at
                for mail in year.told
                if mail.at >= incident.begins and FILES in mail.subject
            )
            assert told <= incident.begins + ADOPTED


def test_no_failure_becomes_a_hot_loop(year: Year) -> None:
    """However much fails, each list and each waiting mail is tried four or five times an hour."""
    for half in HALVES:
        begun = [run.began for run in year.world.runs if run.command == half and run.code != KILLED]
        for first, later in zip(begun, begun[30:], strict=False):
            assert later - first > HOUR


def test_failed_morning_is_retried_after_a_quarter_of_an_hour(year: Year) -> None:
    """Whatever else is done meanwhile, arXiv and the LLM are asked no more often. After a kill, a restart and an edit
    all may be well, so it is tried at once.
    """
    mends = sorted([*year.world.starts, *(since for since, _ in year.world.versions)])
    for name in NAMES:
        tries = [run for run in year.world.runs if name in run.lists]
        for first, later in pairwise(tries):
            mended = any(first.began - ADOPTED <= instant <= later.began for instant in mends)
            assert later.began - first.ended > 14 * MINUTE or first.code == KILLED or mended, (
                name,
                first,
                later,
            )


def test_status_and_why_agree_with_the_ledger(
    year: Year, capsys: pytest.CaptureFixture[str]
) -> None:
    assert year.world.command("status", "--json") == 0
    told = {shown["name"]: shown for shown in json.loads(capsys.readouterr().out)["lists"]}
    for name in NAMES:
        last = year.days(name)[-1]
        assert (told[name]["date"], told[name]["outcome"]) == (last.date.isoformat(), last.outcome)
    recent = [
        pair
        for pair, seen in year.truth.ledger.seen.items()
        if year.world.now.date() - seen.date < 60 * DAY
    ]
    for name, paper in year.world.dice.sample(recent, min(20, len(recent))):
        assert year.world.command("why", paper, "--list", name) == 0
        became = year.truth.ledger.seen[name, paper].became
        assert {"before start": "older than the list"}.get(
            became, became
        ) in capsys.readouterr().out


def test_log_has_no_bug(year: Year) -> None:
    log = year.world.log.read_text("utf-8")
    assert "Traceback" not in log
    assert "bug in Paperboy" not in log
    tell(year)


def tell(year: Year) -> None:
    outcomes = Counter(day.outcome for day in year.truth.ledger.days)
    kills = sum(run.code == KILLED for run in year.world.runs)
    print(
        f"seed {year.world.seed}: {DAYS} days; {', '.join(f'{n} {what}' for what, n in outcomes.most_common())}; "
        f"{len(year.world.mails) - len(year.told)} mails to readers, {len(year.told)} to the operator; "
        f"{len(year.world.starts)} starts, {kills} kills, {len(year.world.runs)} children; "
        f"{year.seconds:.0f} s, {year.truth.ledger.size / 1e6:.1f} MB"
    )
