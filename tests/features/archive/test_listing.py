"""What everybody sees of a public list: its digests, the search over their papers, its feed."""

from __future__ import annotations

import lzma
import re
from dataclasses import replace
from datetime import date, timedelta

import lxml.html
import pytest
from lxml import etree

from paperboy.models import Counts, Day, Outcome, Score
from tests.cli.conftest import LISTS, World
from tests.features.archive.test_reading import configure, words
from tests.web.conftest import WEB_URL, Web

AT_HOME = f"{WEB_URL}/list/foundations"
PATHS = ("/list/foundations", "/list/foundations/search?q=learning", "/list/foundations/feed.atom")
PACKED = lzma.compress(b"[]", format=lzma.FORMAT_XZ)
ATOM = {"a": "http://www.w3.org/2005/Atom"}


@pytest.fixture
def public(web: Web) -> Web:
    """The list foundations, with a digest of three papers, is public from now on."""
    configure(web, archive="public")
    return web


def another_morning(web: Web, *numbers: int, days: int = 3) -> None:
    web.world.clock.now += timedelta(days=days)
    web.world.announce(*numbers)
    web.run("once", "--list", "foundations")


def links(web: Web, path: str) -> list[str]:
    page = lxml.html.document_fromstring(web.get(path).text)
    return [str(link.get("href")) for link in page.iter("a")]


def day_links(web: Web, query: str = "") -> list[str]:
    """The digests to which the page of the list leads."""
    found = links(web, f"/list/foundations{query}")
    return [link for link in found if re.search(r"/\d{4}-\d\d-\d\d$", link)]


def search(web: Web, query: str) -> list[str]:
    """The titles of what is found, without what all titles of these tests begin with."""
    page = web.get("/list/foundations/search", query_string={"q": query})
    assert page.status_code == 200
    found = lxml.html.document_fromstring(page.text).xpath("//ul/li/b/a")
    return [link.text_content().removeprefix("On the Learning of Paper ") for link in found]


# --- who sees what


@pytest.mark.parametrize("archive", ["none", "link"])
def test_list_that_is_not_public_looks_like_none(web: Web, archive: str) -> None:
    configure(web, archive=archive)
    for path in PATHS:
        nothing = web.get(path.replace("foundations", "no-such-list"))
        answer = web.get(path)
        assert answer.status_code == nothing.status_code == 404
        assert answer.text == nothing.text
    assert "There are no public lists here" in web.get("/").text
    assert links(web, "/") == []


@pytest.mark.parametrize(
    ("archive", "robots"), [("public", "noindex, nofollow"), ("indexed", "all")]
)
def test_only_indexed_lists_are_for_search_engines(web: Web, archive: str, robots: str) -> None:
    configure(web, archive=archive)
    assert [web.get(path).headers["X-Robots-Tag"] for path in PATHS] == [
        robots,
        "noindex, nofollow",
        robots,
    ]


def test_front_page_names_the_lists_that_everybody_may_read_or_join(public: Web) -> None:
    at_home = f"{WEB_URL}/list/foundations"
    newest = f"{at_home}/2026-11-20"
    assert links(public, "/") == [at_home, newest]
    page = words(public.get("/"))
    assert "Newest: On the Learning of Paper 2611.00001 Sent at 07:00" in page
    assert "why networks generalise" in page
    assert "dwarf" not in page
    both = LISTS.replace("    title: F", "    archive: public\n    open: true\n    title: F")
    public.world.write(
        "subscribers.yaml", both.replace("name: galaxies", "name: galaxies\n    open: true")
    )
    joined = [f"{at_home}/join", *[f"{WEB_URL}/list/galaxies/join"] * 2]
    assert links(public, "/") == [at_home, newest, *joined]


def test_pages_of_no_list_are_in_the_language_that_all_lists_have(web: Web) -> None:
    def language(path: str) -> str | None:
        return lxml.html.document_fromstring(web.get(path).text).get("lang")

    configure(web, archive="public", language="de")
    assert [language("/"), language("/list/no-such-list")] == ["de", "en"]
    lists = (web.world.path / "subscribers.yaml").read_text("utf-8")
    web.world.write(
        "subscribers.yaml", lists.replace("name: galaxies", "name: galaxies\n    language: de")
    )
    assert [language("/"), language("/list/no-such-list")] == ["de", "de"]


# --- the list's page


