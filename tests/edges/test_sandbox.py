"""A mistake in a template costs a moment, whatever it is, and is named with its file and line."""

from __future__ import annotations

import pytest

from paperboy.edges import sandbox
from paperboy.errors import ConfigError

LONG = "takes too long; does it loop too often?"
OUTPUT = "produces more than 16 MB; does it loop too often?"
DEEP = "RecursionError: maximum recursion depth exceeded"
ROWS = "{% set rows = range(10**5)|list %}"


def made(seconds: float = 0.5, **texts: str) -> sandbox.Sandbox:
    """Templates by name, each ending in `.j2`."""
    return sandbox.Sandbox(
        "emails", {f"{name}.j2": text for name, text in texts.items()}.get, seconds
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{% for a in range(10**5) %}{% for b in range(10**5) %}{% endfor %}{% endfor %}", LONG),
        (ROWS + "{% for a in rows %}{% for b in rows if b < 0 %}{% endfor %}{% endfor %}", LONG),
        (ROWS + "{% for a in rows %}{% for b in rows %}{% set c = a %}{% endfor %}{% endfor %}", LONG),
        ("{% macro two(n) %}{% if n %}{{ two(n - 1) }}{{ two(n - 1) }}{% endif %}{% endmacro %}{{ two(99) }}", LONG),
        ("{% for a in [1] recursive %}{{ loop([a, a]) }}{% endfor %}", DEEP),
        ("{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}", DEEP),
        ("{% include 'main.j2' %}", DEEP),
        ("{% import 'main.j2' as main %}", DEEP),
        ("{% extends 'main.j2' %}", DEEP),
        ("{% for a in range(10**5) %}{{ 'x' * 10**4 }}{% endfor %}", OUTPUT),
        ("{{ 'x' * 10**8 }}", OUTPUT),
        ("{{ range(10**9) }}", "OverflowError: Range too big. The sandbox blocks ranges larger than"),
    ],
)  # fmt: skip
def test_template_that_takes_too_much_is_reported_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        made(main=f"one\n{text}").text("main.j2")
    (problem,) = caught.value.problems
    assert problem.place == "emails/main.j2:2"
    assert problem.message.startswith(fault)


def test_fault_in_an_included_template_names_both() -> None:
    with pytest.raises(ConfigError) as caught:
        made(main="{% include 'part.j2' %}", part="\n{{ 1 / 0 }}").text("main.j2")
    told = "emails/part.j2:2: ZeroDivisionError: division by zero (included by emails/main.j2)"
    assert [str(problem) for problem in caught.value.problems] == [told]


def test_loops_count_their_turns_and_know_their_length() -> None:
    text = "{% for a in rows %}{{ loop.index }}/{{ loop.length }}{{ '.' if loop.last }}{% else %}none{% endfor %}"
    templates = made(main=text)
    assert templates.text("main.j2", rows=iter("ab")) == "1/22/2."
    assert templates.text("main.j2", rows=[]) == "none"


def test_each_render_has_its_own_time() -> None:
    templates = made(0.3, main="{% for a in range(10**5) %}{% endfor %}")
    for _ in range(10):
        assert not templates.text("main.j2")


def test_after_one_timeout_renders_that_belong_together_fail_at_once() -> None:
    """By its fault, whatever the template; and outside each has its own time again."""
    endless = "{% for a in range(10**5) %}{% for b in range(10**5) %}{% endfor %}{% endfor %}"
    templates = made(0.5, endless=endless, short="short")
    with sandbox.one_timeout(), sandbox.one_timeout():
        assert templates.text("short.j2") == "short"
        for name in ("endless.j2", *["short.j2"] * 10):
            with pytest.raises(ConfigError) as caught:
                templates.text(name)
            assert [str(problem) for problem in caught.value.problems] == [
                f"emails/endless.j2:1: {LONG}"
            ]
    assert templates.text("short.j2") == "short"


@pytest.mark.parametrize(
    "unsafe", ["(0).__class__.x", "page.__init__.x", "page.__class__.x", "[].append(1)"]
)
def test_unsafe_attribute_is_refused_each_time(unsafe: str) -> None:
    """Whether an attribute is safe is looked at once for each type."""
    templates = made(main=f"{{{{ {unsafe} }}}}")
    for _ in range(2):
        with pytest.raises(ConfigError, match="is unsafe"):
            templates.text("main.j2", page=Title("it"))


class Title(str):
    """Something of our own."""

    __slots__ = ()
