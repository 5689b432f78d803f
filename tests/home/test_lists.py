"""`subscribers.yaml` becomes mailing lists; every problem is reported with its line and column."""

from datetime import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from paperboy.errors import ConfigError
from paperboy.home import nodes
from paperboy.home.lists import KEYS, load
from paperboy.home.settings import Settings
from paperboy.models import EVERY_DAY, Keywords, MailingList, Subscriber
from paperboy.sources import categories

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "prompts" / "topics").mkdir(parents=True)
    (tmp_path / "packaged" / "topics").mkdir(parents=True)
    (tmp_path / "prompts" / "topics" / "physics.md").write_text("Everything that moves.\n", "utf-8")
    return tmp_path


def read(home: Path, text: str | bytes) -> tuple[MailingList, ...]:
    path = home / "subscribers.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_from(path)


def load_from(path: Path) -> tuple[MailingList, ...]:
    folders = [path.parent / "prompts", path.parent / "packaged"]
    return load(path, folders, Settings(send_at=time(6, 15), timezone=ZoneInfo("Asia/Tokyo")))


def problems(home: Path, text: str | bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(home, text)
    assert caught.value.exit_code == 78
    return [str(problem).removeprefix("subscribers.yaml:") for problem in caught.value.problems]


def one(home: Path, *lines: str) -> MailingList:
    (only,) = read(home, a_list(*lines))
    return only


def a_list(*lines: str) -> str:
    """A sound list on lines 1 to 4, and the given lines from line 5."""
    head = ["lists:", "  - name: physics", "    categories: [hep-th, gr-qc]", "    topics: Strings"]
    return "\n".join([*head, *(f"    {line}" for line in lines), ""])


def test_divided_archive_stands_for_all_its_categories(home):
    """No new paper is in plain astro-ph, so the word alone would be a list that never gets anything."""
    text = "lists: [{name: sky, categories: [astro-ph, cs.LG], topics: stars}]"
    assert read(home, text)[0].categories == (
        *[
            "astro-ph",
            "astro-ph.CO",
            "astro-ph.EP",
            "astro-ph.GA",
            "astro-ph.HE",
            "astro-ph.IM",
            "astro-ph.SR",
        ],
        "cs.LG",
    )


def test_categories_of_other_sources_are_there_once_in_any_spelling(home):
    text = """\
lists:
  - name: cells
    categories: [biorxiv/cell biology, q-bio.CB, bioRxiv/Cell_Biology, "BIORXIV/cell-biology"]
    exclude: [medRxiv/Oncology, biorxiv/zoology]
    topics: cells
  - name: clinics
    categories: [medrxiv/oncology, medRxiv, medrxiv/urology]
    topics: patients
"""
    cells, clinics = read(home, text)
    assert cells.categories == ("biorxiv/cell biology", "q-bio.CB")
    assert cells.exclude == ("medrxiv/oncology", "biorxiv/zoology")
    assert set(clinics.categories) == set(categories("medrxiv"))
    assert len(clinics.categories) == 1 + 51, "all of it, and what is new there"


def test_smallest_list_has_the_defaults(home):
    assert one(home) == MailingList(
        name="physics",
        title="physics",
        categories=("hep-th", "gr-qc"),
        topics="Strings",
        timezone=ZoneInfo("Asia/Tokyo"),
        send_at=time(6, 15),
        weekdays=EVERY_DAY,
        authors=(),
        description="",
        brief=True,
        language="en",
        min_relevance=7,
        min_novelty=6,
        max_papers=50,
        cross_lists=True,
        send_empty=True,
        subscribers=(),
    )


def test_every_key_is_read(home):
    text = """\
lists:
  - name: physics-2
    title: "Physics: the rest"
    description: " What moves, and why. "
    categories: [gr-qc, cond-mat.soft, gr-qc]
    topics: topics/physics.md
    authors: [Émilie du Châtelet]
    language: fr
    min_relevance: 10
    min_novelty: 1
    max_papers: 5
    send_at: 0:05
    timezone: Europe/Berlin
    weekdays: [Sun, mon]
    cross_lists: false
    send_empty: false
    exclude: [math.AG]
    keywords: {must: [black hole], never: [survey]}
    brief: false
    paused: true
    archive: public
    open: true
    webhook: https://chat.example.org/hooks/1
    webhook_format: slack
    subscribers:
      - ada@example.org
      - Grace Hopper <Grace@Example.org>
      - '"Curie, M." <root@localhost>'
      - a@mail.test
      - b@bücher.example
"""
    elsewhere = {"library", "subscribers_file"}  # they need files, and have tests of their own
    assert {key for key in KEYS if f" {key}:" in text} | elsewhere == {*KEYS}
    assert read(home, text) == (
        MailingList(
            name="physics-2",
            title="Physics: the rest",
            description="What moves, and why.",
            categories=("gr-qc", "cond-mat.soft"),
            topics="Everything that moves.",
            timezone=ZoneInfo("Europe/Berlin"),
            send_at=time(0, 5),
            weekdays=frozenset({6, 0}),
            authors=("Émilie du Châtelet",),
            language="fr",
            min_relevance=10,
            min_novelty=1,
            max_papers=5,
            cross_lists=False,
            send_empty=False,
            exclude=("math.AG",),
            keywords=Keywords(must=("black hole",), never=("survey",)),
            brief=False,
            paused=True,
            archive="public",
            open=True,
            webhook="https://chat.example.org/hooks/1",
            webhook_format="slack",
            subscribers=(
                Subscriber("ada@example.org"),
                Subscriber("Grace@example.org", "Grace Hopper"),
                Subscriber("root@localhost", "Curie, M."),
                Subscriber("a@mail.test"),
                Subscriber("b@xn--bcher-kva.example"),
            ),
        ),
    )


def test_key_without_a_value_counts_as_absent(home):
    assert one(
        home, "title:", "authors:", "subscribers:", "#  - ada@example.org", "send_at: ~"
    ) == one(home)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        *[
            ("de", "de"),
            ("EN", "en"),
            ("pt-br", "pt-BR"),
            ("ZH-HANT", "zh-Hant"),
            ("zh-hant-tw", "zh-Hant-TW"),
        ],
        *[
            ("es-419", "es-419"),
            ("DE-1996", "de-1996"),
            ("sl-Rozaj-biske", "sl-rozaj-biske"),
            ("no", "no"),
            ("' de '", "de"),
        ],
    ],
)
def test_language_is_a_tag_in_canonical_case(home, written, canonical):
    """YAML 1.2 reads `no` as text."""
    assert one(home, f"language: {written}").language == canonical


