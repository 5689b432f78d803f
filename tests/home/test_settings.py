"""`.env`, the environment and credentials become settings; problems are reported without secrets."""

import os
import pickle
from datetime import time
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from paperboy.errors import ConfigError
from paperboy.home.settings import SETTINGS, Secret, ignored, load
from paperboy.models import Subscriber

MAIL = "MAIL_FROM=papers@example.org\n"
NO_TLS = "since whoever reaches a scheduler without TLS can run programs on it; tcp:// is for one on this machine"


def write(home: Path, text: str) -> None:
    (home / ".env").write_text(text, "utf-8")


def problems(home: Path, text: str = "", environ: dict[str, str] | None = None) -> list[str]:
    if text:
        write(home, text)
    with pytest.raises(ConfigError) as caught:
        load(home, environ or {})
    return [str(problem) for problem in caught.value.problems]


def test_defaults_apply_without_an_env_file(tmp_path):
    settings = load(tmp_path, {})
    assert settings.openai_model == "gpt-6-luna"
    assert settings.send_at == time(7, 0)
    assert settings.timezone == ZoneInfo("UTC")
    assert settings.mail_from is None
    assert settings.llm_price_input is None
    assert settings.paperboy_database == tmp_path / "data" / "paperboy.db"
    assert settings.paperboy_outbox == tmp_path / "outbox"
    assert settings.uses_outbox
    assert not settings.has_llm


def test_values_are_read_with_their_types(tmp_path):
    write(
        tmp_path,
        """\
OPENAI_BASE_URL=http://localhost:11434/v1/
LLM_PRICE_INPUT=0.25
LLM_PRICE_OUTPUT=2
SMTP_HOST=smtp.example.org
SMTP_PORT=465
SMTP_SECURITY=TLS
MAIL_FROM=Paperboy <papers@example.org>
ALERT_TO='root@localhost'
SEND_AT=6:30
export TIMEZONE="Europe/Berlin"  # where we live
PAPERBOY_DATABASE=/var/lib/paperboy.db
log_file=somebody else's
LOG_LEVEL=debug
""",
    )
    settings = load(tmp_path, {})
    assert settings.openai_base_url == "http://localhost:11434/v1"
    assert (settings.llm_price_input, settings.llm_price_output) == (Decimal("0.25"), Decimal(2))
    assert (settings.smtp_host, settings.smtp_port, settings.smtp_security) == (
        "smtp.example.org",
        465,
        "tls",
    )
    assert settings.mail_from == Subscriber("papers@example.org", "Paperboy")
    assert settings.alert_to == Subscriber("root@localhost")
    assert settings.send_at == time(6, 30)
    assert settings.timezone == ZoneInfo("Europe/Berlin")
    assert settings.paperboy_database == Path("/var/lib/paperboy.db")
    assert settings.log_level == "DEBUG"
    assert settings.has_llm
    assert not settings.uses_outbox


@pytest.mark.parametrize("word", ["auto", "Auto", "AUTO"])
def test_words_may_be_in_any_case(tmp_path, word):
    write(
        tmp_path,
        f"SMTP_CONNECTIONS={word}\nWORKERS={word}\nLLM_SHORTLIST={word}\nSMTP_SECURITY=TLS\n",
    )
    settings = load(tmp_path, {})
    assert (settings.smtp_connections, settings.workers, settings.llm_shortlist) == (0, 0, "auto")
    assert settings.smtp_security == "tls"


def test_environment_wins_over_env_file_and_env_file_over_credentials(tmp_path):
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    for name in ("OPENAI_API_KEY", "OPENAI_MODEL", "LOG_LEVEL"):
        (credentials / name).write_text("ERROR\n")
    write(tmp_path, "OPENAI_API_KEY=\nOPENAI_MODEL=from-file\nLOG_LEVEL=DEBUG\n")
    settings = load(tmp_path, {"LOG_LEVEL": "WARNING", "CREDENTIALS_DIRECTORY": str(credentials)})
    assert settings.log_level == "WARNING"
    assert settings.openai_model == "from-file"
    assert settings.openai_api_key == Secret("ERROR"), (
        "an empty line in .env leaves room for a credential"
    )


def test_empty_environment_variable_restores_the_default(tmp_path):
    """So that one run can do without what `.env` sets."""
    write(tmp_path, "OPENAI_API_KEY=sk-1\nLOG_LEVEL=DEBUG\n")
    settings = load(tmp_path, {"OPENAI_API_KEY": "", "LOG_LEVEL": " "})
    assert not settings.has_llm
    assert settings.log_level == "INFO"


