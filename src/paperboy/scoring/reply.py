"""The text of an LLM's reply → scores by arXiv id, and why the other ids have none.

The parser is lenient: it finds whole entries within fences, prose, other wrappers, JSON lines and a cut-off reply.
Validation is strict: only ids that were asked for, whole numbers from 1 to 10, comments without links.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from paperboy.foreign import SENTENCE_END, last_end, one_line, shortened
from paperboy.models import Score

_TEXT, _TO_TEN = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 10}
_PROPERTIES = {"arxiv_id": _TEXT, "relevance": _TO_TEN, "novelty": _TO_TEN, "comment": _TEXT}


def _object(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


SCHEMA = _object({"scores": {"type": "array", "items": _object(_PROPERTIES)}})  # JSON schema of a reply
MAX_COMMENT = 240  # characters
MAX_TEXT_PER_PAPER = 4000  # characters of a reply; the rest is not read
_REREAD = 2_000  # characters: an error counts the lines before it, which must not be the whole text
_OPENING = re.compile(r"[{\[]")
_ANCHOR = re.compile(r"</a\s*>|<a\s+(?:href|name|target|rel|class|id)\s*=[^<>]{0,300}>", re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_LINK = re.compile(  # without the sentence's full stop
    r"(?:(?<![<`*])[<`*]+)?(?:(?<![a-z0-9+.-])[a-z0-9+.-]*://|\bwww\.|\bmailto:)[^\s<>]*[^\s<>.,;:!?)]>?"
    r"|(?<![\w.-])[\w.-]+\.[^\W\d_]{2,}(?:/|:\d\d)(?:[^\s<>]*[^\s<>.,;:!?)])?",  # example.org/page, example.org:8080
    re.IGNORECASE,
)


TWICE = "two different ones for the same paper"  # the defect that asking for the paper alone cures


class Reply(NamedTuple):
    """What a reply says of each paper that was asked for, by its arXiv id: a score, or why it has none."""

    scores: Mapping[str, Score]
    defects: Mapping[str, str]


def read_reply(text: str, asked: Collection[str], hidden: Callable[[str], str] = str) -> Reply:
    """Read the scores of the arXiv ids in `asked`. Unusable entries do not count, nor do two that differ for one id; of
    those for a paper that is asked alone the last counts, since a model may draft. `hidden` removes secrets.
    """
    answer = re.sub(r"^\s*<think>.*?</think>", "", text, count=1, flags=re.DOTALL)  # it may hold a draft of the scores
    usable: dict[str, list[Score]] = defaultdict(list)
    defects = dict.fromkeys(asked, "no entry for the paper")
    for found in _objects(answer[: MAX_TEXT_PER_PAPER * (len(asked) + 5)]):
        arxiv_id, comment = (
            value if isinstance(value := found.get(key), str) else "" for key in ("arxiv_id", "comment")
        )
        # "https://arxiv.org/abs/2502.06786v2" and "[arXiv:2502.06786]" mean "2502.06786"
        bare = re.sub(
            r"^(?:https?://arxiv\.org/abs/|arxiv:)\s*|v\d+$", "", arxiv_id.strip(" []\n"), flags=re.IGNORECASE
        )
        relevance, novelty = _mark(found.get("relevance")), _mark(found.get("novelty"))
        if bare in asked and relevance and novelty:
            usable[bare].append(Score(relevance, novelty, hidden(clean_comment(comment)) if comment else ""))
        elif bare in asked:
            name = "novelty" if relevance else "relevance"
            value = json.dumps("[…]" if isinstance(found.get(name), list) else found.get(name), ensure_ascii=False)
            defects[bare] = f"{name} {shortened(hidden(one_line(value)), 40)} is not a whole number from 1 to 10"
    scores = {arxiv_id: each[-1] for arxiv_id, each in usable.items() if len(asked) == 1 or len({*each}) == 1}
    defects |= dict.fromkeys(usable, TWICE)
    return Reply(scores, {arxiv_id: why for arxiv_id, why in defects.items() if arxiv_id not in scores})


def whole(digits: str) -> int:
    """Read a number of JSON, however long: no more than 20 digits of it matter."""
    return int(digits[:20])


def _mark(value: object) -> int | None:
    """Read a whole number from 1 to 10, also from "9" and 9.0; None for anything else."""
    whole = re.fullmatch(r"\s*(10|[1-9])(?:\.0)?\s*", str(value)) if isinstance(value, int | float | str) else None
    return int(whole[1]) if whole else None


def _objects(text: str) -> Sequence[Mapping[str, Any]]:
    """Find every whole JSON object in the text, in order and however it is wrapped."""
    found: list[Mapping[str, Any]] = []
    decoder, at = json.JSONDecoder(object_hook=found.append, parse_int=whole), 0
    while (start := _OPENING.search(text, at)) is not None:
        try:
            _, at = decoder.raw_decode(text, start.start())
        except RecursionError:
            break  # no reply is nested a thousand deep
        except json.JSONDecodeError as error:
            at = max(error.pos, start.end())  # cut off or no JSON: `found` has what was whole before
            if at > _REREAD:
                text, at = text[at:], 0
    return found


def clean_comment(text: str) -> str:
    """Make one line of plain text without links: at most 240 characters, ended at a sentence if one ends in these."""
    text = one_line(text[: 10 * MAX_COMMENT])
    while text != (without := _without_links(text)):  # what is left may be a link, too
        text = without
    end = last_end(text, MAX_COMMENT, SENTENCE_END) if len(text) > MAX_COMMENT else 0
    return text[:end] or shortened(text, MAX_COMMENT)


def _without_links(text: str) -> str:
    # Spaces go before links are looked for: "example .org/page" is one afterwards.
    text = re.sub(r"\s+([.,;:?)]|!(?!\[))", r"\1", _ANCHOR.sub("", " ".join(text.split())))
    if _MARKDOWN_LINK.search(text):
        return _MARKDOWN_LINK.sub(r"\1", text)
    return re.sub(r"\([()\s]*\)", " ", _LINK.sub(" ", text))