def test_scalars_are_the_text_that_they_look_like():
    root = nodes.compose("%YAML 1.1\n---\n[no, 7:00, 2024, 2026-06-31, 0o7, 1e3, !!str x, '~']")
    assert [node.value for node in root.value] == [
        "no",
        "7:00",
        "2024",
        "2026-06-31",
        "0o7",
        "1e3",
        "x",
        "~",
    ]
    assert [node.start_mark.column for node in root.value[:3]] == [1, 5, 11]


def test_quotes_tell_text_from_nothing_and_numbers(home):
    assert one(home, "title: 2024", "authors: ['~', 'null']").authors == ("~", "null")
    assert one(home, "title: 2024").title == "2024"
    assert one(home, "max_papers: '5'", "paused: 'True'") == one(
        home, "max_papers: 5", "paused: true"
    )


def test_authors_are_each_there_once_with_the_surname_last(home):
    (only,) = read(
        home,
        'lists: [{name: x, categories: [cs.LG], authors: ["Rubin, Vera", Ada Byron, Vera Rubin]}]',
    )
    assert only.authors == ("Vera Rubin", "Ada Byron")


def test_topics_may_be_left_out_where_authors_stand(home):
    (only,) = read(home, "lists: [{name: people, categories: [cs.LG], authors: [Ada Lovelace]}]")
    assert (only.topics, only.authors) == ("", ("Ada Lovelace",))
    assert problems(home, "lists: [{name: people, categories: [cs.LG]}]") == [
        "1:9: this list needs 'topics', 'library' or 'authors'"
    ]


