"""Long blocks of addresses in `subscribers.yaml` are read without YAML, and come out as YAML would have them."""

import time as clock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paperboy.config.blocks import Blocks
from paperboy.config.lists import parse
from paperboy.config.settings import Settings
from paperboy.errors import ConfigError
from paperboy.models import MailingList

HEAD = "lists:\n  - name: a\n    categories: [cs.LG]\n"


def block(indent: int = 6, start: int = 0, number: int = 100) -> str:
    forms = ("p{}@b.org", "Zoë O'Neil-{} <p{}@B.org>", "P_{}.x <p.{}+x@b-c.org>  ")
    return "".join(f"{' ' * indent}- {forms[each % 3].format(each, each)}\n" for each in range(start, start + number))


def outcome(text: str) -> tuple[MailingList, ...] | list[str]:
    try:
        return parse("subscribers.yaml", text, [], Settings())
    except ConfigError as error:
        return list(map(str, error.problems))


def as_yaml(text: str) -> tuple[MailingList, ...] | list[str]:
    """What YAML alone makes of it: a text with a * is left to it."""
    found = outcome(f"{text}# *\n")
    assert not Blocks.of(f"{text}# *\n").taken
    return found


MEANT = [
    f"    topics: x\n    subscribers:\n{block()}",
    f"    topics: x\n    subscribers:\n{block(4)}    paused: true\n",
    f"    topics: x\n    subscribers:\n      - ada@b.org\n\n{block()}      # a\n      - 'bo@b.org'\n{block(6, 200)}",
    f"    topics: x\n    subscribers:\n{block()}  - {{name: b, categories: [cs.CV], topics: y, subscribers: []}}",
    f"    topics: x\n    subscribers:\n{block()}".replace("\n", "\r\n"),
]  # fmt: skip


@pytest.mark.parametrize("text", MEANT)
def test_block_is_read_as_yaml_reads_it(text: str) -> None:
    found = outcome(HEAD + text)
    assert Blocks.of(HEAD + text).taken
    assert found == as_yaml(HEAD + text)
    assert isinstance(found, tuple)
    assert len(found[0].subscribers) >= 100


OTHERS = [
    f"    topics: |\n      People:\n{block()}    subscribers: [ada@b.org]\n",
    f"    topics: x\n    authors:\n{block()}",
    f"    topics: x\n    subscribers:\n      - Zoë\n{block(8)}",
    f"    topics: x\n    subscribers:\n{block()}        goes on\n",
    f"    topics: x\n    subscribers: [\n{block()}    ]\n",
    f"    topics: x\n    subscribers: |\n{block()}",
    f"    topics: x\n    subscribers:\n{block()}     - ada@b.org\n",
    f"    topics: x\n    subscribers:\n{block()}      - p7@b.org\n",
    f"    topics: x\n    subscribers:\n{block()}{block(6, 99)}",
    f"    topics: x\n    subscribers:\n{block(6, 0, 150).replace('p60@b.org', 'p60@localhost.b')}    colour: red\n",
    f"    topics: x\n{block()}",
    block(0),
]


@pytest.mark.parametrize("text", OTHERS)
def test_block_that_means_something_else_or_is_wrong_is_left_to_yaml(text: str) -> None:
    assert Blocks.of(HEAD + text).taken
    assert outcome(HEAD + text) == as_yaml(HEAD + text)


LINES = st.sampled_from([
    "    subscribers:", "    topics: x", "    topics: |", "    authors:", "", "      # note", "      - ada@b.org",
    "  - name: b", "    categories: [cs.CV]", "    paused: true", "      - [x]", "        more", "      - 'it''s'",
])  # fmt: skip
TEXTS = st.lists(LINES | st.builds(block, st.sampled_from([4, 6, 8]), st.sampled_from([0, 100, 150])), max_size=9)


@given(TEXTS)
def test_whatever_a_file_has_it_is_read_as_yaml_reads_it(lines: list[str]) -> None:
    text = HEAD + "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    assert outcome(text) == as_yaml(text)


def test_a_hundred_thousand_subscribers_in_subscribers_yaml_take_a_second_and_not_ten() -> None:
    text = f"{HEAD}    topics: x\n    subscribers:\n{block(6, 0, 100_000)}"
    began = clock.thread_time()
    assert len(outcome(text)[0].subscribers) == 100_000  # type: ignore[union-attr]
    assert clock.thread_time() - began < 5
