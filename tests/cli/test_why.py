"""`paperboy why` shows the life of one paper."""

from dataclasses import replace
from datetime import timedelta

import pytest

from paperboy.curate import MOST_MORNINGS
from paperboy.features.votes.rows import cast
from paperboy.models import Day, Outcome, Paper, PaperOutcome, Score
from paperboy.store.readers import Reader
from tests.builders import paper
from tests.cli.conftest import FRIDAY, LISTS, World
from tests.servers.smtp import Fault


def test_why_shows_a_paper_that_was_sent(world: World) -> None:
    world.smtp.faults.append(Fault("RCPT", "450 try later", address="ada@example.org"))
    world.announce(1)
    world.once()
    ran = world.run("why", "2611.00001")
    assert ran.code == 0
    assert ran.out == (
        "On the Learning of Paper 2611.00001\n"
        "https://arxiv.org/abs/2611.00001\n"
        "cs.LG; submitted Wed 18 Nov 2026 19:00 UTC, fetched Fri 20 Nov 2026 07:00 UTC\n"
        "\n"
        "foundations: selected, in the digest of Fri 20 Nov 2026 (1 sent, 1 deferred); the thresholds are relevance 7 "
        "and novelty 6\n"
        "  relevance 9, novelty 8, by gpt-6-luna, Fri 20 Nov 2026 07:00 UTC\n"
        "    It matters.\n"
        "\n"
        "galaxies: not in its categories (astro-ph.GA)\n"
    )
    world.smtp.faults.clear()
    world.run("resend", "foundations")
    assert "2 sent" in world.run("why", "2611.00001").out


@pytest.mark.parametrize(
    "written",
    [
        "arXiv:2611.00001",
        "2611.00001v3",
        "https://arxiv.org/abs/2611.00001v1",
        "https://arxiv.org/pdf/2611.00001.pdf",
    ],
)
def test_why_takes_an_id_with_prefix_or_version_and_an_address_at_arxiv(
    world: World, written: str
) -> None:
    world.announce(1)
    world.once()
    assert world.run("why", written).out.startswith("On the Learning of Paper 2611.00001\n")


def test_why_names_the_thresholds_and_the_followed_author(world: World) -> None:
    assert world.llm.scores is not None
    world.llm.scores["2611.00002"] = Score(5, 8, "")
    world.announce(1, 2)
    world.write("subscribers.yaml", LISTS.replace("Yoshua Bengio", "Ada Lovelace"))
    world.once()
    assert (
        "foundations: by Ada Lovelace, whom it follows, in the digest of Fri 20"
        in world.run("why", "2611.00001").out
    )
    world.write("subscribers.yaml", LISTS)
    world.announce(3)
    world.llm.scores["2611.00003"] = Score(5, 8, "")
    world.later(days=1)
    world.once()
    told = world.run("why", "2611.00003", "--list", "foundations").out
    assert (
        "foundations: below the thresholds on Sat 21 Nov 2026; the thresholds are relevance 7 and novelty 6\n"
        in told
    )
    assert "  relevance 5, novelty 8, by gpt-6-luna" in told
    assert "galaxies" not in told
    assert (
        "foundations: by an author it followed then, in the digest of Fri"
        in world.run("why", "2611.00001").out
    )


def test_score_of_the_embedded_scorer_has_no_novelty_in_why(world: World) -> None:
    world.env(llm=False)
    world.write(
        "subscribers.yaml",
        LISTS.replace("    authors: [Yoshua Bengio]\n", "    min_relevance: 10\n"),
    )
    world.announce(1)
    world.once()
    told = world.run("why", "2611.00001", "--list", "foundations").out
    assert (
        "foundations: below the thresholds on Fri 20 Nov 2026; the threshold is relevance 10; "
        "novelty was not judged\n" in told
    )
    assert ", novelty" not in told