def test_topics_may_span_several_lines(home):
    text = (
        "lists:\n- name: a\n  categories: [hep-th]\n  topics: |\n    Strings,\n    see prompts.md\n"
    )
    assert read(home, text)[0].topics == "Strings,\nsee prompts.md"


def test_anchors_aliases_and_merge_keys_are_read(home):
    lists = read(
        home,
        """\
lists:
  - &first
    name: a
    categories: &both [hep-th, gr-qc]
    topics: Strings
    max_papers: 3
  - <<: *first
    name: b
    categories: *both
""",
    )
    assert [(x.name, x.categories, x.max_papers) for x in lists] == [
        ("a", ("hep-th", "gr-qc"), 3),
        ("b", ("hep-th", "gr-qc"), 3),
    ]


A_LIST = "must be a list, such as [one, two], or lines that begin with '- '"
A_SCORE = "must be a whole number from 1 to 10"
BACKSLASH = "a backslash has a meaning in double quotes; write it twice, or use single quotes"
A_TAG = "must be a BCP 47 tag, such as de, pt-BR or zh-Hant"
KNOWN = f"; known here: {', '.join(KEYS)}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["topcs: x"], ["5:5: unknown key 'topcs', did you mean 'topics'?"]),
        (["exclude: [math]"], ["5:15: exclude: 'math' is a whole archive; name its categories, such as math.AC"]),
        (["keywords: {mst: [x]}"], ["5:16: unknown key 'mst', did you mean 'must'?"]),
        (["keywords: [x]"], ["5:15: keywords: must have the keys must or never, such as {never: [survey, review]}"]),
        (["keywords: {must: ['-']}"], ["5:23: must: '-' has no letter or digit, so it would match every paper"]),
        (["keywords: {never: survey}"], [f"5:23: never: {A_LIST}"]),
        (["keywords: {must: ['', []]}"], ["5:23: must: is empty", "5:27: must: each must be text; put it in quotes"]),
        (["description: []"], ["5:18: description: must be text; put it in quotes"]),
        (["description: ''"], ["5:18: description: is empty"]),
        (["brief: short"], ["5:12: brief: must be one of true, false"]),
        (["paused: maybe"], ["5:13: paused: must be one of true, false"]),
        (["language: german"], [f"5:15: language: {A_TAG}"]),
        (["language: de_DE"], [f"5:15: language: {A_TAG}"]),
        (["language: [de, en]"], ["5:15: language: must be text; put it in quotes, as 'no' for Norwegian"]),
        (["colour: red", "5: x"], [f"5:5: unknown key 'colour'{KNOWN}", f"6:5: unknown key '5'{KNOWN}"]),
        (["name: other"], ["5:5: 'name' is given twice; remove one"]),
        ([f"title: {'x' * 2001}"], ["5:12: title: must have at most 2000 characters"]),
        ([f"authors: [{'x' * 2001}]"], ["5:15: authors: must have at most 2000 characters"]),
        ([f"subscribers: [{'x' * 10**6}]"], ["5:19: subscribers: must have at most 2000 characters"]),
        (["title: [5]"], ["5:12: title: must be text; put it in quotes"]),
        (["title: ''"], ["5:12: title: is empty"]),
        ([r'title: "a\nb"'], ["5:12: title: contains a control character (U+000A); write one line of plain text"]),
        ([r'title: "\ud800"'], [f"5:12: {BACKSLASH}"]),
        ([r'title: "C:\q"'], [f"5:12: {BACKSLASH}"]),
        (["authors: [Yann LeCun, [7], ~]"], [
            "5:27: authors: each must be text; put it in quotes", "5:32: authors: each must be text; put it in quotes",
        ]),
        (["min_relevance: 0"], [f"5:20: min_relevance: {A_SCORE}"]),
        ([f"max_papers: {'9' * 50}"], [
            "5:17: max_papers: must be a whole number from 1 to 10000"
        ]),
        (["send_at: 7am"], ["5:14: send_at: must be a time of day, such as 07:00 or 18:30"]),
        (["timezone: europe/berlin"], [
            "5:15: timezone: 'europe/berlin' is an unknown timezone, did you mean 'Europe/Berlin'?"
        ]),
        (["timezone: Atlantis"], [
            "5:15: timezone: 'Atlantis' is an unknown timezone; use a name such as Europe/Berlin"
        ]),
        (["weekdays: [mon, tues]"], [
            "5:21: weekdays: must be one of mon, tue, wed, thu, fri, sat, sun"
        ]),
        (["weekdays: []"], ["5:15: weekdays: must not be empty"]),
        (["subscribers: ada@example.org"], [f"5:18: subscribers: {A_LIST}"]),
        (["subscribers:", "  - ada: ada@example.org"], [
            "6:9: subscribers: each is one line, such as ada@example.org or Ada Lovelace <ada@example.org>"
        ]),
        (["subscribers:", "  -"], [
            "6:8: subscribers: each is one line, such as ada@example.org or Ada Lovelace <ada@example.org>"
        ]),
        (["subscribers: [ada]"], [
            "5:19: subscribers: 'ada' is not an address: An email address must have an @-sign."
        ]),
        (["subscribers: ['a@b@c']"], [
            "5:19: subscribers: 'a@b@c' is not an address: The part after the @-sign contains invalid characters: '@'."
        ]),
        (["subscribers:", "  - A <a@b.org> <b@b.org>"], [
            "6:9: subscribers: 'A <a@b.org> <b@b.org>' has more than one address; write one address per line"
        ]),
        (["subscribers:", "  - a@b.org, C <c@b.org>; d@b.org"], [
            "6:9: subscribers: 'a@b.org, C <c@b.org>; d@b.org' has more than one address; write one address per line"
        ]),
        (["subscribers:", r'  - "Ada\r\nBcc: x <a@example.org>"'], [
            "6:9: subscribers: contains a control character (U+000D); write one line of plain text"
        ]),
        (["subscribers:", "  - ada@example.org", "  - Ada <ADA@Example.ORG>"], [
            "7:9: ADA@example.org is already on this list, in line 6"
        ]),
        (["subscribers:", "     - a@b.org", "      - C <c@b.org>"], [
            "6:12: subscribers: 'a@b.org - C <c@b.org>' has more than one address; write one address per line"
        ]),
    ],
)  # fmt: skip
def test_invalid_option_is_reported_with_line_and_column(home, lines, expected):
    assert problems(home, a_list(*lines)) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            "name: Big Ideas!",
            "2:11: name: must be at most 63 of a-z, 0-9 and inner -, such as 'big-ideas'",
        ),
        (
            "name: ../x",
            "2:11: name: must be at most 63 of a-z, 0-9 and inner -, such as 'big-ideas'",
        ),
        ("name: [5]", "2:11: name: must be text; put it in quotes"),
        ("name:", "2:5: this list needs 'name'"),
        ("title: x", "2:5: this list needs 'name'"),
    ],
)
def test_invalid_list_name_is_reported_with_a_usable_one(home, head, expected):
    assert problems(
        home, f"lists:\n  - {head}\n    categories: [hep-th]\n    topics: Strings\n"
    ) == [expected]


