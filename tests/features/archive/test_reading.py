"""A digest on the web: all of it, and nothing about whoever got it by mail."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qsl, unquote

import lxml.etree
import lxml.html
import pytest
from werkzeug.test import TestResponse

from paperboy.models import Score
from tests.cli.conftest import LISTS, World
from tests.mail.reading import EMAILS, entries, flat
from tests.servers.biorxiv_api import BiorxivServer, preprint
from tests.web.conftest import WEB_URL, Web


def configure(web: Web, **options: str) -> None:
    """Give the list foundations more options."""
    lines = "".join(f"    {name}: {value}\n" for name, value in options.items())
    web.world.write(
        "subscribers.yaml",
        LISTS.replace("    title: Foundations\n", f"    title: Foundations\n{lines}"),
    )


def morning(world: World, *numbers: int) -> Web:
    """A morning of the list foundations with these papers."""
    world.env(WEB_URL=WEB_URL)
    world.announce(*numbers)
    world.run("once", "--list", "foundations")
    return Web(world)


def morning_after(web: Web, *numbers: int) -> None:
    web.world.clock.now += timedelta(days=3)
    morning(web.world, *numbers)


def digest_link(web: Web) -> str:
    with web.store() as store:
        link = store.database.value(
            "select link from digests where list = 'foundations' order by date desc"
        )
    return f"{WEB_URL}/digest/{link}"


def words(page: TestResponse) -> str:
    return flat(lxml.html.document_fromstring(page.text).text_content())


def test_page_of_a_link_shows_the_whole_digest(web: Web) -> None:
    page = web.get(digest_link(web))
    assert (page.status_code, page.mimetype) == (200, "text/html")
    shown = entries(page.text)
    assert [entry.paper for entry in shown] == ["2611.00001", "2611.00002", "2611.00003"]
    assert all(
        "The method is simple. It works on three benchmarks." in entry.words for entry in shown
    )
    assert page.text.count("<main>") == page.text.count("</main>") == 1


def test_page_of_a_digest_names_no_reader(web: Web) -> None:
    mail = web.mail()
    page = web.get(digest_link(web)).text
    own = {*re.findall(r"[0-9a-f]{32}", mail)} - {digest_link(web)[-32:]}
    assert own
    named = ("ada@", "grace@", "Grace Hopper <", "papers@", "mailto:")
    for words in (*own, *named, "/leave/", "/vote/", "you receive", "you follow", "your "):
        assert words not in page, words


def test_papers_over_the_cap_stand_in_full_under_their_own_heading(world: World) -> None:
    configure(Web(world), max_papers="2")
    web = morning(world, *range(1, 30))
    shown = entries(web.get(digest_link(web)).text)
    assert len(shown) == 29
    assert {entry.group for entry in shown[2:]} == {"Also passed, over the limit of 2 · 27"}
    assert all(
        "It works on three benchmarks." in entry.words and "It matters." in entry.words
        for entry in shown
    )


def test_note_has_its_page(web: Web) -> None:
    web.world.clock.now += timedelta(days=3)
    web.world.llm.scores = {}
    configure(web, min_relevance="10", archive="public")
    morning(web.world, 11)
    page = web.get("/list/foundations/2026-11-23")
    assert page.status_code == 200
    assert "did not score high enough" in words(page)


def test_broken_templates_of_the_operator_leave_every_page_as_it_was(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    configure(web, archive="public")
    paths = [digest_link(web), "/list/foundations/feed.atom", "/digest/short"]
    shipped = [web.get(path).text for path in paths]
    for name in ("digest.mjml.j2", "feed.html.j2", "error.html.j2"):
        web.world.write(f"emails/{name}", "{{ no_such_name }}")
    assert [web.get(path).text for path in paths] == shipped
    assert caplog.text.count("the shipped template is shown until that is fixed") == 3


@pytest.mark.parametrize(
    "path", ["/digest/" + "0" * 32, "/digest/short", "/list/foundations/2026-11-19"]
)
def test_unknown_page_is_not_found(web: Web, path: str) -> None:
    configure(web, archive="public")
    assert web.get(path).status_code == 404
    assert web.get(path + ".bib").status_code == 404


def test_list_that_is_gone_or_has_no_archive_now_has_no_pages(web: Web) -> None:
    link = digest_link(web)
    configure(web, archive="none")
    assert web.get(link).status_code == web.get(f"{link}.bib").status_code == 404
    web.world.write("subscribers.yaml", LISTS.replace("name: foundations", "name: other"))
    assert web.get(link).status_code == 404


def test_superseded_digest_has_no_page(web: Web) -> None:
    link = digest_link(web)
    with web.store() as store, store.transaction():
        store.database.execute("update messages set superseded = '2026-11-21T07:00:00+00:00'")
    assert web.get(link).status_code == 404


def test_only_a_public_list_shows_its_digest_by_date(web: Web) -> None:
    path = "/list/foundations/2026-11-20"
    assert web.get(path).status_code == web.get(f"{path}.bib").status_code == 404
    configure(web, archive="public")
    assert web.get(path).status_code == web.get(f"{path}.bib").status_code == 200
    assert web.get("/list/foundations/2026-02-31").status_code == 404


def test_search_engines_show_a_digest_by_date_of_an_indexed_list_alone(web: Web) -> None:
    robots = {}
    for archive in ("public", "indexed"):
        configure(web, archive=archive)
        pages = (web.get("/list/foundations/2026-11-20"), web.get(digest_link(web)))
        robots[archive] = [page.headers["X-Robots-Tag"] for page in pages]
    assert robots == {"public": ["noindex, nofollow"] * 2, "indexed": ["all", "noindex, nofollow"]}


LICENSES = ("cc_by", "cc0", "cc0_ng", "cc_by_nc", "cc_by_nd", "cc_by_nc_nd", "cc_no", "NA")
FREE = {"cc_by", "cc0", "cc0_ng", "arXiv"}  # which names no license


def whole_abstracts(shown: str) -> set[str]:
    """The licenses of the papers whose abstracts stand whole there; of the others, the first sentence does."""
    later_sentences = {"arXiv": "It works on three benchmarks."}
    for number, name in enumerate(LICENSES):
        assert f"What RXV{number} does" in shown
        later_sentences[name] = f"Where RXV{number} was low"
    return {name for name, sentence in later_sentences.items() if sentence in shown}


@pytest.mark.parametrize(
    ("archive", "whole"),
    [("link", {*LICENSES, "arXiv"}), ("public", {*LICENSES, "arXiv"}), ("indexed", FREE)],
)
def test_indexed_page_shows_whole_abstracts_only_where_the_license_allows_that(
    world: World, biorxiv: BiorxivServer, archive: str, whole: set[str]
) -> None:
    """So does a feed, if the operator's own template shows some."""
    yesterday = world.clock.now.date() - timedelta(days=1)
    biorxiv.records = [
        preprint(number, yesterday, category="genomics", license=name)
        for number, name in enumerate(LICENSES)
    ]
    biorxiv.records.append(preprint(99, yesterday - timedelta(days=1), category="zoology"))
    world.llm.scores = lambda _: Score(9, 8, "It matters.")
    configure(Web(world), archive=archive)
    lists = (world.path / "subscribers.yaml").read_text("utf-8")
    world.write("subscribers.yaml", lists.replace("[cs.LG, stat.ML]", "[cs.LG, biorxiv/genomics]"))
    web = morning(world, 1)
    assert whole_abstracts(words(web.get(digest_link(web)))) == whole
    if archive != "link":
        feed = "/list/foundations/feed.atom"
        assert "does in" not in web.get(feed).text
        world.write(
            "emails/feed.html.j2", "{% for item in page.items %}{{ item.abstract }}{% endfor %}"
        )
        assert whole_abstracts(Web(world).get(feed).text) == FREE


