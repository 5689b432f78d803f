"""The operator may restyle the mails, and is told what is wrong, by file and line, before a morning comes."""

from __future__ import annotations

import pickle
import re
from dataclasses import fields
from pathlib import Path

import pytest

from paperboy.errors import ConfigError
from paperboy.mail.page import Author, Copy, Item, Page, PaperLink, Part, Piece, Sentence
from paperboy.mail.templates import Templates
from paperboy.mail.text import prose, tied
from paperboy.models import Alert
from paperboy.topics import Block
from tests.builders import digest, entry, mailing_list, paper
from tests.mail.reading import EMAILS, SAMPLES, TEMPLATES, render


def changed(tmp_path: Path, name: str, text: str) -> Templates:
    """A renderer whose home overrides one template."""
    (tmp_path / name).write_text(text, "utf-8")
    return Templates.load([tmp_path, EMAILS])


@pytest.mark.quick
def test_packaged_templates_pass_the_check() -> None:
    TEMPLATES.check()


@pytest.mark.parametrize(
    "shown", [Page, Item, Author, Part, Sentence, Piece, Block, Copy, PaperLink, Alert]
)
def test_readme_names_everything_that_a_template_may_use(shown: type) -> None:
    readme = (EMAILS / "README.md").read_text("utf-8")
    names = getattr(shown, "_fields", None) or [field.name for field in fields(shown)]
    assert [name for name in names if f"`{name}`" not in readme] == []