@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        ("[cs.LG, CS.lg]", "3:25: categories: unknown category 'CS.lg', did you mean 'cs.LG'?"),
        (
            "[astro-ph.GAL]",
            "3:18: categories: unknown category 'astro-ph.GAL', did you mean 'astro-ph.GA'?",
        ),
        (
            "[cs.LK]",
            "3:18: categories: unknown category 'cs.LK'; they are listed at arxiv.org/category_taxonomy",
        ),
        ("[hep-p]", "3:18: categories: unknown category 'hep-p', did you mean 'hep-ph'?"),
        (
            "[q-bio.GN, bioRxiv/Cell Biolgy]",
            "3:28: categories: unknown category 'Cell Biolgy' of biorxiv, did you mean 'cell biology'?",
        ),
        (
            "[arxiv/q-bio.BM]",
            "3:18: categories: unknown category 'arxiv/q-bio.BM'; arXiv's need no prefix: write q-bio.BM",
        ),
        (
            "[medrxv/oncology]",
            "3:18: categories: unknown source 'medrxv', did you mean 'medrxiv'?",
        ),
        ("[]", "3:17: categories: must not be empty"),
        ("", "2:5: this list needs 'categories'"),
    ],
)
def test_invalid_category_is_reported_with_a_suggestion(home, categories, expected):
    text = f"lists:\n  - name: a\n    categories: {categories}\n    topics: Strings\n"
    assert problems(home, text) == [expected]


