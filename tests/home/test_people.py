"""`subscribers_file`: people in a file of their own, read as they would be in `subscribers.yaml`."""

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paperboy.errors import ConfigError, PaperboyError
from paperboy.home import edits, values
from paperboy.home.home import Home
from paperboy.home.people import SubscribersFile
from paperboy.home.versions import Files
from paperboy.models import Subscriber
from tests.builders import mailing_list
from tests.home.test_home import in_force

LISTS = """\
lists:
  - name: big
    categories: [cs.LG]
    topics: learning
    subscribers_file: {}
"""
ADA = Subscriber("ada@example.org")
GRACE = Subscriber("grace@example.org", "Grace Hopper")
ZOE = Subscriber("zoe@example.org", "Zoë")


def home_of(
    path: Path, content: str | bytes, file: str = "readers.txt", *, lists: str = LISTS
) -> Home:
    (path / "subscribers.yaml").write_text(lists.format(file), "utf-8")
    (path / file).parent.mkdir(exist_ok=True)
    (path / file).write_bytes(content.encode() if isinstance(content, str) else content)
    return Home.load(path, {})


def people(path: Path, content: str | bytes, file: str = "readers.txt") -> list[Subscriber]:
    return list(home_of(path, content, file).lists[0].subscribers)


def problems(
    path: Path, content: str | bytes, file: str = "readers.txt", *, lists: str = LISTS
) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        home_of(path, content, file, lists=lists)
    assert caught.value.exit_code == 78
    return list(map(str, caught.value.problems))


# --- reading


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("readers.txt", "ada@example.org\nGrace Hopper <grace@example.org>\n"),
        ("lists/größe.txt", "# us\n\n ada@example.org  # since May\n\tGrace Hopper <grace@example.org> # and\n#"),
        ("readers.txt", b"\xef\xbb\xbfada@example.org\r\n\"Grace Hopper\" <grace@Example.ORG>"),
        ("readers.txt", "ada@example.org\rGrace Hopper <grace@example.org>"),
        ("readers.csv", "address,name\nada@example.org,\ngrace@example.org,Grace Hopper\n"),
        ("readers.csv", "# us\nSince;Name;Address\n24;;ada@example.org\n25;\"Grace Hopper\"; grace@example.org \n"),
        ("readers.csv", b"\xef\xbb\xbf\"address\"\tname\r\nada@example.org\r\n\r\ngrace@example.org\tGrace Hopper\r\n"),
        ("readers.csv", "name\taddress\n\tada@example.org\n\t\nGrace Hopper\tgrace@example.org\t\n"),
        ("readers.csv", "address,name\nada@example.org,ada@example.org\nGrace Hopper <grace@example.org>,grace\n"),
        ("readers.csv", "address,name\nada@example.org,<ada>\ngrace@example.org,Grace Hopper\n"),
        ("readers.csv", '"name", "address"\n, ada@example.org\n"Grace Hopper", "grace@example.org"\n'),
        ("readers.csv", ',,\naddress,name\n , \nada@example.org,\n"",""\ngrace@example.org,Grace Hopper\n,,\n;\n'),
        ("r.csv", "Email Address,First Name,Last Name,Address\nada@example.org\ngrace@example.org,Grace,Hopper\n"),
        ("readers.csv", "LASTNAME;FIRSTNAME;EMAIL\n;;ada@example.org\nHopper;Grace;grace@example.org\n"),
    ],
)  # fmt: skip
def test_file_is_read_line_by_line(tmp_path: Path, file: str, content: str | bytes) -> None:
    assert people(tmp_path, content, file) == [ADA, GRACE]


def test_subscribers_of_the_file_come_after_those_of_subscribers_yaml(tmp_path: Path) -> None:
    (big,) = home_of(
        tmp_path, "grace@example.org", lists=f"{LISTS}    subscribers: [ada@example.org]\n"
    ).lists
    assert [who.address for who in big.subscribers] == ["ada@example.org", "grace@example.org"]
    assert (len(big.subscribers), big.subscribers[1].address) == (2, "grace@example.org")
    assert list(big.addresses()) == ["ada@example.org", "grace@example.org"]
    assert [big.subscriber(address) for address in ("ADA@example.org", "GRACE@example.org", "grace@example")] == [
        ADA, Subscriber("grace@example.org"), None
    ]  # fmt: skip


