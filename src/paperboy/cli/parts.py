"""The only builder of real parts: from a home's settings to what a morning and its sending work with.

The scorer and the mail rooms are imported when they are built: `openai` alone takes 0.4 s.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paperboy import delivery, fetching, lock, morning
from paperboy.arxiv_feed import ArxivFeed
from paperboy.cli.files import Files
from paperboy.cli.main import Surroundings
from paperboy.config.home import Home
from paperboy.drafting import Progress
from paperboy.errors import ConfigError
from paperboy.models import Problem
from paperboy.store import Store

if TYPE_CHECKING:
    from paperboy.mail.compose import Composer
    from paperboy.mail.render import Renderer
    from paperboy.mail.smtp import SmtpTransport
    from paperboy.scoring.llm import LlmScorer
    from paperboy.scoring.local import LocalScorer
    from paperboy.scoring.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Work:
    """Both halves of a morning's parts, on one store."""

    morning: morning.Parts
    delivery: delivery.Parts
    composer: Composer
    store: Store


@contextmanager
def working(
    home: Home, around: Surroundings, progress: Progress, feed: fetching.Feed | None = None, *, alone: bool = True
) -> Iterator[Work]:
    """Everything real, and closed in the end; `feed` stands in for arXiv. `alone`: no other Paperboy may hold the home.

    Raises ConfigError where prompts, templates or prices are unusable, before anything is touched.
    """
    settings = home.settings
    with ExitStack() as stack:
        scorer = stack.enter_context(closing(llm(home, around.wait))) if settings.has_llm else embedded()
        templates = renderer(home)
        templates.check()
        if alone:
            _refuse_two_databases(home, around)
            stack.enter_context(_both_halves(settings.paperboy_database))
        store = stack.enter_context(Store.open(settings.paperboy_database))
        post = composer(home, templates, store.secret())
        yield Work(
            morning.Parts(
                feed=feed or arxiv(home),
                scorer=scorer,
                composer=post,
                papers=store.papers,
                scores=store.scores,
                days=store.days,
                progress=progress,
                clock=around.clock,
                wait=around.wait,
                holidays=settings.arxiv_holidays,
                lookback=timedelta(days=settings.arxiv_lookback_days),
                alone=lambda: nullcontext() if alone else _one_by_one(settings.paperboy_database),
                budget=settings.llm_budget_usd or None,
                budget_zone=settings.timezone,
            ),
            delivery.Parts(
                transports=transports(home),
                ledger=store.deliveries,
                suppressions=store.suppressions,
                digests=store.days,
                address=post.envelope,
                progress=progress,
                clock=around.clock,
                timer=around.timer,
                wait=around.wait,
                jitter=random.random,
                most_per_minute=0 if settings.uses_outbox else settings.smtp_max_per_minute,
            ),
            post,
            store,
        )


@contextmanager
def _both_halves(database: Path) -> Iterator[None]:
    with lock.held(database, "morning", "once", _say), lock.held(database, "sending", "once", _say):
        yield


def _one_by_one(database: Path) -> AbstractContextManager[None]:
    return lock.held(database, "morning", "preview", _say)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _refuse_two_databases(home: Home, around: Surroundings) -> None:
    """The daemon of this home may still work with the database that `.env` had before: it would send all twice."""
    files = Files(around.home)
    if home.source == files.good or not files.good.is_dir():
        return
    in_force = files.last_good(around.environ).settings.paperboy_database
    if in_force != home.settings.paperboy_database and (holder := lock.holder(in_force)):
        who = f"paperboy {holder.command} (process {holder.process or 'unknown'})"
        message = f"PAPERBOY_DATABASE has changed, and {who} still works with {in_force}; restart that one first"
        raise ConfigError([Problem(".env", message)])


def arxiv(home: Home) -> ArxivFeed:
    """The feed of the configured server, polite at the configured pace."""
    settings = home.settings
    contact = settings.mail_reply_to or settings.alert_to or settings.mail_from
    return ArxivFeed(
        settings.arxiv_api_url,
        delay_seconds=settings.arxiv_delay_seconds,
        contact=contact.address if contact else "",
    )


def embedded() -> LocalScorer:
    """The scorer that needs no LLM."""
    from paperboy.scoring.local import LocalScorer

    return LocalScorer()


def llm(home: Home, wait: Callable[[float], None]) -> LlmScorer:
    """The LLM. Raises ConfigError for a broken prompt, and for a budget that cannot be kept."""
    from paperboy.scoring.caching import cache_of
    from paperboy.scoring.costs import Prices
    from paperboy.scoring.llm import LlmScorer

    settings = home.settings

    def price(value: object) -> float | None:
        return None if value is None else float(str(value))

    prices = Prices.find(
        settings.openai_model,
        settings.openai_base_url,
        service_tier=settings.openai_service_tier,
        input_price=price(settings.llm_price_input),
        cached_input_price=price(settings.llm_price_cached_input),
        cache_write_price=price(settings.llm_price_cache_write),
        output_price=price(settings.llm_price_output),
    )
    if settings.llm_budget_usd and prices is None:
        raise ConfigError(
            [
                Problem(
                    "settings",
                    f"LLM_BUDGET_USD: the price of {settings.openai_model} is unknown, so a budget cannot be kept; "
                    "set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT, or LLM_BUDGET_USD to 0",
                )
            ]
        )
    return LlmScorer(
        base_url=settings.openai_base_url,
        api_key=settings.openai_api_key.get_secret_value(),
        model=settings.openai_model,
        prompt=prompt(home),
        prices=prices,
        reasoning_effort=settings.openai_reasoning_effort,
        service_tier=settings.openai_service_tier,
        batch_size=settings.llm_batch_size,
        concurrency=settings.llm_concurrency,
        timeout_seconds=settings.llm_timeout_seconds,
        cache=cache_of(settings.openai_model, settings.openai_base_url),
        wait=wait,
    )


def prompt(home: Home) -> Prompt:
    """The prompt, tried. Raises ConfigError."""
    from paperboy.scoring.prompt import Prompt

    return Prompt(home.folders("prompts"))


def renderer(home: Home) -> Renderer:
    """The renderer on the operator's templates and ours."""
    from paperboy.mail.render import Renderer

    return Renderer(home.folders("emails"))


def composer(home: Home, templates: Renderer, secret: bytes) -> Composer:
    """Composes from the configured sender."""
    from paperboy.mail.compose import Composer

    settings = home.settings
    return Composer(
        templates,
        sender=str(settings.mail_from or ""),
        reply_to=str(settings.mail_reply_to or ""),
        secret=secret,
    )


def transports(home: Home) -> tuple[delivery.Transport, ...]:
    """Connections to the mail server, or the outbox where none is set up."""
    settings = home.settings
    if settings.uses_outbox:
        from paperboy.mail.outbox import Outbox

        return (Outbox(settings.paperboy_outbox),)
    return tuple(smtp(home) for _ in range(settings.smtp_connections))


def smtp(home: Home, timeout: float = 60) -> SmtpTransport:
    """The mail server."""
    from paperboy.mail.smtp import SmtpTransport

    settings = home.settings
    return SmtpTransport(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=settings.smtp_security,
        username=settings.smtp_username,
        password=settings.smtp_password.get_secret_value(),
        timeout=timeout,
    )