def test_page_of_a_list_has_its_digests_newest_first(public: Web) -> None:
    another_morning(public, 11)
    page = public.get("/list/foundations")
    assert day_links(public) == [f"{AT_HOME}/2026-11-23", f"{AT_HOME}/2026-11-20"]
    assert "why networks generalise" in words(page)
    titles = [f"On the Learning of Paper 2611.0000{number}" for number in (1, 2, 3)]
    assert f"Fri 20 · 3 of 3 papers {titles[0]} {titles[1]} {titles[2]}" in words(page)
    (feed,) = lxml.html.document_fromstring(page.text).xpath(
        "//link[@rel='alternate'][@type='application/atom+xml']"
    )
    assert feed.get("href") == f"{WEB_URL}/list/foundations/feed.atom"


def test_page_of_a_list_has_whole_titles_and_begins_with_the_best(web: Web) -> None:
    """A subject would have been cut."""
    best = "On " + "very " * 30 + "long titles"
    configure(web, archive="public")
    web.world.announce(11, 12)
    *_, paper = web.world.arxiv.papers
    web.world.arxiv.papers[-1] = replace(paper, title=best, authors=("Grace Hopper",))
    web.world.llm.scores = lambda paper_id: Score(9, 9 if paper_id == "2611.00012" else 8)
    another_morning(web)
    page = words(web.get("/list/foundations"))
    assert f"Mon 23 · 2 of 2 papers {best} On the Learning of Paper 2611.00011" in page
    assert best in texts(feed(web), "a:entry/a:title/text()")


@pytest.mark.parametrize("send_empty", ["true", "false"])
def test_day_on_which_none_passed_is_one_line(web: Web, send_empty: str) -> None:
    """It leads to the note, if there was one."""
    configure(web, archive="public", min_relevance="10", send_empty=send_empty)
    another_morning(web, 11, 12)
    assert "Mon 23 · none of 2 papers passed" in words(web.get("/list/foundations"))
    assert (f"{AT_HOME}/2026-11-23" in day_links(web)) == (send_empty == "true")


def test_page_of_a_list_has_thirty_digests_and_leads_to_older_and_newer_ones(public: Web) -> None:
    before = public.world.clock.now.date()
    copy = (
        "create temp table copied as select * from messages where date is not null",
        "create temp table copied_day as select * from days",
        "update copied set id = null, date = :date",
        "update copied_day set digest_id = null, date = :date",
        "insert into messages select * from copied limit 1",
        "insert into days select * from copied_day where list = 'foundations' limit 1",
        "drop table copied",
        "drop table copied_day",
    )
    with public.store() as store:
        for ago in range(1, 41):
            store.database.execute_each(copy, {"date": before - timedelta(days=ago)})
    first = links(public, "/list/foundations")
    assert f"{AT_HOME}?page=2" in first
    assert len(day_links(public)) == 30
    second = links(public, "/list/foundations?page=2")
    assert len(day_links(public, "?page=2")) == 11
    assert f"{AT_HOME}?page=1" in second
    assert not {f"{AT_HOME}?page=0", f"{AT_HOME}?page=3"} & {*first, *second}
    assert not {*day_links(public)} & {*day_links(public, "?page=2")}


@pytest.mark.parametrize(
    ("page", "status"),
    [("0", 200), ("-1", 200), ("x", 200), ("", 200), ("2", 404), ("9" * 30, 404)],
)
def test_odd_number_of_a_page_is_the_first_page_or_none(
    public: Web, page: str, status: int
) -> None:
    answer = public.get("/list/foundations", query_string={"page": page})
    assert answer.status_code == status


def test_only_days_since_the_oldest_digest_are_shown_and_none_that_was_given_up(
    public: Web,
) -> None:
    """Digests go after a year and the rows of days stay; a day without scores rejected no paper."""
    with public.store() as store:
        for day, outcome in (("2025-01-02", "note"), ("2026-11-21", "gave up")):
            counts = Counts(considered=89, below=89)
            frozen = Day("foundations", date.fromisoformat(day), Outcome(outcome), counts=counts)
            store.days.freeze(frozen, public.world.clock())
    page = words(public.get("/list/foundations"))
    assert "Fri 20 · 3 of 3 papers" in page
    assert "of 89 papers" not in page


def test_list_that_takes_nobody_for_now_shows_no_form(web: Web) -> None:
    configure(web, archive="public", open="true", paused="true")
    assert f"{AT_HOME}/join" not in [*links(web, "/list/foundations"), *links(web, "/")]
    assert "<form" not in web.get("/list/foundations").text
    configure(web, open="true", paused="true")
    assert links(web, "/") == []


