"""The operator's topics as blocks: their shape stays, and no word of them gets lost."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paperboy.edges.text import one_line
from paperboy.topics import Block, blocks, read, within


def item(text: str, marker: str = "", depth: int = 0) -> Block:
    return Block("item", text, marker, depth)


def paragraph(text: str) -> Block:
    return Block("paragraph", text)


def line(text: str) -> Block:
    return Block("line", text)


def test_headings_paragraphs_and_lists_keep_their_shape() -> None:
    markdown = """\
# Small *galaxies* #

We read all of it, and **like**
to `hear` more.

1. Dwarfs
   - near ones,
     all of them
   - far ones

   and others
2. Streams

Underlined
----------
> Quoted
> words
***
end
"""
    assert blocks(markdown) == (
        Block("heading", "Small galaxies"),
        paragraph("We read all of it, and like"),
        line("to hear more."),
        item("Dwarfs", "1."),
        item("near ones, all of them", "•", 1),
        item("far ones", "•", 1),
        item("and others"),
        item("Streams", "2."),
        Block("heading", "Underlined"),
        paragraph("Quoted"),
        line("words"),
        paragraph("end"),
    )


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        ("plain words on a line", [paragraph("plain words on a line")]),
        ("one\n\n\ntwo", [paragraph("one"), paragraph("two")]),
        ("one  \ntwo\\\nthree", [paragraph("one"), line("two"), line("three")]),
        (
            "Relevant: a\nNot relevant: b\n\nc",
            [paragraph("Relevant: a"), line("Not relevant: b"), paragraph("c")],
        ),
        ("w " * 31 + "\nwrapped\nNot", [paragraph("w " * 31 + "wrapped"), line("Not")]),
        ("1. a\n1. b\n1. c", [item("a", "1."), item("b", "2."), item("c", "3.")]),
        ("3) a\n3) b", [item("a", "3)"), item("b", "4)")]),
        ("- a\n\n      code\n  # b", [item("a", "•"), item("code"), item("b")]),
        ("-\n- b\n- - c", [item("b", "•"), item("c", "•", 1)]),
        ("```python\nx = 1\n\ny = 2\n```", [paragraph("x = 1"), line("y = 2")]),
        ("", []),
        ("\0 \u202e\n- \n\n---", []),
    ],
)
def test_markdown_becomes_blocks(markdown: str, read: list[Block]) -> None:
    assert list(blocks(markdown)) == read


@pytest.mark.parametrize(
    "line",
    [
        "<script>alert(1)</script> & <b>words</b>",
        "<https://x.example.org/_a_/*b*c> and [ref][1]",
        "[1]: https://x.example.org",
        "R&D, snake_case_words",
        "from $5 to $7*",
        "C# & 50% of 3 * 4 * 5",
        "~~no~~ ==no== [ ] open",
    ],
)
def test_other_markup_stays_as_written(line: str) -> None:
    assert blocks(line) == (paragraph(line),)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (r"$M_* + \,\{_x_\}$, $H_0$ and $z \approx 5$", "M* + {ₓ_}, H₀ and z ≈ 5"),
        (
            "see [our *page*](https://x.example.org/a_b_c) as",
            "see our page (https://x.example.org/a_b_c) as",
        ),
        (
            "`[a](b)`, f[x](y), $HOME/$PATH and https://x.org/$a$b",
            "[a](b), f[x](y), $HOME/$PATH and https://x.org/$a$b",
        ),
    ],
)
def test_formulas_and_links_become_words(line: str, shown: str) -> None:
    assert blocks(line) == (paragraph(shown),)


def test_any_line_ending_ends_a_line() -> None:
    assert blocks("- a\r\n- b\r\tc\r\n\r\nd\u2028\u2028e") == (
        item("a", "•"),
        item("b c", "•"),
        paragraph("d"),
        paragraph("e"),
    )


def test_lists_within_lists_keep_their_depth() -> None:
    deep = "".join("  " * depth + f"- level {depth}\n" for depth in range(15))
    assert [block.depth for block in blocks(deep)] == list(range(15))


TEXT = st.text(st.sampled_from("abc 012\n\t*_`#>-+=|.)(&;[]<>!:$\\~\u00a0é"))
WORDS = st.lists(
    st.sampled_from(
        [
            "word",
            "Alpha",
            "β",
            "x1",
            "2024.",
            "3",
            "-",
            "*",
            "#",
            ">",
            "+",
            "\n",
            "\n\n",
            "    ",
            "1)",
            "<b>",
            "|",
        ]
    )
).map(" ".join)


@given(st.one_of(st.text(), TEXT))
def test_any_text_is_accepted(markdown: str) -> None:
    for block in blocks(markdown):
        assert block.text
        assert block.text == one_line(block.text)
        assert (block.kind == "item") or not (block.marker or block.depth)


@given(WORDS)
@example("> - > - " * 12 + "word")
def test_every_word_is_kept(markdown: str) -> None:
    read = " ".join(f"{block.marker} {block.text}" for block in blocks(markdown))
    assert re.findall(r"[^\W\d]+", markdown) == re.findall(r"[^\W\d]+", read)


@pytest.mark.parametrize(
    "markdown",
    [
        *(
            sign * 10_000
            for sign in (
                ">",
                "> ",
                "-",
                "- ",
                "[",
                "![",
                "*",
                "_",
                "`",
                "<",
                "\\",
                "|",
                "1. ",
                "> - ",
                "$",
                "](",
            )
        ),
        *(
            sign * 5_000
            for sign in (
                "*a ",
                "_a_",
                "**a*",
                "$a ",
                "- a\n",
                "1. a\n",
                ">\n",
                "|a\n",
                "`a``",
                "a\n\n",
                "://",
            )
        ),
        "[" * 100_000,
        "*" * 100_000,
        "".join(" " * depth + "- a\n" for depth in range(500)),
        "".join(">" * depth + " a\n" for depth in range(500)),
    ],
)
def test_hostile_nesting_is_read(markdown: str) -> None:
    """In a moment; a parser that tried every pair of signs would take hours."""
    assert isinstance(blocks(markdown), tuple)


# --- cutting topics to a size


def test_topics_are_cut_within_a_size() -> None:
    topics = (
        Block("heading", "Title"),
        paragraph("words " * 60 + "end"),
        item("more " * 30, "•"),
        item("short", "•"),
    )
    assert within(topics, 10_000) == topics
    assert within(topics, 650) == topics[:2]
    assert within((paragraph("words"), *topics), 400) == (paragraph("words"),), (
        "a heading is never the last block"
    )
    assert within((), 10) == ()


# --- names


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Relevant: training dynamics – grokking, edge of stability", "Training dynamics"),
        ("- Relevant: streams — tidal ones", "Streams"),
        ("* Relevant: low-mass galaxies, near and far", "Low-mass galaxies"),
        ("- relevant topics: Stars: their lives", "Stars"),
        ("- Wanted: graphs - and trees", "Graphs - and trees"),  # no hyphen ends a name
        ("- Relevant: **bold** graphs.", "Bold graphs"),
        ("- Relevant: $\\alpha$-divergences", "α-divergences"),
        ("- Relevant: mRNA vaccines", "mRNA vaccines"),
        ("- Relevant: p-adic numbers", "p-adic numbers"),
        # longer than 40 characters: a phrase, or whole words
        ("- Relevant: star formation histories from resolved stars", "Star formation histories"),
        (
            "- Relevant: hyperparameter transfer across widths everywhere",
            "Hyperparameter transfer across widths",
        ),
        (f"- Relevant: {'w' * 60}", "w" * 40),
    ],
)
def test_topic_has_the_name_that_its_line_begins_with(line: str, name: str) -> None:
    assert read(line).names == (name[:1].upper() + name[1:] if name.startswith("ww") else name,)


@pytest.mark.parametrize(
    ("topics", "names"),
    [
        # numbered items and headings that hold several labelled lines
        (
            "1. Stars\n   - Relevant: old\n   - Relevant: new\n2. Gas\n   - Relevant: cold",
            "Stars Gas",
        ),
        ("## Stars\n- Relevant: old\n## Gas\n\nRelevant: cold", "Stars Gas"),
        # one alone is a title
        ("# Space\n\n- Relevant: stars\n- Relevant: gas", "Stars Gas"),
        ("1. Relevant: stars\n2. Relevant: gas", "Stars Gas"),
        # a label on a line of its own
        ("## Relevant\n- stars\n- gas\n## Not relevant\n- dust", "Stars Gas"),
        ("Relevant:\n- stars\n- gas\n\nNot relevant:\n- dust", "Stars Gas"),
        # lines that Markdown takes for parts of the item above them
        ("- stars\n- gas\nNot relevant:\n- dust", "Stars Gas"),
        ("Relevant:\n- stars\n- gas\n**Not relevant here:**\n- dust", "Stars Gas"),
        ("1. Stars\n   Relevant: old\n2. Gas\n   Relevant: new", "Stars Gas"),
        ("1. Stars\nRelevant: old\n2. Gas\nRelevant: new\nAvoid: dust", "Stars Gas"),
        ("We read.\nRelevant: stars\nRelevant: gas", "Stars Gas"),
        # no label: items, but not those within them
        ("All of:\n\n- stars\n  - old\n- gas", "Stars Gas"),
        ("1. Stars\n2. Gas\n3. stars", "Stars Gas"),  # each once
        # what is none
        ("- Relevant: stars\n- Not relevant: dust\n- Irrelevant: gas", "Stars"),
        ("- Relevant: stars\n\n**Keywords:**\n\n- Relevant: gas\n- Other: dust", "Stars"),
        ("- stars\n- Keywords: gas\n- avoid: dust", "Stars"),
        ("We read of stars and gas.", ""),
        ("## Stars\n\nProse.\n\n## Gas\n\nProse.", ""),
        ("", ""),
    ],
)
def test_topics_have_names(topics: str, names: str) -> None:
    assert " ".join(read(topics).names) == names


@pytest.mark.parametrize(
    ("topics", "first"),
    [
        ("# Space\n\nWe are a group.\n\n- Relevant: stars\n- Relevant: gas", "Relevant: stars"),
        ("Judge:\n\n1. Stars\n   - Relevant: old\n2. Gas\n   - Relevant: new", "Stars"),
        ("We read of stars.\n\nAnd of gas.", "We read of stars."),
    ],
)
def test_readers_see_topics_from_the_first_one_on(topics: str, first: str) -> None:
    """What stands before it is written for the LLM."""
    assert read(topics).blocks[0].text == first


@given(st.text(alphabet=st.sampled_from("Relevant: -#1.\n ab–,*"), max_size=80))
def test_names_are_short_and_each_there_once(topics: str) -> None:
    names = read(topics).names
    assert all(0 < len(name) <= 40 for name in names)
    assert len({name.casefold() for name in names}) == len(names)