def with_topics(topics: str) -> str:
    return f"lists:\n  - name: a\n    categories: [hep-th]\n    topics: {topics}\n"


def test_topics_file_is_taken_from_the_first_folder_that_has_it(home):
    (home / "packaged" / "topics" / "physics.md").write_text("packaged", "utf-8")
    (home / "packaged" / "topics" / "mathematics.md").write_text("packaged", "utf-8")
    assert read(home, with_topics("topics/physics.md"))[0].topics == "Everything that moves."
    assert read(home, with_topics("topics/mathematics.md"))[0].topics == "packaged"


READABLE = "it must be a file that Paperboy's user may read"


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ("'  '", "is empty; say what the list wants to read"),
        ("[a]", "must be text; put it in quotes"),
        (
            "topics/none.md",
            "there is no 'topics/none.md' in the home's prompts/; create it, or write the topics here",
        ),
        (
            "a.txt",
            "'a.txt' is neither a .md file nor a sentence; name a .md file, or write the topics",
        ),
        *(
            (name, f"there is no '{name}' in the home's prompts/, did you mean 'topics/physics.md'?")
            for name in ("physics.md", "prompts/topics/physics.md")
        ),
        *(
            (name, f"'{name}' is outside the folder prompts; put the file there")
            for name in ("../secret.md", "/etc/secret.md", "out.md", "out/secret.md")
        ),
        (
            "self.md",
            f"HOME/prompts/self.md cannot be read: Too many levels of symbolic links; {READABLE}",
        ),
        ("long.md", "must have at most 100,000 characters"),
        ("empty.md", "HOME/prompts/empty.md is empty; write there what the list wants to read"),
        (f"{'x' * 300}.md", (f"HOME/prompts/{'x' * 300}.md cannot be read: "
                            f"File name too long; {READABLE}")),
    ],
)  # fmt: skip
def test_unusable_topics_are_reported_with_the_fix(home, topics, expected):
    prompts = home / "prompts"
    (home / "outside").mkdir()
    (home / "outside" / "secret.md").write_text("secret", "utf-8")
    (home / "secret.md").write_text("secret", "utf-8")
    (prompts / "out.md").symlink_to(home / "secret.md")
    (prompts / "out").symlink_to(home / "outside")
    (prompts / "self.md").symlink_to("self.md")
    (prompts / "empty.md").write_text(" \n")
    (prompts / "long.md").write_text("x" * 100_001)
    assert problems(home, with_topics(topics)) == [
        f"4:13: topics: {expected.replace('HOME', str(home))}"
    ]


def test_link_inside_the_prompts_folder_is_followed(home):
    (home / "prompts" / "same.md").symlink_to("topics/physics.md")
    assert read(home, with_topics("same.md"))[0].topics == "Everything that moves."