def test_open_list_has_its_form_in_place(web: Web) -> None:
    """And where it is not open, its page says how readers leave."""
    configure(web, archive="public", open="true")
    page = lxml.html.document_fromstring(web.get("/list/foundations").text)
    assert page.xpath("//form/@action") == [f"{AT_HOME}/join"]
    configure(web, archive="public")
    page = lxml.html.document_fromstring(web.get("/list/foundations").text)
    assert page.xpath("//form") == []
    assert "Subscribers can leave with the link in any email." in page.text_content()


@pytest.mark.parametrize("shown", [PACKED, PACKED[:-8] + b"damaged!", b""])
def test_damaged_digest_leaves_its_subject_on_the_page_of_its_list(
    public: Web, shown: bytes
) -> None:
    """And the front page of all lists."""
    with public.store() as store, store.transaction():
        store.database.execute("update messages set shown = ? where date is not null", [shown])
    page = words(public.get("/list/foundations"))
    assert "Fri 20 · 3 of 3 papers On the Learning of Paper 2611.00001" in page
    assert public.get("/").status_code == 200


def test_page_of_a_list_shows_its_description_in_place_of_its_topics(web: Web) -> None:
    configure(web, archive="public", description='"Trees & <b>, for people."')
    page = web.get("/list/foundations")
    assert "Trees & <b>, for people." in words(page)
    assert "<b>" not in page.text
    assert "why networks generalise" not in words(page)


def test_page_of_a_list_names_its_topics_without_what_is_written_for_the_llm(web: Web) -> None:
    configure(web, archive="public")
    lists = (web.world.path / "subscribers.yaml").read_text("utf-8")
    topics = "You read for us.\n\n      1. Trees: those that grow\n      2. Graphs\n"
    relevant = "Relevant: why networks generalise, and how they are learned.\n"
    web.world.write("subscribers.yaml", lists.replace(relevant, topics))
    assert "Trees · Graphs" in words(web.get("/list/foundations"))
    assert "You read" not in words(web.get("/list/foundations"))


# --- search


def test_task_lets_papers_be_found_by_title_authors_and_abstract(public: Web) -> None:
    assert search(public, "learning") == []
    another_morning(public, 11)  # `once` ends with the tasks
    assert search(public, "paper 2611 00011") == ["2611.00011"]
    assert len(search(public, "lovelace")) == len(search(public, "benchmarks")) == 4
    assert search(public, "lovelace unheard-of") == []


def test_found_paper_leads_to_its_place_in_its_digest(public: Web) -> None:
    another_morning(public, 11)
    (link,) = [link for link in links(public, "/list/foundations/search?q=00002") if "#" in link]
    assert link == f"{WEB_URL}/list/foundations/2026-11-20#p2"
    assert 'id="p2"' in public.get(link.partition("#")[0]).text


def test_search_without_a_match_says_so(public: Web) -> None:
    another_morning(public, 11)
    page = public.get("/list/foundations/search?q=unheard-of")
    nothing = "Nothing found for “unheard-of” in the titles, authors and abstracts of Foundations."
    assert nothing in words(page)
    assert 'value="unheard-of"' in page.text
    assert "Nothing found" not in words(public.get("/list/foundations/search"))


@pytest.mark.parametrize(
    "query",
    [
        "2611.00002",
        "arXiv:2611.00002v3",
        " https://arxiv.org/abs/2611.00002 ",
        "10.48550/arXiv.2611.00002",
    ],
)
def test_paper_is_found_by_its_id(public: Web, query: str) -> None:
    another_morning(public, 11)
    assert search(public, query) == ["2611.00002"]
    assert search(public, query.replace("00002", "00099")) == []


def test_id_finds_its_paper_whatever_its_title_is_now_and_no_other_lists(public: Web) -> None:
    [paper] = public.world.announce(21)
    renamed = replace(paper, id="2611.00002", version=2, title="Another title")
    other = replace(paper, id="2611.00022", title="On the Learning of Paper")
    with public.store() as store:
        store.papers.add([renamed, other], (), public.world.clock())
    assert search(public, "2611.00002") == ["Another title"]
    assert search(public, "2611.00022") == []


def test_found_paper_has_the_scores_and_the_comment_of_its_digest(public: Web) -> None:
    another_morning(public, 11)
    page = words(public.get("/list/foundations/search?q=2611.00001"))
    assert "It matters. 9/8 · Ada Lovelace, Grace Hopper · 20 November 2026" in page