ANYBODY = st.tuples(
    st.sampled_from(["Ada", "ada+x", "müller", "a'b"]),
    st.sampled_from(
        ["example.org", "Example.ORG", "bücher.example", "ｅxample.org", "xn--bcher-kva.example"]
    ),
    st.sampled_from(
        ["{}", "<{}>", "Zoë <{}>", '"L, A" <{}>', "Bob #1 <{}>", "{}  # note", " <{}> # <b@b.org>"]
    ),
).map(lambda parts: parts[2].format("@".join(parts[:2])))


@given(st.lists(ANYBODY, max_size=4))
def test_addresses_are_those_of_the_people_however_they_are_written(lines: list[str]) -> None:
    made = SubscribersFile((), "readers.txt", "\n".join(lines).encode())
    assert list(made.addresses()) == [who.address.lower() for who in made]
    wanted = mailing_list(subscribers=made)
    assert all(wanted.subscriber(address.upper().replace("Ü", "ü")) for address in made.addresses())
    assert len(made) == len(lines)


# --- mistakes

FIRST_LINE = (
    "the first line must name the columns, one of them 'address', as address,name; this one has"
)
STOPS = "reporting stops here, after 200 problems; fix those above, then run paperboy check"
QUOTES = (
    "these quotes are never closed, or end within a cell; "
    "write each row on one line, and double quotes within a cell"
)


def test_every_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    text = "# us\nada@example.org\nada@example\nAda <ADA@example.org>\na@b.org, c@b.org\nbo@b.org"
    lists = f"{LISTS}    subscribers: [bo@b.org]\n    colour: red\n"
    assert [problem.partition(": ")[0] for problem in problems(tmp_path, text, lists=lists)] == [
        "subscribers.yaml:7:5", "readers.txt:3", "readers.txt:4", "readers.txt:5", "readers.txt:6"
    ]  # fmt: skip
    told = problems(tmp_path, text, lists=lists)
    assert told[1].startswith("readers.txt:3: 'ada@example' is not an address: ")
    assert told[2] == "readers.txt:4: ada@example.org is already on this list, in line 2"
    assert told[4] == "readers.txt:6: bo@b.org is already on this list, in subscribers.yaml"


def test_file_of_mistakes_is_not_read_to_its_end(tmp_path: Path) -> None:
    told = problems(tmp_path, "x\n" * 100_000)
    assert told[-1] == f"readers.txt:201: {STOPS}"
    assert told[0].startswith("readers.txt:1: 'x' is not an address")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("ada@example.org;Ada\n", f"1: {FIRST_LINE} ada@example.org, ada"),
        ("# us\nMail,Name\nada@b.org,Ada\n", f"2: {FIRST_LINE} mail, name"),
        ('"address,name\nada@example.org\n', f"1: {QUOTES}"),
        ("address\n,Ada\n", "2: '' is not an address: An email address must have an @-sign."),
        ('name,address\n"Ada,ada@example.org\nBo,bo@b.org\n', f"2: {QUOTES}"),
        ('name,address\n"Ada "L" Byron",ada@example.org\n', f"2: {QUOTES}"),
    ],
)  # fmt: skip
def test_mistakes_in_a_csv_are_reported(tmp_path: Path, content: str, told: str) -> None:
    assert problems(tmp_path, content, "readers.csv") == [f"readers.csv:{told}"]


def test_cell_over_two_lines_is_reported_where_it_begins(tmp_path: Path) -> None:
    first, second = problems(
        tmp_path, 'address,name\nada@example.org,"Ada\nLovelace"\nbo@b.org,Bo\n', "readers.csv"
    )
    assert first == f"readers.csv:2: {QUOTES}"
    assert second.startswith("readers.csv:3: 'Lovelace\"' is not an address")