def test_why_names_the_cap_and_the_start_of_a_list(world: World) -> None:
    world.write(
        "subscribers.yaml", LISTS.replace("    authors: [Yoshua Bengio]\n", "    max_papers: 1\n")
    )
    world.announce(1, 2)
    (old,) = world.announce(3)
    world.arxiv.papers.remove(old)
    world.arxiv.papers.append(replace(old, published=old.published - timedelta(days=3)))
    world.once()
    assert (
        "passed, but over the cap of 1; only named, in the digest"
        in world.run("why", "2611.00002").out
    )
    assert (
        "older than the list, or than its category, when that began on Fri"
        in world.run("why", "2611.00003").out
    )


DOI = "10.64898/2026.11.17.26700001"


def seen_on_friday(world: World, *papers: Paper, **became: PaperOutcome) -> None:
    """Store papers, of which the list foundations has seen those of these servers."""
    outcomes = {f"{key}:{DOI}": outcome for key, outcome in became.items()}
    day = Day("foundations", FRIDAY.date(), Outcome.NOTE, outcomes=outcomes)
    with world.store() as store:
        store.papers.add(papers, ["cs.LG"], FRIDAY)
        store.days.freeze(day, FRIDAY)


@pytest.mark.parametrize(
    "written",
    [
        f"medrxiv:{DOI}",
        f"https://www.medrxiv.org/content/{DOI}v2.full.pdf",
        DOI,
        f"https://doi.org/{DOI}",
    ],
)
def test_why_takes_a_doi_and_an_address_of_another_source(world: World, written: str) -> None:
    of = paper(
        f"medrxiv:{DOI}", primary_category="medrxiv/oncology", categories=("medrxiv/oncology",)
    )
    seen_on_friday(world, of)
    told = world.run("why", written).out
    assert told.startswith(
        f"On the Learning of Paper medrxiv:{DOI}\nhttps://www.medrxiv.org/content/{DOI}v1\nmedrxiv/oncology;"
    )
    lists = LISTS.replace("[cs.LG, stat.ML]", "[biorxiv, medrxiv/urology, cs.LG]")
    world.write("subscribers.yaml", lists)
    told = world.run("why", written).out
    assert (
        "foundations: not in its categories (bioRxiv, medRxiv (urology), arXiv (cs.LG))\n" in told
    )


@pytest.mark.parametrize(
    ("became", "told"),
    [
        (
            {"medrxiv": PaperOutcome.SELECTED},
            f"the same paper as medrxiv:{DOI}, which it has seen on Fri 20 Nov 2026",
        ),
        ({"medrxiv": PaperOutcome.BELOW}, "not scored yet; its next morning considers it"),
        ({"medrxiv": PaperOutcome.BEFORE_START}, "not scored yet; its next morning considers it"),
        ({}, "not scored yet; its next morning considers it"),
    ],
)
def test_why_names_the_other_id_under_which_a_list_has_seen_a_preprint(
    world: World, became: dict[str, PaperOutcome], told: str
) -> None:
    seen_on_friday(world, paper("2611.00001", doi=DOI), **became)
    assert f"foundations: {told}\n" in world.run("why", "2611.00001").out


