"""What is installed: every package that is imported is declared, below its next major version, and locked."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DECLARED = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
OPTIONAL = [*EXTRAS["web"], *EXTRAS["dkim"], *EXTRAS["cluster"]]
FOR_TESTS = [
    requirement for requirement in EXTRAS["test"] if not requirement.startswith("paperboy[")
]  # which has those
LOCKED = {
    package["name"]: package
    for package in tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
}
UNBOUNDED = {"tzdata"}  # data by year, so the newest is right
RUN = {
    "build",
    "mypy",
    "pytest-xdist",
    "ruff",
    "types-pyyaml",
    "types-waitress",
}  # by `.ci/run`, and not imported
BY_NAME = {"dkimpy"}  # imported by importlib, where it is installed


def name_of(requirement: str) -> str:
    """The distribution's normalized name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def imported(folder: str) -> set[str]:
    """The distributions that the code in a folder imports, wherever in its files."""
    modules = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module.partition(".")[0])
    known = packages_distributions()
    foreign = modules - sys.stdlib_module_names - {"paperboy", "tests", "_pytest", "_typeshed"}
    return {
        name_of(distribution) for module in foreign for distribution in known.get(module, [module])
    }


def test_what_the_source_imports_is_declared_and_nothing_else() -> None:
    assert (
        imported("src")
        == {name_of(requirement) for requirement in [*DECLARED, *OPTIONAL]} - UNBOUNDED - BY_NAME
    )


@pytest.mark.long("reads all tests")
def test_what_the_tests_import_beyond_that_is_declared_and_nothing_else() -> None:
    assert (
        imported("tests") - imported("src") - BY_NAME
        == {name_of(requirement) for requirement in FOR_TESTS} - RUN
    )


@pytest.mark.parametrize(
    "requirement", [*DECLARED, *OPTIONAL, *FOR_TESTS, *PROJECT["build-system"]["requires"]]
)
def test_requirement_ends_before_a_major_version(requirement: str) -> None:
    assert re.search(r">=[\d.]+,<\d+$", requirement) or name_of(requirement) in UNBOUNDED


def test_lock_names_what_is_declared_and_the_public_registry_alone() -> None:
    """`.ci/run` proves that the versions fit."""
    assert {
        name_of(requirement) for requirement in [*DECLARED, *OPTIONAL, *FOR_TESTS]
    } <= LOCKED.keys()
    assert LOCKED["paperboy"]["source"] == {"editable": "."}
    for package in [package for name, package in LOCKED.items() if name != "paperboy"]:
        assert package["source"] == {"registry": "https://pypi.org/simple"}
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
        assert files
        for file in files:
            assert file["url"].startswith("https://files.pythonhosted.org/")
            assert file["hash"].startswith("sha256:")
