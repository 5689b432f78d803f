"""An OpenAI-compatible Chat Completions server that gives the scores it is told, counts tokens and can misbehave.

In a test:          with LlmServer({"2611.00001": Score(9, 8, "Why.")}) as server: ...server.base_url...
On its own:         python -m tests.servers.llm --port 8002 [--scores FILE.jsonl] [--latency 0.5] [--cache breakpoints]
                    GET /counted gives what it counted, call by call
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from paperboy.models import Score
from tests.servers.llm_cache import BYTES_PER_TOKEN, CacheMode, Lookup, PrefixCache, text_of, tokens
from tests.servers.llm_faults import FAULTS, Fault, error, refusal
from tests.servers.loopback import until_interrupted

HANG_SECONDS = 30.0  # so long a server that hangs or trickles keeps a client at most
UNKNOWN = Score(3, 3)  # what a paper gets that a table of scores does not have

_ID = r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}|(?!https?:)[a-z]+:[\w./-]*\w)(?:v\d+)?"
_FENCED = re.compile(rf'<paper id="([^"]+)"|^\[{_ID}\] ', re.MULTILINE)
_BARE = re.compile(rf"(?<![\w.]){_ID}(?![\w.]*\d)")


def invented_score(arxiv_id: str) -> Score:
    """A score that depends on the id alone, over the whole scale."""
    number = zlib.crc32(arxiv_id.encode())
    relevance = number % 10 + 1
    novelty = number // 10 % 10 + 1
    return Score(relevance, novelty, f"What {arxiv_id} says is on topic." if relevance >= 6 else "")


def invented_topic(arxiv_id: str, number: int) -> int:
    """One of so many topics, which depends on the id alone; 0 if there are none."""
    return zlib.crc32(arxiv_id[::-1].encode()) % number + 1 if number else 0


class LlmServer:
    """Listens on 127.0.0.1 while used as a context manager.

    `scores` maps arXiv ids to Scores, and may be changed at any time; a function is asked instead; without either the
    scores are invented. `rejected` names what is refused with 400: response formats ("json_schema", "json_object") and
    parameters ("reasoning_effort"), fields of text parts ("prompt_cache_breakpoint") among them. `unspeakable` are ids
    whose presence has the content filter refuse a request. `cache` is how prompts are cached: see PrefixCache.

    `slots` work on one request each, for `seconds_per_paper`; others wait for one, and a request goes on though its
    client has gone. 0: any number. `context` is how many tokens of a prompt the model sees: the beginning of a longer
    one is cut without a word; 0: all.

    A request for the morning in brief is counted apart, takes none of the `faults`, and gets a sentence on the first
    two papers.
    """

    def __init__(
        self,
        scores: Mapping[str, Score] | Callable[[str], Score] | None = None,
        *,
        port: int = 0,
        api_key: str = "",
        models: Iterable[str] = (),
        rejected: Iterable[str] = (),
        unspeakable: Iterable[str] = (),
        latency: float = 0.0,
        counts_tokens: bool = True,
        reasoning_tokens_per_paper: int = 20,
        cache: CacheMode = "steps",
        knows_topics: bool = True,
        slots: int = 0,
        seconds_per_paper: float = 0.0,
        context: int = 0,
    ) -> None:
        self.scores = invented_score if scores is None else scores
        self.api_key = api_key  # empty: any, or none
        self.models = set(models)  # empty: any
        self.rejected = set(rejected)
        self.unspeakable = set(unspeakable)
        self.latency = latency  # seconds
        self.counts_tokens = counts_tokens
        self.reasoning_tokens_per_paper = reasoning_tokens_per_paper
        self.knows_topics = knows_topics  # and gives one where it is asked
        self.seconds_per_paper = seconds_per_paper
        self.context = context
        self.slots = threading.Semaphore(slots or 1_000_000)
        self.counts_cached = True  # among a prompt's tokens; some versions of Ollama leave them out
        self.faults: deque[Fault] = deque()  # each is taken by one request
        # What a request meets, by what it asks: one of FAULTS by its name, or any other.
        self.fault_for: Callable[[Mapping[str, Any]], str | Fault] = lambda _body: ""
        self.lasting_fault: Fault | None = None  # taken by every request when `faults` is empty
        self.knows_briefs = True  # else it answers any request with scores
        self.briefs: list[dict[str, Any]] = []  # bodies of requests for a brief
        self.brief_counted: list[dict[str, Any]] = []  # the usage that each of them was told
        self.requests: list[dict[str, Any]] = []  # bodies, in order of arrival
        self.headers: list[dict[str, str]] = []  # of each request, by names in lower case
        self.asked: list[list[str]] = []  # the arXiv ids of each request
        self.counted: list[
            dict[str, Any]
        ] = []  # the usage that each request was told; empty where it was told none
        self.cache = PrefixCache(cache)
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(port, self)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def fail(self, *faults: str) -> None:
        """Has the next requests meet these of FAULTS, one each."""
        self.faults.extend(FAULTS[name] for name in faults)

    def take_at_most(self, papers: int, fault: str) -> None:
        """Has every request for scores of more papers meet this one of FAULTS."""
        self.fault_for = lambda body: fault if len(ids_in(body)) > papers else ""

    def fail_always(self, fault: str) -> None:
        """Has every request meet this one of FAULTS."""
        self.lasting_fault = FAULTS[fault]

    def __enter__(self) -> Self:
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def fail_briefs(self, fault: str) -> None:
        """Has every request for the morning in brief meet this one of FAULTS."""
        self.fault_for = lambda body: fault if asks_for_brief(body) else ""

    def enter(self, body: dict[str, Any]) -> Call:
        """A request has arrived."""
        looked_up = self.cache.arrive(body)
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            if asks_for_brief(body):
                self.briefs.append(body)
                self.brief_counted.append({})
                return Call(len(self.briefs) - 1, body, looked_up)
            self.requests.append(body)
            self.asked.append(self.seen_in(body))
            self.counted.append({})
            return Call(len(self.requests) - 1, body, looked_up)

    def seen_in(self, body: Mapping[str, Any]) -> list[str]:
        """The arXiv ids in what the model sees of a prompt."""
        seen = text_of(body)
        if self.context:
            seen = seen[-round(self.context * BYTES_PER_TOKEN) :]
        return ids_of(seen)

    def leave(self) -> None:
        with self._lock:
            self._at_once -= 1

    def pause(self, seconds: float) -> bool:
        """Waits; false when the server closes meanwhile."""
        return not self._closing.wait(seconds)

    def next_fault(self, body: Mapping[str, Any]) -> Fault | None:
        """What is wrong with the request, else what was ordered."""
        if self.models and body.get("model") not in self.models:
            return FAULTS["no such model"]
        if (refused := refusal(body, self.rejected)) is not None:
            return refused
        if (objection := self.cache.objection(body)) is not None:
            message, place = objection
            return error(400, message, param=place)
        if not self.unspeakable.isdisjoint(ids_in(body)):
            return FAULTS["content refused"]
        if fault := self.fault_for(body):
            return fault if isinstance(fault, Fault) else FAULTS[fault]
        with self._lock:
            takes_one = self.faults and not asks_for_brief(body)
            return self.faults.popleft() if takes_one else self.lasting_fault

    def completion(self, call: Call, fault: Fault) -> dict[str, Any]:
        """The answer to a request, with what the fault does to it."""
        body = call.body
        is_brief = asks_for_brief(body)
        ids = self.seen_in(body)
        names = _names_in(body) if self.knows_topics else None
        entries = [_entry(arxiv_id, self._score(arxiv_id), names) for arxiv_id in ids]
        if fault.rewrite is not None and entries:
            entries = fault.rewrite(entries)
        text = json.dumps({"scores": entries}, ensure_ascii=False)
        if is_brief and self.knows_briefs:
            words = ("first two", "")
            papers = [
                {"arxiv_id": arxiv_id, "words": named}
                for arxiv_id, named in zip(ids, words, strict=False)
            ]
            sentence = {"text": brief_on(ids), "papers": papers}
            text = json.dumps({"sentences": [sentence]})
        if fault.retell is not None:
            text = fault.retell(text)
        message = {"role": "assistant", "content": text, "refusal": fault.refusal}
        if fault.say is not None:
            message |= fault.say(text)
        answer = {
            **fault.beside,
            "id": f"chatcmpl-{call.number + 1}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": fault.finish_reason}],
        }
        if "service_tier" in body:
            answer["service_tier"] = body["service_tier"]
        if self.counts_tokens:
            counted = self.brief_counted if is_brief else self.counted
            answer["usage"] = counted[call.number] = self._usage(call, text, len(entries))
        return answer

    def _score(self, arxiv_id: str) -> Score:
        scores = self.scores
        return scores.get(arxiv_id, UNKNOWN) if isinstance(scores, Mapping) else scores(arxiv_id)

    def _usage(self, call: Call, reply: str, papers: int) -> dict[str, Any]:
        reasoning = papers * self.reasoning_tokens_per_paper
        prompt_tokens = tokens(len(text_of(call.body).encode()))
        if self.context:
            prompt_tokens = min(prompt_tokens, self.context)
        if not self.counts_cached:
            prompt_tokens -= call.looked_up.cached
        completion_tokens = tokens(len(reply.encode())) + reasoning
        details = {"cached_tokens": call.looked_up.cached} if self.counts_cached else {}
        if self.cache.mode == "breakpoints":
            details["cache_write_tokens"] = call.looked_up.written
        return {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": details,
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }


@dataclass(frozen=True)
class Call:
    """A request that has arrived: its place in `requests`, and what the cache knew of it then."""

    number: int
    body: Mapping[str, Any]
    looked_up: Lookup


def asks_for_brief(body: Mapping[str, Any]) -> bool:
    """Whether a request is for the morning in brief."""
    return '"sentences"' in str(body["messages"][0]["content"])


def brief_on(ids: Sequence[str]) -> str:
    """The sentence of a brief on these papers."""
    return f"The first two of {len(ids)} papers agree on what is learned."


def ids_in(body: Mapping[str, Any]) -> list[str]:
    """The arXiv ids that a request asks for."""
    return ids_of(text_of(body))


def ids_of(text: str) -> list[str]:
    """The arXiv ids that a prompt asks for: those of its fences, else all that stand in it."""
    fenced = [first or second for first, second in _FENCED.findall(text)]
    return list(dict.fromkeys(fenced or _BARE.findall(text)))


def _names_in(body: Mapping[str, Any]) -> Sequence[str] | None:
    """The topics that a prompt numbers; None where it asks for none."""
    text = text_of(body)
    if '"topic"' not in text:
        return None
    numbers = re.search(r"^<numbers>\n(.*?)\n</numbers>$", text, re.DOTALL | re.MULTILINE)
    return numbers[1].splitlines() if numbers else []


def read_scores(path: Path) -> dict[str, Score]:
    """A table of scores from JSON lines with arxiv_id, relevance and novelty (null: as of an unknown paper)."""
    rows = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    return {row["arxiv_id"]: _score_of(row) for row in rows}


def _score_of(row: Mapping[str, Any]) -> Score:
    if row.get("relevance") is None or row.get("novelty") is None:
        return UNKNOWN
    comment = f"It scored {row['relevance']} and {row['novelty']}." if row["relevance"] >= 6 else ""
    return Score(row["relevance"], row["novelty"], row.get("comment") or comment)


def _entry(arxiv_id: str, score: Score, names: Sequence[str] | None) -> dict[str, Any]:
    entry = {
        "arxiv_id": arxiv_id,
        "relevance": score.relevance,
        "novelty": score.novelty,
        "comment": score.comment,
    }
    if names is None:
        return entry
    invented = invented_topic(arxiv_id, len(names))
    return {**entry, "topic": (score.topic or invented) if score.comment else 0}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, llm: LlmServer) -> None:
        self.llm = llm
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has lost patience is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60
    entered = False
    server: _Http

    def do_GET(self) -> None:
        if self.path.rstrip("/") == "/v1/models":
            names = sorted(self.server.llm.models) or ["gpt-6-luna"]
            self._json(
                200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
            )
        elif self.path == "/counted":
            self._json(200, self.server.llm.counted)
        else:
            self._json(404, {"error": {"message": f"Invalid URL (GET {self.path})"}})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.rstrip("/") != "/v1/chat/completions":
            return self._json(404, {"error": {"message": f"Invalid URL (POST {self.path})"}})
        if (
            self.server.llm.api_key
            and self.headers.get("Authorization") != f"Bearer {self.server.llm.api_key}"
        ):
            said = f"Incorrect API key provided: {self.headers.get('Authorization')}"  # as careless as some are
            return self._json(401, {"error": {"message": said, "code": "invalid_api_key"}})
        body = json.loads(content)
        self.server.llm.headers.append(
            {name.lower(): value for name, value in self.headers.items()}
        )
        call = self.server.llm.enter(body)
        self.entered = True
        try:
            self._answer(call)
        finally:
            self._leave()
        return None

    def _leave(self) -> None:
        """Count the request as answered, before its client can know."""
        if self.entered:
            self.entered = False
            self.server.llm.leave()

    def _answer(self, call: Call) -> None:
        server = self.server.llm
        fault = server.next_fault(call.body) or Fault()
        seconds = server.latency + server.seconds_per_paper * len(ids_in(call.body))
        with server.slots:
            if seconds and not server.pause(seconds):
                return
        if fault.stall:
            self._stall(fault.stall)
        elif fault.body is not None:
            self._send(fault.status, fault.body, fault.headers)
        elif fault.error is not None:
            self._json(fault.status, {"error": fault.error}, fault.headers)
        elif fault.raw is not None:
            self.close_connection = True
            for piece in fault.raw(json.dumps(server.completion(call, fault)).encode()):
                self.wfile.write(piece)
        else:
            completion = server.completion(call, fault)
            with server.cache.answer(call.looked_up):
                self._json(200, completion)

    def _stall(self, how: str) -> None:
        server = self.server.llm
        self.close_connection = True
        if how == "hang":
            server.pause(HANG_SECONDS)
        elif how == "trickle":
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n"
            )
            end = time.monotonic() + HANG_SECONDS
            while time.monotonic() < end and server.pause(0.02):
                self.wfile.write(b" ")

    def _json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        self._send(
            status,
            json.dumps(body).encode(),
            {"Content-Type": "application/json", **(headers or {})},
        )

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self._leave()
        self.send_response_only(status)
        own = {"Date": self.date_time_string(), "Content-Length": str(len(body))}
        for name, value in {**own, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Silent: tests print what they need."""


def main() -> None:
    """Runs until it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.llm", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--port", type=int, default=8002)
    parser.add_argument(
        "--scores", type=Path, help="JSON lines with arxiv_id, relevance, novelty; invented without"
    )
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that each answer takes")
    parser.add_argument(
        "--cache", choices=get_args(CacheMode), default="steps", help="how prompts are cached"
    )
    parser.add_argument("--reasoning", type=int, default=20, help="reasoning tokens for each paper")
    options = parser.parse_args()
    scores = read_scores(options.scores) if options.scores else None
    with LlmServer(
        scores,
        port=options.port,
        latency=options.latency,
        cache=options.cache,
        reasoning_tokens_per_paper=options.reasoning,
    ) as server:
        with until_interrupted():
            print(f"OPENAI_BASE_URL={server.base_url}", flush=True)
        print(f"# {len(server.requests)} requests, {sum(map(len, server.asked))} papers")


if __name__ == "__main__":
    main()
