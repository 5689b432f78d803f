"""The morning in brief: `prompts/brief.md.j2` → the question about a digest's papers, and the reply
→ its sentences. Pure, except for reading the template.

The LLM gets titles, comments and topics of the chosen papers, and no names of people. Its sentences
are untrusted: `read_brief` takes at most three. Each must be about chosen papers, in plain words,
and contain neither authors' names nor web addresses, as written or as readers see it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from paperboy import topics
from paperboy.curate import best_first, name_key, name_words
from paperboy.edges.text import one_line
from paperboy.edges.text import sentences as split
from paperboy.errors import ConfigError
from paperboy.models import BriefSentence, Digest
from paperboy.scoring.prompt import Question
from paperboy.scoring.reply import is_readable, read_arrays, seen
from paperboy.scoring.template import ANOTHER, ENGLISH, Template, as_data
from paperboy.sources import read_id

TEMPLATE = "brief.md.j2"
MOST_SENTENCES = 3
MOST_WORDS = 40
MOST_IDS = 4  # of a sentence
MOST_CHARACTERS = 400  # of a sentence: words do not limit a language without spaces
MOST_REPLY = 40_000  # characters; the rest is not read

_PAPER = {
    "type": "object",
    "properties": {"arxiv_id": {"type": "string"}, "words": {"type": "string"}},
    "required": ["arxiv_id", "words"],
    "additionalProperties": False,
}
_SENTENCE = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "papers": {"type": "array", "items": _PAPER},
    },
    "required": ["text", "papers"],
    "additionalProperties": False,
}
SCHEMA = {  # JSON schema of a reply
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": _SENTENCE}},
    "required": ["sentences"],
    "additionalProperties": False,
}

_ADDRESS = re.compile(
    r"@|[a-z0-9]://|\bwww\.|\bmailto:|\w\.[^\W\d_]{2,}+(?!\d)",  # mail programs link example.org
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"""
    `|~~|<[a-z/!]|&\#?\w+;  # code, or HTML
    |\]\s?[(\[]  # a link
    |^(?:\#{1,6}|[-*+>]|\d+\.)\s  # a heading, or an item
    |(?<![\w*^])(\*{1,3}|_{1,3})(?=[^\s*_]).*?(?<=[^\s*_])\1(?![\w*])  # emphasis, but not in "Sgr A*"
    """,
    re.IGNORECASE | re.VERBOSE,
)

# Letters of other scripts that look Latin, and small capitals.
_LOOKALIKES = str.maketrans(
    "АВЕКМНОРСТУХІЈЅаеорсухіјѕһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢɑɡ",
    "ABEKMHOPCTYXIJSaeopcyxijshdqwABEZHIKMNOPTYXaeikvoptuxABCDEGHIJKLMNOPRTUVWYZag",
)
_BEGINNINGS = frozenset("a an as at can do he how if in it may no on see so such the to we".split())  # noqa: SIM905

# Invented papers, to try a template with.
_EXAMPLES = (
    {
        "arxiv_id": "2611.00001",
        "title": "How robins find their way",
        "topic": "Bird navigation",
        "comment": "Robins learn the sky's turning.",
    },
    {
        "arxiv_id": "astro-ph/0611001",
        "title": "A survey of dusty disks",
        "topic": "",
        "comment": "",
    },
)


class BriefPrompt(Template):
    """Prompt for the morning in brief, read from the first of `folders` that has the template.

    Raises ConfigError if the template is missing or broken, lacks a block, or does not show each
    paper.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(folders, TEMPLATE)
        words = [paper[name] for paper in _EXAMPLES for name in ("arxiv_id", "title", "comment")]
        problems = [
            *self.try_block("task"),
            *self.try_block(
                "papers",
                words,
                "each paper's arxiv_id, title and comment",
                papers=_EXAMPLES,
            ),
            *self.try_block("language", language=ENGLISH),
            *self.try_block("language", language=ANOTHER),
        ]
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))

        self._template = self.text

    def question(self, digest: Digest) -> Question:
        """Ask for the sentences. Raises ConfigError if the template fails on the papers."""
        names = topics.read(digest.mailing_list.topics).names
        papers = list[Mapping[str, str]]()
        for entry in sorted(digest.entries, key=partial(best_first, {}, {})):
            score = entry.score
            number = score.topic if score and score.topic else 0
            papers.append(
                {
                    "arxiv_id": entry.paper.id,
                    "title": as_data(entry.paper.title),
                    "topic": as_data(names[number - 1]) if 1 <= number <= len(names) else "",
                    "comment": as_data(score.comment) if score else "",
                }
            )

        return Question(
            self.render("task"),
            shared=self.render("papers", papers=papers),
            own=self.render("language", language=digest.mailing_list.language),
            schema=SCHEMA,
        )

    def key(self, digest: Digest, criteria: str) -> str:
        """Fingerprint what the sentences depend on, in 16 hex digits: the papers, whatever their
        order; the criteria by which they were chosen; the template, the model and the language; and
        the followed authors, who must not be named.
        """
        mailing_list = digest.mailing_list
        parts = [
            *sorted(entry.paper.id for entry in digest.entries),
            criteria,
            self._template,
            digest.model.name,
            mailing_list.language,
            *mailing_list.authors,
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def read_brief(
    text: str,
    digest: Digest,
    hidden: Callable[[str], str] = str,
) -> tuple[BriefSentence, ...]:
    """Read the first three usable sentences of a reply, from the last whole array that has any: a
    model may draft first. `hidden` removes secrets.
    """
    chosen = {entry.paper.id for entry in digest.entries}
    names = {name for entry in digest.entries for name in entry.paper.authors}
    authors = {_phrase(form) for name in names for form in (name, _in_latin(name))}
    followed = {_surname(name) for name in digest.mailing_list.authors if _phrase(name).strip()}

    for array in reversed(read_arrays(text, MOST_REPLY)):
        sentences = list[BriefSentence]()
        used = set[str]()
        for item in array:
            papers = _papers(item.get("papers") or item.get("arxiv_ids"))
            written = item.get("text")
            words = hidden(one_line(written[:1000])) if isinstance(written, str) else ""
            about_chosen = papers and chosen.issuperset(papers)
            if about_chosen and _is_plain(words) and not _names(words, authors, followed):
                parts = [seen(part).casefold().rstrip(" .!?…。") for part in split(words)]
                if len(used.union(parts)) == len(used) + len(parts):  # no part is repeated
                    links = (said if said in words else "" for said in papers.values())
                    sentences.append(BriefSentence(words, tuple(papers), tuple(links)))
                    used.update(parts)

        if sentences:
            return tuple(sentences[:MOST_SENTENCES])

    return ()


def _papers(written: object) -> dict[str, str]:
    """Read the first papers of a sentence: by id, the words that refer to the paper, if any.
    Operators' templates may ask for ids alone. Text without an id is read as the empty id.
    """
    papers = dict[str, str]()
    for paper in written if isinstance(written, list) else []:
        item = paper if isinstance(paper, dict) else {"arxiv_id": paper}
        written_id = item.get("arxiv_id")
        words = item.get("words")
        paper_id = read_id(written_id.strip(" []\n")) if isinstance(written_id, str) else ""
        papers.setdefault(paper_id, one_line(words) if isinstance(words, str) else "")
    return dict(islice(papers.items(), MOST_IDS))


def _is_plain(sentence: str) -> bool:
    """Check that a sentence is short and readable, without mark-up or text that may become a link."""
    if len(sentence) > MOST_CHARACTERS or len(sentence.split()) > MOST_WORDS:
        return False
    shown = seen(sentence)
    usual = unicodedata.normalize("NFKC", shown)  # ＠ is an @
    if not is_readable(shown) or _ADDRESS.search(f"{sentence} {usual}"):
        return False
    return not _MARKUP.search(sentence)


def _names(sentence: str, authors: Collection[str], surnames: Collection[str]) -> bool:
    """Check whether a sentence, as written or as readers see its TeX, has an author's whole name,
    or a followed author's surname, perhaps with an ending. Surnames may be ordinary words, so words
    in lower case are ignored, as is an "An" or "He" that begins the sentence.
    """
    for text in map(_in_latin, (sentence, seen(sentence))):
        every = _phrase(text)
        if any(name in every or (not name.isascii() and name.strip() in every) for name in authors):
            return True

        for place, word in enumerate(text.split()):
            for part in () if word.islower() else _phrase(word).split():
                is_word = place == 0 and part in _BEGINNINGS
                if not is_word and any(_may_be(part, surname) for surname in surnames):
                    return True

    return False


def _may_be(word: str, surname: str) -> bool:
    return word.startswith(surname) and len(word) <= len(surname) + (2 if len(surname) > 3 else 0)


def _phrase(text: str) -> str:
    """Return a text's words, normalized like names, with a space around each. A word ends where the
    script changes, since some languages have no spaces.
    """
    words = re.findall(r"[a-z0-9]+|[^\W_a-z0-9]+", name_key(text))
    return f" {' '.join(words)} "


def _in_latin(text: str) -> str:
    """Rewrite each word that looks Latin in plain Latin letters, without accents. Formulas of up to
    three letters stay; so do, in a text in another script, words without a Latin letter.
    """
    is_foreign = any(
        len(word) > 3 and not (_latin(word).isascii() or re.search("[A-Za-z]", word))
        for word in re.findall(r"[^\W\d_]+", text)
    )

    def read(found: re.Match[str]) -> str:
        word = found[0]
        kinds = {unicodedata.decomposition(letter)[:3] for letter in word}
        is_formula = {"<fo", "<su"} & kinds or re.search("[α-ξπ-ω]", word)  # <font>, <sub>, <super>
        if is_formula and len(word) < 4:
            return word
        if is_foreign and not re.search("[A-Za-z]", word):
            return word
        latin = _latin(word)
        return latin if latin.isascii() else word

    return re.sub(r"[\w\u0300-\u036f]+", read, text)


def _latin(word: str) -> str:
    """Return a word with look-alikes replaced by Latin letters, and without accents."""
    return re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", word)).translate(
        _LOOKALIKES
    )


def _surname(name: str) -> str:
    words = name_words(name_key(name))
    return _phrase(_in_latin(" ".join(words) or name)).split()[-1]