def test_passwords_are_read_literally(tmp_path):
    """No `${…}` is filled in, and quotes keep # and spaces."""
    write(tmp_path, MAIL + "SMTP_USERNAME=ada\nSMTP_PASSWORD='pa${HOME} #w=rd '\n")
    assert load(tmp_path, {"HOME": "/root"}).smtp_password.value == "pa${HOME} #w=rd "


def test_settings_never_show_secrets_and_can_be_pickled(tmp_path):
    write(tmp_path, MAIL + "OPENAI_API_KEY=sk-12345\nSMTP_USERNAME=ada\nSMTP_PASSWORD=hunter2\n")
    settings = load(tmp_path, {})
    assert "sk-12345" not in repr(settings) + str(settings)
    assert "hunter2" not in repr(settings) + str(settings)
    assert "hunter2" not in f"{settings.smtp_password} {settings.smtp_password!r}"
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301  # our own bytes


def test_all_problems_are_reported_at_once_in_line_order(tmp_path):
    write(tmp_path, "\n# comment\n\nSMTP_PORT=70000\nSMTP_PASWORD=x\nSMTP_HOST=smtp.example.org\n")
    assert problems(tmp_path, environ={"KEEP_DAYS": "30"}) == [
        ".env:4: SMTP_PORT: must be a whole number from 1 to 65535",
        ".env:5: SMTP_PASWORD: unknown setting, did you mean 'SMTP_PASSWORD'?",
        ".env:6: SMTP_HOST: needs MAIL_FROM to be set, too",
        "environment: KEEP_DAYS: must be a whole number from 31 to 36500",
    ]


