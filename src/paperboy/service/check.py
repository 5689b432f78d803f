"""Everything that would fail tomorrow, found today: one finding a line, each fault with its fix.

files    settings, lists, templates and prompts: every fault of each
home     database, disk, file modes, where mail and alerts go
servers  mail, the sender's DNS records, LLM, sources: probed concurrently, so that timeouts do not
         add up
"""

import multiprocessing
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from multiprocessing.pool import ThreadPool
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from paperboy import sample
from paperboy.curate import name_key, other_spellings
from paperboy.edges import files
from paperboy.edges.text import counted, together
from paperboy.errors import ConfigError, PaperboyError
from paperboy.home import library
from paperboy.home.home import Home, denied, load_lists, require_folder
from paperboy.home.library import Collection
from paperboy.home.lists import LISTS_FILE, journals
from paperboy.home.settings import Settings, ignored, load
from paperboy.models import MailingList
from paperboy.morning.incidents import inactive
from paperboy.service import soundness
from paperboy.service.app import App
from paperboy.service.feature import Finding, note
from paperboy.service.libraries import of_library
from paperboy.service.probes import EXAMPLE, PATIENCE, categories, servers
from paperboy.sources import named, source_of, sources_of
from paperboy.sources.source import Source

T = TypeVar("T")

LITTLE = 200_000_000  # free bytes; five lists need this much in a year
RECENT = timedelta(days=31)  # papers whose authors are compared with followed names


_MISTYPED = {
    slip: domain
    for domain, slips in {
        "gmail.com": "gmial.com gmal.com gmai.com gamil.com gnail.com gmaill.com gmail.co gmail.cm",
        "hotmail.com": "hotmial.com hotmal.com hotmai.com homail.com",
        "outlook.com": "outlok.com outloook.com outlock.com",
        "yahoo.com": "yaho.com yahooo.com yhaoo.com",
        "icloud.com": "iclod.com icoud.com",
    }.items()
    for slip in slips.split()
}
# Names that look mistyped: one word, a comma, initials (J. Friml), two people (A and B), a title (Prof. X).
_SLIP = re.compile(
    r"\S+|.*,.*|(?:\w[. -]+)+\S+|.* (?:and|&) .*|(?:prof|professor|dr)\b.*", re.IGNORECASE
)
_LONG_TOPICS = 16_000  # characters, about 4,000 tokens: half the length of 16 papers
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs"}


def findings(app: App, *, offline: bool, patience: float = PATIENCE) -> Iterator[Finding]:
    """Yield every finding as soon as it is known, in an order that never changes."""
    began = time.monotonic()
    _, faults = _read("home", lambda: require_folder(app.path))
    if faults:
        yield from faults
        return

    loaded, faults = _read("settings", lambda: load(app.path, app.environ))
    settings = loaded or Settings()
    env = app.path / ".env"
    source = f"{env}" if env.exists() else f"no {env}, so the defaults apply"
    yield from faults or [Finding("settings", source)]
    for problem in ignored(app.path):
        yield note("settings", str(problem))

    read, faults = _read("lists", lambda: load_lists(app.path, settings))
    lists = read or ()
    yield from faults or _of_the_lists(lists, settings)

    # The pool's threads are daemons, so a silent server does not delay the exit.
    home = Home(app.path, settings, lists, app.path)
    with app.at(home) as tried, ThreadPool(4) as pool:
        broken = {
            what: [Finding(what, str(fault.problem), ConfigError.exit_code) for fault in found]
            for what, found in groupby(soundness.faults(tried), attrgetter("what"))
        }
        probes = []
        if loaded and not offline:
            for probe, silence, seconds in servers(tried, patience, broken):
                result = pool.apply_async(_tried, (silence.what, probe, tried))
                probes.append((result, silence, began + seconds))

        yield from broken.pop("emails", None) or _tried("emails", _templates, tried)
        yield from broken.pop("prompts", [Finding("prompts", "both render")])
        if loaded is None:
            yield Finding("the rest", "not checked, because the settings are broken", exit_code=78)
            return
        for of_part in broken.values():
            yield from of_part
        if read is not None:
            yield from _of_the_journals(tried)
        yield from _of_the_libraries(tried)
        yield from _of_the_home(tried)
        for result, silence, end in probes:
            try:
                yield from result.get(max(0.0, end - time.monotonic()))
            except multiprocessing.TimeoutError:
                yield silence


