"""Logging in with an access token: the operator's command, and a server that speaks XOAUTH2."""

from __future__ import annotations

import os
import select
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from paperboy.errors import MailServerError
from paperboy.models import DeliveryState, Envelope
from paperboy.sending.smtp import SmtpTransport
from paperboy.sending.xoauth2 import TokenCommand
from tests.sending.conftest import Contexts
from tests.servers.smtp import Fault, SmtpServer

TOKEN = "eyJ0eXAi." + "a1B2c3D4e5F6-" * 150 + "._Sig=="  # as long as Microsoft's
OTHER = "another-token.0123456789"


class Tool:
    """A program in a folder, which prints tokens one after another, the last one for ever; each run leaves a line."""

    def __init__(self, folder: Path, *tokens: str) -> None:
        self.folder = folder
        self.now = 0.0
        self.prints(*tokens)
        script = (
            'echo >> runs; n=$(wc -l < runs); test -f "token$n" && cp "token$n" token; cat token'
        )
        (folder / "tool.sh").write_text(script)

    def prints(self, *outputs: str) -> None:
        for number, output in enumerate(outputs, start=self.runs + 1):
            (self.folder / f"token{number}").write_text(f"{output}\n")

    @property
    def runs(self) -> int:
        runs = self.folder / "runs"
        return runs.read_text().count("\n") if runs.exists() else 0

    def command(self) -> TokenCommand:
        return command(self.folder, "sh", "tool.sh", timer=lambda: self.now)


def command(folder: Path, *words: str, **changes: Any) -> TokenCommand:
    return TokenCommand(**{"words": words, "environ": os.environ, "folder": folder, **changes})


@pytest.fixture(params=["starttls", "tls"])
def server(request: pytest.FixtureRequest, contexts: Contexts) -> Iterator[SmtpServer]:
    """A server that offers LOGIN, PLAIN and XOAUTH2."""
    with SmtpServer(request.param, contexts[0], "ada@example.org", "s3cret", token=TOKEN) as server:
        yield server


@pytest.fixture
def connect(server: SmtpServer, contexts: Contexts) -> Callable[..., SmtpTransport]:
    def made(tokens: TokenCommand | None, **changes: Any) -> SmtpTransport:
        usual = {
            "security": server.security,
            "username": "ada@example.org",
            "password": "",
            "timeout": 300,
        }
        settings = {
            "host": "localhost",
            "port": server.port,
            "ssl_context": contexts[1],
            **usual,
            **changes,
        }
        return SmtpTransport(tokens=tokens, local_hostname="localhost", **settings)

    return made


Connect = Callable[..., SmtpTransport]


def envelope(recipient: str = "bob@example.org") -> Envelope:
    return Envelope(
        "ada@example.org", recipient, b"Subject: papers\r\n\r\nHello.\r\n", "foundations"
    )


def failure(sender: SmtpTransport) -> MailServerError:
    with pytest.raises(MailServerError) as raised:
        sender.send(envelope())
    return raised.value


# --- the command


def test_first_line_of_the_output_is_the_token(tmp_path: Path) -> None:
    assert Tool(tmp_path, f"  {TOKEN}\r\nexpires in 3600").command().token() == TOKEN


def test_token_is_printed_anew_after_fifty_minutes(tmp_path: Path) -> None:
    tool = Tool(tmp_path, "first", "second")
    tokens = tool.command()
    assert (tokens.token(), tokens.token(), tool.runs) == ("first", "first", 1)
    tool.now = 50 * 60 - 1
    assert tokens.token() == "first"
    tool.now = 50 * 60
    assert (tokens.token(), tool.runs) == ("second", 2)


def test_output_is_read_up_to_the_first_lines_end(tmp_path: Path) -> None:
    """What the command leaves running may hold its output open, and more may follow."""
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDWR)  # until it is closed, `cat` runs
    tokens = command(tmp_path, "sh", "-c", f"echo {TOKEN}; cat held & head -c 20000 /dev/zero")
    assert tokens.token() == TOKEN
    os.close(held)


def test_output_without_an_end_is_stopped(tmp_path: Path) -> None:
    """At 16 kB, where there is no line."""
    with pytest.raises(MailServerError, match="SMTP_TOKEN_COMMAND"):
        command(tmp_path, "sh", "-c", "yes | tr -d '\\n'", timeout=1).token()


def test_threads_that_ask_together_share_one_run(tmp_path: Path) -> None:
    """The command ends only when all of them have begun to ask: it waits for somebody to write to a pipe."""
    os.mkfifo(tmp_path / "all-asked")
    (tmp_path / "tool.sh").write_text(f"echo >> runs; cat all-asked; echo {TOKEN}")
    tokens = command(tmp_path, "sh", "tool.sh")
    begun = threading.Barrier(9)

    def ask() -> str:
        begun.wait()
        return tokens.token()

    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(ask) for _ in range(8)]
        begun.wait()
        (tmp_path / "all-asked").write_text("")
        assert {future.result() for future in asked} == {TOKEN}
    assert (tmp_path / "runs").read_text() == "\n"


