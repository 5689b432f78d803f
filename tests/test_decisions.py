"""Each paper's fate, in a line that says why."""

from paperboy.curate import curate
from paperboy.decisions import explained
from paperboy.models import Score
from tests.builders import mailing_list, paper


def test_each_paper_is_explained() -> None:
    papers = [paper(f"2611.0000{number}") for number in range(1, 8)]
    papers[0] = paper("2611.00001", authors=("Yoshua Bengio",))
    scores = {
        "2611.00001": Score(2, 2),
        "2611.00002": Score(9, 8, "It matters."),
        "2611.00003": Score(7, None),
        "2611.00004": Score(9, 3),
    }
    followed = mailing_list(authors=("Yoshua Bengio",), max_papers=1)
    unscored = {"2611.00005": "the LLM filters it", "2611.00006": "the LLM filters it"}
    curation = curate(followed, papers, scores, {"2611.00005": 3, "2611.00006": 1})
    assert list(explained(followed, curation, scores, unscored, "the LLM went away")) == [
        "2611.00001: rank 1, author match Yoshua Bengio (relevance 2 of 7 needed, novelty 2 of 6 needed)",
        "2611.00002: rank 2, selected (relevance 9 of 7 needed, novelty 8 of 6 needed)",
        "2611.00003: rank 3, over the cap of 1 (relevance 7 of 7 needed, novelty not judged)",
        "2611.00004: below (relevance 9 of 7 needed, novelty 3 of 6 needed)",
        "2611.00006: carried over, no score (the LLM filters it)",
        "2611.00007: carried over, no score (the LLM went away)",
        "2611.00005: let go, no score (the LLM filters it)",
    ]


def test_what_nobody_asked_for_is_said_so() -> None:
    curation = curate(mailing_list(), [paper("2611.00001")], {}, {})
    (line,) = explained(mailing_list(), curation, {}, {}, "")
    assert line == "2611.00001: carried over, no score (it was not asked for)"
