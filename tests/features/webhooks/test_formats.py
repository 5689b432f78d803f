"""What each service is sent of a digest, within its limits and whatever a title says; and its errors."""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from paperboy.features.webhooks import formats
from paperboy.features.webhooks.formats import Post, Refusal
from paperboy.features.webhooks.rows import Call
from paperboy.mail.page import Copy, Page, page_of
from paperboy.models import BriefSentence, DeliveryState
from tests.builders import digest, entries, entry, mailing_list, paper
from tests.features.conftest import WEB
from tests.servers.chats import ntfy_title, units

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
TODAY = date(2026, 11, 20)
ABS = "https://arxiv.org/abs/"
PAGE = f"{WEB}/digest/l1nk"
SHORT = ("telegram", "feishu", "ntfy", "teams")

CALL = Call(
    digest_id=1,
    list_name="foundations",
    date=TODAY,
    subject="On <x>",
    link="l1nk",
    frozen_at=NOW,
    superseded=False,
    state=DeliveryState.PENDING,
    attempts=0,
    reply="",
    at=NOW,
)


def shown(*of: Any, **more: Any) -> Page:
    made = digest(of, **more)
    return page_of(made, copy=Copy(), unsubscribe_address="", web_url=WEB, link="l1nk")


def told(of: Page, form: str = "json") -> Any:
    found = json.loads(formats.request(CALL, of, form).body)
    return found["text"] if form == "slack" else found


def test_json_has_the_digest_and_its_papers_in_plain_text() -> None:
    of = paper(
        "2611.00007",
        title=r"Learning $\alpha^2$ {\em fast}",
        authors=tuple(f"A. Author{n}" for n in range(20)),
    )
    found = told(
        shown(
            entry(1, of, relevance=9, novelty=None, comment="It **matters**, see evil.com."),
            below=4,
        )
    )
    counts = found.pop("counts")
    names = ("considered", "scored", "selected", "below")
    assert [counts[name] for name in names] == [5, 5, 1, 4]
    assert found == {
        "list": "foundations",
        "title": "Foundations of machine learning",
        "date": "2026-11-20",
        "subject": "On <x>",
        "url": f"{WEB}/digest/l1nk",
        "papers": [
            {
                "rank": 1,
                "arxiv_id": "2611.00007",
                "url": "https://arxiv.org/abs/2611.00007",
                "title": "Learning α² fast",
                "authors": [f"A. Author{n}" for n in range(12)],
                "relevance": 9,
                "novelty": None,
                "comment": "It matters, see evil.com.",
            }
        ],
    }


def test_ten_papers_are_told_by_their_ranks() -> None:
    ranks = [told_of["rank"] for told_of in told(shown(*entries(14)))["papers"]]
    assert ranks == [*range(1, 11)]
    assert told(shown(*entries(14)), "slack").count("\n") == 10


def test_slack_has_a_line_for_each_paper_with_its_link_scores_and_comment() -> None:
    followed = entry(2, relevance=9, novelty=None, comment="", matched_author="Ada Lovelace")
    assert told(shown(entry(1, comment="It explains why."), followed), "slack").splitlines()[
        1:
    ] == [
        f"1. <{ABS}2611.00001|On the Learning of Paper 2611.00001> – relevance 8, novelty 7 – It explains why.",
        f"2. <{ABS}2611.00002|On the Learning of Paper 2611.00002> – relevance 9",
    ]


def test_slack_begins_with_the_number_of_papers_and_of_a_note_with_its_subject() -> None:
    """The best title, a digest's subject, stands in the first line below."""
    title = f"<{WEB}/digest/l1nk|Foundations of machine learning>, Fri 20 Nov 2026: "

    def first_line(of: Page) -> str:
        return str(told(of, "slack")).partition("\n")[0]

    assert first_line(shown(entry())) == f"{title}1 paper"
    assert first_line(shown(*entries(14))) == f"{title}14 papers"
    assert first_line(shown()) == f"{title}On &lt;x&gt;"


HOSTILE = "<!channel> &amp; <https://evil.org|safe> `rm` *b* ~s~ @everyone [a](http://evil.org) \u202eevil\u200f | x"


