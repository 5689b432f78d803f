"""A digest as the web room keeps it."""

from __future__ import annotations

from dataclasses import replace

from paperboy.mail import archive
from tests.builders import EMBEDDED, digest, entries


def test_digest_comes_back_as_it_was() -> None:
    of = digest(model=replace(EMBEDDED, learned_from="votes"), nearest=entries(2))
    of = replace(of, counts=replace(of.counts, considered=53, not_called=40))
    papers = {entry.paper.id: entry.paper for entry in of.entries + of.nearest}
    thawed = archive.load(archive.dump(of), lambda _: papers)
    assert replace(thawed, mailing_list=of.mailing_list) == of