@pytest.mark.parametrize(
    "name", ["readers.xlsx", "../readers.txt", "/etc/readers.txt", "my readers.txt", "a/../b.txt"]
)
def test_invalid_file_name_is_refused_with_a_valid_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "subscribers.yaml").write_text(LISTS.format(f'"{name}"'))
    with pytest.raises(
        ConfigError,
        match=r"^subscribers.yaml:5:23: subscribers_file: must be the name of a file in",
    ):
        Home.load(tmp_path, {})


@pytest.mark.parametrize(
    "written", ['"reader\\x73.txt"', "!!str readers.txt", ">-\n      readers.txt"]
)
def test_name_that_nobody_would_watch_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "readers.txt").write_text("")
    (tmp_path / "subscribers.yaml").write_text(LISTS.format(written))
    told = r"^subscribers.yaml:5:\d+: subscribers_file: write the file's name as it is, right after the key"
    with pytest.raises(ConfigError, match=told):
        Home.load(tmp_path, {})


def test_file_that_is_gone_outside_or_no_text_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    outside = tmp_path / "readers.txt"
    home.mkdir()
    (home / "subscribers.yaml").write_text(LISTS.format("readers.txt"))
    outside.write_text("ada@example.org")

    def told() -> str:
        with pytest.raises(ConfigError) as caught:
            Home.load(home, {})
        return str(caught.value).removeprefix("subscribers.yaml:5:23: subscribers_file: ")

    assert told() == "there is no 'readers.txt' in the home; create it, an address on each line"
    (home / "readers.txt").symlink_to(outside)
    assert told() == "'readers.txt' is outside the home; put the file there"
    (home / "readers.txt").unlink()
    (home / "readers.txt").write_bytes(b"ada@example.org\n\xff\n")
    assert told() == "readers.txt is not UTF-8 text (line 2); save it as UTF-8"


# --- rows that are no subscribers


def inactive(path: Path, content: str) -> list[str]:
    subscribers = home_of(path, content, "readers.csv").lists[0].subscribers
    assert isinstance(subscribers, SubscribersFile)
    assert list(subscribers) == [ADA]
    assert (len(subscribers), list(subscribers.addresses())) == (1, [ADA.address])
    return [status for _, status in subscribers.inactive()]


@pytest.mark.parametrize(
    "status",
    [
        "unsubscribed", "Unsubscribed", " cleaned ", "Non-Subscribed", "archived", "pending",  # Mailchimp
        "blocklisted", "blacklisted", "disabled",  # listmonk
        "Hard bounced", "bounced", "complained",  # Brevo and others
        "by_user", "by bounces", "by_moderator",  # Mailman
    ],
)  # fmt: skip
def test_row_that_another_program_no_longer_mails_is_no_subscriber(
    tmp_path: Path, status: str
) -> None:
    text = f"address,status\nada@example.org,subscribed\ngrace@example.org,{status}\n"
    assert inactive(tmp_path, text) == [status.strip().lower().replace("_", " ")]


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("status", ""),
        ("status", "enabled"),
        ("status", "soft bounced"),
        ("status", "unsubscribed students"),
        ("remark", "unsubscribed"),
        ("disability status", "disabled"),
    ],
)
def test_any_other_row_is_a_subscriber(tmp_path: Path, title: str, word: str) -> None:
    assert inactive(tmp_path, f"address,{title}\nada@example.org,{word}\n") == []


@pytest.mark.parametrize(
    ("title", "status"), [("UNSUB_TIME", "unsubscribed"), ("CLEAN_TIME", "cleaned")]
)
def test_export_of_those_who_left_has_no_subscribers(
    tmp_path: Path, title: str, status: str
) -> None:
    text = f"Email Address,{title}\nada@example.org,\ngrace@example.org,2026-11-20 08:00:00\n"
    assert inactive(tmp_path, text) == [status]