HOSTILE = (
    '"', "'", "*", "a*", "title:paper", "NEAR(a b)", "a OR b", "NOT", "AND AND", "-", "^a", "(((", "\0", "_", "🦉", "+",
    "' or 1=1 --", '"x" AND', "{title}", "a\0b", "\udcff", "ⅷ", "é" * 5_000, "a " * 5_000, "\u0301" * 300,
    "<script>alert(1)</script>",
)  # fmt: skip


def test_no_query_is_more_than_words(public: Web) -> None:
    another_morning(public, 11)
    for query in HOSTILE:
        asked = {"q": query.encode(errors="surrogateescape")}
        page = public.get("/list/foundations/search", query_string=asked)
        assert page.status_code == 200, query
        assert "<script>" not in page.text


def test_papers_below_the_thresholds_are_not_found(public: Web) -> None:
    configure(public, archive="public", min_relevance="10")
    another_morning(public, 11)
    assert len(search(public, "lovelace")) == 3


# --- the feed


def feed(web: Web) -> etree._Element:
    answer = web.get("/list/foundations/feed.atom")
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    return etree.fromstring(answer.data)


def texts(of: etree._Element, path: str) -> list[str]:
    return [str(text) for text in of.xpath(path, namespaces=ATOM)]


def test_feed_has_what_rfc_4287_demands(public: Web) -> None:
    another_morning(public, 11)
    root = feed(public)
    url = f"{WEB_URL}/list/foundations"
    assert root.tag == f"{{{ATOM['a']}}}feed"
    for element in (root, *root.findall("a:entry", ATOM)):
        for name in ("id", "title", "updated"):
            (text,) = texts(element, f"a:{name}/text()")
            assert text.strip()
        (updated,) = texts(element, "a:updated/text()")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", updated)
    assert texts(root, "a:author/a:name/text()") == ["Paperboy"]
    assert texts(root, "a:link/@rel") == ["self", "alternate"]
    assert texts(root, "a:link/@href") == [f"{url}/feed.atom", url]
    assert texts(root, "a:entry/a:id/text()") == [
        "tag:papers.example.org,2026:foundations/2026-11-23",
        "tag:papers.example.org,2026:foundations/2026-11-20",
    ]
    assert texts(root, "a:entry/a:link[@rel='alternate']/@href") == [
        f"{url}/2026-11-23",
        f"{url}/2026-11-20",
    ]


def test_entry_of_the_feed_names_its_papers_without_their_abstracts(public: Web) -> None:
    (content,) = feed(public).findall("a:entry/a:content", ATOM)
    assert content.get("type") == "html"
    assert content.text is not None
    shown = lxml.html.fragment_fromstring(content.text, create_parent="div")
    assert [link.get("href") for link in shown.iter("a")] == [
        f"https://arxiv.org/abs/2611.0000{n}" for n in (1, 2, 3)
    ]
    assert "9/8 On the Learning of Paper 2611.00001" in " ".join(shown.text_content().split())
    assert "Ada Lovelace, Grace Hopper" in content.text
    assert "It matters." in content.text
    assert "benchmarks" not in content.text


def test_feed_of_a_day_on_which_none_passed_says_so_to_anybody(web: Web) -> None:
    configure(web, archive="public", min_relevance="10")
    another_morning(web, 11)
    assert texts(feed(web), "a:entry/a:title/text()")[0] == "No paper passed"
    assert "Nothing for you" not in web.get("/list/foundations/feed.atom").text


def test_reader_who_has_the_feed_is_sent_none(public: Web) -> None:
    first = public.get("/list/foundations/feed.atom")
    assert first.headers["Cache-Control"] == "public, max-age=600"
    known = {"If-None-Match": first.headers["ETag"]}
    again = public.get("/list/foundations/feed.atom", headers=known)
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    another_morning(public, 11)
    assert public.get("/list/foundations/feed.atom", headers=known).status_code == 200


def test_before_the_first_morning_the_room_is_up_and_keeps_nothing(world: World) -> None:
    world.env(WEB_URL=WEB_URL)
    world.write("subscribers.yaml", LISTS.replace("    title: F", "    open: true\n    title: F"))
    web = Web(world)
    assert (web.get("/robots.txt").status_code, web.get("/").status_code) == (200, 200)
    assert web.get(f"/leave/{'0' * 32}").status_code == 404
    assert web.get("/list/foundations/join").status_code == 200
    asked = web.post("/list/foundations/join", data={"address": "emmy@wren.edu"})
    assert (asked.status_code, "Not available right now" in asked.text) == (503, True)
    assert not (world.path / "data").exists()
