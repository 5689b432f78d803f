"""The words of Paperboy as frozen values.

Every stage of a morning hands the next one some of these. They do no I/O, know no other room, compare by value and
can be pickled. Instants are aware and in UTC; a local date is a plain `date`.
"""

from __future__ import annotations

from paperboy.models.days import Day, DaySummary, Outcome, Superseded
from paperboy.models.deliveries import Addressed, Delivery, DeliveryState, Envelope, Receipt, Suppression
from paperboy.models.digests import Alert, Became, Composed, Counts, Digest, Entry, Rendered
from paperboy.models.lists import EVERY_DAY, MailingList, Problem, Subscriber
from paperboy.models.papers import Paper
from paperboy.models.scores import Cost, Model, Score, Scored, Shortfall, Spending, ToScore, Usage

__all__ = [
    "EVERY_DAY",
    "Addressed",
    "Alert",
    "Became",
    "Composed",
    "Cost",
    "Counts",
    "Day",
    "DaySummary",
    "Delivery",
    "DeliveryState",
    "Digest",
    "Entry",
    "Envelope",
    "MailingList",
    "Model",
    "Outcome",
    "Paper",
    "Problem",
    "Receipt",
    "Rendered",
    "Score",
    "Scored",
    "Shortfall",
    "Spending",
    "Subscriber",
    "Superseded",
    "Suppression",
    "ToScore",
    "Usage",
]