def test_page_leads_on_to_what_its_list_has(web: Web) -> None:
    link = digest_link(web)
    assert re.findall(rf'"({WEB_URL}/[^"]*)"', web.get(link).text) == [f"{link}.bib"]
    configure(web, archive="public", open="true")
    at_home = f"{WEB_URL}/list/foundations"
    assert {*re.findall(rf'"({WEB_URL}/[^"]*)"', web.get(link).text)} == {
        f"{link}.bib", at_home, f"{at_home}/join", f"{at_home}/feed.atom", f"{at_home}/2026-11-20",
    }  # fmt: skip


def test_public_digest_leads_to_the_ones_beside_it(web: Web) -> None:
    configure(web, archive="public")
    morning_after(web, 11)
    at_home = f"{WEB_URL}/list/foundations"
    for here, there, word in (("20", "23", "Newer"), ("23", "20", "Older")):
        page = lxml.html.document_fromstring(web.get(f"/list/foundations/2026-11-{here}").text)
        [link] = page.xpath(f"//a[.='{word}']/@href")
        assert link == f"{at_home}/2026-11-{there}"
        assert len(page.xpath("//a[.='Newer' or .='Older']")) == 1
    assert not re.search("Newer|Older", words(web.get(digest_link(web))).partition("Sent")[2])


