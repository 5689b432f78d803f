"""The mails under test, each as its only reader gets it: through the real templates, composer and serialisation.

`MAILS` makes them by name. The papers are those of the demo's sample; what an LLM says of them is written here.
"""

from __future__ import annotations

import email
import email.policy
import importlib.resources
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from paperboy import curate, sample
from paperboy.home import lists as mailing_lists
from paperboy.home.settings import Settings
from paperboy.mail.message import Composer
from paperboy.mail.templates import Templates
from paperboy.models import (
    Alert,
    BriefSentence,
    Composed,
    Cost,
    Delivery,
    DeliveryState,
    Digest,
    Envelope,
    MailingList,
    Model,
    Paper,
    Score,
    Shortfall,
    Spending,
    Subscriber,
    ToScore,
    Usage,
)
from paperboy.scoring.local import LocalScorer
from paperboy.sources.arxiv import calendar as announcements

EMAILS = Path(__file__).parents[2] / "emails"
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
TODAY = date(2026, 11, 20)
ADA = Subscriber("ada@example.org", "Ada Lovelace")
LUNA = Model("gpt-6-luna", is_llm=True)
TEMPLATES = Templates.load([EMAILS])
COMPOSER = Composer(
    TEMPLATES,
    sender=Subscriber("papers@example.org", "Paperboy"),
    reply_to=None,
    secret=b"the secret of these tests",
)
WITH_WEB = replace(
    COMPOSER, web_url="https://papers.example.org", links=frozenset({"view", "vote"})
)


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail as it arrives, as a mail program reads it. `digest` is what it was made of; None for another mail."""

    subject: str
    html: str
    text: str
    message: bytes
    digest: Digest | None


def read(envelope: Envelope, digest: Digest | None) -> Mail:
    parsed = email.message_from_bytes(envelope.message, policy=email.policy.default)
    html = parsed.get_body(("html",))
    text = parsed.get_body(("plain",))
    assert html is not None
    assert text is not None
    return Mail(parsed["Subject"], html.get_content(), text.get_content(), envelope.message, digest)


def to_ada(digest: Digest) -> Delivery:
    name = digest.mailing_list.name
    return Delivery(name, COMPOSER.copy_for(name, digest.date, ADA), DeliveryState.SENDING)


def compose(digest: Digest, composer: Composer = COMPOSER, now: datetime = NOW) -> Composed:
    return composer.for_list(digest.mailing_list, digest.date).digest(digest, now)


def as_digest(digest: Digest, composer: Composer = COMPOSER) -> Mail:
    return read(composer.envelope(compose(digest, composer), to_ada(digest)), digest)


def as_test(digest: Digest) -> Mail:
    """As `paperboy preview --to` sends it."""
    return read(COMPOSER.envelope(compose(digest), to_ada(digest), test=True), digest)


def as_alert(alert: Alert) -> Mail:
    composed, copy = COMPOSER.alert(alert, ADA, NOW)
    return read(COMPOSER.envelope(composed, Delivery("", copy, DeliveryState.SENDING)), None)


def as_confirmation(mailing_list: MailingList) -> Mail:
    composed, copy = WITH_WEB.confirmation(mailing_list, ADA, "0" * 32, NOW)
    return read(COMPOSER.envelope(composed, Delivery("", copy, DeliveryState.SENDING)), None)


def curated(
    mailing_list: MailingList,
    papers: Sequence[Paper],
    scores: Mapping[str, Score],
    *,
    model: Model = LUNA,
    spending: Spending | None = None,
    let_go: Sequence[Paper] = (),
    day: date = TODAY,
) -> Digest:
    """The digest that a morning would make of these papers and scores."""
    spending = spending or Spending(
        Usage(calls=1, prompt_tokens=21_034, completion_tokens=4_120), Cost(0.021, 0.05)
    )
    of = curate.curate(Digest(mailing_list, day, model, spending), papers, scores, {})
    counts = replace(of.counts, considered=of.counts.considered + len(let_go), let_go=len(let_go))
    return replace(of, counts=counts, let_go=tuple(let_go))


# --- what the sample gives


@cache
def sample_lists() -> Mapping[str, MailingList]:
    """The demo's lists by name, as an LLM would serve them."""
    with importlib.resources.as_file(sample.LISTS) as file:
        lists = mailing_lists.load(file, [], Settings(timezone=ZoneInfo("Europe/Berlin")))
    return {mailing_list.name: replace(mailing_list, min_relevance=7) for mailing_list in lists}


