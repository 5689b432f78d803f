"""How fast a digest leaves: `python -m tests.benchmarks.sending [--recipients 5000] [--rounds 3]`.

Postfix's `smtp-sink` takes it on loopback: plain, behind `stunnel4` with TLS, and with a round trip of 20 ms. Our
sender is the whole of `delivery.Round`: frozen deliveries in a real database, a commit for each, every copy with its
own headers and token. Beside it, in the same run and in turns: the script that everybody writes first, which builds
each mail and opens a connection for it, and a sender without a ledger or anything of a recipient's own, whose
connections stay open.

The servers and whatever else runs share the machine's cores with us, so ratios say more than rates: each is the median
of the rounds' own. The processor time of our side is what other work disturbs least.

listmonk's sender (its Go code, as it is shipped but without its limit of 10 a second for each of ten workers, and
without its database) was measured once, in turns with our senders: ten connections each, an idle machine with two
cores. `LISTMONK` keeps the ratio, through which we are compared with it. It has both cores where Python's lock leaves
us one, so its rate is higher, and our processor time lower.
"""

import argparse
import os
import random
import re
import shutil
import smtplib
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from statistics import median

import trustme

from paperboy.home.settings import MOST_CONNECTIONS
from paperboy.models import Day, DeliveryState, Outcome, Subscriber
from paperboy.sending import delivery
from paperboy.sending.smtp import SmtpTransport
from paperboy.store import Store
from tests.fakes import NoProgress
from tests.mail.mails import COMPOSER, as_digest, compose, heavy_digest
from tests.servers.far import far_from
from tests.servers.smtp_sink import MISSING, PROGRAM, free_port, smtp_sink, until_it_listens

HOST = "127.0.0.1"
SENDER = "papers@example.org"
DIGEST = heavy_digest(14)  # 68 KiB
STUNNEL = shutil.which("stunnel4") or shutil.which("stunnel")
AIMS = {"plain": 8, "TLS": 50}  # times the naive script
AIM_LEDGER = 0.8  # of the sender without a ledger
FAR = "20 ms"
ROUND_TRIP = 0.02  # seconds
# The rate and the processor time of the sender without a ledger, times listmonk's; and what ours is to be.
LISTMONK = {"plain": (0.65, 0.88), "TLS": (0.75, 0.85), FAR: (1.22, 0.70)}
AIM_LISTMONK = {"plain": (0.8, 0.75), "TLS": (0.75, 0.9), FAR: (2.2, 0.75)}


@dataclass(frozen=True, slots=True)
class Line:
    """Where a sender connects to. `context` trusts the certificate there; None: no TLS."""

    port: int
    context: ssl.SSLContext | None = None
    far: bool = False

    def smtplib(self) -> smtplib.SMTP:
        if self.context is None:
            return smtplib.SMTP(HOST, self.port, "localhost")
        return smtplib.SMTP_SSL(HOST, self.port, "localhost", context=self.context)

    def transport(self) -> SmtpTransport:
        return SmtpTransport(
            host=HOST,
            port=self.port,
            security="none" if self.context is None else "tls",
            username="",
            password="",
            ssl_context=self.context,
            local_hostname="localhost",
        )


@dataclass(slots=True)
class Taken:
    """What sending took: seconds by the clock, and of this process's processor time."""

    seconds: float = 0
    busy: float = 0


@contextmanager
def taken() -> Iterator[Taken]:
    result = Taken()
    begun = time.perf_counter()
    busy = time.process_time()
    yield result
    result.seconds = time.perf_counter() - begun
    result.busy = time.process_time() - busy


def recipients(number: int) -> list[str]:
    return [f"reader.{n}@example.org" for n in range(number)]


def naive(line: Line, number: int) -> Taken:
    """Builds and sends that many mails, each on a connection of its own."""
    mail = as_digest(DIGEST)
    with taken() as result:
        for recipient in recipients(number):
            message = EmailMessage()
            message["Subject"] = mail.subject
            message["From"] = SENDER
            message["To"] = recipient
            message.set_content(mail.text)
            message.add_alternative(mail.html, subtype="html")
            with line.smtplib() as client:
                client.send_message(message)
    return result


def without_ledger(line: Line, number: int, connections: int) -> Taken:
    """Sends the same bytes that many times on open connections, which do not wait to fill a packet."""
    message = as_digest(DIGEST).message

    def send(share: list[str]) -> None:
        with line.smtplib() as client:
            assert client.sock is not None
            client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for recipient in share:
                client.sendmail(SENDER, [recipient], message)

    everybody = recipients(number)
    with taken() as result, ThreadPoolExecutor(connections) as executor:
        list(executor.map(send, [everybody[n::connections] for n in range(connections)]))
    return result