FAILURES = [
    ("echo SECRET; echo SECRET >&2; exit 3", r"failed with exit status 3\. Run it by hand"),
    ("echo SECRET; kill -9 $$", r"failed with exit status -9\. Run it by hand"),
    ("true", "printed no token in its first line"),
    ("echo; echo SECRET", "printed no token in its first line"),
    ("echo Please visit SECRET", "printed no token in its first line"),
    ("printf 'SECRET\\303\\251\\n'", "printed no token in its first line"),
    ("head -c 20000 /dev/zero | tr '\\0' S", "printed no token in its first line"),
    ("read -r line && echo SECRET", "failed with exit status 1"),  # nobody can type
]


@pytest.mark.parametrize(("script", "said"), FAILURES)
def test_failure_of_the_command_says_what_to_do_and_shows_no_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], script: str, said: str
) -> None:
    tokens = command(tmp_path, "sh", "-c", script)
    with pytest.raises(MailServerError, match=f"SMTP_TOKEN_COMMAND {said}") as raised:
        tokens.token()
    assert not raised.value.temporary
    assert "SECRET" not in str(raised.value) + "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("no-such-tool", "No such file or directory"),
        ("~/tool", "No such file"),
        ("./data", "Permission denied"),
    ],
)
def test_command_that_cannot_be_started_is_reported_with_the_fix(
    tmp_path: Path, word: str, why: str
) -> None:
    (tmp_path / "data").write_text(TOKEN)
    with pytest.raises(MailServerError, match=f"cannot be started: {why}.*full path") as raised:
        command(tmp_path, word, OTHER).token()
    assert OTHER not in str(raised.value)


def test_command_that_takes_too_long_is_stopped_with_all_it_has_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    script = "exec 3> held; sleep 600 & wait"
    with pytest.raises(MailServerError, match=r"took longer than 0\.5 s and was stopped") as raised:
        command(tmp_path, "sh", "-c", script, timeout=0.5).token()
    assert not raised.value.temporary
    # Readable at its end, when nobody holds the other side any more.
    ended, _, _ = select.select([held], [], [], 120)
    assert ended
    os.close(held)


def test_command_runs_in_its_folder_without_a_shell(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import sys; print(sys.argv[1].replace('$', 'dollar:').replace(' ', '_'))"
    )
    assert (
        command(tmp_path, sys.executable, "own.py", "$HOME and more").token()
        == "dollar:HOME_and_more"
    )


# --- the server


@pytest.mark.long("processes of their own")
def test_token_command_logs_in_by_xoauth2_although_passwords_are_offered(
    server: SmtpServer, connect: Connect, tmp_path: Path
) -> None:
    tool = Tool(tmp_path, TOKEN)
    tokens = tool.command()
    for recipient in ("bob@example.org", "eve@example.org"):
        with closing(connect(tokens)) as sender:
            assert sender.send(envelope(recipient)).state is DeliveryState.SENT
    assert [(message.login, message.tls) for message in server.messages] == [
        ("ada@example.org", True)
    ] * 2
    assert (server.tokens, tool.runs) == ([TOKEN, TOKEN], 1)
    said, _ = connect(tokens).probe("ada@example.org", "bob@example.org")
    assert said.endswith(", logged in as ada@example.org with an access token")


def test_refused_token_ends_the_login(server: SmtpServer, connect: Connect, tmp_path: Path) -> None:
    tool = Tool(tmp_path, "stale", TOKEN)
    error = failure(connect(tool.command()))
    assert (server.tokens, tool.runs, error.temporary) == (["stale"], 1, False)


def test_token_of_an_earlier_login_that_is_refused_is_asked_for_once_more(
    server: SmtpServer, connect: Connect, tmp_path: Path
) -> None:
    tool = Tool(tmp_path, "revoked", TOKEN)
    tokens = tool.command()
    assert tokens.token() == "revoked"
    with closing(connect(tokens)) as sender:
        assert sender.send(envelope()).state is DeliveryState.SENT
    assert (server.tokens, tool.runs) == (["revoked", TOKEN], 2)


def test_second_token_that_is_refused_ends_the_login(
    server: SmtpServer, connect: Connect, tmp_path: Path
) -> None:
    tool = Tool(tmp_path, "revoked", "another", TOKEN)
    tokens = tool.command()
    assert tokens.token() == "revoked"
    assert not failure(connect(tokens)).temporary
    assert (server.tokens, tool.runs) == (["revoked", "another"], 2)


CHALLENGES = [
    (b'{"status":"401","scope":"https://mail.example.org/send"}',) * 2,
    (b"", b""),
    (b"no JSON", b"no JSON"),
    (b"\xff{\r\n", "\ufffd{".encode()),
    ("eyJ", b""),  # no base64
]


@pytest.mark.parametrize(("challenge", "words"), CHALLENGES, ids=range(len(CHALLENGES)))
def test_challenge_after_a_refused_token_is_shown_in_words(
    server: SmtpServer, connect: Connect, tmp_path: Path, challenge: bytes | str, words: bytes
) -> None:
    server.challenge = challenge
    said = str(failure(connect(Tool(tmp_path, OTHER).command())))
    assert said == (
        f"mail server localhost:{server.port} refuses the access token for ada@example.org: "
        f"535 5.7.3 Authentication unsuccessful{f' {words.decode()}' if words else ''}. "
        "Check that SMTP_TOKEN_COMMAND prints a token for SMTP_USERNAME with permission to send by SMTP, and that "
        "the server lets this mailbox do so."
    )