@cache
def sample_papers() -> tuple[Paper, ...]:
    batch = announcements.newest_batch(NOW)
    return sample.papers(batch.submitted_until)


def in_categories(mailing_list: MailingList) -> tuple[Paper, ...]:
    return tuple(
        paper for paper in sample_papers() if set(paper.categories) & set(mailing_list.categories)
    )


BELOW = Score(3, 4)
JUDGED = {
    "2611.90031": Score(
        9, 8, "Says what the edge of stability does for you: gradient descent forgets the scale it started from and "
        "settles on the least-$\\ell_1$ solution. The proof covers diagonal linear networks; residual networks and "
        "transformers only agree, within 20%."
    ),
    "2611.90052": Score(
        2, 5, "Far from your topics, and charming: an audio network learns to hear hedgehogs from forty labelled "
        "minutes. Read it for how honestly it says what such counts cannot tell."
    ),
    "2611.90053": Score(
        3, 3, "A survey outside your topics. One finding travels: under a common protocol, more than half of the "
        "spread between published methods goes away."
    ),
    "2611.90040": Score(
        10, 9, "If you read one paper today, this one. Superposition gets exact transition points from replica theory, "
        "and trained language models then show the phases, at depths that shift with width as predicted. It also "
        "explains why circuits look sparse under ablation and dense under probing."
    ),
    "2611.90042": Score(
        10, 9, "How often may data repeat? A closed form answers from the spectrum at initialisation, before anything "
        "is trained, and holds up to 2.8 billion parameters. Two predictions failed, and the authors show you both."
    ),
    "2611.90043": Score(
        9, 9, "Every weight that matters in a network that adds, down to the mistakes it makes. A good test for anyone "
        "who finds circuits by machine: none of five such methods sees the doubling chain."
    ),
    "2611.90032": Score(
        9, 8, "Pins down the one thing that cheap attention loses, an argmax over near-ties, with a matching lower "
        "bound, and counts how often real text cares: ten times more in source code than in prose."
    ),
    "2611.90033": Score(
        9, 8, "Depth is to state-space models what heads are to attention: k + 1 layers for k nested counters, no "
        "fewer. The proofs are constructive, and probing finds the counters in pretrained models as well."
    ),
    "2611.90035": Score(
        9, 8, "A bound on generalisation that is not vacuous for 274 of 312 networks, with a proof of where such "
        "bounds must fail. The faster rate rests on late gradients staying in a small subspace: check whether yours do."
    ),
    "2611.90046": Score(
        9, 7, "An exact line, k < d, between mixtures without bad valleys and those with them. The side result on why "
        "experts die in training is the part you may want to use tomorrow."
    ),
    "2611.90005": Score(
        8, 7, "Conformal coverage that survives its own consequences, for one more quantile per round, and a theorem "
        "on when nothing can hold it. Matters wherever a model retrains on what it caused."
    ),
    "2611.90028": Score(
        8, 7, "Identifiable features from unlabelled pairs of environments, with the rate and a matching lower bound. "
        "Every latent has to shift in some pair; for language it will not, and the paper says so."
    ),
    "2611.90036": Score(7, 8, "One sentence of abstract, one theorem on what batches of two do."),
    "2611.90047": Score(7, 7, "Optimal constants without memory, by a proof in exact arithmetic."),
    "2611.90008": Score(7, 6, "The price of privacy for kernel means, up to a logarithm."),
}  # fmt: skip
TOPICS = {
    "2611.90031": 1, "2611.90042": 1, "2611.90035": 1, "2611.90046": 1, "2611.90036": 1, "2611.90047": 1,
    "2611.90040": 2, "2611.90043": 2, "2611.90028": 2, "2611.90032": 3, "2611.90033": 3, "2611.90005": 4,
    "2611.90008": 4,
}  # fmt: skip
BRIEF = (
    BriefSentence(
        "Superposition gets exact transition points that trained models show, and a closed form says how often data "
        "may repeat.",
        ("2611.90040", "2611.90042"),
        ("Superposition", "repeat"),
    ),
    BriefSentence(
        "What cheap architectures lose is pinned down: attention in O(n log n) misses one argmax, and one state-space "
        "layer cannot count.",
        ("2611.90032", "2611.90033"),
        ("attention", "cannot count"),
    ),
)
WITHOUT_SCORE = {"2611.90051", "2611.90063"}  # the LLM failed on them, and they come back


