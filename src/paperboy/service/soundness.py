"""Faults of a home: one set of checks for mornings, sendings, edits and `paperboy check`."""

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

from paperboy.errors import ConfigError, Problem, noted
from paperboy.service.app import App


class Stops(IntEnum):
    """The largest thing that a fault stops. It stops every smaller one, too."""

    EDITS = 1  # these come into force only without any fault; a first version is no edit
    SENDING = 2
    MORNINGS = 3


class Fault(NamedTuple):
    """Fault in a home."""

    what: str  # as `paperboy check` names it
    problem: Problem
    stops: Stops


def faults(app: App, least: Stops = Stops.EDITS) -> list[Fault]:
    """Return the faults that stop `least` or more, each problem once. To find them, build every
    part, and render mails and pages with samples.
    """
    languages = {mailing_list.language for mailing_list in app.home.lists}
    parts: list[tuple[str, Stops, Callable[[], object]]] = [
        ("prompts", Stops.MORNINGS, lambda: app.prompt),
        (
            "prompts",
            Stops.MORNINGS if app.settings.has_llm else Stops.EDITS,
            lambda: app.brief_prompt,
        ),
        ("scoring", Stops.MORNINGS, lambda: app.scorer),
        ("DKIM", Stops.MORNINGS, lambda: app.signer),
        ("mail", Stops.SENDING, lambda: app.transports),
    ]
    if len(app.home.folders("emails")) > 1:  # else all are the shipped ones, which are sound
        parts.append(("emails", Stops.MORNINGS, lambda: app.templates.check(languages)))
        if app.settings.web_url:
            # Where pages are not served, or from elsewhere, those of features cannot be imported.
            serves_pages = find_spec("werkzeug") is not None
            samples = [
                feature.samples for feature in app.features if serves_pages and feature.samples
            ]
            check_pages = partial(app.templates.check_pages, languages, samples)
            parts.append(("emails", Stops.EDITS, check_pages))

    found = dict[Problem, Fault]()
    for what, stops, build in parts:
        if stops < least:
            continue
        problems = list[Problem]()
        with noted(problems):
            build()
        for problem in problems:
            found.setdefault(problem, Fault(what, problem, stops))
    return [*found.values()]


def require(app: App, stops: Stops = Stops.MORNINGS) -> None:
    """Raise ConfigError for faults that stop this or more, before work begins or is paid for."""
    if found := faults(app, stops):
        raise ConfigError([fault.problem for fault in found])