def _read(what: str, load: Callable[[], T]) -> tuple[T | None, list[Finding]]:
    """Return what was loaded, or every fault that makes it unusable."""
    try:
        return load(), []
    except PaperboyError as error:
        return None, [Finding(what, str(problem), error.exit_code) for problem in error.problems]


def _tried(what: str, probe: Callable[[App], Iterable[Finding]], app: App) -> list[Finding]:
    """Return a probe's findings, then the problems of the error that ended it, if any."""
    found = list[Finding]()
    _, faults = _read(what, lambda: found.extend(probe(app)))
    return found + faults


def _of_the_lists(lists: Sequence[MailingList], settings: Settings) -> Iterator[Finding]:
    addresses = dict[str, None]()
    for mailing_list in lists:
        addresses |= dict.fromkeys(mailing_list.addresses())
        number = len(mailing_list.subscribers)
        people = "no subscribers, so it is never due"
        if number:
            hour = f"{mailing_list.send_at:%H:%M} {mailing_list.timezone.key}"
            people = f"{counted(number, 'subscriber')}, {hour}"
        paused = "; paused, so it sends nothing" * mailing_list.paused
        categories = ", ".join(named(mailing_list.categories))
        yield Finding("lists", f"{mailing_list.name}: {categories}; {people}{paused}")
        topics = mailing_list.topics
        if settings.has_llm and len(topics) > _LONG_TOPICS:
            size = f"topics of {len(topics.encode()) / 1000:.0f} kB"
            cost = f"about {len(topics) // 4:,} tokens in each call of the LLM"
            yield note("lists", f"{mailing_list.name}: {size} are {cost}; shorten them")
        for message in placeholders(mailing_list):
            yield note("lists", message)
        for incident in inactive(mailing_list):
            fix = "if one of them should get mail, correct its status"
            yield note("lists", f"{mailing_list.name}: {incident.reason}; {fix}")

    for domain in dict.fromkeys(address.rpartition("@")[2] for address in addresses):
        meant = re.sub(r"\.con$", ".com", domain)
        meant = _MISTYPED.get(meant, meant)
        if meant != domain:
            yield note("lists", f"addresses at {domain} may reach nobody: did you mean {meant}?")

    examples = list(filter(EXAMPLE.fullmatch, addresses))
    if examples and settings.mail_from:
        nobody = f"mail to {together(examples, 1)} reaches nobody (example addresses)"
        yield note("lists", f"{nobody}; put your readers into {LISTS_FILE}")


def _of_the_journals(app: App) -> Iterator[Finding]:
    """Report journals that no list takes, which nobody reads."""
    taken = {category for mailing_list in app.home.lists for category in mailing_list.categories}
    names = [
        category for category in journals(app.home.source / LISTS_FILE) if category not in taken
    ]
    if names:
        message = f"no list takes {together(names, 3)}"
        yield note("lists", f"{message}; add that to the categories of one, or remove its feed")


def _of_the_libraries(app: App) -> Iterator[Finding]:
    """Report the libraries that are files; those of Zotero are asked for with the servers."""
    for mailing_list in sorted(app.home.lists, key=attrgetter("library")):
        if not mailing_list.library or isinstance(library.parse(mailing_list.library), Collection):
            continue

        def found(app: App, of: MailingList = mailing_list) -> Iterator[Finding]:
            content = files.read(app.home.source / of.library, library.MOST_BYTES)
            return of_library(app, of, library.read(of.library, content))

        yield from _tried("library", found, app)


def placeholders(mailing_list: MailingList) -> Iterator[str]:
    """Yield a note if the topics still contain a new home's placeholders."""
    words = [repr(words) for words in sample.PLACEHOLDERS if words in mailing_list.topics]
    if words:
        fix = "readers see that, so write what the list wants to read"
        yield f"{mailing_list.name}: the topics still say {together(words)}, as in a new home; {fix}"