@pytest.mark.quick
def test_template_in_the_home_overrides_one_file_and_inherits_the_rest(tmp_path: Path) -> None:
    old = (EMAILS / "_masthead.txt.j2").read_text("utf-8")
    renderer = changed(tmp_path, "_masthead.txt.j2", "Good morning!\n" + old)
    renderer.check()
    assert render(digest(), renderer).text.startswith("Good morning!\n")
    assert render(digest(), renderer).html == render(digest()).html


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("digest.txt.j2", "one\n{% if %}\n", r"^emails/digest\.txt\.j2:2: "),
        (
            "digest.txt.j2",
            "one\n\n{{ page.titel }}\n",
            r"^emails/digest\.txt\.j2:3: .* has no attribute 'titel'$",
        ),
        (
            "_entry.mjml.j2",
            "<p>\n{{ item.nonsense }}</p>",
            r"^emails/_entry\.mjml\.j2:2: .*Item object' has no attribute 'nonsense' \(included by emails/digest\.mjml",
        ),
        (
            "alert.txt.j2",
            "{{ alert.heading }}",
            r"^emails/alert\.txt\.j2:1: .* has no attribute 'heading'$",
        ),
        ("note.txt.j2", "{{ page.title + 1 }}", r"^emails/note\.txt\.j2:1: TypeError"),
        ("note.txt.j2", "\n{{ page.title|wrapp }}", r"^emails/note\.txt\.j2:2: .*wrapp"),
        (
            "_entry.mjml.j2",
            "{# One paper\n",
            r"^emails/_entry\.mjml\.j2:1: Missing end of comment tag",
        ),
        (
            "note.txt.j2",
            "\n{% include '_gone.j2' %}",
            r"^emails/note\.txt\.j2:2: there is no template _gone\.j2",
        ),
        (
            "note.mjml.j2",
            "<mjml><mj-body>",
            r"^emails/note\.mjml\.j2: MJML rejects the output .*: unexpected end of stream",
        ),
        (
            "note.mjml.j2",
            "<mjml><mj-body><mj-sektion></mj-sektion></mj-body></mjml>",
            r"^emails/note\.mjml\.j2: .*mj-sektion",
        ),
    ],
)
def test_broken_template_is_reported_with_its_file_and_line(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        changed(tmp_path, name, text).check()


@pytest.mark.parametrize(
    ("name", "kept", "told"),
    [
        (
            "digest.txt.j2",
            "",
            r"emails/digest\.txt\.j2: the mail must show who gets the mail \(page\.copy\.address",
        ),
        (
            "digest.mjml.j2",
            "<mjml><mj-body></mj-body></mjml>",
            r"emails/digest\.mjml\.j2: the mail must show how to leave",
        ),
        (
            "note.txt.j2",
            "{{ page.copy.address }}",
            r"emails/note\.txt\.j2: .* how to leave the list \(page\.unsub",
        ),
        (
            "_entry.mjml.j2",
            "{{ item.title }}",
            r"emails/digest\.mjml\.j2: .* a link to every paper \(item\.url",
        ),
        (
            "alert.mjml.j2",
            "<mjml><mj-body></mj-body></mjml>",
            r"emails/alert\.mjml\.j2: .*alert\.headline",
        ),
    ],
)
def test_template_without_a_required_part_is_reported(
    tmp_path: Path, name: str, kept: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        changed(tmp_path, name, kept).check()


@pytest.mark.parametrize(
    ("name", "written", "instead", "told"),
    [
        (
            "_masthead.mjml.j2",
            "</h1>",
            "",
            r"emails/digest\.mjml\.j2: MJML rejects the output .*unexpected end of stream",
        ),
        (
            "note.mjml.j2",
            "</mjml>",
            "",
            r"emails/note\.mjml\.j2: MJML rejects the output .*look for an unclosed tag",
        ),
        (
            "note.mjml.j2",
            "</mjml>",
            "</mjml></mjml>",
            r"MJML rejects the output .*unexpected token in root template",
        ),
        (
            "_entry.mjml.j2",
            "words.authors(item.author_count)",
            "words.authors(item.authorcount)",
            "'authorcount'",
        ),
        (
            "digest.mjml.j2",
            "{{ brief.outside[:1]|",
            "{{ brief.outsid[:1]|",
            r"'_brief\.j2'>? has no attribute 'outsid'|outsid",
        ),
        ("_entry.mjml.j2", "(brief.not_scored if", "(brief.unscored if", r"unscored"),
        ("_entry.mjml.j2", "{{ item.why|", "{{ item.because|", r"no attribute 'because'"),
        ("_entry.mjml.j2", "{{ page.view_url }}#p", "{{ page.viewurl }}#p", r"'viewurl'"),
        ("_entry.mjml.j2", "{{ brief.less }}</a>", "{{ brief.lesss }}</a>", r"lesss"),
        ("_brief.j2", "possible(names)", "perhaps(names)", r"'possible'"),
        ("_brief.j2", "together(page.late)", "together(page.latest)", r"'latest'"),
        ("_brief.j2", "page.mostly|lower if", "page.most|lower if", r"'most'"),
        ("_brief.j2", "spelt(counts.author_matches)", "spelt(counts.matches)", r"'matches'"),
        (
            "_entry.mjml.j2",
            '["e" if item.brief,',
            '["e" if item.breif,',
            r"no attribute 'breif'",
        ),
        (
            "_entry.mjml.j2",
            "{% if item.authors and not item.brief %}",
            "{% if item.brief and page.foo %}{% endif %}{% if 1 %}",
            "foo",
        ),
        (
            "digest.mjml.j2",
            "words.no_room(page.hidden)",
            "words.no_room(page.hiden)",
            r"no attribute 'hiden'",
        ),
        (
            "digest.mjml.j2",
            "{{ words.only_titles(bare) }}",
            "{{ page.foo }}",
            r"no attribute 'foo'",
        ),
        ("_lead.j2", "{{ piece.text }}</a>{% else", "{{ piece.name }}</a>{% else", r"name"),
        ("_lead.j2", "for piece in sentence.more %}", "for piece in page.more %}", r"'more'"),
        ("digest.mjml.j2", "brief.count(section)", "brief.count(section.size)", r"size"),
        ("digest.txt.j2", "sentence.ranks|sort", "sentence.rank|sort", r"no attribute 'rank'"),
        ("digest.txt.j2", "words.contents|upper", "words.content|upper", r"content"),
        ("digest.txt.j2", "words.more(page.items|length", "words.mroe(page.items|length", r"mroe"),
        (
            "alert.mjml.j2",
            "alert.details|length - 50",
            "alert.detials|length - 50",
            r"no attribute 'detials'",
        ),
        (
            "_end.mjml.j2",
            "if page.topic_names else",
            "if page.topic_nams else",
            r"no attribute 'topic_nams'",
        ),
        (
            "_named.mjml.j2",
            "words.and_more(number - named|length)",
            "words.and_more(number - named|lenght)",
            "lenght",
        ),
        (
            "_words.j2",
            "number(page.followed|length - 40)",
            "number(page.folowed|length - 40)",
            r"no attribute 'folowed'",
        ),
        (
            "_words.j2",
            "number(counts.filtered)) ~ (",
            "number(counts.filterd)) ~ (",
            r"no attribute 'filterd'",
        ),
        ("_end.mjml.j2", "{{ brief.in_full }}", "{{ brief.infull }}", r"infull"),
        ("_end.mjml.j2", "{{ page.description|", "{{ page.descripton|", r"descripton"),
        ("inbox.txt.j2", "words.not_all_scored or", "words.not_all or", r"not_all"),
        ("note.mjml.j2", "{{ words.misses }}", "{{ words.miss }}", r"miss"),
        ("note.txt.j2", "{{ words.misses|upper }}", "{{ words.miss|upper }}", r"miss"),
    ],
)
def test_fault_in_any_branch_or_tag_is_reported(
    tmp_path: Path, name: str, written: str, instead: str, told: str
) -> None:
    template = (EMAILS / name).read_text("utf-8")
    assert written in template
    with pytest.raises(ConfigError, match=told):
        changed(tmp_path, name, template.replace(written, instead)).check()


@pytest.mark.parametrize(
    "broken",
    [
        "{{ page.copy.address|wrap(' ' * 50) }}",
        "{% if 'x' in page.copy.address %}{{ page.copy.address }}{% endif %}",
        "{{ page.copy.address|truncate(20) }}",
    ],
)
def test_placeholder_that_a_template_changes_is_reported(tmp_path: Path, broken: str) -> None:
    """At a morning it is one long word, in whose place each copy's words come later."""
    end = (EMAILS / "_end.txt.j2").read_text("utf-8")
    with pytest.raises(ConfigError, match=r"emails/digest\.txt\.j2: .*page\.copy\.address"):
        changed(tmp_path, "_end.txt.j2", end.replace("{{ words.reason }}", broken)).check()


def test_included_template_of_any_name_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "_entry.mjml.j2").write_text('{% include "_badge.j2" %}')
    (tmp_path / "_badge.j2").write_text(
        "{{ item.title }}{{ item.comment }}{{ item.abstract }}{{ item.category }}"
    )
    evil = "<script>alert(1)</script>"
    hostile = digest(
        [entry(of=paper(title=evil, abstract=evil, primary_category=evil), comment=evil)]
    )
    assert not re.search("<script", render(hostile, Templates.load([tmp_path, EMAILS])).html)


def test_missing_template_is_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"emails/inbox\.txt\.j2: there is no template"):
        render(digest(), Templates.load([tmp_path]))


