"""Mornings in brief are paid for once."""

from datetime import timedelta

from paperboy.models import BriefSentence
from paperboy.store import Store
from tests.store.ledger import NOW

BRIEF = (BriefSentence("Zwerge lernen früh.", ("2611.00001", "astro-ph/0601001"), ("Zwerge", "")),)


def test_kept_brief_is_found_by_list_and_key(store: Store) -> None:
    store.briefs.keep("foundations", "abc", BRIEF, NOW)
    assert store.briefs.kept("foundations", "abc") == BRIEF
    assert store.briefs.kept("foundations", "another") is None
    assert store.briefs.kept("galaxies", "abc") is None


def test_brief_without_a_usable_sentence_is_kept_as_such(store: Store) -> None:
    store.briefs.keep("foundations", "abc", (), NOW)
    assert store.briefs.kept("foundations", "abc") == ()


def test_brief_goes_after_31_days(store: Store) -> None:
    """Its digest has it, and no preview shows such old papers."""
    store.briefs.keep("foundations", "old", BRIEF, NOW - timedelta(days=31, seconds=1))
    store.briefs.keep("foundations", "new", BRIEF, NOW - timedelta(days=31))
    store.retention.thin(timedelta(days=365), ["foundations"], NOW)
    kept = {key: store.briefs.kept("foundations", key) for key in ("old", "new")}
    assert kept == {"old": None, "new": BRIEF}