def test_row_that_is_no_subscriber_may_have_anything_in_its_other_cells(tmp_path: Path) -> None:
    text = "Delivery Status;address\nenabled;ada@example.org\ncleaned;ada@example.org\ncleaned;x\n"
    assert inactive(tmp_path, text) == ["cleaned", "cleaned"]


def test_whoever_unsubscribed_elsewhere_may_subscribe_here_and_is_forgotten_whole(
    tmp_path: Path,
) -> None:
    text = "address,name,status\nada@example.org,,\nzoe@example.org,Zoë,unsubscribed\n"
    home = home_of(tmp_path, text, "readers.csv")
    assert edits.subscribe(home, home.list("big"), ZOE) == "readers.csv:4"
    assert (tmp_path / "readers.csv").read_text() == f"{text}zoe@example.org,Zoë,\n"
    home = Home.load(tmp_path, {})
    assert list(home.list("big").subscribers) == [ADA, ZOE]
    assert edits.forget([home], ZOE.address) == {"readers.csv": (3, 4)}
    assert (tmp_path / "readers.csv").read_text() == "address,name,status\nada@example.org,,\n"


# --- edits


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        (
            "readers.txt",
            "ada@example.org\n# end\n",
            "ada@example.org\n# end\nZoë <zoe@example.org>\n",
        ),
        ("readers.txt", "ada@example.org", "ada@example.org\nZoë <zoe@example.org>\n"),
        ("readers.txt", "ada@example.org\r\n", "ada@example.org\r\nZoë <zoe@example.org>\r\n"),
        ("readers.txt", "", "Zoë <zoe@example.org>\n"),
        ("readers.csv", "", "address,name\nzoe@example.org,Zoë\n"),
        ("readers.csv", "name;since;address\n", "name;since;address\nZoë;;zoe@example.org\n"),
        (
            "readers.csv",
            "address\r\nada@example.org",
            "address\r\nada@example.org\r\nzoe@example.org\r\n",
        ),
        ("readers.csv", "since\taddress\n", "since\taddress\n\tzoe@example.org\n"),
        (
            "readers.csv",
            "Last Name,First Name,Email Address,Address\n",
            "Last Name,First Name,Email Address,Address\n,Zoë,zoe@example.org,\n",
        ),
    ],
)
def test_new_subscriber_is_one_line_more_and_leaves_no_trace(
    tmp_path: Path, file: str, before: str, after: str
) -> None:
    home = home_of(tmp_path, before, file)
    (tmp_path / file).chmod(0o640)
    assert edits.subscribe(home, home.list("big"), ZOE) == f"{file}:{after.count(chr(10))}"
    assert (tmp_path / file).read_bytes().decode() == after
    assert (tmp_path / file).stat().st_mode & 0o777 == 0o640
    home = Home.load(tmp_path, {})
    assert edits.unsubscribe(home, home.list("big"), ZOE) == f"{file}:{after.count(chr(10))}"
    assert not Home.load(tmp_path, {}).list("big").subscriber(ZOE.address)
    assert sorted(path.name for path in tmp_path.iterdir()) == [file, "subscribers.yaml"]


NAMES = st.text("aZ #\"',;<ü=-\\", max_size=6)
LOCAL_PARTS = st.sampled_from(["ada", "a#b", "'a", "müller"])
FORMS = [("r.txt", ""), ("r.csv", ""), ("r.csv", "name;address\n"), ("r.csv", "name\taddress\n")]


def test_name_is_divided_where_a_file_has_two_columns_for_it() -> None:
    head = b"Email Address,First Name,Last Name\n"
    line = SubscribersFile((), "r.csv", head).as_line(
        values.mailbox("Grace B. Hopper <grace@example.org>")
    )
    assert line == "grace@example.org,Grace,B. Hopper"


@given(NAMES, LOCAL_PARTS, st.sampled_from(FORMS))
def test_added_subscriber_is_read_back(name: str, local_part: str, form: tuple[str, str]) -> None:
    file, head = form
    try:
        who = values.mailbox(f"{name} <{local_part}@example.org>")
    except ValueError:
        assume(False)
    try:
        line = SubscribersFile((), file, head.encode()).as_line(who)
    except ValueError as error:
        assert "#" in name + local_part, "which may begin a comment"
        assert "add them by hand" in str(error)  # noqa: PT017
        return
    made = SubscribersFile((), file, f"{head}{line}\n".encode())
    assert (list(made), made.problems()) == ([who], [])


