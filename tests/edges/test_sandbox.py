"""A mistake in a template, or output or memory without end, is reported with file and line."""

from __future__ import annotations

import resource

import pytest

from paperboy.edges import sandbox
from paperboy.errors import ConfigError

OUTPUT = "produces more than 16 MB; does it loop too often?"
MEMORY = "takes more than 256 MB; does it loop too often?"
DEEP = "RecursionError: maximum recursion depth exceeded"


def made(**texts: str) -> sandbox.Sandbox:
    """Templates by name, each ending in `.j2`."""
    return sandbox.Sandbox("emails", {f"{name}.j2": text for name, text in texts.items()}.get)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
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


# What a template holds before it prints anything.
@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x' * 10**9 }}",
        "{{ 'x' | center(10**9) }}",
        "{{ 'x'.zfill(10**9) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ ([0] * 10**8)[0] }}",
        "{% set it = namespace(s='x') %}{% for a in range(40) %}{% set it.s = it.s ~ it.s %}{% endfor %}",
        "{% set it = namespace(s=[0]) %}{% for a in range(40) %}{% set it.s = it.s + it.s %}{% endfor %}",
        "{% set x %}{% for a in range(10**5) %}{{ 'x' * (10**4 + a) }}{% endfor %}{% endset %}",
        "{{ 'x' | replace('x', 'y' * 10**5) | replace('y', 'z' * 10**5) }}",
    ],
)
def test_template_that_takes_too_much_memory_is_reported_with_its_line(text: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(ConfigError) as caught:
        made(main=f"one\n{text}").text("main.j2")
    assert [str(problem) for problem in caught.value.problems] == [f"emails/main.j2:2: {MEMORY}"]
    assert resource.getrlimit(resource.RLIMIT_DATA) == limits


def test_fault_in_an_included_template_names_both() -> None:
    with pytest.raises(ConfigError) as caught:
        made(main="{% include 'part.j2' %}", part="\n{{ 1 / 0 }}").text("main.j2")
    told = "emails/part.j2:2: ZeroDivisionError: division by zero (included by emails/main.j2)"
    assert [str(problem) for problem in caught.value.problems] == [told]


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