def test_token_that_the_server_repeats_is_hidden(
    server: SmtpServer, connect: Connect, tmp_path: Path
) -> None:
    repeated = b64encode(f"user=ada@example.org\x01auth=Bearer {OTHER}\x01\x01".encode()).decode()
    server.challenge = b'{"status":"no %s","scope":"%s"}' % (OTHER.encode(), OTHER.upper().encode())
    server.faults.append(Fault("refusal", f"535 5.7.8 wrong: {OTHER}, that is {repeated}"))
    sender = connect(Tool(tmp_path, OTHER).command())
    said = str(failure(sender))
    assert "535 5.7.8 wrong: …, that is" in said
    assert '{"status":"no …","scope":"…"}' in said
    for secret in (OTHER, OTHER.upper(), repeated, b64encode(OTHER.encode()).decode()[:-4]):
        assert secret not in said + repr(sender)


def test_hang_up_on_the_only_token_is_a_refusal_in_words(
    server: SmtpServer, connect: Connect, tmp_path: Path
) -> None:
    server.challenge = b'{"status":"400"}'
    server.faults.append(Fault("refusal"))
    error = failure(connect(Tool(tmp_path, "stale").command()))
    assert 'refuses the access token for ada@example.org: 535 {"status":"400"}' in str(error)
    assert not error.temporary


@pytest.mark.parametrize(
    ("reply", "temporary"),
    [("503 5.5.1 Bad sequence of commands", False), ("454 4.7.0 not now", True)],
)
def test_reply_to_a_token_that_is_no_challenge_is_no_login(
    server: SmtpServer, connect: Connect, tmp_path: Path, reply: str, temporary: bool
) -> None:
    server.faults.append(Fault("AUTH", reply))
    tool = Tool(tmp_path, TOKEN)
    error = failure(connect(tool.command()))
    assert ("refuses the access token for ada@example.org: 503" in str(error)) is not temporary
    assert (error.temporary, server.logins, server.tokens) == (temporary, 1, [])


def test_failing_command_is_a_failed_login(
    server: SmtpServer, connect: Connect, tmp_path: Path
) -> None:
    sender = connect(command(tmp_path, "false"))
    assert "SMTP_TOKEN_COMMAND failed with exit status 1" in str(failure(sender))
    assert server.logins == 0
    sender.close()


def test_token_is_never_sent_in_the_clear(tmp_path: Path) -> None:
    tool = Tool(tmp_path, TOKEN)
    with SmtpServer("none", None, "ada@example.org", token=TOKEN) as server:
        usual = {
            "host": "localhost",
            "port": server.port,
            "username": "ada@example.org",
            "password": "",
        }
        for security, said in (
            ("none", "or token is sent in the clear"),
            ("starttls", "offers no STARTTLS"),
        ):
            sender = SmtpTransport(security=security, tokens=tool.command(), **usual)  # type: ignore[arg-type]
            assert said in str(failure(sender))
    assert (server.logins, tool.runs) == (0, 0)


@pytest.mark.parametrize(
    ("offers", "tokens", "said"),
    [
        ("LOGIN PLAIN", True, "(XOAUTH2), but LOGIN, PLAIN. Use SMTP_PASSWORD instead"),
        ("XOAUTH2", False, "but XOAUTH2. Use SMTP_TOKEN_COMMAND instead"),
    ],
)
def test_login_that_is_not_offered_names_the_other_setting(
    server: SmtpServer, connect: Connect, tmp_path: Path, offers: str, tokens: bool, said: str
) -> None:
    server.faults.append(
        Fault("EHLO", f"250-hello\r\n250-STARTTLS\r\n250 AUTH {offers}\r\n".encode(), keeps=True)
    )
    tool = Tool(tmp_path, TOKEN)
    error = failure(
        connect(tool.command() if tokens else None, password="" if tokens else "s3cret")
    )
    assert said in str(error)
    assert (server.logins, tool.runs) == (0, 0)


BASIC = [
    "550 5.7.30 Basic authentication is not supported for Client Submission.",
    "535 5.7.139 Authentication unsuccessful, basic authentication is disabled.",
]


@pytest.mark.parametrize("at", ["AUTH", "MAIL", "RCPT"])
@pytest.mark.parametrize("reply", BASIC)
def test_password_that_is_no_longer_supported_is_answered_with_the_token_command(
    server: SmtpServer, connect: Connect, at: Any, reply: str
) -> None:
    server.faults.append(Fault(at, reply))
    with closing(connect(None, password="s3cret")) as sender:
        error = failure(sender)
    assert f"accepts no password, only an access token (OAuth): {reply}" in str(error)
    assert (
        "Set SMTP_TOKEN_COMMAND instead of SMTP_PASSWORD; the recipe for Microsoft 365 in .env"
        in str(error)
    )
    assert not error.temporary