HEADERS = "must be pairs such as x-api-key: abc; x-team: papers"
OPEN_QUOTE = "a quote is left open, or nothing follows a last backslash; close it as in a shell"
ADDRESS = "must be one address, such as ada@example.org or Ada Lovelace <ada@example.org>"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("OPENAI_API_KEY=sk 1", "OPENAI_API_KEY: a key contains no spaces"),
        (
            "OPENAI_API_KEY=ключ",
            "OPENAI_API_KEY: only printable ASCII characters can be sent to a server",
        ),
        (
            "OPENAI_BASE_URL=localhost:11434",
            "OPENAI_BASE_URL: must be a full URL, such as https://server.example.org/v1",
        ),
        (
            "OPENAI_BASE_URL=http://x:port/v1",
            "OPENAI_BASE_URL: must be a full URL, such as https://server.example.org/v1",
        ),
        (
            "OPENAI_BASE_URL=https://me:pw@x.org/v1",
            "OPENAI_BASE_URL: must not contain a user, a password or #",
        ),
        ("OPENAI_BASE_URL=https://x.org/v1?a=b", "OPENAI_BASE_URL: must not contain a query (?)"),
        *(
            (
                f"OPENAI_BASE_URL=https://x.org/v1{path}",
                f"OPENAI_BASE_URL: leave out {path}, which Paperboy adds where it is needed",
            )
            for path in ("/chat/completions", "/models")
        ),
        *(
            (f"{name}=example.org", f"{name}: must be a full URL, such as {url}")
            for name, url in {
                "WEB_URL": "https://papers.example.org",
                "HEARTBEAT_URL": "https://hc-ping.com/your-uuid",
                "ARXIV_API_URL": "https://export.arxiv.org/api/query",
                "ARXIV_FEED_URL": "https://rss.arxiv.org/atom",
            }.items()
        ),
        *(
            (
                f"BIORXIV_API_URL={url}",
                "BIORXIV_API_URL: must be a full URL, such as https://api.biorxiv.org",
            )
            for url in ("api.biorxiv.org", "ftp://api.biorxiv.org", "https://", "https://x y/")
        ),
        (
            "BIORXIV_API_URL=https://api.biorxiv.org/?format=json",
            "BIORXIV_API_URL: must not contain a query (?)",
        ),
        *(
            (f"OPENAI_HEADERS={text}", f"OPENAI_HEADERS: {HEADERS}")
            for text in ("x-key", "x-key:", ": abc", "x key: abc", "x-key=abc")
        ),
        ("OPENAI_HEADERS='a: b; host: x'", "OPENAI_HEADERS: Host is set by Paperboy; leave it out"),
        (
            "OPENAI_HEADERS='x-key: ключ'",
            "OPENAI_HEADERS: only printable ASCII characters can be sent to a server",
        ),
        (
            "OPENAI_API_BASE=http://localhost:8000/v1",
            "OPENAI_API_BASE: unknown setting, did you mean 'OPENAI_BASE_URL'?",
        ),
        ("smtp_port=465", "smtp_port: unknown setting, did you mean 'SMTP_PORT'?"),
        ("LLM_BATCH_SIZE=0", "LLM_BATCH_SIZE: must be a whole number from 1 to 200"),
        (
            "WORKERS=0",
            "WORKERS: must be a whole number from 1 to 256, or auto",
        ),
        *(
            (line, "CLUSTER: must be an address and a port, such as 127.0.0.1:8025 or [::1]:8025")
            for line in ("CLUSTER=tls://scheduler.example.org", "CLUSTER=tls://a b:1")
        ),
        ("CLUSTER=scheduler.example.org:8786", f"CLUSTER: must begin with tls://, {NO_TLS}"),
        ("CLUSTER=tcp://scheduler.example.org:8786", f"CLUSTER: must begin with tls://, {NO_TLS}"),
        (
            "LLM_PRICE_INPUT=-1\nLLM_PRICE_OUTPUT=2",
            "LLM_PRICE_INPUT: must be a number from 0 to 1000000, with a point if it has decimals",
        ),
        ("LLM_PRICE_INPUT=0.1", "LLM_PRICE_INPUT: needs LLM_PRICE_OUTPUT to be set, too"),
        (
            "LLM_PRICE_CACHE_WRITE=1",
            "LLM_PRICE_CACHE_WRITE: needs LLM_PRICE_INPUT and LLM_PRICE_OUTPUT to be set, too",
        ),
        (
            f"SMTP_HOST=smtp.example.org:587\n{MAIL}",
            "SMTP_HOST: must be the server's name alone, such as smtp.example.org; the port is a separate setting",
        ),
        *(
            (
                f"SMTP_CONNECTIONS={text}",
                "SMTP_CONNECTIONS: must be a whole number from 1 to 50, or auto",
            )
            for text in ("0", "51", "many", "1.5")
        ),
        (
            "SMTP_SECURITY=startls",
            "SMTP_SECURITY: must be one of starttls, tls, none",
        ),
        *(
            (f"{line}\nSMTP_USERNAME=ada", f"SMTP_TOKEN_COMMAND: {OPEN_QUOTE}")
            for line in (
                """SMTP_TOKEN_COMMAND='oama "hunter2'""",
                "SMTP_TOKEN_COMMAND=oama hunter2\\",
            )
        ),
        ("MAIL_FROM=Paperboy", f"MAIL_FROM: {ADDRESS}"),
        (f"BRAND={'x' * 41}", "BRAND: must have at most 40 characters"),
        (
            "ALERT_TO=müller@example.org",
            "ALERT_TO: must be an address in ASCII, since not every mail server takes others",
        ),
        (
            "ARXIV_DELAY_SECONDS=2.9",
            "ARXIV_DELAY_SECONDS: arxiv.org asks for 3 seconds between requests; set 3 or more",
        ),
        (
            "ARXIV_HOLIDAYS=24.12.2026",
            "ARXIV_HOLIDAYS: must be dates, such as 2026-12-29, 2026-12-31",
        ),
        ("SEND_AT=24:00", "SEND_AT: must be a time of day, such as 07:00 or 18:30"),
        (
            "TIMEZONE=GMT+2",
            (
                "TIMEZONE: unknown timezone, did you mean 'Etc/GMT-2' (its sign is reversed), "
                "or for summer time a city, such as Europe/Berlin?"
            ),
        ),
        (
            "PAPERBOY_DATABASE=~/paperboy.db",
            "PAPERBOY_DATABASE: ~ is not expanded here; write the full path, or one relative to the home",
        ),
        (
            "LOG_LEVEL=verbose",
            "LOG_LEVEL: must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL",
        ),
        (
            'OPENAI_MODEL="a\\tb"',
            "OPENAI_MODEL: contains a control character (U+0009); write one line of plain text",
        ),
    ],
)
def test_invalid_value_is_reported_with_line_and_fix(tmp_path, line, message):
    assert problems(tmp_path, f"# first\n\n{line}\n") == [f".env:3: {message}"]