def test_subscriber_is_not_added_to_a_file_whose_header_has_changed(tmp_path: Path) -> None:
    """The header was changed since the lists were read."""
    home = home_of(tmp_path, "address,name\n", "readers.csv")
    (tmp_path / "readers.csv").write_text("mail,name\n")
    with pytest.raises(
        ConfigError,
        match=r"readers.csv: cannot take Zoë <zoe@example.org> as a line of its own; add",
    ):
        edits.subscribe(home, home.list("big"), ZOE)
    assert (tmp_path / "readers.csv").read_text() == "mail,name\n"


def test_subscriber_added_meanwhile_is_not_added_twice(tmp_path: Path) -> None:
    home = home_of(tmp_path, "ada@example.org\n")
    edits.subscribe(home, home.list("big"), ZOE)
    with pytest.raises(
        PaperboyError,
        match=r"^readers.txt was just changed by somebody else; try",
    ):
        edits.subscribe(home, home.list("big"), Subscriber("Zoe@example.org"))
    assert (tmp_path / "readers.txt").read_text() == "ada@example.org\nZoë <zoe@example.org>\n"


def test_leaving_subscriber_takes_the_line_along_wherever_it_stands(tmp_path: Path) -> None:
    lists = f"{LISTS}    subscribers: [bo@b.org]\n"
    home = home_of(
        tmp_path,
        "# us\nAda <ada@Example.org> # since May\nMüller <m@bücher.example>\n",
        lists=lists,
    )
    big = home.list("big")

    def left(address: str) -> str:
        home = Home.load(tmp_path, {})
        return edits.unsubscribe(home, home.list("big"), values.mailbox(address))

    assert left("ADA@example.org") == "readers.txt:2"
    assert left("m@bücher.example") == "readers.txt:2"
    assert (tmp_path / "readers.txt").read_text() == "# us\n"
    assert left("bo@b.org") == "subscribers.yaml:6"
    assert not Home.load(tmp_path, {}).list("big").subscribers
    assert len(big.subscribers) == 3


def test_file_that_lists_share_is_left_to_a_person(tmp_path: Path) -> None:
    more = LISTS.removeprefix("lists:\n").replace("big", "small")
    home = home_of(tmp_path, "ada@example.org\n", lists=(LISTS + more).replace("{}", "readers.txt"))
    told = r"^readers.txt: Paperboy cannot edit the subscribers of big alone: small has the same file; edit it by hand"
    with pytest.raises(ConfigError, match=told):
        edits.subscribe(home, home.list("big"), ZOE)
    with pytest.raises(ConfigError, match=told):
        edits.unsubscribe(home, home.list("big"), ADA)
    assert (tmp_path / "readers.txt").read_text() == "ada@example.org\n"


def test_file_that_somebody_else_has_just_changed_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_of(tmp_path, "ada@example.org\n")
    fsync = os.fsync

    def while_ours_is_written(number: int) -> None:
        (tmp_path / "readers.txt").write_text("grace@example.org\n")
        fsync(number)

    monkeypatch.setattr(os, "fsync", while_ours_is_written)
    with pytest.raises(
        PaperboyError, match=r"^readers.txt was just changed by somebody else; try again"
    ):
        edits.subscribe(home, home.list("big"), ZOE)
    assert (tmp_path / "readers.txt").read_text() == "grace@example.org\n"


def test_forgotten_address_leaves_the_file_its_comments_and_the_version_in_force(
    tmp_path: Path,
) -> None:
    text = "# ada@example.org asked\nAda <ada@example.org>\nxada@example.org\n"
    home = home_of(tmp_path, text)
    in_force(tmp_path)
    (copy,) = Files(tmp_path).containing("ADA@example.org")
    versions = [home, Home.in_force(tmp_path, {})]
    assert edits.forget(versions, "ada@example.org") == {"readers.txt": (1, 2)}
    for folder in (tmp_path, copy):
        assert (folder / "readers.txt").read_text() == "# … asked\nxada@example.org\n"
    assert Files(tmp_path).containing("ada@example.org") == []