def sample_digest() -> Digest:
    """A good morning of `foundations`: three papers by followed authors, nine selected, three over the cap, and two
    that come back. The README's picture shows it.
    """
    foundations = replace(
        sample_lists()["foundations"],
        authors=("Rosalind Achebe-Thorne", "Noémie Okonkwo-Lindahl"),
        max_papers=9,
        subscribers=(ADA,),
    )
    papers = in_categories(foundations)
    scores = {
        p.id: replace(JUDGED.get(p.id, BELOW), topic=TOPICS.get(p.id))
        for p in papers
        if p.id not in WITHOUT_SCORE
    }
    usage = Usage(
        2, 12_846, 1_536, cache_write_tokens=1_210, completion_tokens=2_317, reasoning_tokens=448
    )
    of = curated(foundations, papers, scores, spending=Spending(usage, Cost(0.0101, 0.0139)))
    return replace(of, brief=BRIEF)


def embedded_digest() -> Digest:
    """A morning of `galaxies` as `paperboy demo` makes it: no LLM, no comments, no novelty."""
    return embedded(replace(sample_lists()["galaxies"], min_relevance=5))


def embedded(mailing_list: MailingList) -> Digest:
    """The sample's papers as the embedded scorer ranks them for a list."""
    papers = in_categories(mailing_list)
    local = LocalScorer()
    [scored] = local.score([ToScore(mailing_list, papers, papers)])
    return curated(mailing_list, papers, scored.scores, model=local.model, spending=Spending())


LIBRARY = (
    "Quenching of faint dwarf galaxies by reionisation: ancient stellar populations in 25 satellites",
    "Stellar streams as probes of dark subhaloes: gaps, spurs and kinks",
    "Cored or cuspy? Dark matter density profiles of isolated dwarf galaxies",
    "The disruption of satellites in the haloes of nearby hosts",
    "Gas stripping of dwarf galaxies in the outskirts of groups",
)


def library_digest() -> Digest:
    """The same papers for a list without topics, in whose place five titles of a library stand."""
    galaxies = replace(
        sample_lists()["galaxies"],
        topics="",
        library="galaxies.bib",
        titles=LIBRARY,
        library_size=len(LIBRARY),
        min_relevance=5,
    )
    return embedded(galaxies)


def library_note() -> Digest:
    """A morning of that list on which an LLM let no paper pass, as a followed author wrote none."""
    galaxies = replace(library_digest().mailing_list, authors=())
    papers = in_categories(galaxies)
    return curated(galaxies, papers, {paper.id: BELOW for paper in papers})


JUDGED_CELLS = {
    "biorxiv:10.64898/2026.11.12.900011": Score(
        9, 8, "Which cells start a fin again, with the enhancers that open before any cell divides, and a control that "
        "most atlases lack: the fin that does not regrow.", 1
    ),
    "biorxiv:10.64898/2026.11.13.900013": Score(
        10, 9, "310 enhancers edited one at a time: insulation predicts the target, loops do not. A boundary that was "
        "moved moved the target in eleven of twelve cases.", 2
    ),
    "biorxiv:10.64898/2026.11.12.900012": Score(
        9, 7, "Seven in ten doublet-like clusters are free RNA. The test needs no raw matrix.", 1
    ),
    "biorxiv:10.64898/2026.11.13.900014": Score(
        8, 8, "Divisions follow the neighbours' clock and not the stretch, until one junction is silenced.", 3
    ),
    "biorxiv:10.64898/2026.11.13.900015": Score(
        8, 7, "A memory of starvation that travels with lysosomes through two divisions.", 3
    ),
    "medrxiv:10.64898/2026.11.13.26900016": Score(
        7, 6, "What a circulating cell is says more than how many there are; one cohort, not replicated.", 3
    ),
    "2611.90065": Score(8, 7, "Atlases are aligned by the distances within them; a type may have no counterpart.", 1),
    "2611.90066": Score(7, 7, "Which ratios of splicing rates a snapshot determines, whatever the noise.", 2),
    "journal:10.5555/tbl.2026.0117": Score(
        9, 8, "Old mitochondria decide which daughter differentiates, in 88% of the pairs. Where old and new are "
        "mixed, it is chance.", 3
    ),
    "journal:10.5555/tbl.2026.0119": Score(
        7, 6, "By its title, an atlas of gills with the states of stress that a hibernation brings.", 1
    ),
    "journal:0f3c9a7be2d15864": Score(
        8, 7, "Counts cells that a droplet lost from the ones that it kept twice; the error is known in advance.", 1
    ),
}  # fmt: skip


