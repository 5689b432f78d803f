"""Parser of an LLM's reply: its text → scores by id, and why the other ids have none.

The parser is lenient: it finds whole entries within fences, prose, other wrappers, JSON lines and a
cut-off reply, with TeX that is not escaped, and scores whose comment is no JSON. Validation is
strict: only ids that were asked for, whole numbers from 1 to 10, comments without links. A topic is
optional: what is wrong with it costs only the topic.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from paperboy.edges.text import SENTENCE_END, last_end, one_line, shortened
from paperboy.models import Score
from paperboy.sources import read_id
from paperboy.tex import plain, to_marked

_TEXT = {"type": "string"}
_TO_TEN = {"type": "integer", "minimum": 1, "maximum": 10}
_PROPERTIES = {"arxiv_id": _TEXT, "relevance": _TO_TEN, "novelty": _TO_TEN, "comment": _TEXT}


def _schema(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    entry = {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"scores": {"type": "array", "items": entry}},
        "required": ["scores"],
        "additionalProperties": False,
    }


SCHEMA = _schema(_PROPERTIES)  # JSON schema of a reply
# "strict" has every property, and no alternatives that begin with the same one: see
# https://github.com/openai/openai-python/issues/2193. So a 0 stands for none.
SCHEMA_WITH_TOPICS = _schema(_PROPERTIES | {"topic": {"type": "integer", "minimum": 0}})
MAX_COMMENT = 240  # characters
MAX_TOPIC = 999
MAX_TEXT_PER_PAPER = 4000  # characters of a reply; the rest is not read

# What models write that is no JSON, or other JSON than they mean: a comma before a closing bracket,
# and TeX whose backslash is not doubled. \tau, \beta, \frac and \rho would begin with a control
# character, which no comment needs; \n is a line end unless it begins a macro.
_SLIPS = re.compile(
    r"""
      \\\\ | \\u[0-9a-fA-F]{4}  # right as they are
    | (?P<comma> , ) (?= \s*[\]}] )
    | \\ (?P<quote> ' ) (?= (?:[stdm]|re|ll|ve)\b )  # don\'t, as Python writes it
    | (?P<tex> \\ ) (?:
          (?= [bfrt][a-zA-Z{] )
        | (?! [bfnrt"/] )
        | (?= n (?:abla|atural|earrow|eg|eq|e(?!\.)|exists|geq|i(?!\.)|leq|mid|olimits|onumber|orm
                  |otin|ot|parallel|sim|u|warrow) (?![a-zA-Z]) )
      )
    """,
    re.VERBOSE,
)

# An entry that is no JSON, as where its comment has quotes within quotes, or it is quoted as in
# Python. Its fields stand in the order of the schema, and its numbers are whole.
_ENTRY = re.compile(
    r"""
    arxiv_id ["']? \s*:\s* ["']? (?P<arxiv_id> [^\s"',{}]{1,100} ) ["']? \s*,\s*
    ["']? relevance ["']? \s*:\s* ["']? (?P<relevance> \d+(?:\.0)? ) ["']? \s*,\s*
    ["']? novelty ["']? \s*:\s* ["']? (?P<novelty> \d+(?:\.0)? ) ["']? \s*
    (?:
        , \s* ["']? comment ["']? \s*:\s* ["'] (?P<comment> (?: (?!arxiv_id) . ){0,1000}? ) ["'] \s*
        (?: , \s* ["']? topic ["']? \s*:\s* ["']? (?P<topic> \d+ | null | None ) ["']? \s* )? }
      | [,}]
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"""\\ (?: (?P<kept> ["'\\/] ) | [bfnrt] )""", re.VERBOSE)
_OPENING = re.compile(r"[{\[]")
_ANCHOR = re.compile(
    r"</a\s*>|<a\s+(?:href|name|target|rel|class|id)\s*=[^<>]{0,300}>",
    re.IGNORECASE,
)
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_LINK = re.compile(  # without the sentence's full stop
    r"(?:(?<![<`*])[<`*]+)?(?:(?<![a-z0-9+.-])[a-z0-9+.-]*://|\bwww\.|\bmailto:)[^\s<>]*[^\s<>.,;:!?)]>?"
    r"|(?<![\w.-])[\w.-]+\.[^\W\d_]{2,}(?:/|:\d\d)(?:[^\s<>]*[^\s<>.,;:!?)])?",  # example.org/page, example.org:8080
    re.IGNORECASE,
)

# What `one_line` keeps and nobody sees: the joiners of letters, fillers, variation selectors.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MOST_MARKS = 4  # on a letter, as in pointed Hebrew


class Reply(NamedTuple):
    """Scores of a reply and, for each paper that has none, why; both by id."""

    scores: Mapping[str, Score]
    defects: Mapping[str, str]


def read_reply(
    text: str,
    asked: Collection[str],
    hidden: Callable[[str], str] = str,
    examples: Collection[str] = (),
) -> Reply:
    """Read the scores of the ids in `asked`. A model may draft: of each paper's entries, those of
    the last whole array that names it count. Unusable and contradictory entries are ignored, but of
    those for a paper that is asked alone the last counts. `hidden` removes secrets. An entry with a
    comment of the prompt's `examples` is copied, and unusable. A topic may be beyond those that the
    list has.
    """
    text = _repaired(text, MAX_TEXT_PER_PAPER * (len(asked) + 5))
    entries: dict[str, list[Mapping[str, Any]]] = {}
    for array in [_salvaged(text), *_arrays(text)]:
        by_id = defaultdict(list)
        for entry in array:
            written = entry.get("arxiv_id")  # it may be a URL, or stand in brackets
            paper_id = read_id(written.strip(" []\n")) if isinstance(written, str) else ""
            by_id[paper_id].append(entry)

        entries |= by_id

    scores: dict[str, Score] = {}
    defects: dict[str, str] = {}
    for paper_id in asked:
        usable: list[Score] = []
        defect = "no entry for the paper"
        for entry in entries.get(paper_id, ()):
            relevance = _number(entry.get("relevance"), 10)
            novelty = _number(entry.get("novelty"), 10)
            comment = entry.get("comment")
            words = hidden(clean_comment(comment)) if isinstance(comment, str) else ""
            if words in examples:
                defect = "the comment is the prompt's example"
                continue
            if relevance and novelty:
                topic = _number(entry.get("topic"), MAX_TOPIC)
                usable.append(Score(relevance, novelty, words, topic))
                continue

            name = "novelty" if relevance else "relevance"
            defect = f"{name} is not a whole number from 1 to 10"

        different = {replace(score, topic=None) for score in usable}
        if usable and (len(asked) == 1 or len(different) == 1):
            scores[paper_id] = usable[-1]
        elif usable:  # asking for the paper alone cures it
            defects[paper_id] = "two different ones for the same paper"
        else:
            defects[paper_id] = defect

    return Reply(scores, defects)


def read_number(digits: str) -> int:
    """Read a number of JSON, however long: no more than 20 digits of it matter."""
    return int(digits[:20])


def _number(value: object, most: int) -> int | None:
    """Read a whole number from 1 to `most`, also from "9" and 9.0; None for anything else."""
    if not isinstance(value, int | float | str):
        return None
    number = re.fullmatch(r"\s*([1-9][0-9]{0,2})(?:\.0+)?\s*", str(value))
    return int(number[1]) if number and int(number[1]) <= most else None


def read_arrays(text: str, most: int) -> Sequence[Sequence[Mapping[str, Any]]]:
    """Find the objects of each whole JSON array in a reply, in order and however it is wrapped. No
    more than `most` characters are read.
    """
    return _arrays(_repaired(text, most))


def _repaired(text: str, most: int) -> str:
    """Return the text without thoughts, which may hold a draft, and with its slips corrected."""
    text = re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.DOTALL)[:most]
    return _SLIPS.sub(_correct, text)


def _correct(slip: re.Match[str]) -> str:
    if slip["comma"]:
        return ""
    if slip["tex"]:
        return "\\\\"
    return slip["quote"] or slip[0]


def _salvaged(text: str) -> Sequence[Mapping[str, Any]]:
    """Find the scores of entries that are no JSON, and those that are."""
    entries = list[Mapping[str, Any]]()
    for found in _ENTRY.finditer(text):
        comment = _ESCAPE.sub(lambda escape: escape["kept"] or " ", found["comment"] or "")
        entries.append(found.groupdict() | {"comment": comment})
    return entries


def _arrays(text: str) -> Sequence[Sequence[Mapping[str, Any]]]:
    """Find the objects of each whole JSON array, in order. Objects in no array, as JSON lines are,
    count as one array until the next. The first array has those of all that was cut off.
    """
    cut_off: list[Mapping[str, Any]] = []
    outside: list[Mapping[str, Any]] = []
    arrays = [cut_off, outside]
    closed: list[Mapping[str, Any]] = []  # those of one value, whether it is whole or not

    def close(entry: Mapping[str, Any]) -> Mapping[str, Any]:
        closed.append(entry)
        return entry

    # An id is no number: 2611.00010 must keep its last digit.
    decoder = json.JSONDecoder(
        object_hook=close, parse_int=read_number, parse_float=str, strict=False
    )
    at = 0
    while (start := _OPENING.search(text, at)) is not None:
        closed.clear()
        try:
            value, at = decoder.raw_decode(text, start.start())
        except RecursionError:
            cut_off += closed
            break  # no reply is nested a thousand deep
        except json.JSONDecodeError as error:
            cut_off += closed
            at = max(error.pos, start.end())  # cut off or no JSON
            continue

        within = [(value, outside)]
        while within:  # no recursion: a value may be nested as deep as Python's own calls
            value, array = within.pop()
            parts: Collection[Any] = ()
            if isinstance(value, list):
                array = []
                outside = []
                arrays += [array, outside]
                parts = value
            elif isinstance(value, dict):
                array.append(value)
                parts = [_with_id(part, key) for key, part in value.items()]

            within += [(part, array) for part in reversed([*parts])]

    return arrays


def _with_id(value: Any, key: str) -> Any:
    if isinstance(value, dict) and "relevance" in value:
        return {"arxiv_id": key, **value}
    return value


def seen(text: str) -> str:
    """Return one line as readers of plain text see it, without TeX and invisible characters."""
    return _UNSEEN.sub("", plain(to_marked(text)))


def is_readable(shown: str) -> bool:
    """Check that a text as readers see it has a letter, and no letter a pile of marks."""
    kinds = [unicodedata.category(character) for character in shown]
    piles = "".join("m" if kind in {"Mn", "Me"} else " " for kind in kinds)  # Mc: beside the letter
    return any(kind[0] == "L" for kind in kinds) and "m" * (_MOST_MARKS + 1) not in piles


def clean_comment(text: str) -> str:
    """Make one line of plain text without links: at most 240 characters, ended at a sentence if one
    ends in these. Empty if nobody can read it.
    """
    text = _without_links(one_line(text[: 10 * MAX_COMMENT]))
    if _LINK.search(shown := seen(text)):  # in TeX
        text = _without_links(shown)
    if not is_readable(seen(text)):
        return ""
    end = last_end(text, MAX_COMMENT, SENTENCE_END) if len(text) > MAX_COMMENT else 0
    return text[:end] or shortened(text, MAX_COMMENT)


def _without_links(text: str) -> str:
    while text != (without := _without_some_links(text)):  # what is left may be a link, too
        text = without
    return text


def _without_some_links(text: str) -> str:
    # Spaces go before links are looked for: "example .org/page" is one afterwards.
    text = re.sub(r"\s+([.,;:?)]|!(?!\[))", r"\1", _ANCHOR.sub("", " ".join(text.split())))
    if _MARKDOWN_LINK.search(text):
        return _MARKDOWN_LINK.sub(r"\1", text)
    return re.sub(r"\([()\s]*\)", " ", _LINK.sub(" ", text))
