"""The way out: one click in a mail program, and the page behind the mail's own link."""

from __future__ import annotations

import re

import pytest

from tests.features.archive.test_reading import configure
from tests.web.conftest import CLICK, SCRIPT, WEB_URL, Web


def suppressed(web: Web) -> list[tuple[str, str, str, bool]]:
    with web.store() as store:
        return [
            (row.address, row.list_name, row.reason, row.own) for row in store.suppressions.all()
        ]


def morning(web: Web, day: int) -> None:
    """A digest of another paper, on that day of November."""
    web.world.clock.now = web.world.clock.now.replace(day=day)
    web.world.announce(day)
    assert web.run("once", "--list", "foundations").code == 0


def test_header_names_the_page_and_the_mail_and_offers_one_click(web: Web) -> None:
    mail = web.mail()
    link = web.link("leave/")
    assert re.fullmatch(rf"{WEB_URL}/leave/[0-9a-f]{{32}}", link)
    assert (
        f"List-Unsubscribe: <{link}>, <mailto:papers@example.org?subject=unsubscribe%20foundations%20"
        in mail
    )
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in mail
    assert link in mail.partition("Content-Type: multipart")[2]  # the body's own way out


@pytest.mark.parametrize("template", ["{% if %}", "{{ no_such_name }}", "{{ 'x' * 10**9 }}"])
def test_broken_template_of_the_operator_keeps_nobody_from_leaving(
    web: Web, template: str, caplog: pytest.LogCaptureFixture
) -> None:
    shipped = web.get(web.link("leave/"))
    web.world.write("emails/leave.html.j2", template)
    assert web.get(web.link("leave/")).text == shipped.text
    assert "emails/leave.html.j2:1: " in caplog.text
    assert web.post(web.link("leave/") + "/now").status_code == 200
    assert [address for address, *_ in suppressed(web)] == ["ada@example.org"]


@pytest.mark.parametrize(
    "body",
    [
        {"data": {"List-Unsubscribe": "One-Click"}},
        {"data": {"List-Unsubscribe": (None, "One-Click")}, "content_type": "multipart/form-data"},
        {},
        {"data": b"\xff\0", "content_type": "application/octet-stream"},
    ],
    ids=["urlencoded", "multipart", "empty", "anything"],
)
def test_any_post_to_the_link_of_the_header_is_the_one_click(
    web: Web, body: dict[str, object]
) -> None:
    answer = web.post(web.link("leave/"), headers={}, **body)
    assert (answer.status_code, answer.text, answer.mimetype) == (
        200,
        "You are off this list.\n",
        "text/plain",
    )
    assert suppressed(web) == [
        ("ada@example.org", "foundations", "left by one click in a mail program", True)
    ]
    assert web.post(web.link("leave/"), headers={}).status_code == 200  # again


def test_page_of_a_public_list_leads_to_it(web: Web) -> None:
    page = web.get(web.link("leave/"))
    assert f'"{WEB_URL}/list/foundations"' not in page.text
    configure(web, archive="public")
    for link in (web.link("leave/"), web.link("vote/")):
        assert f'"{WEB_URL}/list/foundations"' in web.get(link).text


def test_a_get_changes_nothing(web: Web) -> None:
    page = web.get(web.link("leave/"))
    assert "Unsubscribe from Foundations" in page.text
    assert "Stop this list’s mail to a…@example.org?" in page.text
    assert web.get(web.link("leave/"), headers=CLICK).status_code == 200
    assert web.get(f"{web.link('leave/')}/now").status_code == 405
    assert suppressed(web) == []


def test_button_leaves_and_undo_comes_back(web: Web) -> None:
    left = web.post(f"{web.link('leave/')}/now")
    assert "Unsubscribed" in left.text
    assert suppressed(web) == [("ada@example.org", "foundations", "left on the web page", True)]
    shown = web.run("subscribers", "--list", "foundations").out
    assert (
        "suppressed for the list foundations (since Fri 20 Nov 2026: left on the web page)" in shown
    )
    assert "ada@example.org" in (web.world.path / "subscribers.yaml").read_text("utf-8")
    assert "Unsubscribed" in web.get(web.link("leave/")).text
    back = web.post(f"{web.link('leave/')}/undo").text
    assert "Subscribed again" in back
    assert "a…@example.org will get Foundations again" in back
    assert "Unsubscribe from Foundations" in web.get(web.link("leave/")).text
    assert suppressed(web) == []


def test_script_that_submits_the_form_is_shown_the_page_again(web: Web) -> None:
    link = web.link("leave/")
    for headers in (SCRIPT, CLICK | {"Sec-Fetch-Site": "cross-site"}):
        assert "Unsubscribe from Foundations" in web.post(f"{link}/now", headers=headers).text
        assert suppressed(web) == []
    web.post(f"{link}/now", headers={})  # a browser that knows no Fetch Metadata
    assert len(suppressed(web)) == 1
    assert "Unsubscribed" in web.post(f"{link}/undo", headers=SCRIPT).text
    assert len(suppressed(web)) == 1


def test_somebody_who_left_gets_no_digest_and_after_undo_the_next(web: Web) -> None:
    web.post(f"{web.link('leave/')}/now")
    morning(web, 23)
    assert web.world.mails()[2:] == ["grace@example.org"]
    web.post(f"{web.link('leave/')}/undo")
    morning(web, 24)
    assert sorted(web.world.mails()[3:]) == ["ada@example.org", "grace@example.org"]


def test_link_of_a_mail_works_after_the_secret_has_changed(web: Web) -> None:
    link = web.link("leave/")
    with web.store() as store, store.transaction():
        store.database.execute(
            "insert into secrets values ('mail', randomblob(32)) on conflict do nothing"
        )
        store.database.execute("insert into secrets values ('newer', randomblob(32))")
    assert "Unsubscribed" in web.post(f"{link}/now").text


def test_without_web_url_the_mail_is_as_before(web: Web) -> None:
    web.world.env()
    morning(web, 23)
    mail = web.mail()
    assert "List-Unsubscribe: <mailto:" in mail
    assert "List-Unsubscribe-Post" not in mail
    assert WEB_URL not in mail


def test_operators_suppression_stands_whoever_left_before(web: Web) -> None:
    link = web.link("leave/")
    web.post(f"{link}/now")
    ran = web.run("suppress", "ada@example.org", "--list", "foundations")
    assert "gets no more mail from foundations" in ran.out
    page = web.post(f"{link}/undo").text
    assert "No mail goes to this address" in page
    assert "undo" not in page.lower()
    assert suppressed(web) == [("ada@example.org", "foundations", "by hand", False)]
    web.post(link)
    assert suppressed(web) == [("ada@example.org", "foundations", "by hand", False)]