def test_all_problems_are_reported_at_once_in_line_order(home):
    text = """\
lists:
  - name: a
    categories: [cs.XY, hep-th]
    topcs: Strings
    min_relevance: 12
    subscribers: [nobody, a@example.org, A@example.org]
  - name: a
    categories: [hep-th]
    topics: nowhere.md
  - just text
  -
list: []
"""
    found = problems(home, text)
    places = [problem.partition(": ")[0] for problem in found]
    assert places == [
        "2:5",
        "3:18",
        "4:5",
        "5:20",
        "6:19",
        "6:42",
        "7:11",
        "9:13",
        "10:5",
        "11:4",
        "12:1",
    ]
    assert "7:11: there is already a list 'a', in line 2" in found
    assert "10:5: a list must have keys, such as 'name: physics'" in found
    assert "12:1: unknown key 'list', did you mean 'lists'?" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: the file must start with lists: ["),
        ("# only a comment\n", "1:1: the file must start with lists: ["),
        ("\n- a\n", "1:1: the file must start with lists: ["),
        ("lists:", "1:1: this file needs 'lists'"),
        ("lists: []", "1:8: lists: must not be empty"),
        ("lists: {}", "1:8: lists: each list begins with a dash, such as '- name: physics'"),
        ("{}", "1:1: this file needs 'lists'"),
        ("list: []", "1:1: this file needs 'lists'"),
    ],
)
def test_file_without_lists_is_reported(home, text, expected):
    assert problems(home, text)[0].startswith(expected)


@pytest.mark.long("thousands of lists")
def test_reporting_stops_after_two_hundred_problems_and_says_so(home):
    found = problems(home, a_list("subscribers:", *(f"  - nobody-{n}" for n in range(100_000))))
    assert len(found) == 201
    assert (
        found[-1]
        == "206:9: reporting stops here, after 200 problems; fix those above, then run paperboy check"
    )


def test_smallest_file_that_messages_propose_is_valid(home):
    (problem,) = problems(home, "")
    assert read(home, problem[problem.index("lists: [") :])[0].subscribers == (
        Subscriber("you@example.org"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lists:\n\t- name: a\n", "2:1: a tab; YAML is indented with spaces"),
        ("lists:\n  \t- name: a\n", "2:3: a tab; YAML is indented with spaces"),
        ("lists:\n  -\tname: a\n", "2:4: a tab; YAML is indented with spaces"),
        ("lists:\n  -\t- a\n", "2:4: a tab; YAML is indented with spaces"),
        ("lists:\n  - name: a\n\ttopics: x\n", "3:1: a tab; YAML is indented with spaces"),
        ("lists:\n  - name: @a\n", "2:11: text that begins with @ needs quotes"),
        (
            "lists:\n  - name: a: b\n",
            "2:12: a colon is not allowed here; fix the indentation, or put the text in quotes",
        ),
        ("lists: - a\n", "1:8: a dash begins a line of its own; or put the text in quotes"),
        ("lists: [{? [[a]] : b}]\n", "1:12: text that begins with a bracket needs quotes"),
        ("lists:\n  - name: 'a\n    title: b\n", "2:11: these quotes are never closed"),
        ("lists: [a,\nb: c\n", "1:8: this bracket is never closed, or a comma is missing after it"),
        (
            "lists:\n  - name: a\n   title: b\n",
            "3:4: the indentation does not match the lines above, or quotes or a bracket end too early",
        ),
        (
            "lists:\n  - *nobody\n",
            "2:5: there is no anchor of this name; text that begins with * needs quotes",
        ),
        ("lists: []\n---\nlists: []\n", "2:1: this line begins another document; remove it"),
        ("lists:\n  - a\x01b\n", "2:6: a character that YAML forbids (U+0001); remove it"),
        ("lists: &a [*a]\n", "1:8: a list must have keys, such as 'name: physics'"),
        (
            "lists:\n  - {<<: 5}\n",
            "2:10: << merges the keys of a list; name its anchor, such as *physics",
        ),
        (
            "a: &x 1\nb: &x 2\n",
            "2:4: there is already an anchor of this name; give this one another",
        ),
        ("a: *Strings*\n", "1:4: text that begins with * needs quotes"),
        ("a: b\n\ufeffc: d\n", "2:1: a character that YAML forbids (U+FEFF); remove it"),
        (
            "# \u2028 \u2029 \x85\nlists: *a\n",
            "2:8: there is no anchor of this name; text that begins with * needs quotes",
        ),
        ("a: b\n...\nc: d\n", "3:1: this line begins another document; remove it"),
        (
            "a: ,\n",
            "1:4: not YAML: while parsing a block node did not find expected node content; put the text in quotes",
        ),
    ],
)
def test_yaml_syntax_errors_are_reported_in_plain_words(home, text, expected):
    assert any(problem.startswith(expected) for problem in problems(home, text))