def _templates(app: App) -> Iterator[Finding]:
    """Report sound templates, the operator's files that no shipped template uses, those that hide a
    shipped translation, and translations of the operator's that lack a file.
    """
    message = "the templates render"
    _, *shipped = app.home.folders("emails")
    known = {file.name for folder in shipped for file in folder.glob("*.j2")}
    paths = [path for path, _ in app.templates.texts]
    strange = [path for path in paths if path.rpartition("/")[2] not in known]
    if shipped and strange:
        message += f"; no shipped template uses {', '.join(strange)}"

    yield Finding("emails", message)
    for path in sorted(_hidden(app)):
        fix = f"copy it to emails/{path}, unless these lists are to have your words"
        yield note("emails", f"emails/{path.name} goes before the shipped {path}; {fix}")

    for path in sorted(_untranslated(app)):
        yield note("emails", f"emails/{path.parent} has no {path.name}, whose words are in English")


def _untranslated(app: App) -> Iterator[Path]:
    """Yield the files of words, of which a list's language has others in the home."""
    own, *shipped = app.home.folders("emails")
    names = {file.name for folder in shipped for file in folder.glob("*/*.j2")}
    there = {path for path, _ in app.templates.texts}
    languages = {mailing_list.language for mailing_list in app.home.lists}
    for language in app.templates.used(languages):
        if any((own / language / name).exists() for name in names):
            lacking = (f"{language}/{name}" for name in names)
            yield from (Path(path) for path in lacking if path not in there)


def _hidden(app: App) -> Iterator[Path]:
    """Yield the shipped translations, for a list's language, before which the operator's plain file
    goes.
    """
    own, *shipped = app.home.folders("emails")
    languages = {mailing_list.language for mailing_list in app.home.lists}
    for file in (file for folder in shipped for file in folder.glob("*/*.j2")):
        path = Path(file.parent.name, file.name)
        is_used = any(f"{language}-".startswith(f"{path.parent}-") for language in languages)
        if is_used and (own / file.name).exists() and not (own / path).exists():
            yield path


def _of_the_home(app: App) -> Iterator[Finding]:
    settings = app.settings
    if problems := denied(app.path, settings):
        yield Finding("home", str(problems[0]), exit_code=78)
        return

    database = _tried("database", _database, app)
    yield from database
    if not any(finding.exit_code for finding in database):
        yield from _tried("authors", _of_the_authors, app)
        yield from _tried("categories", _of_the_categories, app)

    folder = next(filter(Path.exists, settings.paperboy_database.parents))
    free = shutil.disk_usage(folder).free
    size = f"{free / 1e9:,.1f} GB" if free >= 1e9 else f"{free / 1e6:.0f} MB"
    message = f"{size} free at {folder}"
    if free < LITTLE:
        message = f"only {message}; free some space, or move PAPERBOY_DATABASE to another disk"
    yield Finding("disk", message, exit_code=int(free < LITTLE))

    yield from _modes(app.path, settings)
    if settings.uses_outbox:
        outbox = settings.paperboy_outbox
        if _can_be_made(outbox / "Maildir"):
            yield Finding("mail", f"no SMTP_HOST, so mail goes to the outbox {outbox}")
        else:
            fix = "let this user write there, or set PAPERBOY_OUTBOX"
            yield Finding("mail", f"{outbox} cannot hold mail; {fix}", exit_code=1)
        return

    if settings.alert_to is None:
        yield note("alerts", "nobody is alerted when a morning fails; set ALERT_TO")
    elif EXAMPLE.fullmatch(settings.alert_to.address):
        nobody = f"{settings.alert_to.address} reaches nobody (an example address)"
        yield note("alerts", f"{nobody}; set ALERT_TO to your own")
    else:
        yield Finding("alerts", f"{settings.alert_to.address} is alerted when a morning fails")


def _database(app: App) -> Iterator[Finding]:
    path = app.settings.paperboy_database
    mounts = Path("/proc/self/mounts")  # Linux only
    if mounts.exists() and (fault := network_fault(path, os.fsdecode(mounts.read_bytes()))):
        yield Finding("database", fault, exit_code=78)
    elif store := app.open_store(check=True):
        store.close()
        yield Finding("database", f"{path}")
    elif _can_be_made(path):
        yield Finding("database", f"{path} will be created by the first morning")
    else:
        fix = "let this user write there, or set PAPERBOY_DATABASE"
        yield Finding("database", f"{path}: cannot be created; {fix}", exit_code=78)


def network_fault(path: Path, mounts: str) -> str:
    """Return why the database cannot be used if it is on a network file system; empty if it is not.
    `mounts` is the text of /proc/self/mounts.
    """
    kind = files.file_system(path, mounts)
    if kind not in _NETWORK:
        return ""
    reason = f"is on a network file system ({kind}), where SQLite's WAL fails"
    return f"{path} {reason}; set PAPERBOY_DATABASE to a file on a local disk"