def test_headers_are_pairs_and_are_hidden(tmp_path):
    """A value may have colons and commas, as JSON has."""
    config = '{"retry": {"attempts": 3}, "a": 1}'
    write(tmp_path, f"OPENAI_HEADERS='x-api-key: sk-12345 ; x-config: {config};\nx-team:papers'\n")
    settings = load(tmp_path, {})
    assert settings.openai_headers == (
        ("x-api-key", "sk-12345"),
        ("x-config", config),
        ("x-team", "papers"),
    )
    assert "sk-12345" not in repr(settings) + str(settings)


@pytest.mark.parametrize("name", ["SMTP_PASSWORD", "SMTP_TOKEN_COMMAND"])
def test_login_without_encryption_is_refused(tmp_path, name):
    text = MAIL + f"SMTP_USERNAME=ada\n{name}=hunter2\nSMTP_SECURITY=none\n"
    assert problems(tmp_path, text) == [
        (
            ".env:4: SMTP_SECURITY: no password or token is sent in the clear; use starttls or tls, "
            "or leave out the login"
        )
    ]


def test_token_command_is_split_into_words_expands_nothing_and_is_hidden(tmp_path):
    """An argument of it may be a secret."""
    write(
        tmp_path,
        MAIL + """SMTP_USERNAME=ada\nSMTP_TOKEN_COMMAND='oama "hunter 2" ~/x $HOME #1'\n""",
    )
    settings = load(tmp_path, {"HOME": "/root"})
    assert settings.smtp_token_command == ("oama", "hunter 2", "~/x", "$HOME", "#1")
    assert "hunter" not in repr(settings)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "llm.localhost"])
def test_api_key_may_use_plain_http_on_loopback(tmp_path, host):
    write(tmp_path, f"OPENAI_API_KEY=sk-1\nOPENAI_BASE_URL=http://{host}/v1\n")
    assert load(tmp_path, {}).has_llm


@pytest.mark.parametrize(
    "host", ["llm.example.org", "192.0.2.1", "localhost.example.org", "127.0.0.1.example.org"]
)
@pytest.mark.parametrize("line", ["OPENAI_API_KEY=sk-1", "OPENAI_HEADERS=x-key:1"])
def test_api_key_over_plain_http_to_another_machine_is_refused(tmp_path, host, line):
    """So is a gateway's header, which may be one."""
    assert problems(tmp_path, f"{line}\nOPENAI_BASE_URL=http://{host}/v1\n") == [
        (
            ".env:2: OPENAI_BASE_URL: a key is not sent over plain http to another machine; use https, "
            f"or leave {line.partition('=')[0]} empty"
        )
    ]


@pytest.mark.parametrize(
    "host", ["export.arxiv.org", "ARXIV.org", "arxiv.org.", "rss.arxiv.org:443"]
)
def test_delay_below_arxivs_rate_limit_is_refused(tmp_path, host):
    assert (
        len(problems(tmp_path, f"ARXIV_API_URL=https://{host}/api/query\nARXIV_DELAY_SECONDS=0\n"))
        == 1
    )


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "notarxiv.org"])
def test_other_servers_need_no_delay(tmp_path, host):
    write(tmp_path, f"ARXIV_API_URL=http://{host}/api/query\nARXIV_DELAY_SECONDS=0\n")
    assert load(tmp_path, {}).arxiv_delay_seconds == 0


def test_invalid_sender_is_not_reported_as_missing_too(tmp_path):
    assert len(problems(tmp_path, "SMTP_HOST=smtp.example.org\nMAIL_FROM=nobody\n")) == 1


NO_SETTING = "this line is not NAME=value; fix it, close its quotes, or begin it with #"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SMTP_PASSWORD: hunter2\n", f"1: {NO_SETTING}"),
        ("SMTP_PASSWORD:hunter2\n", f"1: {NO_SETTING}"),
        ("SMTP_PASSWORD:hun=ter2\n", f"1: {NO_SETTING}"),
        ("SMTP_PASSWORD hunter2=\n", f"1: {NO_SETTING}"),
        ("LOG_LEVEL=INFO\n\n\nhunter2\n", f"4: {NO_SETTING}"),
        ("LOG_LEVEL=INFO\r\n\r\nSMTP_PASSWORD='hunter2\r\n", f"3: {NO_SETTING}"),
        ("SMTP_PASSWORD='hunter2' x\n", f"1: {NO_SETTING}"),
        ("=hunter2\n", f"1: {NO_SETTING}"),
        ("SMTP_HOST\n", f"1: {NO_SETTING}"),
    ],
)
def test_line_that_is_not_one_setting_is_reported_and_never_shown(tmp_path, text, expected):
    (tmp_path / ".env").write_bytes(text.encode())
    assert problems(tmp_path) == [f".env:{expected}"]