def test_why_says_that_an_unscored_paper_comes_next_morning(world: World) -> None:
    world.announce(1)
    world.env(llm=True, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    world.once()
    told = world.run("why", "2611.00001").out
    assert "foundations: not scored yet; its next morning considers it" in told


def test_why_counts_the_failed_mornings_until_a_paper_is_let_go(world: World) -> None:
    """Whoever changes how many mornings that takes changes these words, and those of the mails."""
    assert MOST_MORNINGS == 3
    world.llm.unspeakable.add("2611.00001")
    world.announce(1)
    for number, told in enumerate(
        (
            "could not be scored on 1 morning, though others were; after the third it is let go",
            "could not be scored on 2 mornings, though others were; after the third it is let go",
            "let go on Wed 25 Nov 2026, because it could not be scored on three mornings, though others were",
        )
    ):
        world.clock.now = FRIDAY + timedelta(days=(0, 4, 5)[number])
        world.announce(10 + number)
        ran = world.once("foundations")
        assert ran.code == 0
        assert "foundations: 1 paper could not be scored: " in ran.err
        assert (
            f"\nfoundations: {told}\n"
            in world.run("why", "2611.00001", "--list", "foundations").out
        )


def test_why_says_that_the_llm_was_not_asked(world: World) -> None:
    world.announce(1)
    day = Day(
        "foundations", FRIDAY.date(), Outcome.NOTE, outcomes={"2611.00001": PaperOutcome.NOT_CALLED}
    )
    with world.store() as store:
        store.papers.add(world.arxiv.papers, ["cs.LG"], FRIDAY)
        store.days.freeze(day, FRIDAY)
    told = world.run("why", "2611.00001", "--list", "foundations").out
    assert told.endswith(
        "foundations: not called on Fri 20 Nov 2026: by what the list has learned, others of that day were more likely "
        "to pass, and the LLM was asked about those alone (LLM_SHORTLIST)\n"
    )


def test_why_shows_a_scored_paper_that_is_in_no_digest_yet(world: World) -> None:
    world.llm.unspeakable.add("2611.00001")
    world.announce(1, 2)
    world.once("foundations")
    world.llm.unspeakable.clear()
    world.later(days=1)
    world.run("once", "--list", "foundations", "--dry-run")
    assert "foundations: scored, but not in a digest yet" in world.run("why", "2611.00001").out


def test_why_remembers_a_paper_deleted_by_retention(world: World) -> None:
    """So it is never sent again. A list that did not have it is not named."""
    assert world.llm.scores is not None
    world.llm.scores["2611.00002"] = Score(5, 8, "")
    world.write("subscribers.yaml", LISTS.replace("Yoshua Bengio", "Nobody Else"))
    world.announce(1, 2)
    world.once()
    world.later(days=400)
    for week in range(5):  # an empty answer would be an error
        (announced,) = world.announce(week + 3)
        world.arxiv.papers[-1] = replace(
            announced, published=announced.published - timedelta(weeks=week)
        )
    world.once()
    ran = world.run("why", "2611.00001")
    assert ran.code == 0
    assert ran.out == (
        "https://arxiv.org/abs/2611.00001\n"
        "deleted after 365 days (KEEP_DAYS); its outcome is kept for ever\n"
        "\n"
        "foundations: selected, in the digest of Fri 20 Nov 2026 (no longer kept); the thresholds are relevance 7 "
        "and novelty 6\n"
    )
    assert (
        "foundations: below the thresholds on Fri 20 Nov 2026;"
        in world.run("why", "2611.00002").out
    )
    assert world.run("why", "2611.00002", "--list", "galaxies").code == 2


def test_unknown_ids_and_lists_are_wrong_usage(world: World) -> None:
    err = world.fails(2, "why", "2611.00001")
    assert "'2611.00001': no paper with that id was fetched" in err
    assert not (world.path / "data").exists()
    world.announce(1)
    world.once()
    ran = world.run("why", "2611.99999")
    assert ran.code == 2
    assert "'2611.99999': no paper with that id was fetched" in ran.err
    assert world.run("why", "2611.00001", "--list", "nope").code == 2


def test_why_counts_votes_by_list_and_names_nobody(world: World) -> None:
    world.announce(1)
    world.once()
    assert "votes" not in world.run("why", "2611.00001").out
    with world.store() as store:
        for name, vote in (("ada", 1), ("grace", 1), ("vera", 1), ("xada", -1)):
            cast(
                store.database,
                Reader("foundations", f"{name}@example.org"),
                {"2611.00001": vote},
                world.clock(),
            )
    told = world.run("why", "2611.00001").out
    assert (
        "    It matters.\n  votes: 3 up, 1 down\n\ngalaxies: not in its categories (astro-ph.GA)\n"
        in told
    )
    assert "ada" not in told.lower()