def test_page_does_not_say_what_the_morning_cost(web: Web) -> None:
    assert "Prompt tokens" in web.mail()
    page = words(web.get(digest_link(web)))
    assert "Scored by gpt-6-luna." in page
    assert not re.search(r"tokens|\$|calls?\b", page.partition("The morning in numbers")[2])


def test_page_shortens_long_lists_of_authors_as_the_mail_does(world: World) -> None:
    """The BibTeX file has them all."""
    (paper,) = world.announce(1)
    names = tuple(f"Author Number{number}" for number in range(40))
    world.arxiv.papers[-1] = replace(paper, authors=names)
    web = morning(world)
    page = words(web.get(digest_link(web)))
    assert "Number4, Author Number5, …, Author Number39 (40 authors)" in page
    assert "Number20" in web.get(f"{digest_link(web)}.bib").text


def test_every_page_has_an_icon_and_only_public_ones_a_card(web: Web) -> None:
    def head(path: str) -> list[str]:
        root = lxml.html.document_fromstring(web.get(path).text)
        properties = root.xpath("//meta[starts-with(@property, 'og:')]/@property")
        [icon] = root.xpath("//link[@rel='icon']/@href")
        assert unquote(icon).startswith("data:image/svg+xml,<svg ")
        drawn = lxml.etree.fromstring(unquote(icon).partition(",")[2])
        assert "".join(drawn.itertext()) == "&"
        return [str(name) for name in properties]

    web.world.env(WEB_URL=WEB_URL, BRAND="& more")
    assert head(digest_link(web)) == head("/leave/" + "0" * 32) == []
    configure(web, archive="public")
    card = ["og:description", "og:site_name", "og:type", "og:title", "og:url"]
    for path in ("/", "/list/foundations", "/list/foundations/2026-11-20"):
        assert head(path) == card
    assert head("/list/foundations/search") == []


def test_digest_names_the_feed_by_its_list_and_itself_by_its_best_paper(web: Web) -> None:
    configure(web, archive="public")
    root = lxml.html.document_fromstring(web.get("/list/foundations/2026-11-20").text)
    assert root.xpath("//link[@rel='alternate']/@title") == ["Foundations"]
    [title] = root.xpath("//meta[@property='og:title']/@content")
    assert title == "On the Learning of Paper 2611.00001"


# --- caches


def test_reader_who_has_the_page_is_sent_none(web: Web) -> None:
    first = web.get(digest_link(web))
    etag = first.headers["ETag"]
    assert re.fullmatch(r'"[0-9a-f]+"', etag)  # a strong one
    assert first.headers["Cache-Control"] == "private, no-cache"
    again = web.get(digest_link(web), headers={"If-None-Match": etag})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", etag)
    configure(web, archive="public")
    assert (
        web.get("/list/foundations/2026-11-20").headers["Cache-Control"] == "public, max-age=3600"
    )


PAGES = ("/", "/list/foundations", "/list/foundations/feed.atom", "/list/foundations/2026-11-20")


@pytest.mark.parametrize("page", PAGES)
def test_page_is_known_until_it_changes(web: Web, page: str) -> None:
    """By a digest beside it, a template, or an option of a list."""
    configure(web, archive="public")

    def known(etag: str) -> tuple[bool, str]:
        answer = web.get(page, headers={"If-None-Match": f'W/{etag}, "x"'})
        assert (answer.status_code == 304) == (answer.data == b"")
        return answer.status_code == 304, answer.headers["ETag"]

    etag = web.get(page).headers["ETag"]
    assert known(etag) == (True, etag)
    morning_after(web, 11)
    changed, etag = known(etag)
    assert not changed
    configure(web, archive="public", description="Trees.")
    changed, etag = known(etag)
    assert not changed
    web.world.write("emails/_palette.j2", (EMAILS / "_palette.j2").read_text("utf-8") + "{# x #}")
    changed, etag = known(etag)
    assert not changed
    assert known(etag) == (True, etag)