def test_hostile_title_or_comment_calls_nobody_and_makes_no_link_or_mark() -> None:
    """In Slack, Mattermost and Discord; in JSON only what is invisible is removed."""
    of = shown(entry(1, paper(title=HOSTILE), comment=HOSTILE))
    text = told(of, "slack")
    line = text.splitlines()[1]
    assert line.count("<") == line.count(">") == line.count("|") == 1
    assert line.startswith("1. <https://arxiv.org/abs/2611.00001|&lt;!channel&gt; &amp;amp; &lt;")
    assert not set("`*~\u202e\u200f") & set(line)
    assert "@e" not in line
    assert "](" not in line
    (only,) = told(of)["papers"]
    assert only["title"].startswith("<!channel> &amp; <https://evil.org|safe> `rm` *b*")
    assert not set("\u202e\u200f") & set(only["title"] + only["comment"])


# ---- short messages

BRIEF = (
    BriefSentence("Two groups explain why wide networks generalise.", ("2611.00001",)),
    BriefSentence("Pruning gets cheaper.", ("2611.00002",), ("Pruning gets",)),
)
FIRST = "Foundations of machine learning, Fri 20 Nov 2026: "
TITLES = [
    (f"{rank}. On the Learning of Paper 2611.{rank:05}", f"{ABS}2611.{rank:05}")
    for rank in (1, 2, 3)
]


def without_page(of: Page) -> Page:
    return replace(of, view_url="")


def lines_of(request: Post, form: str) -> list[tuple[str, str]]:
    """The subject, and each line with its link, as a reader sees them."""
    if form == "telegram":
        values = json.loads(request.body)
        assert set(values) == {"text", "link_preview_options"}
        return _of_text(values["text"])
    if form == "ntfy":
        return [(ntfy_title(dict(request.headers)), ""), *_of_text(request.body.decode())]
    if form == "feishu":
        post = json.loads(request.body)["content"]["post"]["zh_cn"]
        spans = [span for (span,) in post["content"]]
        return [(post["title"], ""), *((span["text"], span.get("href", "")) for span in spans)]
    (attachment,) = json.loads(request.body)["attachments"]
    runs = [run for block in attachment["content"]["body"] for run in block["inlines"]]
    return [(run["text"], run.get("selectAction", {}).get("url", "")) for run in runs]


def _of_text(text: str) -> list[tuple[str, str]]:
    parts = [paragraph.partition("\n") for paragraph in text.split("\n\n")]
    return [(line, url) for line, _, url in parts]


def sent(of: Page, form: str, subject: str = "Wide networks") -> list[tuple[str, str]]:
    return lines_of(formats.request(replace(CALL, subject=subject), of, form), form)


@pytest.mark.parametrize("form", SHORT)
def test_message_has_subject_count_page_and_three_titles(form: str) -> None:
    of = shown(*entries(14))
    assert sent(of, form) == [("Wide networks", ""), (f"{FIRST}14 papers", PAGE), *TITLES]


@pytest.mark.parametrize("form", SHORT)
def test_message_has_the_brief_in_place_of_titles(form: str) -> None:
    """Papers that a sentence does not name follow it."""
    assert sent(shown(*entries(3), brief=BRIEF), form) == [
        ("Wide networks", ""),
        (f"{FIRST}3 papers", PAGE),
        (
            "Two groups explain why wide networks generalise (On the Learning of Paper 2611.00001).",
            "",
        ),
        ("Pruning gets cheaper.", ""),
    ]


@pytest.mark.parametrize("form", SHORT)
def test_without_a_page_the_titles_follow_the_brief(form: str) -> None:
    """Else nothing would lead to a paper."""
    found = sent(without_page(shown(*entries(3), brief=BRIEF)), form)
    assert found[1] == (f"{FIRST}3 papers", "")
    assert [url for _, url in found[2:]] == ["", "", *(url for _, url in TITLES)]


@pytest.mark.parametrize("form", SHORT)
def test_note_has_its_subject_and_no_papers(form: str) -> None:
    found = sent(shown(), form, subject="Nothing for you today")
    assert found == [("Nothing for you today", ""), (f"{FIRST}0 papers", PAGE)]


def test_ntfy_opens_the_page_and_has_no_other_header_without_one() -> None:
    request = formats.request(CALL, shown(entry()), "ntfy")
    assert request.headers["Click"] == PAGE
    request = formats.request(CALL, without_page(shown(entry())), "ntfy")
    assert set(request.headers) == {"Content-Type", "Title"}


HOSTILE_WORDS = (
    '@channel <at user_id="all">all</at> <at>Ada</at> **b** [a](http://evil.org) '
    "evil.com /start \u202egnp \x00 mail me@evil.org =?utf-8?q?x?=\r\nX-Email: me@evil.org"
)


