"""Signing up: a form, a mail with a link, a page with a button, and a line in subscribers.yaml."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from paperboy.edges import lock
from paperboy.features.signups.rows import _SELECT, KIND, Signup
from tests.cli.conftest import LISTS
from tests.web.conftest import SCRIPT, WEB_URL, Web

JOIN = "/list/foundations/join"
EMMY = "emmy@wren.edu"
OPEN = LISTS.replace("    title: Foundations\n", "    title: Foundations\n    open: true\n")


@pytest.fixture
def open_web(web: Web) -> Web:
    """The list foundations takes sign-ups, the other does not."""
    web.world.write("subscribers.yaml", OPEN)
    return web


def ask(web: Web, address: str, **options: object) -> str:
    return web.post(JOIN, data={"address": address}, **options).text


def work(web: Web) -> list[str]:
    """Do the tasks and send their mail, as `once` does on a day with nothing else to do; gives who got mail."""
    before = len(web.world.smtp.messages)
    web.run("once", "--list", "foundations")
    return [message.recipient for message in web.world.smtp.messages[before:]]


def asked(web: Web) -> str:
    """Let Emmy ask; return the link in her mail."""
    ask(web, EMMY)
    work(web)
    return web.link("confirm/", EMMY)


def confirmed(web: Web) -> None:
    web.post(asked(web))


def rows(web: Web) -> list[Signup]:
    with web.store() as store:
        return store.database.rows(_SELECT, make=Signup)


def listed(web: Web) -> str:
    return (web.world.path / "subscribers.yaml").read_text("utf-8")


def test_form_shows_the_lists_description_in_place_of_its_topics(web: Web) -> None:
    described = 'description: "Trees & <b>, for people."'
    web.world.write("subscribers.yaml", OPEN.replace("    open:", f"    {described}\n    open:"))
    page = web.get(JOIN).text
    assert '<p dir="auto">Trees &amp; &lt;b&gt;, for people.</p>' in page
    assert "This list looks for" not in page


@pytest.mark.quick
def test_whole_way_from_the_form_to_the_next_digest(open_web: Web) -> None:
    web = open_web
    world = open_web.world
    page = web.get(JOIN).text
    assert "Get Foundations by email" in page
    assert "why networks generalise" in page
    assert "Check your inbox" in ask(web, EMMY)
    assert work(web) == [EMMY]
    mail = web.mail(EMMY)
    assert "Subject: Confirm your subscription to Foundations" in mail
    assert "List-Unsubscribe" not in mail
    link = web.link("confirm/", EMMY)
    assert re.fullmatch(rf"{WEB_URL}/confirm/[0-9a-f]{{32}}/foundations", link)
    assert "e…@wren.edu will get each digest" in web.get(link).text
    assert work(web) == []
    assert EMMY not in listed(web)
    assert "Subscribed" in web.post(link).text
    assert work(web) == []
    grace = "      - Grace Hopper <grace@example.org>\n"
    assert listed(web) == OPEN.replace(grace, f"{grace}      - emmy@wren.edu\n")
    assert "Subscribed" in web.get(link).text
    leave = re.findall(rf"{WEB_URL}/leave/[0-9a-f]{{32}}", web.get(link).text)[0]
    assert "Unsubscribe from Foundations" in web.get(leave).text
    world.clock.now += timedelta(days=3)
    world.announce(11)
    assert EMMY in work(web)
    assert WEB_URL in web.mail(EMMY)


def test_confirmed_reader_is_added_to_the_lists_own_file(open_web: Web) -> None:
    web = open_web
    world = open_web.world
    world.write("readers.csv", "name,address\nBo,bo@example.org\n")
    world.write(
        "subscribers.yaml",
        OPEN.replace("    open: true\n", "    open: true\n    subscribers_file: readers.csv\n"),
    )
    before = listed(web)
    for address in (EMMY, "BO@example.org"):
        ask(web, address)
    assert work(web) == [EMMY]
    web.post(web.link("confirm/", EMMY))
    work(web)
    assert (
        world.path / "readers.csv"
    ).read_text() == "name,address\nBo,bo@example.org\n,emmy@wren.edu\n"
    assert listed(web) == before


def test_answer_does_not_reveal_who_is_on_the_list(open_web: Web) -> None:
    web = open_web
    web.run("suppress", "gone@wren.edu")
    answers = {
        ask(web, address)
        for address in ("new@wren.edu", "ada@example.org", "gone@wren.edu", "new@wren.edu")
    }
    assert len(answers) == 1
    assert work(web) == ["new@wren.edu"]


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "nobody",
        "two@wren.edu, more@wren.edu",
        "Emmy <emmy@wren.edu>",
        "emmy@wren.edu\r\nBcc: all@wren.edu",
        "emmy@wren.edu\0",
        "- emmy@wren.edu",
        "x" * 300 + "@wren.edu",
        '"<script>"@wren.edu',
    ],
)
def test_invalid_address_is_rejected_and_not_stored(open_web: Web, typed: str) -> None:
    page = ask(open_web, typed)
    assert "This is not an email address" in page
    assert "<script" not in page
    assert rows(open_web) == []


def test_international_address_can_sign_up(open_web: Web) -> None:
    ask(open_web, "emmy@müller.example.org")
    assert [row.address for row in rows(open_web)] == ["emmy@xn--mller-kva.example.org"]


def test_only_open_lists_take_sign_ups(open_web: Web) -> None:
    for name in ("galaxies", "nowhere", "../foundations"):
        path = f"/list/{name}/join"
        assert open_web.get(path).status_code == 404
        assert open_web.post(path, data={"address": EMMY}).status_code == 404
    open_web.world.write(
        "subscribers.yaml", OPEN.replace("open: true", "open: true\n    paused: true")
    )
    assert open_web.get(JOIN).status_code == 404


def test_scripts_and_robots_sign_nobody_up(open_web: Web) -> None:
    web = open_web
    assert "Get Foundations by email" in ask(web, EMMY, headers=SCRIPT)
    assert "Check your inbox" in web.post(JOIN, data={"address": EMMY, "trap": "x"}).text
    assert rows(web) == []
    link = asked(web)
    web.get(link)
    assert "Confirm your subscription" in web.post(link, headers=SCRIPT).text
    work(web)
    assert EMMY not in listed(web)


def test_mailbox_gets_one_mail_a_day_however_it_is_spelt(open_web: Web) -> None:
    web = open_web
    clock = open_web.world.clock
    spellings = ["Emmy.N@gmail.com", "e.m.m.y.n+1@googlemail.com", "EMMYN+2@gmail.com"]
    others = ["emmy.n@wren.edu", "emmyn@wren.edu", "emmy@gmail.com"]
    pages = {ask(web, address) for address in (*spellings, *others)}
    assert len(pages) == 1
    assert sorted(work(web)) == sorted([spellings[0], *others])
    clock.now += timedelta(days=1)
    ask(web, spellings[-1])
    assert spellings[-1] in work(web)


def test_beyond_the_rate_the_form_says_to_try_later_and_nothing_is_noted(open_web: Web) -> None:
    web = open_web
    for at in range(100):
        ask(web, f"reader{at}@wren.edu")
    noted = rows(web)
    assert len(noted) == 100
    first, again = (web.post(JOIN, data={"address": who}) for who in (EMMY, "reader0@wren.edu"))
    assert first.text == again.text, "nobody learns who has asked"
    assert (first.status_code, first.headers["Retry-After"]) == (429, "3600")
    assert "Try again in an hour" in first.text
    assert "Check your inbox" not in first.text
    assert rows(web) == noted


def test_link_holds_for_seven_days(open_web: Web) -> None:
    web = open_web
    clock = open_web.world.clock
    link = asked(web)
    clock.now += timedelta(days=7, minutes=-1)
    assert web.get(link).status_code == 200
    clock.now += timedelta(minutes=2)
    assert web.post(link).status_code == 410
    work(web)  # after the first morning of a day, which tidies up
    assert rows(web) == []


def test_link_that_is_too_old_shows_the_form_again(open_web: Web) -> None:
    """So does any other, since nothing is known of it; unless the list takes nobody."""
    web = open_web
    path = f"/confirm/{'0' * 32}/foundations"
    page = web.get(path)
    assert page.status_code == 410
    assert "This link is no longer valid" in page.text
    assert f'<form method="post" action="{WEB_URL}{JOIN}">' in page.text
    web.world.write("subscribers.yaml", LISTS)
    assert web.get(path).status_code == 404


def test_link_of_1_0_which_does_not_name_its_list_confirms(open_web: Web) -> None:
    link, _, name = asked(open_web).rpartition("/")
    assert name == "foundations"
    assert "Subscribed" in open_web.post(link).text
    assert open_web.get(f"/confirm/{'0' * 32}").status_code == 404


def test_confirming_brings_back_who_left_but_no_suppressed_address(
    open_web: Web,
) -> None:
    web = open_web
    web.post(f"{web.link('leave/')}/now")
    web.run("suppress", "grace@example.org")
    before = listed(web)
    for address in ("ada@example.org", "grace@example.org"):
        ask(web, address)
    assert work(web) == ["ada@example.org"]
    web.post(web.link("confirm/"))
    with web.store() as store:
        assert [row.address for row in store.suppressions.all()] == ["grace@example.org"]
    work(web)
    assert listed(web) == before


def test_sign_up_waits_and_alerts_the_operator_if_the_file_cannot_be_edited(
    open_web: Web,
) -> None:
    web = open_web
    world = open_web.world
    world.env(WEB_URL=WEB_URL, ALERT_TO="operator@example.org")
    confirmed(web)
    shared = OPEN.replace("    subscribers:\n", "    subscribers: &people\n").replace(
        "[vera@example.org]", "*people"
    )
    world.write("subscribers.yaml", shared)
    ran = web.run("once", "--list", "foundations")
    assert "foundations: a sign-up waits: subscribers.yaml:" in ran.err
    assert ran.code == 0
    assert listed(web) == shared
    world.clock.now += timedelta(minutes=16)
    work(web)
    assert world.mails().count("operator@example.org") == 1
    assert (
        "foundations: emmy@wren.edu has signed up and is not on the list yet"
        in web.run("status").out
    )
    assert '"problem": "subscribers.yaml:' in web.run("status", "--json").out
    assert "cannot be added" in web.mail("operator@example.org")
    world.write("subscribers.yaml", OPEN)
    world.clock.now += timedelta(minutes=16)
    work(web)
    assert "- emmy@wren.edu\n" in listed(web)


def test_sign_up_in_retry_backoff_shows_its_next_try(open_web: Web) -> None:
    """As after a crash within the edit, of which nothing was recorded."""
    web = open_web
    world = open_web.world
    confirmed(web)
    with lock.held(world.database, "run", "run"):  # without the daemon, nothing is promised
        waits = f"foundations: {EMMY} has signed up and is not on the list yet"
        assert f"{waits}; to be tried now\n" in web.run("status").out
        with web.store() as store:
            (task,) = store.tasks.due(KIND, world.clock.now)
            store.tasks.begin(task, world.clock.now + timedelta(hours=4))
        assert f"{waits}; next try about 11:00 UTC\n" in web.run("status").out
    assert f"{waits}\n" in web.run("status").out


def test_mail_server_that_is_down_gets_the_confirmation_mail_later(open_web: Web) -> None:
    """It waits in the ledger, like a digest."""
    web = open_web
    world = open_web.world
    ask(web, EMMY)
    world.env(WEB_URL=WEB_URL, SMTP_PORT=9)
    assert work(web) == []
    assert [row.stage for row in rows(web)] == ["mailed"]
    world.env(WEB_URL=WEB_URL)
    assert work(web) == [EMMY]
    assert work(web) == []


def test_forgotten_person_has_not_signed_up(open_web: Web) -> None:
    web = open_web
    ask(web, EMMY)
    assert f"Erased {EMMY} from 1 row" in web.run("forget", EMMY).out
    assert rows(web) == []


def test_crash_after_the_edit_adds_nobody_twice(open_web: Web) -> None:
    web = open_web
    confirmed(web)
    web.run("subscribe", "foundations", EMMY)  # the edit, after which nothing was recorded
    work(web)
    assert listed(web).count(EMMY) == 1
    assert [row.stage for row in rows(web)] == ["done"]


def test_list_that_is_gone_by_then_ends_the_sign_up(open_web: Web) -> None:
    web = open_web
    confirmed(web)
    web.world.write("subscribers.yaml", OPEN.replace("name: foundations", "name: basics"))
    ran = web.run("once", "--list", "basics")
    assert "foundations: somebody signed up, but the list no longer takes sign-ups" in ran.err
    assert [(row.stage, row.problem) for row in rows(web)] == [("ended", "")]


def test_confirmation_mail_that_no_server_takes_for_a_day_is_given_up(open_web: Web) -> None:
    """The person may ask again then."""
    web = open_web
    world = open_web.world
    ask(web, EMMY)
    world.env(WEB_URL=WEB_URL, SMTP_PORT=9)
    for _ in range(25):
        work(web)
        world.clock.now += timedelta(hours=1)
    world.env(WEB_URL=WEB_URL)
    assert EMMY not in work(web)
    ask(web, EMMY)
    assert work(web) == [EMMY]


def test_address_that_bounced_since_the_mail_went_out_is_not_confirmed(open_web: Web) -> None:
    web = open_web
    link = asked(web)
    web.run("suppress", EMMY)
    assert web.post(link).status_code == 404
    assert [row.stage for row in rows(web)] == ["mailed"]


def test_list_that_was_closed_takes_nobody_who_had_asked(open_web: Web) -> None:
    web = open_web
    link = asked(web)
    web.world.write("subscribers.yaml", LISTS)
    assert web.post(link).status_code == 404
    web.world.write("subscribers.yaml", OPEN)
    web.post(link)
    web.world.write("subscribers.yaml", LISTS)
    work(web)
    assert EMMY not in listed(web)
