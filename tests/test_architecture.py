"""The house: which room may import which, and how long a function may be."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "paperboy"

FLOORS = {
    0: {"errors", "models"},
    1: {"edges", "tex"},
    2: {"sources", "topics", "curate", "due"},
    3: {"home", "store", "scoring", "mail", "sample"},
    4: {"morning", "sending", "reports"},
    5: {"console"},
    6: {"web", "service"},
    7: {"features"},
    8: {"cli"},
    9: {"__main__"},
}
FLOOR_OF = {room: floor for floor, rooms in FLOORS.items() for room in rooms}
ADJOINING = {  # a room, and one of the same floor that it may import: why
    ("tex", "edges"): "foreign text, made fit",
    ("curate", "sources"): "a paper's mark-up",
    ("curate", "topics"): "the names of sections",
    ("due", "sources"): "when there are new papers",
    ("web", "service"): "the App",
}

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file imports anywhere in it, `from paperboy import x` among them."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            if node.module == "paperboy":
                rooms |= {alias.name for alias in node.names}
            elif node.module and node.module.startswith("paperboy."):
                rooms.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            rooms |= {
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("paperboy.")
            }
    return {room for room in rooms if not room.startswith("__version")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_room_imports_from_lower_floors_only(path: Path) -> None:
    """Rooms of one floor do not import each other either, but for adjoining ones."""
    room = room_of(path)
    if room == "__init__":
        assert not imported_rooms(path)
        return
    for other in imported_rooms(path) - {room}:
        allowed = FLOOR_OF[other] < FLOOR_OF[room] or (room, other) in ADJOINING
        assert allowed, f"{room} (floor {FLOOR_OF[room]}) imports {other} (floor {FLOOR_OF[other]})"


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.glob("features/*/*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_feature_imports_no_other_feature(path: Path) -> None:
    own = f"paperboy.features.{path.parent.name}"
    modules = {
        node.module
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    assert not {
        module
        for module in modules
        if module and module.startswith("paperboy.features") and not module.startswith(own)
    }


SAYS_ARXIV = {  # outside its folder: why
    "__init__.py": "what Paperboy is",
    "cli/check.py": "help",
    "cli/main.py": "help",
    "home/settings.py": "defaults of its settings",
    "service/systemd.py": "what the service is",
    "sources/__init__.py": "the line that makes it a source",
    "sources/source.py": "its ids alone have no prefix",
}
# On the wire, and of settings.
NAMES_OF_ARXIV = re.compile(r"\barxiv_ids?\b|ARXIV_[A-Z_]+|settings\.arxiv_\w+")


def test_nothing_but_its_folder_says_arxiv() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in FILES
        if "arxiv" in NAMES_OF_ARXIV.sub("", path.read_text("utf-8")).lower()
    }
    outside = {name for name in found if not name.startswith("sources/arxiv/")}
    assert outside == set(SAYS_ARXIV), "name no source there, or give the reason in SAYS_ARXIV"


SAYS_BIORXIV = {  # outside their folder: why
    "cli/home.py": "categories, as examples",
    "cli/why.py": "an id, as an example",
    "home/settings.py": "the default of their setting",
    "models.py": "an id, as an example",
    "sources/__init__.py": "the line that makes them sources, and examples",
    "sources/source.py": "an id and a category, as examples",
}


def test_nothing_but_their_folder_says_biorxiv_or_medrxiv() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in FILES
        if re.search("biorxiv|medrxiv", path.read_text("utf-8"), re.IGNORECASE)
    }
    outside = {name for name in found if not name.startswith("sources/biorxiv/")}
    assert outside == set(SAYS_BIORXIV), "name no source there, or give the reason in SAYS_BIORXIV"


HAS_SQL = {  # outside the store and the features: why
    "scoring/local.py": "its index, in memory",
}
SQL = re.compile(
    r"\b(?:select\b[^.;]+\bfrom|insert (?:or \w+ )?into|update \w+ set|delete from) \w",
    re.IGNORECASE,
)


def test_sql_is_in_the_store_and_in_features() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in FILES
        if room_of(path) not in {"store", "features"} and SQL.search(path.read_text("utf-8"))
    }
    assert found == set(HAS_SQL)


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(path) for path in FILES} - {"__init__"}
    assert rooms == set(FLOOR_OF), "give a new room its floor in FLOORS"


def test_every_import_within_a_floor_that_is_allowed_is_needed() -> None:
    assert {(room_of(path), other) for path in FILES for other in imported_rooms(path)} >= set(
        ADJOINING
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_stay_short(path: Path) -> None:
    """At most 600 tokens each: lines may have room, and a file is as long as its noun."""
    text = path.read_text("utf-8")
    kinds = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
    places = [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in kinds
    ]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno or 0
            size = sum(node.lineno <= place <= last for place in places)
            assert size <= 600, f"{path.name}: {node.name} has {size} tokens"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_composition_root_and_the_daemon_ask_the_clock_or_the_environment(
    path: Path,
) -> None:
    if room_of(path) in {"cli", "__main__"} or path.name in {"daemon.py", "log.py"}:
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            spelled = f"{node.value.id}.{node.attr}"
            assert spelled not in {
                "datetime.now",
                "datetime.utcnow",
                "date.today",
                "time.time",
                "os.environ",
                "os.getenv",
            }, f"{path.name}:{node.lineno}: {spelled}"
