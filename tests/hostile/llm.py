"""Hostile replies of an LLM: to one request, or to every request that asks for one paper."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from socket import socket
from typing import Any, Self

from paperboy.models import Score, ToScore
from paperboy.scoring.llm import LlmScorer
from paperboy.scoring.prompt import Prompt
from paperboy.scoring.server import Server
from tests.builders import mailing_list, paper
from tests.hostile.http import ENDS, EVIL, TRANSPORT, read_request, reply
from tests.hostile.talk import Reply, Talker, broken
from tests.scoring.asking import Outcome, collect
from tests.servers.llm import ids_in, invented_score

JSON = "application/json"
BATCH, SECONDS = 4, 0.25
KEY = "sk-not-for-the-log"
HOSTILE = [f"2611.{n:05}" for n in range(12)]
CLEAN = [f"2612.{n:05}" for n in range(6)]
PROMPT = Prompt([Path(__file__).parents[2] / "prompts"])
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def score(port: int) -> tuple[Outcome, Outcome]:
    """Score papers of which one meets hostile replies, then others; what came of each."""
    url = f"http://127.0.0.1:{port}/v1"
    server = Server(url, KEY, "gpt-6-luna", reasoning_effort="low", timeout_seconds=SECONDS, wait=lambda _seconds: None)
    scorer = LlmScorer(server, PROMPT, None, BATCH, concurrency=2)
    try:
        first, second = (
            collect(scorer.score([ToScore(mailing_list(), tuple(map(paper, ids)))])) for ids in (HOSTILE, CLEAN)
        )
        return first, second
    finally:
        scorer.close()


class Llm:
    """Scores well, but where the target is asked for: once, or whenever it is."""

    client = staticmethod(score)

    def __enter__(self) -> Self:
        self._talker = Talker(self._talk).__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._talker.__exit__()

    def prepare(self, dice: Random) -> tuple[int]:
        """Draw the next case; what the client is told."""
        self._dice, self._target = dice, dice.choice(HOSTILE)
        self._left = dice.choice([1, 1, 1_000])
        way = dice.choice(["transport", "completion", "text", "entry"])
        self.kind = dice.choice(
            [*{"transport": TRANSPORT, "completion": _BODIES, "text": _TEXTS, "entry": _ENTRIES}[way]]
        )
        self._lies = (
            way == "text" or self.kind == "broken bytes"
        )  # it may say something else of the batch's other papers
        self.kind = f"{way}: {self.kind}"
        return (self._talker.port,)

    def judge(self, came: tuple[Outcome, Outcome]) -> str:
        """Assert that every other paper has its score; how it went."""
        first, second = came
        assert not second.unscored, second.unscored
        assert not second.error, second.error
        assert second.scores == {each: invented_score(each) for each in CLEAN}, "the clean replies after it"
        assert not first.error, first.error
        assert not first.problem, first.problem
        place = HOSTILE.index(self._target) // BATCH * BATCH
        batch = HOSTILE[place : place + BATCH]
        for each in HOSTILE:
            if each == self._target or (self._lies and each in batch):
                if each in first.scores:
                    _assert_bounded(first.scores[each])
                else:
                    _assert_told(first.unscored[each])
            else:
                assert first.scores.get(each) == invented_score(each), f"{each}: {first.scores.get(each)}"
        if self._target not in first.scores:
            return "unscored"
        return "scored" if first.scores[self._target] == invented_score(self._target) else "as it said"

    def _talk(self, talker: Talker, sock: socket) -> None:
        while request := read_request(sock):
            entries = [_entry(each, invented_score(each)) for each in ids_in(json.loads(request.body))]
            if self._left and any(entry["arxiv_id"] == self._target for entry in entries):
                self._left -= 1
                if self.kind.partition(": ")[2] in ENDS:
                    return talker.say_last(sock, self._hostile(entries))
                talker.say(sock, self._hostile(entries))
                continue
            sock.sendall(reply(_completion(json.dumps({"scores": entries})), JSON))
        return None

    def _hostile(self, entries: list[dict[str, Any]]) -> Reply:
        way, _, kind = self.kind.partition(": ")
        if way == "entry":
            entries = [
                changed
                for entry in entries
                for changed in (_ENTRIES[kind](self._dice, entry) if entry["arxiv_id"] == self._target else [entry])
            ]
        text = json.dumps({"scores": entries})
        body = _completion(_TEXTS[kind](self._dice, text) if way == "text" else text)
        if way == "transport":
            return TRANSPORT[kind](self._dice, body, JSON)
        return [reply(_BODIES[kind](self._dice, body) if way == "completion" else body, JSON)]


def _entry(arxiv_id: str, one: Score) -> dict[str, Any]:
    return {"arxiv_id": arxiv_id, "relevance": one.relevance, "novelty": one.novelty, "comment": one.comment}


def _completion(text: str, **more: object) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage, **more}).encode()


def _assert_bounded(one: Score) -> None:
    assert one.relevance in range(1, 11)
    assert one.novelty in range(1, 11)
    assert type(one.relevance) is type(one.novelty) is int
    assert len(one.comment) <= 450, f"a comment of {len(one.comment)}"
    assert not _CONTROL.search(one.comment), ascii(one.comment)
    assert not re.search(r"\w://", one.comment), one.comment
    assert KEY not in one.comment


def _assert_told(reason: str) -> None:
    assert len(reason) <= 2_100, f"a reason of {len(reason)}"
    assert not _CONTROL.search(reason), ascii(reason)
    assert KEY not in reason


def _odd(dice: Random) -> Any:
    """A value where another one was expected, as JSON's text."""
    words = [
        "x" * 300_000,
        EVIL,
        KEY,
        "\\ud800",
        "\\u0000",
        "http://evil.example.org/ " * 900,
        "evil .com/x",
        "[a](" * 9_000,
    ]
    return dice.choice(
        ["null", "true", "[]", "{}", "-1", "0", "11", "8.5", "85", "1e999", "-0", "NaN", "Infinity", "9" * 6_000, '""']
        + ["1e-400", "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, '"9"', '"٩"', '"9 / 10"', "10.0"]
        + [json.dumps(word) for word in words[:3] + words[5:]]
        + [f'"{word}"' for word in words[3:5]]
    )


def _value_replaced(dice: Random, body: bytes) -> bytes:
    """One value anywhere in it, by an odd one."""
    values = [match for match in re.finditer(rb'(?<=": )("(?:[^"\\]|\\.)*"|\d+|\[\{)', body) if match[0] != b"[{"]
    for match in sorted(dice.sample(values, dice.randint(1, min(3, len(values)))), key=lambda each: -each.start()):
        body = body[: match.start()] + _odd(dice).encode() + body[match.end() :]
    return body


_BODIES: dict[str, Callable[[Random, bytes], bytes]] = {
    "value": _value_replaced,
    "broken": broken,
    "truncated": lambda dice, body: body[: dice.randrange(len(body))],
    "odd": lambda dice, body: _odd(dice).encode(),
    "deep": lambda dice, body: dice.choice([b"[", b'{"a":', b'{"choices":[']) * 500_000,
    "padded": lambda dice, body: body[:-1] + b" " * dice.choice([1_000_000, 7_900_000, 9_000_000]) + b"}",
    "many choices": lambda dice, body: body.replace(
        b'"choices": [', b'"choices": [' + b"{}," * dice.choice([1, 900_000])
    ),
    "many keys": lambda dice, body: b"{" + b",".join(b'"%d":%d' % (n, n) for n in range(400_000)) + b"," + body[1:],
    "parts": lambda dice, body: re.sub(rb'"content": "', b'"content": [{"text": 7}, null, "x"], "old": "', body),
    "repeated key": lambda dice, body: body[:-1] + b', "choices": ' + _odd(dice).encode() + b"}",
    "usage": lambda dice, body: body.replace(b'_tokens": 9', b'_tokens": ' + _odd(dice).encode()),
    "error": lambda dice, body: b'{"error": ' + _odd(dice).encode() + b"}",
    "encoding": lambda dice, body: body.decode().encode(dice.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7"])),
}
_TEXTS: dict[str, Callable[[Random, str], str]] = {
    "broken": lambda dice, text: broken(dice, text.encode()).decode("utf-8", "replace"),
    "truncated": lambda dice, text: text[: dice.randrange(len(text))],
    "deep": lambda dice, text: dice.choice(["[", "{", '{"scores":', '[{"a":']) * dice.choice([900, 300_000]) + text,
    "repeated": lambda dice, text: text * dice.choice([2, 2_000]),
    "buried": lambda dice, text: (
        dice.choice(["blah { [ ", "<think>", '{"a', "\\", "```json\n"]) * dice.choice([1, 90_000]) + text
    ),
    "control": lambda dice, text: text.replace(" ", dice.choice(["\0", "\u2028", "\x1b[2J", "\ufeff", "\u200b"])),
    "numbers": lambda dice, text: re.sub(r": \d+", lambda _: f": {_odd(dice)}", text),
    "others": lambda dice, text: re.sub(r"2611\.\d+", lambda _: f"2611.{dice.randrange(12):05}", text),
    "silent": lambda dice, text: dice.choice(["", " ", "\0", "I refuse.", '{"scores": []}', "null"]),
}
_ENTRIES: dict[str, Callable[[Random, dict[str, Any]], list[dict[str, Any]]]] = {
    "relevance": lambda dice, entry: [{**entry, "relevance": _loaded(dice)}],
    "novelty": lambda dice, entry: [{**entry, "novelty": _loaded(dice)}],
    "comment": lambda dice, entry: [{**entry, "comment": _loaded(dice)}],
    "links": lambda dice, entry: [{**entry, "comment": dice.choice(_LINKS)}],
    "missing": lambda dice, entry: [],
    "key missing": lambda dice, entry: [{key: value for key, value in entry.items() if key != dice.choice([*entry])}],
    "id": lambda dice, entry: [{**entry, "arxiv_id": _loaded(dice)}],
    "twice": lambda dice, entry: [entry, {**entry, "relevance": 11 - entry["relevance"]}] * dice.choice([1, 200]),
    "strangers": lambda dice, entry: (
        [{**entry, "arxiv_id": f"9912.{n:05}"} for n in range(dice.choice([1, 9_000]))] + [entry]
    ),
}
_LINKS = [
    "http ://evil.example.org/", "evil .com/", "see `http://evil.example.org`", "**http**://evil.example.org", EVIL,
    "h\u200bttp://evil.example.org", "[x](http://evil.example.org)" * 90, "<a href=" * 900, "(" * 4_000,
    "http://" * 900, "http\0://evil.example.org", "ｈｔｔｐ：／／evil.example.org",
    "http:/" * 900 + "/evil.example.org", "ht[](x)tp://evil.example.org", "htt<a href=x></a>p://evil.example.org",
    f"the key is {KEY}",    "\ud83d http://x.example",
]  # fmt: skip


def _loaded(dice: Random) -> Any:
    """An odd value, decoded as far as it can be."""
    while True:
        try:
            return json.loads(_odd(dice))
        except (ValueError, RecursionError):
            continue
