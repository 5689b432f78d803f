"""Every word that readers see stands in a file of words, so that these files translate the mails."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

from paperboy.mail.templates import Templates
from paperboy.models import BriefSentence, Digest, Rendered, Shortfall, Spending
from tests.builders import EMBEDDED, digest, entry, mailing_list, paper
from tests.mail.reading import EMAILS, OF_1_0, SAMPLES, render, visible

# What is not a plain string, with the words of its own replaced.
OF_ANOTHER_SHAPE = {
    "lang": "'eo'",
    "groups": "{'followed': '¤', 'closest': '¤', 'also': '¤'}",
    "counted": "[('¤', 1, 0, true)]",
    "tokens": "[('¤', 1, 0.1)]",
    "chosen": "['¤']",
    "reason": "'¤ ' ~ page.copy.address",
    "filters": "[('¤', ['1'])]",
}
NO_WORDS = re.compile(
    r"PDF|HTML|arXiv|Paperboy|ab|cs\.LG|https?://\S+|papers@\S+|unsubscribe foundations|[0-9a-f]{32}|ada@\S+"
)


def without_words(file: Path) -> str:
    """Such a file that has each name, and says ¤ for each word."""
    lines = []
    for node in jinja2.Environment(autoescape=True).parse(file.read_text("utf-8")).body:
        for part in [node, *node.find_all((nodes.Assign, nodes.Macro))]:
            if isinstance(part, nodes.Assign) and isinstance(part.target, nodes.Name):
                lines.append(
                    f"{{% set {part.target.name} = {OF_ANOTHER_SHAPE.get(part.target.name, repr('¤'))} %}}"
                )
            elif isinstance(part, nodes.Macro):
                parameters = ", ".join(f"{argument.name}=''" for argument in part.args)
                lines.append(f"{{% macro {part.name}({parameters}) %}}¤{{% endmacro %}}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


NUMBERED = mailing_list(
    title="1", description="7", topics="1. 2\n2. 8", authors=("3",), max_papers=2
)
PAPERS = [
    paper(
        f"2611.{n:05}",
        title="4",
        authors=("3",),
        abstract="5",
        primary_category="cs.LG",
        comment="github.com/9/9",
    )
    for n in range(1, 40)
]
FULL = digest(
    [
        entry(1, PAPERS[0], comment="6", relevance=2, matched_author="3"),
        *(entry(n, PAPERS[n - 1], comment="6", topic=1 + n % 2) for n in range(2, 29)),
        entry(29, PAPERS[28], comment="6"),
    ],
    mailing_list=NUMBERED,
    over_cap=[entry(30, PAPERS[30], comment="6")],
    carried_over=PAPERS[31:33],
    let_go=PAPERS[33:35],
    shortfall=Shortfall.BUDGET,
)
MISSES = tuple(entry(0, miss, comment="6", relevance=3) for miss in PAPERS[:3])
BRIEF = replace(FULL, brief=(BriefSentence("5.", ("2611.00003", "2611.00020")),))
NOTE = digest(
    [],
    below=9,
    mailing_list=NUMBERED,
    carried_over=PAPERS[31:33],
    let_go=PAPERS[33:35],
    nearest=MISSES,
)
LIBRARY = digest(
    [
        entry(1, PAPERS[0], comment="", novelty=None, relevance=2, matched_author="3"),
        *(entry(n, PAPERS[n], comment="", novelty=None) for n in range(2, 8)),
    ],
    mailing_list=replace(NUMBERED, topics="", library_size=30),
    model=EMBEDDED,
    spending=Spending(),
)
EVERY = pytest.mark.parametrize(
    "of", [FULL, BRIEF, NOTE, LIBRARY], ids=["digest", "brief", "note", "library"]
)


@EVERY
def test_every_word_of_a_mail_comes_from_two_files(of: Digest, tmp_path: Path) -> None:
    mail = render(of, wordless(tmp_path, {"_words.j2", "_brief.j2"}))
    assert 'lang="eo"' in mail.html
    assert words_of(mail) == set()


@EVERY
@pytest.mark.long("tries all templates")
def test_words_translated_before_there_was_a_brief_still_make_a_mail(
    of: Digest, tmp_path: Path
) -> None:
    """What they lack is in English."""
    (tmp_path / "eo").mkdir()
    (tmp_path / "eo" / "_words.j2").write_text(without_words(OF_1_0 / "_words.j2"), "utf-8")
    templates = Templates.load([tmp_path, EMAILS])
    templates.check({"eo"})
    templates.check_pages({"eo"}, SAMPLES)
    of = replace(of, mailing_list=replace(of.mailing_list, language="eo"))
    english = re.findall(r"[a-z]+", (EMAILS / "_brief.j2").read_text("utf-8").lower())
    mail = render(of, templates)
    assert 'lang="eo"' in mail.html
    assert "¤" in mail.text
    assert {word.lower() for word in words_of(mail)} - {"gpt", "luna"} <= set(english)


def wordless(home: Path, names: Collection[str]) -> Templates:
    """The templates, of which these files say nothing."""
    for name in names:
        (home / name).write_text(without_words(EMAILS / name), "utf-8")
    return Templates.load([home, EMAILS])


def words_of(mail: Rendered) -> set[str]:
    """Those that stand in it though the file of words says none."""
    parts = (
        mail.subject,
        mail.text,
        visible(mail.html),
        *re.findall(r'aria-label="([^"]*)"', mail.html),
    )
    return {word for part in parts for word in re.findall(r"[^\W\d_]+", NO_WORDS.sub("", part))}


@pytest.mark.parametrize("of", [FULL, BRIEF, NOTE], ids=["digest", "brief", "note"])
def test_words_about_the_web_room_come_from_the_rooms_file(of: Digest, tmp_path: Path) -> None:
    """So a `_words.j2` that was translated before there was a site still has all that a mail needs."""
    mail = render(of, wordless(tmp_path, {"_words.j2", "_brief.j2"}), web=True)
    assert {"View", "online", "button"} <= words_of(mail)
    assert words_of(render(of, wordless(tmp_path, {"_room.j2"}), web=True)) == set()


# ---- translations that are shipped

TRANSLATIONS = sorted(
    file.relative_to(EMAILS).as_posix() for file in EMAILS.glob("*/_*.j2") if file.is_file()
)
NO_TRANSLATION = {"Abstract", "Code", "LLM", "Prompt", "Completion", "Tokens", "Relevant"}
NO_TRANSLATION |= {"online", "November", "stat", "gpt", "luna"}
NOT_READ = {"relevance", "followed", "also", "journal"}  # keys in the code between the words


def is_for_templates(name: str, file: Path) -> bool:
    """Whether a template uses that name, shipped or of 1.0, rather than the file itself alone."""
    places = [file, *EMAILS.glob("*.j2"), *OF_1_0.glob("*.j2")]
    is_used = any(re.search(rf"\b(words|brief|room|site)\.{name}\b", p.read_text()) for p in places)
    return is_used or len(re.findall(rf"\b{name}\b", file.read_text("utf-8"))) == 1


def names_of(file: Path) -> dict[str, int]:
    """Each name that a file of words gives, and how many arguments it takes."""
    body = jinja2.Environment(autoescape=True).parse(file.read_text("utf-8"))
    names = {
        node.target.name: 0
        for node in body.find_all(nodes.Assign)
        if isinstance(node.target, nodes.Name)
    }
    return names | {node.name: len(node.args) for node in body.find_all(nodes.Macro)}


@pytest.mark.parametrize("translation", TRANSLATIONS)
def test_each_translation_has_each_word(translation: str) -> None:
    file = EMAILS / Path(translation).name
    original = names_of(file)
    translated = names_of(EMAILS / translation)
    wanted = {name: number for name, number in original.items() if is_for_templates(name, file)}
    found = {name: translated.get(name) for name in wanted}
    assert found == wanted, f"emails/{translation} needs each name of emails/{file.name}"


def test_each_translation_has_all_files_of_words() -> None:
    languages = {name.partition("/")[0] for name in TRANSLATIONS}
    files = ("_brief.j2", "_room.j2", "_site.j2", "_words.j2")
    wanted = sorted(f"{language}/{file}" for language in languages for file in files)
    assert "de" in languages
    assert wanted == TRANSLATIONS, "a folder of emails/ needs these four files, and no other _*.j2"


def texts_of(file: Path) -> dict[str, str]:
    """What each name of a file of words says, without what it fills in."""
    body = jinja2.Environment(autoescape=True).parse(file.read_text("utf-8"))
    return {
        node.target.name if isinstance(node, nodes.Assign) else node.name: " ".join(
            [part.data for part in node.find_all(nodes.TemplateData)]
            + [part.value for part in node.find_all(nodes.Const) if isinstance(part.value, str)]
        )
        for node in body.find_all((nodes.Assign, nodes.Macro))
        if isinstance(node, nodes.Macro) or isinstance(node.target, nodes.Name)
    }


@pytest.mark.parametrize("translation", TRANSLATIONS)
def test_each_translation_translates_each_word(translation: str) -> None:
    """Those of pages, too."""
    english = texts_of(EMAILS / Path(translation).name)
    left = {
        name: text
        for name, text in texts_of(EMAILS / translation).items()
        if english.get(name) == text
        and {*re.findall(r"[^\W\d_]{3,}", NO_WORDS.sub("", text))} - NO_TRANSLATION - NOT_READ
    }
    assert left == {}, f"emails/{translation} is English here, unless NO_TRANSLATION has the word"


@pytest.mark.parametrize("language", sorted({name.partition("/")[0] for name in TRANSLATIONS}))
@pytest.mark.parametrize("web", [False, True], ids=["", "web"])
@EVERY
def test_translated_mail_has_no_english_words(of: Digest, web: bool, language: str) -> None:
    other = replace(of, mailing_list=replace(of.mailing_list, language=language))
    english, translated = (words_of(render(each, web=web)) for each in (of, other))
    assert translated - english
    assert {word for word in english & translated if len(word) > 2} <= NO_TRANSLATION
