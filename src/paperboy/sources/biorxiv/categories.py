"""Categories of bioRxiv and medRxiv, as data: "biorxiv/cell biology".

After what their API names in its records, in lower case and without slashes ("hiv aids"). bioRxiv
has had no new papers in two of them since medRxiv began.
"""

import re

from paperboy.edges.text import did_you_mean

_NAMES = {
    "biorxiv": """
        animal behavior and cognition, biochemistry, bioengineering, bioinformatics, biophysics, cancer biology,
        cell biology, clinical trials, developmental biology, ecology, epidemiology, evolutionary biology, genetics,
        genomics, immunology, microbiology, molecular biology, neuroscience, paleontology, pathology,
        pharmacology and toxicology, physiology, plant biology, scientific communication and education,
        synthetic biology, systems biology, zoology
        """,
    "medrxiv": """
        addiction medicine, allergy and immunology, anesthesia, cardiovascular medicine, dentistry and oral medicine,
        dermatology, emergency medicine, endocrinology, epidemiology, forensic medicine, gastroenterology,
        genetic and genomic medicine, geriatric medicine, health economics, health informatics, health policy,
        health systems and quality improvement, hematology, hiv aids, infectious diseases,
        intensive care and critical care medicine, medical education, medical ethics, nephrology, neurology, nursing,
        nutrition, obstetrics and gynecology, occupational and environmental health, oncology, ophthalmology,
        orthopedics, otolaryngology, pain medicine, palliative medicine, pathology, pediatrics,
        pharmacology and therapeutics, primary care research, psychiatry and clinical psychology,
        public and global health, radiology and imaging, rehabilitation medicine and physical therapy,
        respiratory medicine, rheumatology, sexual and reproductive health, sports medicine, surgery, toxicology,
        transplantation, urology
        """,
}
_BY_SERVER = {
    key: tuple(f"{key}/{name}" for name in " ".join(names.split()).split(", "))
    for key, names in _NAMES.items()
}


def read(key: str, text: str) -> tuple[str, ...]:
    """Return the category that an item such as "bioRxiv/Cell_Biology" means; for a whole server,
    its key and all its categories. Raises ValueError, with a suggestion.
    """
    known = _BY_SERVER[key]
    server, slash, name = text.partition("/")
    if not slash:
        return (key, *known)

    category = _category(key, name)
    if category in known:
        return (category,)
    hint = did_you_mean(category, known) or f"; such as {known[0]}, or {key} for all of it"
    raise ValueError(f"unknown category {text!r} of {server}{hint}")


def of_record(key: str, name: str) -> str:
    """Return the category of a record. A new one is only within the whole server, its key."""
    category = _category(key, name)
    return category if category in _BY_SERVER[key] else key


def _category(key: str, name: str) -> str:
    words = re.sub(r"[\s/_-]+", " ", name).strip().lower()
    return f"{key}/{words}"