QUOTE = " (“ is a typographic quote: write ' or \")"
BLANK = " (there is a no-break space, U+00A0: write an ordinary one)"
INDENT = "a no-break space (U+00A0) does not indent: write an ordinary one"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["min_relevance: “8”"], [f"5:20: min_relevance: {A_SCORE}{QUOTE}"]),
        (["send_at: 07:00\xa0h"], [
            f"5:14: send_at: must be a time of day, such as 07:00 or 18:30{BLANK}"
        ]),
        (["exclude: [“cs.LG”]"], [
            f"5:15: exclude: unknown category '“cs.LG”'; they are listed at arxiv.org/category_taxonomy{QUOTE}"
        ]),
        (["“title”: x"], [f"5:5: unknown key '“title”', did you mean 'title'?{QUOTE}"]),
        (["title: “Strings: the rest”"], [
            f"5:20: a colon is not allowed here; fix the indentation, or put the text in quotes{QUOTE}"
        ]),
        (["title:\xa0Strings"], [
            "5:5: this is neither 'key: value' nor '- item'; a space follows the colon or the dash" + BLANK
        ]),
        (["title: Strings\n\xa0   brief: true\n    paused: true"], [f"6:1: {INDENT}"]),
        (["title: Strings\n  \xa0 brief: true"], [f"6:3: {INDENT}"]),
        (["title: Noether’s theorem: the rest"], [
            "5:29: a colon is not allowed here; fix the indentation, or put the text in quotes"
        ]),
    ],
)  # fmt: skip
def test_typographic_quotes_and_blanks_are_named(home, lines, expected):
    assert problems(home, a_list(*lines)) == expected


@pytest.mark.parametrize("text", ["[" * 1_000_000, "- " * 1_000_000, f"{'[' * 990}{']' * 990}"])
def test_nesting_too_deep_is_reported(home, text):
    (problem,) = problems(home, text)
    assert problem.endswith(": nested too deeply; a list needs three levels")


def test_subscribers_that_many_lists_share_are_read_once(home):
    people = "".join(f"      - p{n}@b.org\n" for n in range(10_000))
    first = f"lists:\n  - &a\n    name: a\n    categories: [hep-th]\n    topics: x\n    subscribers: &p\n{people}"
    more = (
        f"  - {{name: a{n}, categories: [hep-th], topics: x, subscribers: *p}}\n"
        for n in range(299)
    )
    lists = read(home, first + "".join(more))
    assert len(lists) == 300
    assert all(mailing_list.subscribers is lists[0].subscribers for mailing_list in lists)
    assert len(lists[0].subscribers) == 10_000


@pytest.mark.parametrize(
    "text",
    [
        f"{{name: a, subscribers: [{', '.join(f'p{n}@b.org' for n in range(3000))}]}}"
        + "\n  - *a" * 3000,
        f"[{', '.join(['x'] * 3000)}]" + "\n  - *a" * 3000,
    ],
)
def test_value_shared_by_many_aliases_is_read_once(home, text):
    assert problems(home, f"lists:\n  - &a {text}\n")


def test_missing_file_is_reported_with_the_fix(home):
    fix = "name your home with --home, make a new one with paperboy init, or begin with one line: lists:"
    with pytest.raises(
        ConfigError, match=rf"^subscribers.yaml: there is no such file in .*; {fix}"
    ):
        load_from(home / "subscribers.yaml")


def test_byte_order_mark_and_windows_line_ends_are_accepted(home):
    text = a_list("title: x").replace("\n", "\r\n").encode("utf-8-sig")
    assert read(home, text)[0].title == "x"


