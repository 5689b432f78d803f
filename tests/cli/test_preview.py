"""`paperboy preview` shows a digest and marks nothing."""

from dataclasses import replace
from datetime import timedelta

import pytest

from paperboy.models import Score
from tests.cli.conftest import LISTS, World, text_of


def test_preview_shows_what_the_digest_would_be_now(world: World) -> None:
    world.announce(1, 2)
    ran = world.run("preview", "foundations")
    assert ran.code == 0, ran.err
    page = world.path / "outbox" / "preview" / "foundations.html"
    assert ran.out == f"{page}\n"
    assert "2611.00002" in page.read_text("utf-8")
    assert {file.name for file in page.parent.iterdir()} == {
        "foundations.html",
        "foundations.txt",
        "foundations.eml",
    }
    assert {folder.stat().st_mode & 0o777 for folder in (page.parent, page.parent.parent)} == {
        0o700
    }


def test_second_preview_within_minutes_does_not_ask_arxiv_again(world: World) -> None:
    """Who tries out topics runs it often, and arXiv need not notice."""
    world.announce(1)
    world.run("preview", "foundations")
    asked = len(world.arxiv.requests)
    world.run("preview", "foundations")
    assert len(world.arxiv.requests) == asked


def shown(world: World, name: str = "foundations") -> str:
    return (world.path / "outbox" / "preview" / f"{name}.txt").read_text("utf-8")


def edit(world: World, old: str, new: str) -> None:
    assert LISTS.count(old) == 1
    world.write("subscribers.yaml", LISTS.replace(old, new))


TUNED: dict[
    str, tuple[tuple[str, str], set[str], bool]
] = {  # the edit; the papers; whether the LLM is asked
    "nothing": (("title: Foundations", "title: Foundations"), {"1", "2"}, False),
    "thresholds": (("title: Foundations", "min_relevance: 4"), {"1", "2", "3"}, False),
    "cap": (("title: Foundations", "max_papers: 1"), {"1"}, False),
    "topics": (("why networks generalise", "what networks forget"), {"1", "2"}, True),
    "authors": (("Yoshua Bengio", "Ada Lovelace"), {"1", "2", "3"}, False),
}


@pytest.mark.parametrize("name", TUNED)
def test_preview_after_the_morning_shows_what_an_edit_would_make_of_its_papers(
    world: World, name: str
) -> None:
    """So that topics and thresholds can be tuned all day; nothing is marked, and nobody gets another mail."""
    (old, new), numbers, scored_anew = TUNED[name]
    world.llm.scores = {
        f"2611.{n:05}": Score(*marks) for n, marks in {1: (9, 8), 2: (8, 7), 3: (4, 7)}.items()
    }
    world.announce(1, 2, 3)
    world.once("foundations")
    asked = len(world.llm.requests)
    mails = len(world.mails())
    edit(world, old, new)
    ran = world.run("preview", "foundations")
    assert ran.code == 0, ran.err
    assert {str(n) for n in (1, 2, 3) if f"abs/2611.0000{n}" in shown(world)} >= numbers
    assert f"foundations: digest, {len(numbers)} of 3 papers" in ran.err
    assert (len(world.llm.requests) > asked) is scored_anew
    said = "WARNING scoring 3 papers for foundations by gpt-6-luna: price unknown\n"
    assert (said in ran.err) is scored_anew
    assert (len(world.mails()), world.once("foundations").out) == (
        mails,
        "foundations: digest, done earlier today\n",
    )


def test_preview_has_papers_from_after_the_morning_and_none_from_before_the_start(
    world: World,
) -> None:
    old = world.announce(1)[0]
    world.arxiv.papers[:] = [replace(old, published=old.published - timedelta(days=2))]
    world.announce(2)
    world.once("foundations")
    world.announce(3)
    world.later(hours=1)
    assert "digest, 2 of 2 papers" in world.run("preview", "foundations").err
    assert "2611.00001" not in shown(world)


def test_preview_of_a_day_without_papers_says_so(world: World) -> None:
    world.announce(1)
    world.once("foundations")
    world.later(days=1)
    ran = world.run("preview", "foundations")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith("foundations: there are no papers today\n")
    assert not (world.path / "outbox" / "preview").exists()


