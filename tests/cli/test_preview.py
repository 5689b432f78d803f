"""`paperboy preview` shows a digest and marks nothing."""

import email
import email.policy
from email.message import EmailMessage

import pytest

from tests.cli.conftest import World


def sent(world: World) -> list[EmailMessage]:
    messages = [email.message_from_bytes(mail.content, policy=email.policy.default) for mail in world.smtp.messages]
    assert all(isinstance(message, EmailMessage) for message in messages)
    return messages


def bodies(message: EmailMessage) -> list[str]:
    return [part.get_content() for part in message.iter_parts()]


def test_preview_shows_what_the_digest_would_be_now(world: World) -> None:
    world.announce(1, 2)
    ran = world.run("preview", "foundations")
    assert ran.code == 0, ran.err
    page = world.path / "outbox" / "preview" / "foundations.html"
    assert ran.out == f"{page}\n"
    assert "2611.00002" in page.read_text("utf-8")
    assert {file.name for file in page.parent.iterdir()} == {"foundations.html", "foundations.txt", "foundations.eml"}
    assert {folder.stat().st_mode & 0o777 for folder in (page.parent, page.parent.parent)} == {0o700}


def test_preview_marks_nothing_and_keeps_the_scores(world: World) -> None:
    world.announce(1)
    world.run("preview", "foundations")
    asked = len(world.llm.requests)
    assert world.mails() == []
    assert "digest, 1 of 1 papers" in world.run("once", "--list", "foundations").out
    assert len(world.llm.requests) == asked


def test_second_preview_within_minutes_does_not_ask_arxiv_again(world: World) -> None:
    """Who tries out topics runs it often, and arXiv need not notice."""
    world.announce(1)
    world.run("preview", "foundations")
    asked = len(world.arxiv.requests)
    world.run("preview", "foundations")
    assert len(world.arxiv.requests) == asked


def test_todays_digest_is_shown_as_it_was_sent(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    world.announce(2)
    world.run("preview", "foundations")
    shown = (world.path / "outbox" / "preview" / "foundations.txt").read_text("utf-8")
    assert "2611.00001" in shown
    assert "2611.00002" not in shown


def test_test_mail_goes_to_one_address_with_a_message_id_of_its_own(world: World) -> None:
    """A mail server that knows the Message-ID would drop the real digest as a duplicate."""
    world.announce(1)
    ran = world.run("preview", "foundations", "--to", "ada@example.org")
    assert ran.code == 0
    assert "ada@example.org: sent" in ran.out
    assert world.mails() == ["ada@example.org"]
    world.run("once", "--list", "foundations")
    assert world.mails() == ["ada@example.org", "ada@example.org", "grace@example.org"]
    trial, real, _ = sent(world)
    assert len({message["Message-ID"] for message in sent(world)}) == 3
    assert trial["Subject"] == f"[Test] {real['Subject']}"
    assert trial["List-Unsubscribe"] == real["List-Unsubscribe"]


def test_test_mail_of_a_draft_or_of_todays_digest_says_what_it_is(world: World) -> None:
    world.announce(1)
    world.run("preview", "foundations", "--to", "ada@example.org")
    world.run("once", "--list", "foundations")
    world.run("preview", "foundations", "--to", "vera@example.org")
    for reader, message in zip(("ada", "vera"), (sent(world)[0], sent(world)[-1]), strict=True):
        assert message["Subject"].startswith("[Test] Foundations, 20 Nov: 1 paper")
        for body in bodies(message):
            assert "Test mail" in body
            assert f"This is a test, sent to {reader}@example.org alone; nothing was marked as sent." in body
            assert "is on this list" not in body
            assert "2611.00001" in body
    for message in sent(world)[1:3]:
        assert "[Test]" not in message["Subject"]
        assert not any("test" in body.lower() for body in bodies(message))


def test_files_show_a_readers_copy(world: World) -> None:
    world.announce(1)
    for _ in ("a draft", "today's digest"):
        world.run("preview", "foundations")
        for ending in ("txt", "html"):
            shown = (world.path / "outbox" / "preview" / f"foundations.{ending}").read_text("utf-8")
            assert "Your address you@example.org is on this list." in shown
            assert "Test mail" not in shown
        world.run("once", "--list", "foundations")


def test_test_mail_in_the_outbox_leaves_the_newest_digest_alone(world: World) -> None:
    world.env(smtp=False)
    world.announce(1)
    world.run("once", "--list", "foundations")
    before = (world.path / "outbox" / "foundations.eml").read_bytes()
    assert world.run("preview", "foundations", "--to", "ada@example.org").code == 0
    assert (world.path / "outbox" / "foundations.eml").read_bytes() == before


def test_unreachable_arxiv_is_an_error(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    ran = world.run("preview", "foundations")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("so no paper is lost") == 1
    assert "foundations: arXiv has given no papers yet, so there is nothing to show" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foundations", "--to", "nope"], "--to"),
        (["foundations", "--to", ""], "--to"),
        (["galaxy"], "did you mean 'galaxies'?"),
    ],
)
def test_bad_address_or_unknown_list_is_wrong_usage(world: World, arguments: list[str], message: str) -> None:
    ran = world.run("preview", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_list_without_subscribers_can_be_previewed(world: World) -> None:
    """So that its topics can be tried before anybody is on it."""
    world.write("subscribers.yaml", "lists:\n  - {name: x, categories: [cs.LG], topics: learning}\n")
    world.announce(1)
    assert world.run("preview", "x").code == 0


def test_preview_of_a_quiet_day_says_so_and_writes_no_file(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    ran = world.run("preview", "galaxies")
    assert ran.code == 0
    assert "no mail" in ran.err
    assert ran.out == ""
    assert not (world.path / "outbox" / "preview").exists()


def test_dead_llm_is_an_error(world: World) -> None:
    world.llm.api_key = "right"
    world.env(OPENAI_API_KEY="wrong-0123456789")
    world.announce(1)
    ran = world.run("preview", "foundations")
    assert ran.code == 1
    assert "nothing could be scored" in ran.err
    assert ran.err.count("401") == 1


def test_outbox_that_cannot_be_written_is_an_error(world: World) -> None:
    world.announce(1)
    world.write("outbox", "a file in the way")
    ran = world.run("preview", "foundations")
    assert ran.code == 1
    assert "PAPERBOY_OUTBOX" in ran.err
