"""Mistakes of operators: each is one line with its place and the fix, exit code 78, and nothing is touched.

The tables are of the mistakes themselves; the readers of single values have theirs in `tests/home/`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.cli.conftest import World

DOTENV = """\
OPENAI_API_KEY=sk-wren
SMTP_HOST=smtp.wren.edu
MAIL_FROM=Paperboy <papers@wren.edu>
ALERT_TO=operator@wren.edu
"""
LISTS = """\
lists:
  - name: strings
    categories: [hep-th]
    topics: topics/strings.md
"""
REST = "the rest: not checked, because the settings are broken"
LINE = "this line is not NAME=value; fix it, close its quotes, or begin it with #"
ADDRESS = "must be one address, such as ada@example.org or Ada Lovelace <ada@example.org>"
INDENTED = "the indentation does not match the lines above, or quotes or a bracket end too early"
NO_ITEM = "this is neither 'key: value' nor '- item'; a space follows the colon or the dash"
NO_LIST = "must be a list, such as [one, two], or lines that begin with '- '"
WEEKDAY = "weekdays: must be one of mon, tue, wed, thu, fri, sat, sun"


@pytest.fixture
def operator(world: World) -> World:
    """A world with a sound home."""
    world.write(".env", DOTENV)
    (world.path / ".env").chmod(0o600)
    world.write("subscribers.yaml", LISTS + "    subscribers: [ada@wren.edu]\n")
    world.write("prompts/topics/strings.md", "Relevant: strings and black holes.\n")
    return world


def run(operator: World, *arguments: str) -> tuple[int, list[str]]:
    """Return the exit code, and all lines that do not say that something is well."""
    ran = operator.run(*arguments)
    lines = (ran.out + ran.err).replace(str(operator.path), "HOME").splitlines()
    return ran.code, [line for line in lines if not line.startswith("ok ")]


def check(operator: World) -> tuple[int, list[str]]:
    """Return what `check --offline` finds, but for the line that the rest was not checked."""
    code, lines = run(operator, "check", "--offline")
    return code, [line.removeprefix("fault  ") for line in lines if REST not in line]


def test_sound_home_has_no_fault_and_no_note(operator: World) -> None:
    assert check(operator) == (0, [])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        # the mail server
        (
            "SMTP_HOST=smtps://smtp.wren.edu",
            "SMTP_HOST: must be the server's name alone, such as smtp.example.org; the port is a separate setting",
        ),
        ("SMTP_PORT=587;", "SMTP_PORT: must be a whole number from 1 to 65535"),
        ("SMTP_SECURITY=ssl", "SMTP_SECURITY: must be one of starttls, tls, none"),
        ("SMTP_PASS=hunter2", "SMTP_PASS: unknown setting, did you mean 'SMTP_PASSWORD'?"),
        ("MAIL_FROM=papers.wren.edu", f"MAIL_FROM: {ADDRESS}"),
        ("ALERT_TO=ada@wren.edu, grace@wren.edu", f"ALERT_TO: {ADDRESS}"),
        # the LLM
        (
            "OPENAI_BASE_URL=https://llm.wren.edu/v1/models",
            "OPENAI_BASE_URL: leave out /models, which Paperboy adds where it is needed",
        ),
        (
            "LLM_BUDGET_USD=0,50",
            "LLM_BUDGET_USD: must be a number from 0 to 1000000, with a point if it has decimals",
        ),
        ("LLM_PRICE_INPUT=0.1", "LLM_PRICE_INPUT: needs LLM_PRICE_OUTPUT to be set, too"),
        # the morning
        ("SEND_AT=7.30", "SEND_AT: must be a time of day, such as 07:00 or 18:30"),
        ("TIMEZONE=CEST", "TIMEZONE: unknown timezone; use a name such as Europe/Berlin"),
        (
            "TIMEZONE=GMT+2",
            (
                "TIMEZONE: unknown timezone, did you mean 'Etc/GMT-2' (its sign is reversed), "
                "or for summer time a city, such as Europe/Berlin?"
            ),
        ),
        (
            "GIVE_UP_AFTER_HOURS=24",
            "GIVE_UP_AFTER_HOURS: must be a number from 0 to 23, with a point if it has decimals",
        ),
        (
            "ARXIV_HOLIDAYS=24.12.2026",
            "ARXIV_HOLIDAYS: must be dates, such as 2026-12-29, 2026-12-31",
        ),
        # each URL by an example of its kind
        (
            "WEB_URL=papers.wren.edu",
            "WEB_URL: must be a full URL, such as https://papers.example.org",
        ),
        (
            "HEARTBEAT_URL=hc-ping.com/1",
            "HEARTBEAT_URL: must be a full URL, such as https://hc-ping.com/your-uuid",
        ),
        (
            "ARXIV_API_URL=export.arxiv.org",
            "ARXIV_API_URL: must be a full URL, such as https://export.arxiv.org/api/query",
        ),
        (
            "ARXIV_FEED_URL=rss.arxiv.org",
            "ARXIV_FEED_URL: must be a full URL, such as https://rss.arxiv.org/atom",
        ),
        # the home
        ("KEEP_DAYS=30", "KEEP_DAYS: must be a whole number from 31 to 36500"),
        (
            "LOG_LEVEL=warn",
            "LOG_LEVEL: must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL",
        ),
        # the line
        ("smtp_port=465", "smtp_port: unknown setting, did you mean 'SMTP_PORT'?"),
        ("SMTP PORT=465", LINE),
        ("SMTP_PORT: 465", LINE),
        ("$env:SMTP_PORT=465", LINE),
        ('MAIL_REPLY_TO="Ada <ada@wren.edu>', LINE),
        ("SMTP_PORT=465# with TLS", "SMTP_PORT: must be a whole number from 1 to 65535"),
    ],
)
def test_wrong_line_in_dotenv_is_one_line_with_its_place(
    operator: World, line: str, told: str
) -> None:
    name, _, rest = DOTENV.partition(
        f"{line.partition('=')[0]}="
    )  # a setting that is there is replaced
    text = f"{name}{line}\n{rest.partition(chr(10))[2]}" if rest else f"{DOTENV}{line}\n"
    operator.write(".env", text)
    place = f".env:{text[: text.index(line)].count(chr(10)) + 1}"
    assert check(operator) == (78, [f"settings: {place}: {told}"])
    for command in ("once", "run"):
        assert run(operator, command) == (78, [f"{place}: {told}"])
    assert {path.name for path in operator.path.iterdir()} == {
        ".env",
        "subscribers.yaml",
        "prompts",
    }


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        # subscribers
        (
            ["subscribers: [ada.wren.edu]"],
            "5:19: subscribers: 'ada.wren.edu' is not an address: An email address must have an @-sign.",
        ),
        (
            ["subscribers:", "  - ada@wren.edu,"],
            (
                "6:9: subscribers: 'ada@wren.edu,' is not an address: The part after "
                "the @-sign contains invalid characters: ','."
            ),
        ),
        (
            ["subscribers:", "  - ada@wren.edu", "  - Ada <ADA@wren.edu>"],
            "7:9: ADA@wren.edu is already on this list, in line 6",
        ),
        (
            ["subscribers:", "  - name: Ada", "    email: ada@wren.edu"],
            "6:9: subscribers: each is one line, such as ada@example.org or Ada Lovelace <ada@example.org>",
        ),
        (["subscribers:", "  -ada@wren.edu"], f"6:7: subscribers: {NO_LIST}"),
        (["subscribers:", "-ada@wren.edu"], f"6:5: {NO_ITEM}"),
        (["subscribers:", "  - ada@wren.edu", " - bob@wren.edu"], f"7:6: {INDENTED}"),
        (["subscribers:", '  - "Ada" <ada@wren.edu>'], f"6:15: {INDENTED}"),
        # options
        (["weekdays: [Montag]"], f"5:16: {WEEKDAY}"),
        (["weekdays: [mon, di]"], f"5:21: {WEEKDAY}"),
        (
            ["timezone: EDT"],
            "5:15: timezone: 'EDT' is an unknown timezone; use a name such as Europe/Berlin",
        ),
        (["send_empty: no"], "5:17: send_empty: must be one of true, false"),
        (
            ["min_relevance: 8.5"],
            "5:20: min_relevance: must be a whole number from 1 to 10",
        ),
        (["keywords: {no: [lattice]}"], "5:16: unknown key 'no'; known here: must, never"),
        (["min_relevence: 8"], "5:5: unknown key 'min_relevence', did you mean 'min_relevance'?"),
        (["title: a", "title: b"], "6:5: 'title' is given twice; remove one"),
        # YAML
        (
            ["title: Strings: the rest"],
            "5:19: a colon is not allowed here; fix the indentation, or put the text in quotes",
        ),
        (["title: [Strings] news"], f"5:22: {INDENTED}"),
        (["min_relevance:8"], f"5:5: {NO_ITEM}"),
        (["\ttitle: Strings"], "5:5: a tab; YAML is indented with spaces"),
    ],
)
def test_wrong_line_of_a_list_is_one_line_with_its_place(
    operator: World, lines: list[str], told: str
) -> None:
    operator.write("subscribers.yaml", LISTS + "".join(f"    {line}\n" for line in lines))
    assert check(operator) == (78, [f"lists: subscribers.yaml:{told}"])
    subscribe = "subscribe strings bob@wren.edu"
    for command in ("once", "preview strings", "run", "subscribers", subscribe):
        assert run(operator, *command.split()) == (78, [f"subscribers.yaml:{told}"])
    assert {path.name for path in operator.path.iterdir()} == {
        ".env",
        "subscribers.yaml",
        "prompts",
    }


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "lists:\n",
            "lists:\n  strings:\n",
            "2:3: lists: each list begins with a dash, such as '- name: physics'",
        ),
        ("- name", "  name", "2:5: lists: each list begins with a dash, such as '- name: physics'"),
        ("  - name", "\t- name", "2:1: a tab; YAML is indented with spaces"),
        (
            "strings\n",
            "My strings\n",
            "2:11: name: must be at most 63 of a-z, 0-9 and inner -, such as 'big-ideas'",
        ),
        ("name: strings", "title: Strings", "2:5: this list needs 'name'"),
        (
            "[hep-th]",
            "[Hep-TH]",
            "3:18: categories: unknown category 'Hep-TH', did you mean 'hep-th'?",
        ),
        (
            "[hep-th]",
            "[cs.lg]",
            "3:18: categories: unknown category 'cs.lg', did you mean 'cs.LG'?",
        ),
        (
            "[hep-th]",
            "[cs]",
            "3:18: categories: 'cs' is a whole archive; name its categories, such as cs.AI",
        ),
        (
            "[hep-th]",
            "[strings]",
            "3:18: categories: unknown category 'strings'; they are listed at arxiv.org/category_taxonomy",
        ),
        ("[hep-th]", "hep-th, gr-qc", f"3:17: categories: {NO_LIST}"),
        (
            "[hep-th]",
            "[hep-th",
            "3:17: this bracket is never closed, or a comma is missing after it",
        ),
        (
            "    topics: topics/strings.md\n",
            "",
            "2:5: this list needs 'topics' or 'authors'",
        ),
        (
            "topics/strings.md",
            "topics/knots.md",
            "4:13: topics: there is no 'topics/knots.md' in the home's prompts/; create it, or write the topics here",
        ),
        (
            "topics/strings.md",
            "/etc/strings.md",
            "4:13: topics: '/etc/strings.md' is outside the folder prompts; put the file there",
        ),
        (
            "topics/strings.md",
            "topics/strings.txt",
            (
                "4:13: topics: 'topics/strings.txt' is neither a .md file nor a sentence; "
                "name a .md file, or write the topics"
            ),
        ),
        (
            "topics/strings.md",
            "Relevant: strings",
            "4:21: a colon is not allowed here; fix the indentation, or put the text in quotes",
        ),
        ("md\n", f"md\n{LISTS[7:]}", "5:11: there is already a list 'strings', in line 2"),
        ("md\n", f"md\n{LISTS}", "5:1: 'lists' is given twice; remove one"),
        ("md\n", "md\n---\n", "5:1: this line begins another document; remove it"),
    ],
)
def test_wrong_file_of_lists_is_one_line_with_its_place(
    operator: World, old: str, new: str, told: str
) -> None:
    operator.write("subscribers.yaml", LISTS.replace(old, new, 1))
    code, lines = check(operator)
    assert (code, lines) == (78, [f"lists: subscribers.yaml:{told}"])


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            ".env",
            DOTENV.encode("utf-16"),
            "settings: .env: is not UTF-8 text (line 1); save it as UTF-8",
        ),
        (".env", b"# f\xfcr uns\n", "settings: .env: is not UTF-8 text (line 1); save it as UTF-8"),
        (
            ".env",
            b"<<<<<<< HEAD\nSMTP_PORT=587\n=======\nSMTP_PORT=465\n>>>>>>> ours\n",
            "settings: .env: has a merge conflict (line 1); keep one of the two versions, and remove git's marks",
        ),
        (
            "subscribers.yaml",
            LISTS.replace(
                "    cat",
                "<<<<<<< HEAD\n    title: a\n=======\n    title: b\n>>>>>>> ours\n    cat",
            ).encode(),
            "lists: subscribers.yaml: has a merge conflict (line 3); keep one of the two versions",
        ),
        (
            "subscribers.yaml",
            b"",
            "lists: subscribers.yaml:1:1: the file must start with lists: [",
        ),
        (
            "subscribers.yaml",
            b"- name: x\n",
            "lists: subscribers.yaml:1:1: the file must start with lists: [",
        ),
        (
            "prompts/topics/strings.md",
            b" ",
            (
                "lists: subscribers.yaml:4:13: topics: HOME/prompts/topics/strings.md is "
                "empty; write there what the list wants to read"
            ),
        ),
        ("prompts/score.md.j2", b"\n{% block %}", "prompts: prompts/score.md.j2:2: "),
        ("emails/digest.txt.j2", b"a\n{% if %}", "emails: emails/digest.txt.j2:2: "),
    ],
)
def test_unusable_file_is_one_line_with_its_name(
    operator: World, name: str, content: bytes, told: str
) -> None:
    operator.write(name, "")
    (operator.path / name).write_bytes(content)
    code, (line,) = check(operator)
    assert (code, line[: len(told)]) == (78, told)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        (
            {"SMTP_PORT": "smtp"},
            "settings: environment: SMTP_PORT: must be a whole number from 1 to 65535",
        ),
        ({"MAIL_FROM": "wren.edu"}, f"settings: environment: MAIL_FROM: {ADDRESS}"),
        (
            {"HTTPS_PROXY": "socks5://proxy:1080"},
            "scoring: environment: HTTPS_PROXY is not the address of a proxy; write it as http://proxy.example.org:3128",
        ),
        (
            {"LLM_BUDGET_USD": "1", "OPENAI_MODEL": "wren"},
            (
                "scoring: settings: LLM_BUDGET_USD: the price of wren is "
                "unknown, so a budget cannot be kept; set LLM_PRICE_INPUT "
                "and LLM_PRICE_OUTPUT, or LLM_BUDGET_USD to 0"
            ),
        ),
    ],
)
def test_wrong_environment_is_one_line(
    operator: World, environ: Mapping[str, str], told: str
) -> None:
    operator.environ |= environ
    assert check(operator) == (78, [told])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "SMTP_FROM=a@wren.edu\n",
            "settings: .env:5: Paperboy has no setting of this name, and ignores it",
        ),
        (
            "LLM_MODEL=wren\n",
            "settings: .env:5: Paperboy has no setting of this name, and ignores it",
        ),
    ],
)
def test_doubtful_setting_is_a_note(operator: World, more: str, told: str) -> None:
    operator.write(".env", DOTENV + more)
    code, notes = check(operator)
    assert (code, notes) == (0, [f"note   {told}"])


def test_missing_alert_address_is_a_note(operator: World) -> None:
    operator.write(".env", DOTENV.replace("operator@wren.edu", ""))
    told = "note   alerts: nobody is alerted when a morning fails; set ALERT_TO"
    assert check(operator) == (0, [told])


@pytest.mark.parametrize(
    "text",
    [
        DOTENV.replace("\n", "\r\n") + "SMTP_PORT=465\r\nSMTP_SECURITY=tls\r\n",
        "\ufeff" + DOTENV,
        "export " + DOTENV.replace("=", " = "),
        DOTENV + "SMTP_SECURITY=TLS   # the port below wants it\nSMTP_PORT='465'\n",
        DOTENV + "TIMEZONE=\nSEND_AT=\n",
        DOTENV + 'SEND_AT="7:30"\nMAIL_REPLY_TO=“Ada” <ada@wren.edu>\n',
    ],
)
def test_dotenv_that_only_looks_wrong_is_accepted(operator: World, text: str) -> None:
    operator.write(".env", text)
    assert check(operator) == (0, [])


@pytest.mark.parametrize("end", ["\r\n", "\n\n", "  # note\n"])
def test_lists_that_only_look_wrong_are_accepted(operator: World, end: str) -> None:
    operator.write(
        "subscribers.yaml",
        (LISTS + "    send_at: 7:30\n    subscribers: [ada@wren.edu]\n").replace("\n", end),
    )
    assert check(operator) == (0, [])


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "once --list string",
            "subscribers.yaml: there is no list 'string', did you mean 'strings'?",
        ),
        (
            "preview Strings",
            "subscribers.yaml: there is no list 'Strings', did you mean 'strings'?",
        ),
        ("resend news", "subscribers.yaml: there is no list 'news'; it has strings"),
        ("once strings", "Error: Got unexpected extra argument (strings)"),
        ("once --dryrun", "Error: No such option '--dryrun'. Did you mean '--dry-run'?"),
        (
            "subscribe strings ada",
            "Error: Invalid value for ADDRESS: 'ada' is not an address: An email address must have an @-sign.",
        ),
        (
            "suppress ada",
            (
                "'ada' is neither an address nor a token; a token is the 32 letters and digits that end the "
                "subject of an unsubscribe mail"
            ),
        ),
    ],
)
def test_wrong_usage_exits_2_with_the_fix(operator: World, command: str, told: str) -> None:
    code, lines = run(operator, *command.split())
    assert (code, lines[-1]) == (2, told)


@pytest.mark.quick
def test_settings_and_lists_are_reported_together(operator: World) -> None:
    operator.write(".env", DOTENV + "SMTP_PORT=smtp\n")
    operator.write("subscribers.yaml", LISTS + "    title: [5]\n")
    told = [
        ".env:5: SMTP_PORT: must be a whole number from 1 to 65535",
        "subscribers.yaml:5:12: title: must be text; put it in quotes",
    ]
    assert run(operator, "once") == (78, told)
    assert check(operator) == (78, [f"settings: {told[0]}", f"lists: {told[1]}"])