def two_digests(world: World) -> None:
    """One of Friday, and one of Monday."""
    world.announce(1)
    world.once("foundations")
    world.later(days=3)
    world.announce(2)
    world.once("foundations")


def test_digest_is_shown_as_it_was_sent_without_asking_anybody(world: World) -> None:
    two_digests(world)
    asked = len(world.arxiv.requests) + len(world.llm.requests)
    edit(world, "title: Foundations", "title: Another title")
    for arguments, number, day in (
        ([], 2, "Mon 23 Nov 2026"),
        (["--date", "2026-11-20"], 1, "Fri 20 Nov 2026"),
    ):
        ran = world.run("preview", "foundations", "--sent", *arguments)
        page = world.path / "outbox" / "preview" / "foundations.html"
        assert (ran.code, ran.out) == (0, f"{page}\n")
        assert ran.err == f"foundations: the digest of {day}, as it was sent\n"
        assert f"abs/2611.0000{number}" in shown(world)
        assert "Another title" not in shown(world)
    assert len(world.arxiv.requests) + len(world.llm.requests) == asked


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--sent", "--date", "2026-11-21"],
            "no digest of 2026-11-21; the newest is from 2026-11-23",
        ),
        (["--sent", "--date", "soon"], "'soon' does not match the format '%Y-%m-%d'"),
        (["--date", "2026-11-20"], "--date goes with --sent"),
    ],
)
def test_unknown_date_is_wrong_usage_and_names_the_newest(
    world: World, arguments: list[str], says: str
) -> None:
    two_digests(world)
    assert says in world.fails(2, "preview", "foundations", *arguments)


def test_list_without_a_digest_has_nothing_that_was_sent(world: World) -> None:
    ran = world.run("preview", "galaxies", "--sent")
    assert ran.code == 2
    assert (
        "galaxies has had no digest yet; paperboy preview galaxies shows what is to come" in ran.err
    )
    assert not (world.path / "data").exists()


def test_test_mail_says_what_it_is_and_has_a_message_id_of_its_own(
    world: World,
) -> None:
    """A mail server that knows the Message-ID would drop the real digest as a duplicate."""
    world.announce(1)
    ran = world.run("preview", "foundations", "--to", "ada@example.org")
    assert (ran.code, "ada@example.org: sent" in ran.out) == (0, True)
    world.once("foundations")
    world.run("preview", "foundations", "--to", "vera@example.org")
    assert world.mails() == [
        "ada@example.org",
        "ada@example.org",
        "grace@example.org",
        "vera@example.org",
    ]
    draft, *real, todays = world.messages()
    assert len({mail["Message-ID"] for mail in world.messages()}) == 4
    assert draft["List-Unsubscribe"] == real[0]["List-Unsubscribe"]
    for reader, mail in (("ada", draft), ("vera", todays)):
        assert mail["Subject"] == f"[Test] {real[0]['Subject']}"
        for kind in ("plain", "html"):
            body = text_of(mail, kind)
            assert f"Test mail to {reader}@example.org alone, nothing was marked as sent" in body
            assert "2611.00001" in body
    for mail in real:
        assert not any("test" in text_of(mail, kind).lower() for kind in ("plain", "html"))


def test_unreachable_arxiv_is_an_error(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    err = world.fails(1, "preview", "foundations")
    assert err.count("so no paper is lost") == 1
    assert "foundations: there are no papers yet, so there is nothing to show" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foundations", "--to", "nope"], "--to"),
        (["foundations", "--to", ""], "--to"),
        (["galaxy"], "did you mean 'galaxies'?"),
    ],
)
def test_bad_address_or_unknown_list_is_wrong_usage(
    world: World, arguments: list[str], message: str
) -> None:
    ran = world.run("preview", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_list_without_subscribers_can_be_previewed(world: World) -> None:
    """So that its topics can be tried before anybody is on it."""
    world.write(
        "subscribers.yaml", "lists:\n  - {name: x, categories: [cs.LG], topics: learning}\n"
    )
    world.announce(1)
    assert world.run("preview", "x").code == 0


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
    assert ran.code == 78
    assert "PAPERBOY_OUTBOX" in ran.err