SECRET = "xK9-hunter2@5$Zq"


@pytest.mark.parametrize("name", sorted(SETTINGS))
@pytest.mark.parametrize(
    "line",
    [
        "{}={secret}",
        "{}='{secret}",
        "{}={secret} {secret}",
        "{}=https://{secret}/v1",
        "{}=\u00e9{secret}",
        "{}=Ada <{secret}>",
        "{}=1 SMTP_PASSWORD={secret}",
        "{}: {secret}",
        "{}={secret}\nSMTP_PASSWORDS={secret}",
        "{}{secret}",
    ],
)
def test_no_setting_shows_a_secret_that_was_written_in_its_place(tmp_path, name, line):
    """Whether it is refused or not."""
    write(tmp_path, line.format(name, secret=SECRET) + "\nKEEP_DAYS=x\n")
    assert not [
        problem for problem in problems(tmp_path) if "hunter" in problem or "xK9" in problem
    ]


def test_env_file_of_more_than_a_hundred_kilobytes_is_refused(tmp_path):
    """Each line takes the parser its time, and a misspelt name takes more: a megabyte took a minute."""
    assert problems(tmp_path, "SMTP_PASSWOR=x\n" * 6_000) != []
    assert problems(tmp_path, "SMTP_PASSWOR=x\n" * 7_000) == [
        ".env: is larger than 100 kB; is it the right file?"
    ]


def test_settings_of_other_programs_are_ignored(tmp_path):
    write(tmp_path, "TZ=UTC\nPAPERBOY_HOME=/srv\nPGPASSWORD=x\nOPENAI_ORG_ID=y\n")
    assert load(tmp_path, {"SMTP_PASSWD": "x"}) == load(tmp_path, {})


def test_last_of_two_equal_names_applies(tmp_path):
    write(tmp_path, "LOG_LEVEL=nonsense\nLOG_LEVEL=DEBUG\n")
    assert load(tmp_path, {}).log_level == "DEBUG"


def test_empty_line_undoes_no_value(tmp_path):
    """A recipe is often filled in above the template's own lines, which are empty."""
    write(
        tmp_path,
        "SMTP_PASSWORD=hunter2\n" + MAIL + "SMTP_HOST=mx.wren.edu\nSMTP_HOST=\nSMTP_PASSWORD=''\n",
    )
    settings = load(tmp_path, {})
    assert (settings.smtp_host, settings.smtp_password) == ("mx.wren.edu", Secret("hunter2"))
    assert ignored(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("SMTP_PORT=25\nSMTP_PORT=25\n", []),
        ("SMTP_PORT=25\n\n# ours\nSMTP_PORT=\nSMTP_PORT=465\n", [".env:1: SMTP_PORT has no effect: the one in line 5"]),
        (
            "SMTP_PASSWORD=hunter2\nSMTP_PASSWORD=hunter3\nSMTP_PASSWORD=hunter2\n",
            [
                ".env:1: SMTP_PASSWORD has no effect: the one in line 2",
                ".env:2: SMTP_PASSWORD has no effect: the one in line 3",
            ],
        ),
    ],
)  # fmt: skip
def test_each_value_that_another_line_replaces_is_noted_with_both_lines(tmp_path, text, noted):
    write(tmp_path, text)
    assert [str(note) for note in ignored(tmp_path)] == [
        f"{note} applies; keep one of them" for note in noted
    ]


def test_env_file_of_a_home_that_is_no_folder_is_reported(tmp_path):
    (tmp_path / "home").touch()
    assert problems(tmp_path / "home") == [
        ".env: cannot be read: Not a directory; it must be a file that Paperboy's user may read"
    ]


def test_invalid_credentials_are_reported_without_their_text(tmp_path):
    (tmp_path / "SMTP_PASSWORD").write_bytes(b"hunter\xff2")
    (tmp_path / "LOG_LEVEL").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "SMTP_HOST")
    (tmp_path / "KEEP_DAYS").write_text("1\n")
    assert problems(tmp_path, environ={"CREDENTIALS_DIRECTORY": str(tmp_path)}) == [
        "credentials: SMTP_HOST: its file is not a regular file; put one in its place",
        "credentials: SMTP_PASSWORD: its file is not UTF-8 text (line 1); save it as UTF-8",
        "credentials: LOG_LEVEL: its file is not a regular file; put one in its place",
        "credentials: KEEP_DAYS: must be a whole number from 31 to 36500",
    ]
