"""`paperboy manual`: the pages that the package carries."""

import os
from importlib.resources import files

import click

from paperboy.console.lines import say
from paperboy.edges.text import did_you_mean

TOPICS = (
    "service",
    "llm",
    "lists",
    "journals",
    "mail",
    "web",
    "learning",
    "large",
    "promises",
    "repair",
    "privacy",
    "contributing",
    "changes",
)


def page_of(topic: str) -> str:
    """Return the Markdown of a topic. Its first line is "# Title: what it is about"."""
    return files("paperboy").joinpath("manual", f"{topic}.md").read_text("utf-8")


@click.command
@click.argument("topic", required=False)
def manual(topic: str | None) -> None:
    """Read the manual: the page of a TOPIC, in a pager on a terminal, or the list of topics."""
    if topic is None:
        summaries = {name: page_of(name).partition("\n")[0].partition(": ")[2] for name in TOPICS}
        say(*(f"  {name:12}  {summary}" for name, summary in summaries.items()))
        say("", "Read one with: paperboy manual TOPIC")
        return
    if topic not in TOPICS:
        hint = did_you_mean(topic, TOPICS) or f"; choose one of {', '.join(TOPICS)}."
        raise click.UsageError(f"There is no topic {topic!r}{hint}")
    text = page_of(topic).rstrip()
    try:
        click.echo_via_pager(text)
    except ValueError as error:
        pager = os.environ.get("PAGER", "")
        raise click.UsageError(
            f"PAGER={pager}: {error}. Close the quote, or unset PAGER."
        ) from error