def ours(line: Line, number: int, connections: int) -> Taken:
    """Delivers a frozen digest to that many subscribers. 0 connections: as many as the server takes well."""
    with tempfile.TemporaryDirectory(prefix="paperboy-sending-") as folder:
        path = Path(folder) / "paperboy.db"
        freeze(path, number)
        with taken() as result:
            deliver(path, line, connections)
    return result


def freeze(path: Path, number: int) -> None:
    now = datetime.now(UTC)
    name = DIGEST.mailing_list.name
    day = now.date()
    people = tuple(
        COMPOSER.copy_for(name, day, Subscriber(address)) for address in recipients(number)
    )
    with Store.open(path) as store:
        composed = compose(DIGEST, COMPOSER, now)
        store.days.freeze(Day(name, day, Outcome.DIGEST, composed=composed, copies=people), now)


def deliver(path: Path, line: Line, connections: int) -> None:
    """What waits in the database, to everybody."""
    with Store.open(path) as store:
        waiting = store.ledger.unfinished()
        sending = delivery.Round(
            store=store,
            transports=[line.transport() for _ in range(connections or MOST_CONNECTIONS)],
            grows=not connections,
            composer=COMPOSER,
            on_list=lambda *_: True,
            clock=lambda: datetime.now(UTC),
            timer=time.monotonic,
            wait=time.sleep,
            jitter=random.random,
            progress=NoProgress(),
            stopped=lambda: False,
        )
        report = sending.deliver()
        assert report.states == {DeliveryState.SENT: waiting}, report


CASES: Mapping[str, Callable[[Line, int], Taken]] = {
    "a connection and a build for each": naive,
    **{
        f"no ledger, {each}": lambda line, number, each=each: without_ledger(line, number, each)
        for each in (1, 4, 10)
    },
    **{
        f"ours, {each or 'auto'}": lambda line, number, each=each: ours(line, number, each)
        for each in (1, 4, 10, 0)
    },
}
NAIVE, *_, LEDGERLESS_TEN = list(CASES)[:4]
OURS_ONE, OURS_FOUR, OURS_TEN, _ = list(CASES)[4:]


@contextmanager
def stunnel(to: int) -> Iterator[Line]:
    """TLS in front of a port, with a certificate made on the spot."""
    assert STUNNEL is not None
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with tempfile.TemporaryDirectory(prefix="paperboy-stunnel-") as folder:
        certificate = Path(folder) / "server.pem"
        settings = Path(folder) / "stunnel.conf"
        port = free_port()
        authority.issue_cert(HOST).private_key_and_cert_chain_pem.write_to_path(str(certificate))
        settings.write_text(
            f"foreground = yes\npid =\ndebug = 0\n[smtps]\naccept = {HOST}:{port}\nconnect = {HOST}:{to}\n"
            f"cert = {certificate}\n"
        )
        program = subprocess.Popen([STUNNEL, str(settings)], stderr=subprocess.DEVNULL)
        try:
            until_it_listens(port, program)
            yield Line(port, context)
        finally:
            program.kill()
            program.wait()


Key = tuple[str, str]  # case and line


@dataclass(frozen=True, slots=True)
class Figures:
    """What the rounds gave, in their order."""

    rates: Mapping[Key, list[float]]  # messages per second
    busy: Mapping[Key, list[float]]  # microseconds of our processor time for each message

    def times(self, case: str, other: str, of: str) -> float:
        """How many times as fast one case is as another."""
        return _ratio(self.rates[case, of], self.rates[other, of])

    def work(self, case: str, other: str, of: str) -> float:
        """How many times as much processor time one case takes as another."""
        return _ratio(self.busy[case, of], self.busy[other, of])


def _ratio(mine: list[float], others: list[float]) -> float:
    return median(each / other for each, other in zip(mine, others, strict=True))


def measured(lines: Mapping[str, Line], options: argparse.Namespace) -> Figures:
    """All cases take their turn in each round."""
    figures = Figures(defaultdict(list), defaultdict(list))
    for number in range(options.rounds):
        for of, line in lines.items():
            for case in random.sample(list(CASES), len(CASES)):
                messages = messages_of(case, line, options)
                took = CASES[case](line, messages)
                figures.rates[case, of].append(messages / took.seconds)
                figures.busy[case, of].append(took.busy / messages * 1e6)
                print(
                    f"round {number + 1}, {of}, {case}: {messages / took.seconds:,.0f}/s",
                    file=sys.stderr,
                )
    return figures


