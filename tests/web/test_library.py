"""A list whose library stands in for topics, from its files to everything that readers can open: what it says of
itself, and that no title of the library is anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from paperboy.models import Score
from tests.cli.conftest import World
from tests.features.archive.test_reading import digest_link, words
from tests.mail.reading import EMAILS
from tests.servers.hook import Hook
from tests.servers.llm_cache import text_of
from tests.web.conftest import WEB_URL, Web

TITLES = (
    "Zugzwang among quokkas: the learning of marsupial chess",
    "Xylophones of the permafrost",
)
SECRETS = re.compile("zugzwang|quokka|marsupial|xylophone|permafrost|refs-of-ada", re.IGNORECASE)
BIB = "\n".join(
    f"@article{{key{n}, title = {{{title}}}, year = 2020}}" for n, title in enumerate(TITLES)
)
LISTS = """\
lists:
  - name: foundations
    title: Foundations
    categories: [cs.LG, stat.ML]
    library: refs-of-ada.bib
    archive: indexed
    open: true
    webhook: {url}
    webhook_format: {form}
    min_relevance: {least}
    min_novelty: 1
    language: {language}
    subscribers: [ada@example.org]
"""
PRINTS = "[{{ page.titles }} {{ page.library }} {{ page.mailing_list.titles }} {{ page.mailing_list }}]\n"
JOIN = "/list/foundations/join"


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as serving:
        yield serving


def configure(
    world: World, hook: Hook, *, least: int = 1, language: str = "en", form: str = "json"
) -> None:
    """Write the home's files."""
    text = LISTS.format(url=hook.url, least=least, language=language, form=form)
    world.write("subscribers.yaml", text)
    world.write("refs-of-ada.bib", BIB)
    world.write("prompts/library/foundations.txt", "".join(f"{title}\n" for title in TITLES))


def morning(world: World, *numbers: int) -> str:
    """Announce papers, of which the first is the closest to the library, and send them; return what
    the command printed and logged.
    """
    first, *_ = world.announce(*numbers)
    place = world.arxiv.papers.index(first)
    world.arxiv.papers[place] = replace(first, title="How chess is learned")
    ran = world.run("once")
    assert ran.code == 0, ran.err
    return ran.out + ran.err


def opened(web: Web) -> Iterator[str]:
    """Everything that readers and strangers can open, and what is stored of the newest digest."""
    link = digest_link(web)
    day = web.world.clock.now.date()
    at_home = f"/list/foundations/{day}"
    files = [f"{at_home}.bib", f"{link}.bib", "/list/foundations/feed.atom"]
    of_list = ["/", "/list/foundations", "/list/foundations/search?q=learning", JOIN]
    for path in (*files, *of_list, at_home, link, web.link("leave/")):
        page = web.get(path)
        assert page.status_code == 200, path
        yield page.text

    with web.store() as store:
        digest = store.history.digest("foundations", day)
        assert digest is not None
        yield digest.shown.decode()


def signed_up(web: Web) -> Iterator[str]:
    """All that somebody sees on the way into the list."""
    emmy = "emmy@wren.edu"
    yield web.post(JOIN, data={"address": emmy}).text
    web.run("once")
    yield web.mail(emmy)
    link = web.link("confirm/", emmy)
    yield web.get(link).text
    yield web.post(link).text


@pytest.mark.parametrize(("llm", "form"), [(True, "json"), (False, "slack")])
def test_no_title_is_anywhere(world: World, hook: Hook, llm: bool, form: str) -> None:
    """Neither of a digest nor of a note, though the LLM repeats one and the operator prints them."""
    told = Score(9, 8, f"It matters. It extends {TITLES[0]}.")
    world.llm.scores = {f"2611.{number:05}": told for number in range(1, 4)}
    world.env(llm=llm, WEB_URL=WEB_URL)
    for name in ("_masthead.txt.j2", "_masthead.mjml.j2", "feed.html.j2", "inbox.txt.j2"):
        world.write(f"emails/{name}", (EMAILS / name).read_text("utf-8") + PRINTS)
    configure(world, hook, form=form)
    web = Web(world)

    seen = [morning(world, 1, 2, 3), web.mail(), *opened(web), *signed_up(web)]
    world.later(days=3)
    world.llm.scores = {"2611.00011": Score(2, 2, told.comment)}
    configure(world, hook, least=10, form=form)
    seen += [morning(world, 11), web.mail(), *opened(web)]
    seen += [world.run("why", "2611.00001").out, world.run("status").out]
    seen += [call.body.decode() for call in hook.told]
    assert [found[0] for text in seen if (found := SECRETS.search(text))] == []

    shown = "\n".join(seen)
    assert "Nothing for you today" in shown
    assert "[() " in shown
    assert ("It matters." in shown) == llm
    assert "Words in common" not in shown
    assert [form] * 2 == ["slack" if b'"text"' in call.body else "json" for call in hook.told]
    assert all(TITLES[0] in text_of(request) for request in world.llm.requests)
    assert len(world.llm.requests) == (2 if llm else 0)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Papers like 2 in this list's library."),
        ("de", "Arbeiten, die 2 anderen aus der Bibliothek dieser Liste ähneln."),
    ],
)
def test_pages_of_the_list_say_what_stands_in_for_topics(
    world: World, hook: Hook, language: str, said: str
) -> None:
    world.env(WEB_URL=WEB_URL)
    configure(world, hook, language=language)
    web = Web(world)
    for path in ("/", "/list/foundations", JOIN):
        page = web.get(path)
        assert said in words(page), path
        assert "looks for" not in page.text
        assert "sucht" not in page.text
    of_list = words(web.get("/list/foundations"))
    assert of_list.index(said) < of_list.index("cs.LG")  # as the topics do, before the categories
    lists = (world.path / "subscribers.yaml").read_text("utf-8")
    world.write(
        "subscribers.yaml", lists.replace("    open:", "    description: For all.\n    open:")
    )
    assert not [path for path in ("/", "/list/foundations", JOIN) if said in words(web.get(path))]