@pytest.mark.parametrize("ending", ["", ".bib"])
def test_digest_is_known_until_a_paper_of_it_has_a_new_version(web: Web, ending: str) -> None:
    path = f"{digest_link(web)}{ending}"
    etag = web.get(path).headers["ETag"]
    assert web.get(path, headers={"If-None-Match": etag}).status_code == 304
    with web.store() as store:
        paper = store.papers.by_id(["2611.00001"])["2611.00001"]
        newer = replace(paper, version=2, title="Withdrawn")
        store.papers.add([newer], (), web.world.clock())
    again = web.get(path, headers={"If-None-Match": etag})
    assert (again.status_code, "Withdrawn" in again.text) == (200, True)


# --- retention


def test_page_keeps_its_abstracts_until_retention_takes_it_with_its_papers(world: World) -> None:
    """A paper below the thresholds, which no page shows, does not keep its own."""
    below = "2611.00004"
    shown = ("2611.00001", "2611.00002", "2611.00003")
    world.llm.scores[below] = Score(2, 2)
    web = morning(world, 1, 2, 3, 4)
    link = digest_link(web)
    frozen = world.clock.now
    keep = timedelta(days=60)
    world.clock.now += timedelta(days=3)
    morning(world, 11)  # a newer digest
    for day in range(4, 42):
        with web.store() as store:
            store.retention.thin(keep, ["foundations", "galaxies"], frozen + timedelta(days=day))
    assert web.get(link).text.count("It works on three benchmarks.") == 3
    with web.store() as store:
        assert store.papers.by_id([below])[below].abstract == ""
        for _ in range(2):
            store.retention.thin(keep, ["foundations", "galaxies"], frozen + timedelta(days=61))
        assert store.papers.by_id([below, *shown]) == {}
    assert web.get(link).status_code == 404


# --- for reference managers


def test_page_has_a_span_for_each_paper(web: Web) -> None:
    page = lxml.html.document_fromstring(web.get(digest_link(web)).text)
    spans = [dict(parse_qsl(title)) for title in page.xpath("//span[@class='Z3988']/@title")]
    assert [span["rft.identifier"].rpartition("/")[2] for span in spans] == [
        "2611.00001",
        "2611.00002",
        "2611.00003",
    ]
    assert page.xpath("//span[@class='Z3988']/following-sibling::*[1]/@id") == ["p1", "p2", "p3"]
    assert "Z3988" not in web.mail()


def test_bib_is_a_file_of_all_papers(web: Web) -> None:
    answer = web.get(f"{digest_link(web)}.bib")
    assert answer.headers["Content-Type"] == "application/x-bibtex; charset=utf-8"
    assert (
        answer.headers["Content-Disposition"] == "attachment; filename=foundations-2026-11-20.bib"
    )
    assert re.findall(r"eprint = \{(.*)\}", answer.text) == [
        "2611.00001",
        "2611.00002",
        "2611.00003",
    ]
    known = {"If-None-Match": answer.headers["ETag"]}
    assert web.get(f"{digest_link(web)}.bib", headers=known).status_code == 304


def test_hostile_title_stays_text(world: World) -> None:
    (paper,) = world.announce(1)
    title = "</title></head><script>\"&'</script></body> {\\"
    world.arxiv.papers[-1] = replace(paper, title=title, authors=('"><script>x',))
    web = morning(world)
    page = web.get(digest_link(web)).text
    assert "<script" not in page
    assert page.count("</head>") == page.count("</body>") == page.count("</main>") == 1
    (span,) = lxml.html.document_fromstring(page).xpath("//span[@class='Z3988']/@title")
    assert "script" in dict(parse_qsl(span))["rft.au"]
    assert web.get(f"{digest_link(web)}.bib").text.count("@misc") == 1