def mixed_digest() -> Digest:
    """A good morning of `cells`, with papers of preprint servers and of two journals, a third of which is late. One
    paper has no abstract, and one no DOI.
    """
    sample_list = sample_lists()["cells"]
    more = ("journal/Annals of Cell Counting", "journal/Mellum Society Letters")
    cells = replace(sample_list, categories=(*sample_list.categories, *more))
    without_doi = replace(
        in_categories(cells)[0],
        id="journal:0f3c9a7be2d15864",
        title="Counting the cells that droplets lose",
        authors=("Gudrun Sætre", "Elif Tanaka-Moss"),
        abstract="Droplets lose cells, and no count says how many. We estimate the number from cells that were "
        "captured twice, as ecologists estimate fish in a lake, and give its error before the experiment.",
        primary_category=more[0],
        categories=more[:1],
        doi="",
        license="publisher",
        link="https://annals.example.org/article/26/11/418",
    )
    of = curated(cells, [*in_categories(cells), without_doi], JUDGED_CELLS)
    return replace(of, late=("Mellum Society Letters",))


def heavy_digest(number: int) -> Digest:
    """That many papers, all selected; the sample's over and over, each under an id of its own."""
    everything = replace(
        sample_lists()["foundations"], max_papers=number, authors=("Gonzalo de la Peña-Ruiz",)
    )
    source = [paper for paper in sample_papers() if ":" not in paper.id]
    papers = [replace(source[n % len(source)], id=f"2611.{n + 1:05}") for n in range(number)]
    remark = (
        "Careful work on a question that this list asks; the last table is what to look at first."
    )
    scores = {paper.id: Score(10 - n * 4 // number, 7, remark) for n, paper in enumerate(papers)}
    return curated(everything, papers, scores)


def empty_digest() -> Digest:
    """Papers came, and none passed of those that the day's budget was enough for."""
    foundations = sample_lists()["foundations"]
    papers = [
        paper
        for paper in in_categories(foundations)
        if "Noémie Okonkwo-Lindahl" not in paper.authors
    ]
    scores = {paper.id: BELOW for paper in papers[:-4]}
    usage = Usage(2, prompt_tokens=11_020, completion_tokens=903)
    of = curated(foundations, papers, scores, spending=Spending(usage, Cost(0.0101, 0.0054)))
    return replace(of, shortfall=Shortfall.BUDGET)


def single_digest() -> Digest:
    """One paper without an abstract, by a model whose server counts no tokens; another was let go."""
    foundations = replace(sample_lists()["foundations"], topics="Theory.", authors=())
    paper = sample_papers()[35]
    other = sample_papers()[0]
    spending = Spending(Usage(calls=1), cost=None)
    scores = {paper.id: Score(8, 7, "Short, and right.")}
    return curated(
        foundations, [replace(paper, abstract="")], scores, spending=spending, let_go=[other]
    )


def in_german(digest: Digest) -> Digest:
    """The digest for a list in German, by the embedded sentence; its comments stay in English."""
    german = {
        "foundations": "Grundlagen des maschinellen Lernens",
        "galaxies": "Zwerggalaxien und ihre Umgebung",
        "cells": "Genome und einzelne Zellen",
    }
    name = digest.mailing_list.name
    ours = replace(digest.mailing_list, language="de", title=german[name])
    return replace(digest, mailing_list=ours, brief=())


HOSTILE = (
    "<script>alert(1)</script> a < b && c > d \"q\" 'q' "
    "\N{RIGHT-TO-LEFT OVERRIDE}evil \0\x07 🙂 {{ page }} <mj-text>"
)


def odd_digest() -> Digest:
    """What nobody should write: endless words, addresses, formulas and lists of authors, and mark-up anywhere."""
    first = sample_papers()[0]
    url = "https://example.org/" + "a-very-long-path/" * 40 + "?q=" + "x" * 300
    formula = (
        "$"
        + "+".join(rf"\frac{{a_{{{n}}}^{{{n}}}}}{{\mathfrak{{b}}_{{{n}}}}}" for n in range(80))
        + "$"
    )
    names = tuple(f"Author Number {n} O'Brien" for n in range(3_000))
    papers = (
        replace(
            first,
            title="w" * 5_000,
            abstract=f"See {url} for more. {url}",
            authors=("A" * 300, "Bo Short"),
        ),
        replace(first, title=f"On {formula}", abstract=f"We study {formula}. " * 3, authors=names),
        replace(
            first, title=HOSTILE, abstract=HOSTILE * 10, authors=(HOSTILE, 'O\'Brien, "Bob" <x@y>')
        ),
        replace(first, title="", abstract="", authors=()),
        replace(first, title="漢字" * 150, abstract="数学的構造" * 400, authors=("山田太郎",)),
    )
    papers = tuple(replace(paper, id=f"2611.0000{n}") for n, paper in enumerate(papers, start=1))
    scores = {
        paper.id: Score(9, 8, f"{HOSTILE} **bold** [link](https://x.example) " * 30)
        for paper in papers
    }
    odd = replace(
        sample_lists()["foundations"],
        title="T" * 200,
        topics=f"{HOSTILE}\n\n{'x' * 2_000}",
        authors=(),
    )
    return curated(odd, papers, scores, let_go=[replace(first, title="y" * 3_000)])


def alert() -> Alert:
    refused = "api.openai.com answers every call with 401: the key is not valid."
    lost = "No digest was made this morning, and no paper is lost: they wait for the next one."
    mend = "Put a valid key into .env as OPENAI_API_KEY; paperboy check tries it, paperboy once makes today's mail."
    reply = "api.openai.com said: 401 invalid_api_key " + "0123456789abcdef" * 12
    waiting = "foundations: 31 papers wait since Friday, 20 November 2026"
    return Alert("The LLM refuses the key", (f"{refused} {lost}", mend), (waiting, reply))


MAILS: Mapping[str, Callable[[], Mail]] = {
    "digest": cache(lambda: as_digest(sample_digest())),
    "embedded": cache(lambda: as_digest(embedded_digest())),
    "mixed": cache(lambda: as_digest(mixed_digest())),
    "heavy": cache(lambda: as_digest(heavy_digest(64))),
    "heaviest": cache(lambda: as_digest(heavy_digest(183))),
    "single": cache(lambda: as_digest(single_digest())),
    "odd": cache(lambda: as_digest(odd_digest())),
    "test": cache(lambda: as_test(sample_digest())),
    "note": cache(lambda: as_digest(empty_digest())),
    "web": cache(lambda: as_digest(sample_digest(), WITH_WEB)),
    "web-heaviest": cache(lambda: as_digest(heavy_digest(183), WITH_WEB)),
    "web-note": cache(lambda: as_digest(empty_digest(), WITH_WEB)),
    "german": cache(lambda: as_digest(in_german(sample_digest()), WITH_WEB)),
    "german-note": cache(lambda: as_digest(in_german(empty_digest()))),
    "library": cache(lambda: as_digest(library_digest())),
    "german-library": cache(lambda: as_digest(in_german(library_digest()), WITH_WEB)),
    "german-library-note": cache(lambda: as_digest(in_german(library_note()))),
    "german-mixed": cache(lambda: as_digest(in_german(mixed_digest()), WITH_WEB)),
    "alert": cache(lambda: as_alert(alert())),
    "confirm": cache(lambda: as_confirmation(empty_digest().mailing_list)),
}