# ---- languages


def written(home: Path, files: dict[str, str]) -> Path:
    """A home with plain-text templates: `de/note` is emails/de/note.txt.j2."""
    for name, text in files.items():
        path = home / f"{name}.txt.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return home


def first_line(templates: Templates, language: str) -> str:
    return (
        render(digest(mailing_list=mailing_list(language=language)), templates)
        .text.partition("\n")[0]
        .strip()
    )


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (["", "pt/"], {"en": "", "pt": "pt/", "pt-BR": "pt/", "pt-PT": "pt/", "de": ""}),
        (["", "pt-BR/", "pt/"], {"pt-BR": "pt-BR/", "pt": "pt/", "pt-PT": "pt/"}),
        (["", "pt-BR/"], {"pt-BR": "pt-BR/", "pt": ""}),
        (["", "zh-Hant/"], {"zh-Hant-TW": "zh-Hant/", "zh": "", "zh-Hans": ""}),
        (["", "en/"], {"en": "en/", "en-GB": "en/", "de": ""}),
        (["", "backup/", ".git/", "de/old/"], {"en": "", "de": ""}),
    ],
)
def test_folder_of_the_lists_language_goes_first(
    tmp_path: Path, there: list[str], expected: dict[str, str]
) -> None:
    """Also in another process."""
    home = written(tmp_path, {f"{folder}_masthead": f"In {folder}\n" for folder in there})
    templates = pickle.loads(pickle.dumps(Templates.load([home, EMAILS])))  # noqa: S301 - ours
    assert {tag: first_line(templates, tag) for tag in expected} == {
        tag: f"In {folder}".strip() for tag, folder in expected.items()
    }


def test_operators_templates_go_before_a_shipped_translation(tmp_path: Path) -> None:
    """Also one outside the folders of languages, which the operator wants for every list."""
    shipped = written(
        tmp_path / "shipped", {"de/_masthead": "shipped\n", "fr/_masthead": "shipped\n"}
    )
    home = written(tmp_path / "home", {"_masthead": "home\n", "fr/_masthead": "mine\n"})
    languages = ("en", "de", "fr")
    templates = Templates.load([home, shipped, EMAILS])
    firsts = {tag: first_line(templates, tag) for tag in languages}
    assert firsts == {"en": "home", "de": "home", "fr": "mine"}

    templates = Templates.load([tmp_path / "without", shipped, EMAILS])
    firsts = {tag: first_line(templates, tag) for tag in languages}
    assert firsts | {"en": ""} == {"en": "", "de": "shipped", "fr": "shipped"}