@pytest.mark.parametrize(
    ("file", "line"), [("readers.txt", "Ada <ada@Müller.de>"), ("r.csv", "ada@müller.de,Ada")]
)
def test_forgotten_address_may_have_its_domain_in_unicode(
    tmp_path: Path, file: str, line: str
) -> None:
    home = home_of(tmp_path, f"address,name\n{line}\n" if file == "r.csv" else f"#\n{line}\n", file)
    in_force(tmp_path)
    assert Files(tmp_path).containing("grace@example.org") == []
    (copy,) = Files(tmp_path).containing("ADA@xn--mller-kva.de")
    assert edits.forget([home, Home.in_force(tmp_path, {})], "ada@xn--mller-kva.de") == {file: (2,)}
    assert "ller.de" not in (tmp_path / file).read_text() + (copy / file).read_text()
    assert Files(tmp_path).containing("ada@xn--mller-kva.de") == []


def test_file_that_only_a_comment_names_is_left_alone(tmp_path: Path) -> None:
    """Nor one that stands elsewhere: `forget` leaves it, and nothing in it is an error."""
    comments = "# old: subscribers_file: members.csv\n    # and old/more.txt\n"
    home = home_of(
        tmp_path, "ada@example.org\n", lists=f"{comments}{LISTS}    title: See members.csv\n"
    )
    (tmp_path / "members.csv").write_bytes(b"ada@example.org \xff\n")
    last_good = in_force(tmp_path)
    assert not (last_good / "members.csv").exists()
    assert edits.forget([home], "ada@example.org") == {"readers.txt": (1,)}
    assert (tmp_path / "members.csv").read_bytes() == b"ada@example.org \xff\n"


# --- while the service runs


def test_file_is_watched_and_copied_as_subscribers_yaml_is(tmp_path: Path) -> None:
    home_of(tmp_path, "ada@example.org\n", "lists/big.txt")
    files = Files(tmp_path)
    before = files.fingerprint()
    (tmp_path / "lists" / "big.txt").write_text("bo@b.org\n")
    assert files.fingerprint() != before
    last_good = in_force(tmp_path)
    assert (last_good / "lists" / "big.txt").read_text() == "bo@b.org\n"
    (tmp_path / "lists" / "big.txt").write_text("broken\n")
    own, broken = Home.own_or_in_force(tmp_path, {})
    assert [who.address for who in own.list("big").subscribers] == ["bo@b.org"]
    assert str(broken).startswith("lists/big.txt:1: 'broken' is not an address")


@pytest.mark.parametrize(
    "written",
    [
        "subscribers_file: more.txt",
        "'subscribers_file' : &file 'more.txt'",
        'subscribers_file:\n "more.txt" # text',
    ],
)
def test_file_is_watched_as_soon_as_it_is_named_and_however_that_is_written(
    tmp_path: Path, written: str
) -> None:
    home_of(tmp_path, "")
    (tmp_path / "more.txt").write_text("ada@example.org")
    one = f"{{name: one, categories: [cs.LG], topics: x, {written}\n}}"
    (tmp_path / "subscribers.yaml").write_text(f"lists: [{one}]")
    assert list(Home.load(tmp_path, {}).list("one").subscribers) == [ADA]
    before = Files(tmp_path).fingerprint()
    (tmp_path / "more.txt").write_text("bo@b.org")
    assert Files(tmp_path).fingerprint() != before


def test_comment_hides_no_file_whatever_ends_its_line(tmp_path: Path) -> None:
    home_of(tmp_path, "ada@example.org", lists=f"# ours\n{LISTS}".replace("\n", "\r"))
    assert (in_force(tmp_path) / "readers.txt").exists()