@pytest.mark.long("half a million addresses")
def test_file_of_half_a_million_addresses_is_read_and_a_longer_one_is_refused(home):
    line = f"{'#' * 99}\n"
    assert read(home, a_list("title: x") + line * 240_000)[0].title == "x"
    assert problems(home, line * 330_000)[0].startswith(" is larger than 32 MB; ")


def test_shipped_subscribers_yaml_loads():
    lists = load(CHECKOUT / "subscribers.yaml", [CHECKOUT / "prompts"], Settings())
    assert [x.name for x in lists] == ["foundations", "galaxies"]
    assert lists[0].authors == ("Yoshua Bengio", "Yann LeCun")
    assert all(s.address.endswith("@example.org") for x in lists for s in x.subscribers)


# ---- a library in place of topics


@pytest.fixture
def liking(home: Path) -> Path:
    (home / "refs.bib").write_text("@misc{a, title = {Rain}}", "utf-8")
    (home / "prompts" / "library").mkdir()
    (home / "prompts" / "library" / "ml.txt").write_text("Snow\n\n  Rain in\tcaves \r\n", "utf-8")
    return home


LIKES = "lists: [{name: ml, categories: [cs.LG], library: refs.bib}]"


def test_titles_of_a_library_stand_in_for_topics(liking: Path) -> None:
    (ml,) = read(liking, LIKES)
    assert (ml.library, ml.topics, ml.is_judged) == ("refs.bib", "", True)
    assert (ml.titles, ml.library_size) == (("Snow", "Rain in caves"), 2)
    assert "Snow" not in repr(ml)


def test_topics_come_before_titles(liking: Path) -> None:
    (ml,) = read(liking, LIKES.replace("library:", "topics: Rain., library:"))
    assert (ml.library, ml.topics, ml.titles, ml.library_size) == ("refs.bib", "Rain.", (), 0)


def test_collection_of_zotero_needs_no_file(liking: Path) -> None:
    (ml,) = read(liking, LIKES.replace("refs.bib", "zotero:groups/42/collections/ABCD2345"))
    assert ml.library == "zotero:groups/42/collections/ABCD2345"
    assert ml.is_judged


def test_library_without_titles_is_an_error_that_names_the_command(liking: Path) -> None:
    titles = liking / "prompts" / "library" / "ml.txt"
    titles.unlink()
    fix = "paperboy learn --library ml writes the library's newest there"
    assert problems(liking, LIKES) == [
        f"1:50: library: without topics, titles stand in prompts/library/ml.txt; {fix}"
    ]
    (untitled,) = load(liking / "subscribers.yaml", [liking / "prompts"], Settings(), titled=False)
    assert (untitled.library, untitled.is_judged) == ("refs.bib", False)
    titles.write_text("\n \n", "utf-8")
    assert problems(liking, LIKES) == [f"1:50: library: {titles} is empty; {fix}"]
    titles.write_text("".join(f"Rain {number}\n" for number in range(15_000)), "utf-8")
    assert problems(liking, LIKES) == [
        f"1:50: library: {titles} must have at most 100,000 characters"
    ]
    titles.write_bytes(b"\xff")
    assert problems(liking, LIKES) == [
        f"1:50: library: {titles} is not UTF-8 text (line 1); save it as UTF-8"
    ]


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("none.bib", "there is no 'none.bib' in the home; put the file there, or correct its name"),
        ("refs.pdf", "must be a file in the home that ends in .bib"),
        ("zotero:users/ada", "'zotero:users/ada' is no Zotero collection"),
        ("!x refs.bib", "write the file's name as it is, right after the key"),
        ("[refs.bib]", "must be text; put it in quotes"),
        ("away.bib", "'away.bib' is outside the home; put the file there"),
        ("folder.bib", "cannot be read: Is a directory"),
    ],
)
def test_library_that_cannot_be_one_is_an_error(liking: Path, library: str, message: str) -> None:
    (liking / "away.bib").symlink_to("/dev/null")
    (liking / "folder.bib").mkdir()
    (problem,) = problems(liking, LIKES.replace("refs.bib", library))
    assert problem.startswith("1:50: library: ")
    assert message in problem
