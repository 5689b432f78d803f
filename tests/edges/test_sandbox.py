"""A mistake in a template, or output without end, is reported with file and line."""

from __future__ import annotations

import pytest

from paperboy.edges import sandbox
from paperboy.errors import ConfigError

OUTPUT = "produces more than 16 MB; does it loop too often?"
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