WHOLE = "{{ page.copy.address }} {{ page.unsubscribe_subject }}"  # all that a note needs
INCLUDES = WHOLE + "{% from '_a.txt.j2' import b %}\n{{ b + 1 }}"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"de/note": "one\n{% if %}"}, ["de/note.txt.j2:2: Expected an expression, got 'end of statement block'"]),
        ({"de/note": WHOLE + "\n\n{{ a }}"}, ["de/note.txt.j2:3: 'a' is undefined"]),
        ({"de/note": WHOLE + "{% include '_a.j2' %}"}, ["de/note.txt.j2:1: there is no template _a.j2"]),
        ({"de/note": WHOLE.replace("address", "kicker")}, [
            "de/note.txt.j2: the mail must show who gets the mail (page.copy.address), but does not"
        ]),
        ({"pt-BR/_a": "", "pt/note": "{{ a }}"}, ["pt/note.txt.j2:1: 'a' is undefined"]),
        ({"note": "{{ a }}", "de/_a": ""}, ["note.txt.j2:1: 'a' is undefined"]),
        ({"note": INCLUDES, "_a": "{% set b = 1 %}", "de/_a": "\n{% set b = c.d %}"}, [
            "de/_a.txt.j2:2: 'c' is undefined (included by emails/note.txt.j2)"
        ]),
        ({"note": INCLUDES, "_a": "{% set b = 1 %}", "de/_a": "{% set b = 'x' %}"}, [
            'note.txt.j2:2: TypeError: can only concatenate str (not "int") to str'
        ]),
    ],
)  # fmt: skip
def test_broken_translation_is_reported_once_with_its_file_and_line(
    tmp_path: Path, files: dict[str, str], told: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        Templates.load([written(tmp_path, files), EMAILS]).check({"de", "pt-BR"})
    assert [str(problem) for problem in caught.value.problems] == [
        f"emails/{line}" for line in told
    ]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One word holds on to it", "One word holds on to&nbsp;it"),
        ("A long last word: stability", "A long last word: stability"),
        ("word", "word"),
        ("a < b & c", "a &lt; b &amp;&nbsp;c"),
        (prose("at $10^{9.5}$ K"), "at 10<sup>9.5</sup>&nbsp;K"),
    ],
)
def test_short_last_word_is_tied_to_the_one_before_it(text: str, html: str) -> None:
    assert tied(text) == html


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("vote.html.j2", "{% if %}", "emails/vote.html.j2:1: "),
        ("vote.html.j2", "{{ items[0].no_such_name }}", "emails/vote.html.j2:1: "),
        ("leave.html.j2", "{% if %}", "emails/leave.html.j2:1: "),
        ("leave.html.j2", "{{ no_such_name }}", "emails/leave.html.j2:1: "),
        (
            "leave.html.j2",
            "{% if state == 'back' %}{{ none.x }}{% endif %}",
            "emails/leave.html.j2:1: ",
        ),
        ("error.html.j2", "{{ no_such_name }}", "emails/error.html.j2:1: "),
        ("join.html.j2", "{% if state == 'done' %}{{ x }}{% endif %}", "emails/join.html.j2:1: "),
        (
            "list.html.j2",
            "{% for each in past %}{{ each.x }}{% endfor %}",
            "emails/list.html.j2:1: ",
        ),
        ("lists.html.j2", "{{ lists[0].x }}", "emails/lists.html.j2:1: "),
        ("search.html.j2", "{{ papers[0].x }}", "emails/search.html.j2:1: "),
        ("feed.html.j2", "{{ page.x }}", "emails/feed.html.j2:1: "),
        ("de/_room.j2", "{% set lang = 'de' %}", "emails/confirm.txt.j2:3: "),
        (
            "confirm.mjml.j2",
            "<mjml><mj-body></mjml>",
            "emails/confirm.mjml.j2: MJML rejects the output",
        ),
    ],
)
def test_pages_and_the_mail_of_a_sign_up_are_tried_too(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, "utf-8")
    templates = Templates.load([tmp_path, EMAILS])
    templates.check({"en"})  # no digest is concerned
    with pytest.raises(ConfigError) as caught:
        templates.check_pages({"en", "de"}, SAMPLES)
    assert told in str(caught.value)
