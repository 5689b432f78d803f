"""Categories of bioRxiv and medRxiv, as data: "biorxiv/cell biology".

Named as in the records of their API, in lower case and without slashes ("hiv aids"). bioRxiv has
had no new papers in two of them since medRxiv began.
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
_BY_SERVER = {key: tuple(" ".join(names.split()).split(", ")) for key, names in _NAMES.items()}


def read(key: str, text: str) -> tuple[str, ...]:
    """Return the category that an item such as "bioRxiv/Cell_Biology" means; for a whole server,
    its key and all its categories. Raises ValueError, with a suggestion.
    """
    known = _BY_SERVER[key]
    server, slash, written = text.partition("/")
    if server.strip().lower() != key:  # with a colon, as in an id
        raise ValueError(f"unknown category {text!r}; write {key}/NAME, or {key} for all of it")
    if not slash:
        return (key, *(f"{key}/{name}" for name in known))

    name = _normal(written)
    if name in known:
        return (f"{key}/{name}",)
    others = [other for other, names in _BY_SERVER.items() if name in names]
    hint = f"; {others[0]} has it" if others else did_you_mean(name, known)
    example = f"; write one such as {key}/{known[0]}, or {key} for all of it"
    raise ValueError(f"unknown category {written!r} of {key}{hint or example}")


def of_record(key: str, name: str) -> str:
    """Return the category of a record; the server's key for a category that is not listed here."""
    normal = _normal(name)
    return f"{key}/{normal}" if normal in _BY_SERVER[key] else key


def _normal(name: str) -> str:
    return re.sub(r"[\s/_-]+", " ", name).strip().lower()