@pytest.mark.parametrize("form", SHORT)
def test_hostile_words_mention_nobody_and_make_no_link(form: str) -> None:
    of = shown(
        entry(1, paper(title=HOSTILE_WORDS)),
        mailing_list=mailing_list(title=HOSTILE_WORDS),
        brief=(BriefSentence(HOSTILE_WORDS, ("2611.00001",)),),
    )
    found = sent(without_page(of), form, subject=" ".join(HOSTILE_WORDS.split()))
    assert len(found) == 4
    assert [url for _, url in found] == ["", "", "", f"{ABS}2611.00001"]
    for text, _ in found:
        assert re.search(r"@\w|<\w|evil\.(com|org)|http:/", text) is None
        assert not set("\u202e\x00\r\n") & set(text)
        assert "channel" in text


@pytest.mark.parametrize(
    "subject", ["", "Über Bäume – 深層学習 🌳", "a" * 5000, "=?utf-8?q?x?=\r\nX: y"]
)
def test_ntfy_headers_are_ascii_on_one_line(subject: str) -> None:
    headers = formats.request(replace(CALL, subject=subject), shown(entry()), "ntfy").headers
    for value in headers.values():
        assert value.isascii()
        assert value.isprintable()
    whole = " ".join(subject.split())
    assert ntfy_title(dict(headers)) == (whole if len(whole) <= 200 else "a" * 199 + "…")


@pytest.mark.parametrize("form", SHORT)
@pytest.mark.parametrize("letter", ["a ", "@", "<", "\U0001d54f", "深", '"', "\\", "e.x"])
def test_no_message_is_beyond_the_limit_of_its_service(form: str, letter: str) -> None:
    """Whatever the letters: the first lines stay, and those that do not fit are left out."""
    long = letter * 3000
    of = shown(
        *(entry(rank, paper(f"2611.{rank:05}", title=long)) for rank in range(1, 31)),
        mailing_list=mailing_list(title=long),
        brief=[BriefSentence(letter * 390 + str(rank), ("2611.00001",)) for rank in range(3)],
    )
    for page in (of, without_page(of), replace(of, brief=())):
        request = formats.request(replace(CALL, subject=long), page, form)
        found = lines_of(request, form)
        assert len(found) >= 3
        if form == "telegram":
            assert units(json.loads(request.body)["text"]) <= 4096
        else:
            assert len(request.body) <= {"ntfy": 4096, "feishu": 20_000, "teams": 28_000}[form]


@pytest.mark.parametrize("form", SHORT)
def test_endless_link_of_a_paper_costs_its_line_alone(form: str) -> None:
    of = shown(*entries(3))
    long = [replace(item, url=f"https://example.org/{'x' * 9000}") for item in of.items[1:]]
    found = sent(replace(of, items=(of.items[0], *long)), form)
    assert found == [("Wide networks", ""), (f"{FIRST}3 papers", PAGE), TITLES[0]]


# ---- errors in replies


@pytest.mark.parametrize(
    ("form", "body", "expected"),
    [
        ("telegram", b'{"ok": true, "result": {"text": "x"}}', None),
        (
            "telegram",
            b'{"ok": false, "error_code": 400, "description": "Bad Post: chat not found"}',
            Refusal("Bad Post: chat not found"),
        ),
        ("feishu", b'{"code": 0, "msg": "success", "data": {}}', None),
        ("feishu", b'{"Extra": null, "StatusCode": 0, "StatusMessage": "success"}', None),
        (
            "feishu",
            b'{"code": 19024, "msg": "Key Words Not Found"}',
            Refusal("19024: Key Words Not Found"),
        ),
        (
            "feishu",
            b'{"code": 11232, "msg": "frequency limited"}',
            Refusal("11232: frequency limited", is_transient=True),
        ),
        ("ntfy", b'{"id": "x", "event": "message", "message": "error"}', None),
        ("ntfy", b'{"code": 40301, "http": 403, "error": "forbidden"}', Refusal("forbidden")),
        ("teams", b"", None),
        ("json", b'{"ok": false, "code": 7, "error": "x"}', None),
        ("slack", b'{"ok": false, "code": 7, "error": "x"}', None),
    ],
)
def test_reply_names_its_error(form: str, body: bytes, expected: Refusal | None) -> None:
    assert formats.refusal(form, body) == expected


@pytest.mark.parametrize("form", SHORT)
@pytest.mark.parametrize(
    "body",
    [b"", b"ok", b"<html>", b"[1]", b"7", b"null", b"\xff\xfe", b"[" * 200_000, b"9" * 9000],
)
def test_reply_of_another_shape_names_no_error(form: str, body: bytes) -> None:
    assert formats.refusal(form, body) is None