def _of_the_authors(app: App) -> Iterator[Finding]:
    """Report followed names that look as if no paper could match them."""
    lists = [mailing_list for mailing_list in app.home.lists if mailing_list.authors]
    categories = {
        category
        for mailing_list in lists
        for category in mailing_list.categories
        if not _gives_initials(source_of(category))  # another spelling would not match there
    }
    since = app.clock() - RECENT
    papers: list[tuple[str, ...]] = []
    if lists and (store := app.open_store()):
        with store:
            papers = store.papers.authors(categories, since)

    stored = {name_key(name): name for name in sorted(set().union(*papers))}
    followed = dict.fromkeys(name for mailing_list in lists for name in mailing_list.authors)
    spellings = other_spellings(followed, stored)
    searched = f"of the {counted(len(papers), 'paper')} submitted since {since:%d %b %Y}"

    for mailing_list in lists:
        sources = filter(_gives_initials, sources_of(mailing_list.categories))
        initials = [source for source in sources if not source.first_read]  # some feeds do
        if initials and not mailing_list.is_judged:
            names = together([source.name for source in initials])
            message = f"{mailing_list.name}: without topics, it gets only corresponding authors' papers of {names}"
            yield note("authors", f"{message}; others stand there by their initials")

        odd = [
            name for name in mailing_list.authors if name not in spellings and _SLIP.fullmatch(name)
        ]
        if unmatched := [f"{name!r}" for name in odd if name_key(name) not in stored]:
            message = f"{mailing_list.name}: no stored paper matches {together(unmatched, 3)}"
            fix = 'full names are compared, one to an item, so write Vera Rubin, or "Rubin, Vera" in quotes'
            yield note("authors", f"{message}; {fix}")

        for name in mailing_list.authors:
            if name not in spellings:
                continue
            others = together(spellings[name], 3)
            message = (
                f"{mailing_list.name}: {searched}, none is by {name}, but some are by {others}"
            )
            fix = "if that is the same person, add this spelling to authors"
            yield note("authors", f"{message}; {fix}")


def _of_the_categories(app: App) -> Iterator[Finding]:
    """Report categories without a recent paper, since their source may have renamed them."""
    since = app.clock() - _FORTNIGHT
    store = app.open_store()
    if store is None:
        return
    with store:
        sources = sources_of(categories(app))
        # A source without a key keeps its categories' names, and an operator names feeds.
        for source in (source for source in sources if source.key and not source.first_read):
            silent = store.papers.silent_categories(source.key, since)
            for mailing_list in app.home.lists:
                if source.key in mailing_list.categories:  # the list takes the whole source
                    continue
                names = [name for name in mailing_list.categories if name in silent]
                if names:
                    message = f"no paper of {together(names, 3)} came in 14 days"
                    fix = f"see whether {source.name} has another name for it"
                    yield note("categories", f"{mailing_list.name}: {message}; {fix}")


def _gives_initials(source: Source) -> bool:
    """Check whether a source gives initials for all but the corresponding authors."""
    return bool(source.key)


_FORTNIGHT = timedelta(days=14)


def _can_be_made(path: Path) -> bool:
    nearest = next(parent for parent in path.parents if parent.exists() or parent.is_symlink())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def _modes(home: Path, settings: Settings) -> Iterator[Finding]:
    """Report files that other users can read or replace.

    The database is not among them: opening it has set its mode.
    """
    key = settings.openai_api_key.value
    secret = key or settings.openai_headers or settings.smtp_password.value
    forbidden_modes = [
        (settings.paperboy_database.parent, 0o022),
        (home / ".env" if secret else None, 0o077),
        (settings.dkim_key, 0o077),
    ]
    for path, forbidden in forbidden_modes:
        if path is None or not path.exists():
            continue
        mode = path.stat().st_mode & 0o7777
        is_sticky = mode & 0o1000  # like /tmp: others cannot replace our files
        if mode & forbidden and not is_sticky:
            fix = f"chmod {'go-w' if path.is_dir() else '600'} {shlex.quote(str(path))}"
            message = f"{path} is open to users other than its owner (mode {mode:o})"
            yield note("privacy", f"{message}; {fix}")
