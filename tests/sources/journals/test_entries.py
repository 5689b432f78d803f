"""One journal's feed: what becomes of an entry of each publisher, in invented words, and which replies are no feed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.edges.text import visible
from paperboy.models import ET_AL
from paperboy.sources.journals.entries import JournalEntry, JournalFeed, read_feed
from paperboy.sources.journals.markup import to_marked
from paperboy.sources.polite import FaultError
from paperboy.tex import plain
from tests.servers.journals import item, rss

URL = "https://journal.example/feed.rss"
PROSE = (
    "Tidal pools warm faster than the open shore, and snails leave them at noon. We followed forty"
    " pools for two summers and counted what stayed behind."
)
DAY = datetime(2026, 11, 20, tzinfo=UTC)


def read(body: bytes | str) -> JournalFeed:
    return read_feed(body.encode() if isinstance(body, str) else body, URL)


def only(body: bytes | str) -> JournalEntry:
    (entry,) = read(body).entries
    return entry


def hashed(text: str) -> str:
    return f"journal:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def by_title(title: str) -> str:
    return hashed(f"{title.casefold()}\n{URL}")


# the publishers


@dataclass(frozen=True)
class Shape:
    feed: str
    entry: JournalEntry


def expected(title: str, **fields: object) -> JournalEntry:
    """The entry, whose id is its DOI's if it has one, and else its title's."""
    doi = fields.get("doi", "")
    usual = JournalEntry(
        id=f"journal:{doi}" if doi else by_title(title),
        title=title,
        authors=(),
        abstract="",
        link="",
        doi="",
        date=None,
    )
    return replace(usual, **fields)  # type: ignore[arg-type]


RDF = (
    '<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    ' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/"><channel rdf:about="x"><title>J</title>'
    '<items><rdf:Seq><rdf:li resource="x"/></rdf:Seq></items></channel>%s</rdf:RDF>'
)

SHAPES = {
    "PubMed": Shape(
        rss(
            item(
                "Snails leave warm pools",
                link="https://pubmed.example/39000001/?utm_source=x&v=2",
                description=PROSE[:60],
                content_encoded="<div><p style='color:gray'>J Shore Stud. 2026 Nov 1:12. doi: 10.9999/wrong."
                " Online ahead of print.</p><p><b>ABSTRACT</b></p><p>BACKGROUND: " + PROSE + "</p>"
                '<p>PMID:<a href="x">39000001</a> | DOI:<a href="x">10.5555/pools.1</a></p></div>',
                guid="pubmed:39000001",
                pubDate="Fri, 20 Nov 2026 06:00:00 -0500",
                dc_creator="Mara Lind",
                dc_identifier="pmid:39000001",
            ).replace("</item>", "<dc:creator>Oto Beck</dc:creator>"
                      "<dc:identifier>doi:10.5555/Pools.1</dc:identifier></item>")
        ).decode(),
        expected(
            "Snails leave warm pools",
            doi="10.5555/pools.1",
            authors=("Mara Lind", "Oto Beck"),
            abstract="BACKGROUND: " + PROSE,
            link="https://pubmed.example/39000001/?utm_source=x&v=2",
            date=DAY.replace(hour=11),
        ),
    ),
    "Wiley, early view": Shape(
        rss(
            item(
                "A key to <i>Lapsana</i> and CO<sub>2</sub>",
                link="https://wiley.example/doi/10.1002/sho.70001?af=R",
                description="Shore, EarlyView.",
                dc_description="ABSTRACT\n" + PROSE,
                content_encoded=f"<h2>ABSTRACT</h2>\n<p>{PROSE}</p>",
                guid="10.1002/sho.70001",
                pubDate="Fri, 20 Nov 2026 00:00:00 -0000",
                dc_creator="\nMara Lind, \nOto Beck, \nIda van Dam",
                prism_doi="10.1002/SHO.70001",
                prism_coverDate="Fri, 20 Nov 2026 00:00:00 -0000",
            ),
            item("Other", dc_creator="Mara Lind, \nOto Beck", guid="10.1002/sho.70002"),
        ).decode(),
        expected(
            "A key to Lapsana and CO<sub>2</sub>",
            doi="10.1002/sho.70001",
            authors=("Mara Lind", "Oto Beck", "Ida van Dam"),
            abstract=PROSE,
            link="https://wiley.example/doi/10.1002/sho.70001?af=R",
            date=DAY,
        ),
    ),
    "Taylor & Francis": Shape(
        RDF % (
            '<item rdf:about="https://tf.example/doi/full/10.1080/1.2?af=R"><title>Dunes at rest</title>'
            "<link>https://tf.example/doi/full/10.1080/1.2?af=R</link>"
            "<description>Volume 56, Issue 3, Page 201-220, June 2026.<br/></description>"
            "<dc:creator>Mara Lind</dc:creator><dc:creator>Oto Beck</dc:creator>"
            "<dc:date>2026-06-01T08:00:00Z</dc:date><prism:publicationName>Dunes at rest</prism:publicationName>"
            "<dc:identifier>10.1080/1.2</dc:identifier></item>"
        ),
        expected(
            "Dunes at rest",
            doi="10.1080/1.2",
            authors=("Mara Lind", "Oto Beck"),
            link="https://tf.example/doi/full/10.1080/1.2?af=R",
            date=datetime(2026, 6, 1, 8, tzinfo=UTC),
        ),
    ),
    "OUP": Shape(
        rss(
            item(
                "Worms of the deep",
                link="https://oup.example/jws/article/doi/10.1093/jws/abc123/6484903",
                description='<span class="paragraphSection"><div class="boxTitle">Abstract</div>'
                + PROSE + "</span>",
                author="Brandão S, Saeedi H, Brandt AB. ",
                guid="http://doi.org/10.1093/jws/abc123",
                pubDate="Fri, 20 Nov 2026 00:00:00 GMT",
            ).replace("<author>", '<p:doi xmlns:p="prism">10.1093/jws/abc123</p:doi><author>')
        ).decode(),
        expected(
            "Worms of the deep",
            doi="10.1093/jws/abc123",
            authors=("S. Brandão", "H. Saeedi", "A. B. Brandt"),
            abstract=PROSE,
            link="https://oup.example/jws/article/doi/10.1093/jws/abc123/6484903",
            date=DAY,
        ),
    ),
    "ACS": Shape(
        rss(
            item(
                "Sieves \n of  salt",
                link="https://acs.example/jacsat/article/doi/10.1021/jacs.6c00001/5291658/Sieves-of-Salt",
                description="A sieve. &lt;img/&gt;",
                guid="http://dx.doi.org/10.1021/jacs.6c00001",
            )
        ).decode(),
        expected(
            "Sieves of salt",
            doi="10.1021/jacs.6c00001",
            link="https://acs.example/jacsat/article/doi/10.1021/jacs.6c00001/5291658/Sieves-of-Salt",
        ),
    ),
    "RSC": Shape(
        rss(
            item(
                "Glass that bends",
                link="https://rsc.example/sc/article/doi/10.1039/D6SC00001A/5291659/Glass",
                description="<div><i><b>Inv. Sci.</b></i>, 2026, Advance Article<br/><b>DOI</b>: 10.1039/D6SC00001A,"
                " Edge Article</div><div>Mara Lind, Oto Beck and Ida van Dam</div><div>The content of this RSS Feed"
                " (c) A Society that is named here at such length that it could be taken for an abstract</div>",
            )
        ).decode(),
        expected(
            "Glass that bends",
            doi="10.1039/d6sc00001a",
            authors=("Mara Lind", "Oto Beck", "Ida van Dam"),
            link="https://rsc.example/sc/article/doi/10.1039/D6SC00001A/5291659/Glass",
        ),
    ),
    "AIP": Shape(
        rss(
            item(
                "Sound in sand",
                link="https://aip.example/inv/article/160/4/044301/300001/Sound-in-sand",
                description=f'<span class="paragraphSection">{PROSE}</span>',
            )
        ).decode(),
        expected(
            "Sound in sand",
            abstract=PROSE,
            link="https://aip.example/inv/article/160/4/044301/300001/Sound-in-sand",
        ),
    ),
    "Elsevier": Shape(
        rss(
            item(
                "Bread and time",
                link="https://sd.example/science/article/pii/S012345672600123X?dgcid=rss_sd_all",
                description="<p>Publication date: March 2026</p><p><b>Source:</b> Invented Food, Volume 1</p>"
                "<p>Author(s): Mara Lind, Oto Beck, Mara Lind</p>",
            )
        ).decode(),
        expected(
            "Bread and time",
            id=hashed("S012345672600123X"),
            authors=("Mara Lind", "Oto Beck"),
            link="https://sd.example/science/article/pii/S012345672600123X?dgcid=rss_sd_all",
        ),
    ),
    "Cell": Shape(
        rss(item("Fat cells", link="https://cell.example/fulltext/S0123-4567(26)00123-X?rss=yes")).decode(),
        expected(
            "Fat cells",
            id=hashed("S012345672600123X"),
            link="https://cell.example/fulltext/S0123-4567(26)00123-X?rss=yes",
        ),
    ),
    "Nature": Shape(
        RDF % (
            '<item rdf:about="https://www.nature.com/articles/s41586-026-00001-9"><title>Rain on Mars</title>'
            "<link>https://www.nature.com/articles/s41586-026-00001-9</link><description>"
            '&lt;p&gt;Nature, Published online: 20 November 2026; &lt;a href="x"&gt;doi:10.1038/s41586-026-00001-9'
            "&lt;/a&gt;&lt;/p&gt;It rained there once.</description>"
            "<dc:creator>Mara Lind</dc:creator><dc:creator>Oto Beck</dc:creator><dc:creator>Mara Lind</dc:creator>"
            "<dc:date>2026-11-20</dc:date></item>"
        ),
        expected(
            "Rain on Mars",
            doi="10.1038/s41586-026-00001-9",
            authors=("Mara Lind", "Oto Beck"),
            link="https://www.nature.com/articles/s41586-026-00001-9",
            date=DAY,
        ),
    ),
    "APS": Shape(
        rss(
            item(
                "Quarks in <math><msub><mi>B</mi><mn>0</mn></msub></math> decays",
                link="http://link.aps.org/doi/10.1103/y1rg-p9hx",
                guid="http://link.aps.org/doi/10.1103/y1rg-p9hx",
                description=f"<p>Author(s): M. Lind, O. Beck, and I. van Dam</p><p>{PROSE}</p><br/>"
                "[Inv. Rev. D 114, 041001] Published Fri Nov 20, 2026",
                pubDate="2026-11-20T10:00:00+00:00",
            )
        ).decode(),
        expected(
            "Quarks in B<sub>0</sub> decays",
            doi="10.1103/y1rg-p9hx",
            authors=("M. Lind", "O. Beck", "I. van Dam"),
            abstract=PROSE,
            link="http://link.aps.org/doi/10.1103/y1rg-p9hx",
            date=DAY.replace(hour=10),
        ),
    ),
    "ChemRxiv": Shape(
        rss(
            item(
                "P 4 -like cages",
                guid="https://doi.org/10.26434/chemrxiv.15000001/v2",
                description=PROSE[:110] + "...",
                pubDate="2026-11-20T00:00:00Z",
            )
        ).decode(),
        expected(
            "P 4 -like cages",
            doi="10.26434/chemrxiv.15000001",
            abstract=PROSE[:110] + "...",
            link="https://doi.org/10.26434/chemrxiv.15000001/v2",
            date=DAY,
        ),
    ),
    "Cambridge": Shape(
        RDF % (
            "<item><title><![CDATA[ Law & <em>order</em> ]]></title>"
            "<link>http://dx.doi.org/10.1017/S0000000026000012?rft_dat=source%3Ddrss</link>"
            f"<description><![CDATA[<p>{PROSE}</p>]]></description>"
            "<dc:creator>Lind, Mara</dc:creator><dc:creator>van Dam, Ida</dc:creator></item>"
        ),
        expected(
            "Law & order",
            doi="10.1017/s0000000026000012",
            authors=("Mara Lind", "Ida van\u00a0Dam"),
            abstract=PROSE,
            link="http://dx.doi.org/10.1017/S0000000026000012?rft_dat=source%3Ddrss",
        ),
    ),
    "Ingenta": Shape(
        RDF % "<item><title>Bells</title><dc:creator>Rose, Jeffrey P.</dc:creator></item>",
        expected("Bells", authors=("Jeffrey P. Rose",)),
    ),
    "Pensoft": Shape(
        '<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//X//DTD RSS 0.91//EN" "http://x.example/rss-0.91.dtd">'
        "<rss version='0.91'><channel><item><title>\ufeffTwo new beetles</title>"
        "<link>https://pen.example/article/1/</link><description>"
        "&lt;p&gt;Beetles 1: 1-20&lt;/p&gt;&lt;p&gt;DOI: 10.3897/beetles.1.2&lt;/p&gt;"
        "&lt;p&gt;Authors: Mara Lind, Oto Beck&lt;/p&gt;"
        f"&lt;p&gt;Abstract: {PROSE}&lt;/p&gt;</description></item></channel></rss>",
        expected(
            "Two new beetles",
            doi="10.3897/beetles.1.2",
            authors=("Mara Lind", "Oto Beck"),
            abstract=PROSE,
            link="https://pen.example/article/1/",
        ),
    ),
    "OJS in Atom": Shape(
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>https://ojs.example/1</id>'
        "<title>&lt;p&gt;&lt;strong&gt;Old maps&lt;/strong&gt;&lt;/p&gt;</title>"
        "<author><name>Mara Lind, Oto Beck, Ida van Dam</name></author>"
        '<link rel="alternate" href="https://ojs.example/1"/><published>2026-11-20T00:00:00+00:00</published>'
        f'<summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>{PROSE}</p><p>A <b>map</b>.</p></div>'
        "</summary></entry></feed>",
        expected(
            "Old maps",
            authors=("Mara Lind", "Oto Beck", "Ida van Dam"),
            abstract=f"{PROSE}\nA map.",
            link="https://ojs.example/1",
            date=DAY,
        ),
    ),
    "Microbiology Society": Shape(
        rss(
            item(
                "Spores",
                link="https://ms.example/content/journal/ij/10.1099/ij.0.000001?TRACK=RSS",
                dc_creator="Mara Lind, Oto Beck",
            )
        ).decode(),
        expected(
            "Spores",
            doi="10.1099/ij.0.000001",
            authors=("Mara Lind", "Oto Beck"),
            link="https://ms.example/content/journal/ij/10.1099/ij.0.000001?TRACK=RSS",
        ),
    ),
    "Schweizerbart": Shape(
        rss(item("\n\tFossil\n\twood", guid="paper:100635", description=f"\n{PROSE}\n\t<a href='x'>more</a>")).decode(),
        expected("Fossil wood", abstract=f"{PROSE} more"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_entry_of_each_publisher(name: str) -> None:
    shape = SHAPES[name]
    assert read(shape.feed).entries[0] == shape.entry


def test_feed_without_entries_is_a_normal_reply() -> None:
    assert read('<feed xmlns="http://www.w3.org/2005/Atom"><title>J</title></feed>') == JournalFeed(
        ()
    )


# identity


def test_title_and_feed_identify_an_entry_whose_link_and_guid_change() -> None:
    first = only(rss(item("Tea", link="https://c.example/?t=1", guid="1")))
    second = only(rss(item("TEA", link="https://c.example/?t=2", guid="2")))
    assert first.id == second.id == by_title("tea")


@pytest.mark.parametrize(
    ("elements", "doi"),
    [
        ({"guid": "10.1/x"}, ""),
        ({"guid": "10.5555/.", "dc_identifier": "0110.5555/x"}, ""),
        ({"prism_doi": "10.5555/a", "dc_identifier": "doi:10.5555/b"}, "10.5555/a"),
        ({"dc_identifier": "doi:10.5555/b", "guid": "10.5555/c"}, "10.5555/b"),
        ({"guid": "10.5555/c", "link": "https://x.example/doi/10.5555/d"}, "10.5555/c"),
        ({"link": "https://x.example/doi/10.5555/d", "description": "doi: 10.5555/e"}, "10.5555/d"),
        ({"description": "See doi: 10.5555/E."}, "10.5555/e"),
        ({"description": "See <b>DOI</b>: <a href='x'>https://doi.org/10.5555/E</a>, p. 3"}, "10.5555/e"),
        ({"description": "See 10.5555/e"}, ""),
        ({"guid": "10.1016/S0140-6736(26)00001-2"}, "10.1016/s0140-6736(26)00001-2"),
        ({"description": "(doi:10.5555/e)"}, "10.5555/e"),
        ({"link": "https://x.example/doi/10.5555%2Fd?af=R"}, "10.5555/d"),
        ({"link": "https://x.example/articles/10.3389/f.2026.1/full"}, "10.3389/f.2026.1"),
        ({"link": "https://x.example/10.1051/0004-6361/202641234"}, "10.1051/0004-6361/202641234"),
        ({"guid": "10.1101/2026.11.01.700001"}, "10.1101/2026.11.01.700001"),
    ],
)  # fmt: skip
def test_doi_is_found_in_this_order(elements: dict[str, str], doi: str) -> None:
    entry = only(rss(item("A title", **elements)))
    assert entry.doi == doi
    assert entry.id == (f"journal:{doi}" if doi else by_title("A title"))


def test_entry_that_comes_twice_is_one() -> None:
    assert only(rss(item("A", guid="10.5555/a"), item("B", guid="10.5555/A"))).title == "A"


# what is no paper


@pytest.mark.parametrize(
    "title",
    [
        *("Correction to: Snails", "Correction to “Snails”", "Correction for Lind et al., Snails"),
        *("Author Correction: Snails", "Corrigendum to Snails [J. 1 (2026)]", "Erratum: Snails"),
        *(
            "Snails – CORRIGENDUM",
            "RETRACTED: Snails",
            "[Retracted] Snails",
            "Retraction Note: Snails",
        ),
        *(
            "Retraction notice to Snails",
            "Issue Information",
            "Issue Editorial Masthead",
            "Editorial Board",
        ),
        *(
            "Table of Contents",
            "Contents",
            "Front Cover",
            "Cover Picture: Snails",
            "Inside front cover",
        ),
        *("Expression of Concern: Snails", "Book Review: Snails", "Publisher’s Note: Snails"),
        *(
            "M. Lind, Snails (London: Press, 2026), pp. xii + 300, £75.00 (hb)",
            "Snails. ISBN 9780000000002",
        ),
    ],
)
def test_title_of_no_paper(title: str) -> None:
    assert read(rss(item(title))) == JournalFeed((), no_papers=1)


@pytest.mark.parametrize(
    "title",
    [
        *(
            "Correction of aberrations in lenses",
            "Correction to the Born approximation",
            "Cover crops and rain",
        ),
        *(
            "Contents of stomachs",
            "Book reviews as data",
            "Retraction of droplets",
            "Error correction: a survey",
        ),
        *(
            "Editorial boards and gender",
            "Collisions of pp at 13 TeV",
            "Review of tides",
            "Withdrawal from opioids",
        ),
    ],
)
def test_title_of_a_paper(title: str) -> None:
    assert only(rss(item(title))).title == title


def test_entry_without_a_title_is_counted() -> None:
    feed = read(rss(item(" <b> </b>"), item("", guid="10.5555/a"), item("Tea")))
    assert [entry.title for entry in feed.entries] == ["Tea"]
    assert feed.skipped == 2


# authors


@pytest.mark.parametrize(
    ("written", "authors"),
    [
        (["Lind, Mara", "van Dam, Ida, Jr."], ("Mara Lind", "Ida van\u00a0Dam Jr.")),
        (["Lind, Mara; Beck, Oto"], ("Mara Lind", "Oto Beck")),
        (["Mara Lind", "Mara Lind", "Oto Beck"], ("Mara Lind", "Oto Beck")),
        (
            ["Mara Lind, Oto Beck Jr., Ida Dam, PhD"],
            ("Mara Lind", "Oto Beck Jr.", "Ida Dam", "PhD"),
        ),
        (["Mara Lind, Jr., Oto Beck, Ida Dam"], ("Mara Lind Jr.", "Oto Beck", "Ida Dam")),
        (["Mara Lind<sup>1,2</sup>, Oto Beck*"], ("Mara Lind", "Oto Beck")),
        (["mara@x.example (Mara Lind)"], ("Mara Lind",)),
        (["mara@x.example"], ()),
        (["M. Lind et al. (SHORE Collaboration)"], ("M. Lind", ET_AL)),
        ([r"Ren\'e Beck", "Jos&#233; Lind"], ("René Beck", "José Lind")),
        (["Li X", "Beck OT"], ("X. Li", "O. T. Beck")),
    ],
)
def test_authors_in_natural_order(written: list[str], authors: tuple[str, ...]) -> None:
    creators = "".join(f"<dc:creator><![CDATA[{name}]]></dc:creator>" for name in written)
    feed = rss(f"<item><title>A</title>{creators}</item>")
    assert only(feed).authors == authors


def test_the_feed_says_whether_a_comma_is_within_a_name() -> None:
    """Two single commas alike, in feeds of two kinds."""
    pair = item("A", dc_creator="van Dam, Ida Maria")
    soup = item("B", dc_creator="Mara Lind, Oto Beck, Ida Dam")
    names = item("B", dc_creator="Lind, Mara"), item("C", dc_creator="Beck, Oto")
    assert read(rss(pair, soup)).entries[0].authors == ("van Dam", "Ida Maria")
    assert read(rss(pair, *names)).entries[0].authors == ("Ida Maria van\u00a0Dam",)


# text


@pytest.mark.parametrize(
    ("html", "abstract"),
    [
        (PROSE[:99], ""),
        (f"Abstract {PROSE}", PROSE),
        (f"Abstract{PROSE}", PROSE),
        (f"Abstract rewriting systems. {PROSE}", f"Abstract rewriting systems. {PROSE}"),
        (f"Volume 12, Issue 3, Page 1-20, {'November ' * 12}2026", ""),
        (f"{'Annals of Shores ' * 7}, Ahead of Print.", ""),
        (f"Inv. Acad., Volume 12, Issue 3, June 2026. {PROSE}", PROSE),
        (f"{PROSE}<p>Keywords: tea</p><unknown>", f"{PROSE}\n<unknown>"),
        (f"{PROSE} x &amp;lt; y, &lt;i&gt;z&lt;/i&gt;", f"{PROSE} x < y, z"),
        (f"{PROSE} if p <b and c> d", f"{PROSE} if p d"),
        (f"{PROSE} if p < 0.05", f"{PROSE} if p < 0.05"),
        (f"{PROSE}\n \nTwo\nlines", f"{PROSE}\nTwo lines"),
    ],
)
def test_abstract_without_what_is_around_it(html: str, abstract: str) -> None:
    assert only(rss(item("A", description=html))).abstract == abstract


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("CO<sub>2</sub> at 10<sup>-3</sup> &deg;C", "CO₂ at 10⁻³ °C"),
        ("The <scp>nac</scp> gene", "The nac gene"),
        ("<mml:math><mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:math> laws", "x² laws"),
        ("<math><semantics><mfrac><mn>1</mn><mi>n</mi></mfrac><annotation>\\frac1n</annotation></semantics></math>",
         "1/n"),
        ("<math><msqrt><mi>s</mi></msqrt><mo>=</mo><msubsup><mi>a</mi><mn>1</mn><mn>2</mn></msubsup>", "√(s)=a₁²"),
        (r"Decays $B^0\to K$", "Decays B⁰→K"),
        ("From $5 to $10 ~ {x}", "From $5 to $10 ~ {x}"),
        ("\ufeffA\u202eB", "AB"),
    ],
)  # fmt: skip
def test_title_for_readers(title: str, shown: str) -> None:
    assert (
        plain(
            to_marked(only(rss(item(title + "</math>" * title.startswith("<math><msqrt")))).title)
        )
        == shown
    )


def test_markup_inside_a_title_is_read_where_it_is_not_escaped() -> None:
    title = "<title>The <i>nac</i> <b>gene</b> of H<sub>2</sub> </title>"
    assert only(f"<rss><item>{title}</item></rss>").title == "The nac gene of H<sub>2</sub>"


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "ftp://x.example/",
        "/relative",
        "https://x y",
        "https://" + "a" * 2_001,
        "",
    ],
)
def test_link_that_is_not_http_is_none(link: str) -> None:
    assert not only(rss(item("A", link=link))).link


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("Fri, 20 Nov 2026 01:00:00 +0100", DAY),
        ("2026-11-20", DAY),
        ("2026-11-19T19:00:00-05:00", DAY),
        ("20 Nov 2026 00:00 GMT", DAY),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("9999-12-31T23:59:59-23:00", None),
    ],
)
def test_date(written: str, date: datetime | None) -> None:
    assert only(rss(item("A", pubDate=written))).date == date


# encodings and damage


@pytest.mark.parametrize(
    ("declared", "encoding", "title"),
    [
        ("utf-8", "utf-8", "Größe – šípy"),
        ("utf-8", "utf-8-sig", "Größe – šípy"),
        ("utf-16", "utf-16", "Größe – šípy"),
        ("utf-16", "utf-16-be", "Größe – šípy"),
        ("utf-8", "utf-32", "Größe – šípy"),
        ("iso-8859-1", "utf-8", "Größe – šípy"),
        ("iso-8859-1", "iso-8859-1", "Größe"),
        ("iso-8859-2", "iso-8859-2", "Größe šípy"),
        ("windows-1252", "windows-1252", "Größe – 3"),
        ("utf-8", "windows-1252", "Größe – 3"),
        ("no-such", "windows-1252", "Größe – 3"),
        ("iso-no-such", "utf-8", "Größe – 3"),
        ("gb2312", "gb2312", "中文题目"),
        ("Shift_JIS", "shift_jis", "日本語の題"),
        ("iso-2022-jp", "iso-2022-jp", "日本語の題"),
        ("koi8-r", "koi8-r", "Название"),
    ],
)
def test_encoding_is_found(declared: str, encoding: str, title: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<rss><item><title>{title}</title></item></rss>'
    assert only(text.encode(encoding)).title == title


GOOD = rss(item("Tea & toast", guid="10.5555/a"), item("Rain", guid="10.5555/b")).decode()


@pytest.mark.parametrize(
    ("broken", "titles"),
    [
        (GOOD.replace("&amp;", "&"), ["Tea & toast", "Rain"]),
        (GOOD.replace("&amp;", "\x0b&nbsp;\x00&unknown;"), ["Tea &unknown; toast", "Rain"]),
        (GOOD.replace("&amp;", "<"), ["Tea < toast", "Rain"]),
        (GOOD.replace("&amp;", "&#0;&#xFFFE;&#xD800;"), ["Tea �� toast", "Rain"]),
        (GOOD.replace("</title>", "</titel>"), ["Tea & toast", "Rain"]),
        (GOOD.replace("</item>", ""), ["Tea & toast", "Rain"]),
        (GOOD.replace(' xmlns:dc="http://purl.org/dc/elements/1.1/"', ""), ["Tea & toast", "Rain"]),
        (GOOD[: GOOD.index("Rain") + 2], ["Tea & toast", "Ra"]),
        ("\n\n<br/>Warning: line 3\n" + GOOD, ["Tea & toast", "Rain"]),
        (GOOD + GOOD, ["Tea & toast", "Rain"]),
    ],
)
def test_broken_feed_is_read_as_far_as_it_goes(broken: str, titles: list[str]) -> None:
    assert [entry.title for entry in read(broken).entries] == titles


def test_bad_byte_costs_its_character() -> None:
    assert (
        only(b"<rss><item><title>Caf\xe9 \xff \xc3\xa9\x81</title></item></rss>").title
        == "Café ÿ é�"
    )


# what is no feed


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "sent an empty reply"),
        (" \n", "sent an empty reply"),
        (
            "<!DOCTYPE html><html><title>Just a moment</title><rss>",
            "sent a web page instead of a feed (Just a moment)",
        ),
        (
            "<html xmlns='http://www.w3.org/1999/xhtml'>Hello",
            "sent a web page instead of a feed (Hello)",
        ),
        ("<html>In: <input name=p type='password'>", "sent a login page instead of a feed (In:)"),
        ('{"error": "no\x1b such"}', r'sent JSON instead of a feed ({"error": "no such"})'),
        ("Access denied", "sent something other than a feed (Access denied)"),
        ("<urlset><url/></urlset>", "sent something other than a feed ()"),
        ("%PDF-1.7", "sent something other than a feed (%PDF-1.7)"),
    ],
)
def test_what_is_no_feed_is_an_error_with_its_fix(body: str, says: str) -> None:
    with pytest.raises(FaultError) as caught:
        read(body)
    assert str(caught.value) == says
    assert caught.value.hint.endswith(".")


# hostile ones

MB = 1_000_000
BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 100}">' for n in range(1, 9))
HOSTILE = {
    "bomb": f'<!DOCTYPE rss [<!ENTITY e0 "ha">{BOMB}]><rss a="&e8;"><item><title>&e8;</title></item></rss>',
    "external entity": '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><item><title>&x;</title></item></rss>',
    "100,000 entries": "<rss>" + "".join(f"<item><title>{n}</title></item>" for n in range(100_000)),
    "depth": "<rss><item><title>A</title>" + "<a>" * 250_000,
    "items in items": "<rss>" + "<item><title>A" * 250_000,
    "titles in titles": "<rss><item>" + "<title>A" * 250_000,
    "elements": "<rss><item><title>A</title>" + "<a/>" * 2 * MB,
    "attributes": "<rss><item " + " ".join(f'a{n}=""' for n in range(MB)) + "><title>A",
    "authors": "<rss><item><title>A</title>" + "<dc:creator>M. Lind</dc:creator>" * 100_000,
    "different authors": "<rss><item><title>A</title>" + "".join(f"<author>M{n} Lind</author>" for n in range(100_000)),
    "long texts": "".join(["<rss><item>", *(f"<{name}>{'word ' * 400_000}</{name}>" for name in
                           ("title", "description", "author", "guid", "link", "pubDate"))]),
    **{
        f"repeated {unit!r}": f"<rss><item><title>{unit * 4_000}</title><description>{unit * 100_000}</description>"
        f"<author>{unit * 100_000}</author><link>{unit * 1_000}</link></item></rss>"
        for unit in ("&lt;math", "&lt;a:math &lt;b:math", "&lt;i ", "&lt;sub&gt;", "&lt;math&gt;&lt;/math&gt;",
                     "&amp;a",
                     " ", "\n", "a@", ",", " and ", "x;", "doi", "doi: ", "10.5555/", "[", "Abstract ", "Volume 1, ",
                     "&lt;div class='boxTitle'&gt;", "&lt;math&gt;&lt;msub&gt;", "\\a{", "$x_", "A B ", "(")
    },
}  # fmt: skip


def check(feed: JournalFeed) -> None:
    """Check that entries are bounded and fit."""
    assert len(feed.entries) <= 1_000
    for entry in feed.entries:
        texts = [entry.id, entry.title, *entry.authors, *entry.abstract.split("\n"), entry.link]
        assert all(text == visible(text) for text in texts)
        assert entry.id.startswith("journal:")
        assert entry.id.isascii()
        assert len(entry.id) <= 308
        assert 0 < len(entry.title) <= 1_000
        assert len(entry.authors) <= 5_000
        assert all(0 < len(name) <= 400 for name in entry.authors)
        assert len(entry.abstract) <= 10_000
        assert entry.link == "" or entry.link.startswith(("http://", "https://"))
        assert entry.date is None or entry.date.tzinfo is UTC


@pytest.mark.long("megabytes")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_feed_is_read_in_bounds(name: str) -> None:
    feed = read(HOSTILE[name])
    check(feed)
    assert "root:" not in repr(feed)


PIECES = st.sampled_from(
    [
        *("<rss>", "<feed>", "<item>", "</item>", "<entry>", "</entry>", "<title>", "</title>"),
        *("<description>", "<link>", "<link href='https://x.example/'/>", "<guid>", "<dc:creator>"),
        *("</dc:creator>", "<author>", "<name>", "<pubDate>", "</pubDate>", "2026-11-20", "T99"),
        *("Fri, 20 Nov 2026", " +9999", "<![CDATA[", "]]>", "&", "&lt;", "&#xD800;", "&#8238;"),
        *("&amp;#xFDD0;", "\ufdd0", "\ud800", "\0", "\u202e", "<math>", "<msub>", "</math>", "<sup>"),
        *("</sup>", "10.5555/a", "doi: ", "https://", "Lind, Mara", ", ", " and ", "et al.", PROSE),
        *("<!DOCTYPE rss [", "<!ENTITY a 'b'>", "<?x", "<!--", "-->", "<x:y", ' a="', ">", "Abstract"),
        *("Correction: ", "S0123-4567(26)00123-X"),
    ]
)  # fmt: skip


@given(
    st.lists(PIECES | st.text(max_size=9), max_size=60).map("".join),
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
def test_random_feed_is_read_or_refused(text: str, encoding: str) -> None:
    refuse_or_check(("<rss><item><title>A" + text).encode(encoding, errors="replace"))


@given(st.binary(max_size=300))
def test_random_bytes_are_read_or_refused(body: bytes) -> None:
    refuse_or_check(body)


def refuse_or_check(body: bytes) -> None:
    try:
        feed = read(body)
    except FaultError as error:
        said = str(error)
    else:
        check(feed)
        said = ""
    assert said == visible(said)
