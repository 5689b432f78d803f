"""Incidents of servers and machines."""

from collections import Counter
from datetime import datetime
from functools import partial

from tests.servers.smtp import Fault
from tests.year import told
from tests.year.home import LISTS
from tests.year.records import KILLED
from tests.year.stage import UNREACHABLE, Incident, Stage
from tests.year.told import Told
from tests.year.truth import DAY, HOUR, MINUTE, Span, Truth
from tests.year.world import SETTINGS

_LLM = (
    "rate limited",
    "error 503",
    "drop",
    "nonsense",
    "no such model",
    "out of credit",
    "web page",
    "empty",
)
_ARXIV = ("429", "503", "html", "nothing", "no-body", "truncated", "dropped")
_SMTP = (
    UNREACHABLE,
    Fault("connect", "421 4.3.2 try again later"),
    Fault("connect", "554 5.7.1 go away"),
    Fault("MAIL", "550 5.7.1 you may not send from there"),
)


def llm_down(stage: Stage, slot: datetime) -> Incident:
    """The LLM is down for up to two days, as the other servers are."""
    begins = stage.within(slot)
    how = stage.dice.choice(_LLM)
    ends = stage.after(begins)
    stage.llm_down((begins, ends), how=how)
    return Incident(f"LLM: {how}", begins, ends, partial(told.of_llm, begins=begins, ends=ends))


def arxiv_down(stage: Stage, slot: datetime) -> Incident:
    begins = stage.within(slot)
    how = stage.dice.choice(_ARXIV)
    ends = stage.after(begins)
    stage.arxiv_down((begins, ends), how=how)
    return Incident(f"arXiv: {how}", begins, ends, partial(told.of_arxiv, begins=begins, ends=ends))


def mail_down(stage: Stage, slot: datetime) -> Incident:
    begins = stage.within(slot)
    how = stage.dice.choice(_SMTP)
    ends = stage.after(begins)
    stage.mail_down((begins, ends), how=how)
    passing = not how.reply.startswith("5")
    told_of = partial(told.of_mail, begins=begins, ends=ends, passing=passing)
    return Incident(f"mail server: {how.at} {how.reply}", begins, ends, told_of)


def everything_down(stage: Stage, slot: datetime) -> Incident:
    """All servers are down together for about an hour."""
    begins = stage.within(slot)
    ends = stage.clear(begins + stage.dice.uniform(0.4, 1) * HOUR)
    for down in (stage.llm_down, stage.arxiv_down, stage.mail_down):
        down((begins, ends))
    return Incident(
        "everything is down", begins, ends, partial(told.of_arxiv, begins=begins, ends=ends)
    )


def storm(stage: Stage, slot: datetime) -> Incident:
    """For two days, the servers and the machine fail by turns and together, at any instant."""
    dice = stage.dice
    world = stage.world

    def some(most: int, longest: float) -> list[Span]:
        begins = [slot + dice.uniform(0, 48) * HOUR for _ in range(dice.randint(1, most))]
        return [(each, each + dice.uniform(1, longest) * MINUTE) for each in begins]

    for down in (stage.llm_down, stage.arxiv_down, stage.mail_down):
        down(*some(5, 400))
    for begins, ends in some(3, 90):
        world.at(begins, partial(world.cut_power, ends))
    for begins, _ in some(4, 1):
        stage.doom(begins, slot + 3 * DAY)
    for begins, _ in some(4, 1):
        world.at(begins, world.restart)
    return Incident("a storm", slot, slot + 2 * DAY, None)


def llm_dies_midway(stage: Stage, slot: datetime) -> Incident:
    """It answers a morning's first request, and then none for some hours."""
    reading = LISTS[0]
    llm = stage.world.llm
    hour = stage.hour(reading, slot)
    ends = stage.clear(hour + 3 * HOUR)

    def begin() -> None:
        number = len(llm.requests) + 1
        llm.fault_for = lambda _body: "error 503" if len(llm.requests) > number else ""

    def end() -> None:
        llm.fault_for = lambda _body: ""

    stage.between((hour - 10 * MINUTE, ends), begin, end)

    def told_of(truth: Truth) -> Told:
        partly = (
            len(truth.pending(reading.name, reading.local(hour), hour)) > SETTINGS["LLM_BATCH_SIZE"]
        )
        return Counter({told.PART_SCORED: partly, told.LLM_WELL: partly})

    return Incident("the LLM dies midway", hour, ends, told_of)


def power_cut(stage: Stage, slot: datetime) -> Incident:
    begins = stage.within(slot)
    ends = stage.after(begins)
    stage.world.at(begins, partial(stage.world.cut_power, ends))
    return Incident("the machine is off", begins, ends)


def laptop(stage: Stage, slot: datetime) -> Incident:
    begins = stage.within(slot)
    ends = stage.after(begins)
    stage.world.at(begins, partial(stage.world.sleep, ends))
    return Incident("the laptop is closed", begins, ends)


def power_cut_at_work(stage: Stage, slot: datetime) -> Incident:
    hour = stage.hour(stage.dice.choice(LISTS), slot)
    ends = stage.after(hour + HOUR)
    stage.doom(hour - MINUTE, hour + 20 * HOUR, ends)
    return Incident("the machine is off in the midst of a morning", hour, ends)


def kill(stage: Stage, slot: datetime) -> Incident:
    hour = stage.hour(stage.dice.choice(LISTS), slot)
    stage.doom(hour - MINUTE, hour + 20 * HOUR)

    def told_of(truth: Truth) -> Told:
        killed = (run.began for run in truth.world.runs if run.code == KILLED)
        number = any(hour - MINUTE <= began < hour + DAY for began in killed)
        return Counter({told.PROCESS: number, told.PROCESS_WELL: number})

    return Incident("a morning is killed", hour, hour, told_of)