def messages_of(case: str, line: Line, options: argparse.Namespace) -> int:
    """Fewer where each takes long."""
    if line.far:  # some ten seconds each
        connections = int(re.sub(r"\D", "", case) or 10)
        return min(
            options.recipients,
            50 if case == NAIVE else (500 if "ours" in case else 120) * connections,
        )
    few = options.naive if line.context is None else max(1, options.naive // 5)  # 40 ms each
    return min(few, options.recipients) if case == NAIVE else int(options.recipients)


def show(figures: Figures, lines: Mapping[str, Line]) -> None:
    print(f"{'messages per second (µs of our own)':<40}" + "".join(f"{of:>20}" for of in lines))
    for case in CASES:
        columns = (
            f"{median(figures.rates[case, of]):,.0f} ({median(figures.busy[case, of]):,.0f})"
            for of in lines
        )
        print(f"{case:<40}" + "".join(f"{column:>20}" for column in columns))
    for of, line in lines.items():
        print()
        if not line.far:
            times = figures.times(OURS_FOUR, NAIVE, of)
            print(f"{of}: with 4 connections {times:.1f} times the naive script (aim: {AIMS[of]})")
        for mine in (OURS_ONE, OURS_FOUR, OURS_TEN):
            share = figures.times(mine, mine.replace("ours", "no ledger"), of)
            print(
                f"{of}: {mine}: {share:.0%} of the sender without a ledger (aim: {AIM_LEDGER:.0%})"
            )
        rate, busy = LISTMONK[of]
        rate = rate * figures.times(OURS_TEN, LEDGERLESS_TEN, of)
        busy = busy * figures.work(OURS_TEN, LEDGERLESS_TEN, of)
        aim, aim_busy = AIM_LISTMONK[of]
        print(
            f"{of}: {OURS_TEN}: {rate:.2f} times listmonk's sender, at {busy:.2f} of its processor time "
            f"(aim: {aim}, {aim_busy})"
        )


def peak_memory(line: Line, number: int) -> float:
    """Megabytes that a process of its own takes at most to deliver to that many subscribers."""
    with tempfile.TemporaryDirectory(prefix="paperboy-sending-") as folder:
        path = Path(folder) / "paperboy.db"
        freeze(path, number)
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.sending",
            "--deliver",
            str(path),
            str(line.port),
        ]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_of_this_process() -> float:
    """Not `ru_maxrss`, which a process inherits from the one that started it."""
    status = Path("/proc/self/status").read_text()
    return next(
        int(row.split()[1]) / 1024 for row in status.splitlines() if row.startswith("VmHWM")
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.sending", description="How fast a digest leaves."
    )
    parser.add_argument("--recipients", type=int, default=5_000, help="default: 5000")
    parser.add_argument(
        "--naive",
        type=int,
        default=300,
        help="mails of the naive script; a fifth with TLS; default: 300",
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="of which the median counts; default: 3"
    )
    parser.add_argument("--deliver", nargs=2, metavar=("DATABASE", "PORT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.deliver:
        deliver(Path(options.deliver[0]), Line(int(options.deliver[1])), 4)
        print(peak_of_this_process())
        return
    if PROGRAM is None:
        raise SystemExit(f"Nothing to measure against: {MISSING}.")
    with ExitStack() as stack:
        lines = {"plain": Line(stack.enter_context(smtp_sink()))}
        if STUNNEL:
            lines["TLS"] = stack.enter_context(stunnel(lines["plain"].port))
        else:
            print("TLS is left out: stunnel4 is not installed.")
        lines[FAR] = Line(stack.enter_context(far_from(lines["plain"].port, ROUND_TRIP)), far=True)
        octets = len(as_digest(DIGEST).message)
        print(
            f"{octets:,} bytes to {options.recipients:,} recipients, the median of {options.rounds} rounds, on "
            f"{os.cpu_count()} cores, which others used before we began: load {os.getloadavg()[0]:.1f}.\n"
        )
        show(measured(lines, options), lines)
        print(f"\nload at the end, ours and the servers' included: {os.getloadavg()[0]:.1f}")
        memory = {number: peak_memory(lines["plain"], number) for number in (500, 5_000)}
        print(
            "memory at most: "
            + ", ".join(f"{peak:.0f} MB for {number:,}" for number, peak in memory.items())
        )


if __name__ == "__main__":
    main()
