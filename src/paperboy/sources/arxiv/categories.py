"""arXiv's category taxonomy as data.

After <https://arxiv.org/category_taxonomy>. Aliases such as `cs.NA` for `math.NA` are categories of
their own here: papers carry both.
"""

from paperboy.edges.text import did_you_mean

_IN_ARCHIVES = {
    "astro-ph": "CO EP GA HE IM SR",
    "cond-mat": "dis-nn mes-hall mtrl-sci other quant-gas soft stat-mech str-el supr-con",
    "cs": "AI AR CC CE CG CL CR CV CY DB DC DL DM DS ET FL GL GR GT HC IR IT LG LO MA MM MS NA NE NI OH OS PF PL RO SC"
    " SD SE SI SY",
    "econ": "EM GN TH",
    "eess": "AS IV SP SY",
    "math": "AC AG AP AT CA CO CT CV DG DS FA GM GN GR GT HO IT KT LO MG MP NA NT OA OC PR QA RA RT SG SP ST",
    "nlin": "AO CD CG PS SI",
    "physics": "acc-ph ao-ph app-ph atm-clus atom-ph bio-ph chem-ph class-ph comp-ph data-an ed-ph flu-dyn gen-ph"
    " geo-ph hist-ph ins-det med-ph optics plasm-ph pop-ph soc-ph space-ph",
    "q-bio": "BM CB GN MN NC OT PE QM SC TO",
    "q-fin": "CP EC GN MF PM PR RM ST TR",
    "stat": "AP CO ME ML OT TH",
}
_UNDIVIDED = "gr-qc hep-ex hep-lat hep-ph hep-th math-ph nucl-ex nucl-th quant-ph"

# Archives that were categories before they were divided. Such a name stands for all their present
# categories.
_DIVIDED_LATER = ("astro-ph", "cond-mat", "nlin", "q-bio")

_SUBJECTS = [
    f"{archive}.{subject}"
    for archive, subjects in _IN_ARCHIVES.items()
    for subject in subjects.split()
]
CATEGORIES = frozenset([*_SUBJECTS, *_UNDIVIDED.split(), *_DIVIDED_LATER])

# Archives that are not categories themselves: no paper is in plain "cs".
ARCHIVES_ONLY = frozenset(_IN_ARCHIVES) - CATEGORIES


def read(text: str) -> tuple[str, ...]:
    """Return the category; for a whole archive such as `astro-ph`, also all its present categories.
    Raises ValueError, with a suggestion.
    """
    if text in CATEGORIES:
        subjects = _IN_ARCHIVES[text].split() if text in _DIVIDED_LATER else []
        return (text, *(f"{text}.{subject}" for subject in subjects))
    if text in ARCHIVES_ONLY:
        example = min(category for category in CATEGORIES if category.startswith(f"{text}."))
        raise ValueError(f"{text!r} is a whole archive; name its categories, such as {example}")
    # With a lower cutoff, any two names of one archive would be alike.
    hint = did_you_mean(text, CATEGORIES, cutoff=0.85)
    hint = hint or "; they are listed at arxiv.org/category_taxonomy"
    raise ValueError(f"unknown category {text!r}{hint}")
