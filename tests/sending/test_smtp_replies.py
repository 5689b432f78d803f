"""What a reply of a mail server says, and what it does not."""

from __future__ import annotations

import pytest

from paperboy.sending.verdict import Verdict, judge

LATER = Verdict.LATER
SLOW_DOWN = Verdict.SLOW_DOWN
NEVER = Verdict.NEVER
BOUNCE = Verdict.BOUNCE
LIMIT = Verdict.LIMIT
SENDER = Verdict.SENDER
UNCLEAR = Verdict.UNCLEAR
DOUBTFUL = Verdict.DOUBTFUL

RCPT: dict[str, Verdict] = {
    "550 5.1.1 <ada@example.org>: Recipient address rejected: User unknown in local recipient table": BOUNCE,
    "550-5.1.1 The email account that you tried to reach does not exist. 5.1.1 Please try again": BOUNCE,
    "550 5.1.2 no such domain": BOUNCE,
    "501 5.1.3 bad recipient address syntax": BOUNCE,
    "550 5.1.6 the mailbox has moved": BOUNCE,
    "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup": BOUNCE,
    "550 5.2.1 The email account that you tried to reach is disabled.": BOUNCE,
    "554 5.7.1 <ada@example.org>: Relay access denied": UNCLEAR,
    "550 relay not permitted": UNCLEAR,
    "554 5.7.1 <mail.wren.edu>: Helo command rejected: Host not found": UNCLEAR,
    "554 5.7.1 <localhost[127.0.0.1]>: Client host rejected: Access denied": UNCLEAR,
    "504 5.5.2 <mail>: Helo command rejected: need fully-qualified hostname": UNCLEAR,
    "550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain": UNCLEAR,
    "553 5.1.7 malformed address": UNCLEAR,
    "550 5.1.8 <papers@example.org>: Domain not found": UNCLEAR,
    "550 5.1.0 <papers@example.org>: Sender address rejected: User unknown": UNCLEAR,
    "550 5.2.0 something with the mailbox": NEVER,
    "552 5.2.2 mailbox full": NEVER,
    "550 5.2.10 nobody knows": NEVER,
    "550 5.7.1 user unknown": UNCLEAR,
    "550 5.10.1 nobody knows": UNCLEAR,
    "554 5.4.14 hop count exceeded": UNCLEAR,
    "550 User unknown": UNCLEAR,
    "550 see RFC 5.1.1": UNCLEAR,
    "550 4.1.1 cannot make up its mind": UNCLEAR,
    "450 4.1.1 unknown for now": LATER,
    "450 5.1.1 cannot make up its mind": LATER,
    "550": UNCLEAR,
    "421": SLOW_DOWN,
    "421 4.3.2 closing": SLOW_DOWN,
    "421-4.7.28 unusual rate of unsolicited mail": SLOW_DOWN,
    "450 4.7.28 come back": SLOW_DOWN,
    "451 4.4.5 system is congested": SLOW_DOWN,
    "452 4.5.3 too many recipients": SLOW_DOWN,
    "450 4.7.1 Error: too much mail from 192.0.2.1": SLOW_DOWN,
    "450 too many messages in this connection": SLOW_DOWN,
    "452 Too many connections": SLOW_DOWN,
    "451 4.7.650 The mail server has been temporarily rate limited": SLOW_DOWN,
    "454 Throttling failure: Maximum sending rate exceeded.": SLOW_DOWN,
    "454 Throttling failure: Daily message quota exceeded.": SLOW_DOWN,
    "450 4.7.0 rate-limit": SLOW_DOWN,
    "451 4.7.1 Greylisted, please try again later": LATER,
    "450 4.2.0 Greylisted for 300 seconds": LATER,
    "450-4.2.1 The user you are trying to contact is receiving mail at a rate that": LATER,
    "452 4.2.2 The recipient's quota is exceeded": LATER,
    "452 mailbox quota exceeded": LATER,
    "452 the user is over quota, which was exceeded": LATER,
    "452 4.3.1 Insufficient system storage": SLOW_DOWN,
    "451 4.3.0 moderately generated, accurate": SLOW_DOWN,
    "450 4.3.2 later": SLOW_DOWN,
    "550 5.3.0 never": UNCLEAR,
    "450": LATER,
    "550 5.7.1 too many messages": UNCLEAR,
    "554 5.4.5 rate limit exceeded": LIMIT,
    "550 5.4.5 Daily user sending limit exceeded": LIMIT,
    "550 5.7.0 hourly message quota reached": LIMIT,
    "552 5.2.2 daily limit of this user reached": NEVER,
    "550 5.1.1 <daily@limit.example> unknown": BOUNCE,
    "530 5.7.0 authentication required": UNCLEAR,
    # Our own limits and permissions, among the codes of recipients.
    "550 5.1.90 You have reached the daily limit of recipients": LIMIT,
    "550 5.1.92 too many for today": LIMIT,
    "550 5.7.60 SMTP; Client does not have permissions to send as this sender": SENDER,
    # Codes of an unknown address, whose words tell of something else.
    "550 5.2.1 This user is getting mail at a rate that stops further messages": NEVER,
    "550 5.1.0 <ada@example.org> (mx said: 550-'5.2.2 ada: over')": UNCLEAR,
    "550 5.1.1 the mailbox is full": UNCLEAR,
    "550 5.1.1 Over quota": UNCLEAR,
    "553 5.1.3 your address is blocked by our blocklist": UNCLEAR,
    "550 5.1.2 192.0.2.1 is blacklisted, see https://list.example/why": UNCLEAR,
    "550 5.1.20 several senders": UNCLEAR,
    "550 5.1.1 <ada@example.org> - 192.0.2.1 wrote to too many people this hour": UNCLEAR,
    "550 5.1.1 throttled": UNCLEAR,
    "550 5.1.1 greylisted": UNCLEAR,
    "550 5.1.1 this looks like spam": UNCLEAR,
    "550 5.1.1 relay not permitted": UNCLEAR,
    "550 5.1.1 sent to <spam@later.example>: unknown": BOUNCE,
    # And the reverse.
    "550 5.4.1 Recipient address rejected: Access denied.": DOUBTFUL,
    "554 delivery error: dd This user doesn't have a example.org account (ada@example.org)": DOUBTFUL,
    "550 5.4.1 no answer from host": UNCLEAR,
    "550 5.1.1 Relaying denied": UNCLEAR,
    "550 no such user": UNCLEAR,
}
OTHERS: list[tuple[str, str, Verdict]] = [
    ("MAIL", "450 4.7.1 later", SLOW_DOWN),
    ("MAIL", "550 5.7.1 not your address", SENDER),
    ("MAIL", "530 5.7.0 authentication required", SENDER),
    ("MAIL", "552 5.3.4 message too big", NEVER),
    ("MAIL", "550 5.4.5 Daily user sending limit exceeded", LIMIT),
    ("DATA", "451 4.7.1 later", LATER),
    ("DATA", "554 5.1.1 no valid recipients", NEVER),
    ("DATA", "554 dd This user doesn't have a example.org account (ada@example.org)", DOUBTFUL),
    ("end of message", "554 This user doesn't have a example.org account", DOUBTFUL),
    ("MAIL", "554 papers@example.org doesn't have an account", SENDER),
    ("end of message", "452 4.3.1 Insufficient system storage", SLOW_DOWN),
    ("end of message", "550 5.1.1 not liked", UNCLEAR),
    ("end of message", "554 refused by policy", UNCLEAR),
    ("end of message", "554 Email address is not verified: papers@example.org", UNCLEAR),
    ("end of message", "552 5.3.4 message too big", NEVER),
    ("end of message", "552 too much", NEVER),
    ("end of message", "554 5.2.2 mailbox full", NEVER),
    ("end of message", "554 5.2.0 STOREDRV; SubmissionQuotaExceeded; message rejected", LIMIT),
    ("end of message", "550 5.1.90 You have reached the daily limit of recipients", LIMIT),
    ("end of message", "554 5.2.0 STOREDRV; SendAsDenied; papers@example.org not allowed", SENDER),
    ("end of message", "554 5.2.252 not allowed to send as this sender", SENDER),
    ("end of message", "550 5.7.60 not allowed to send as this sender", SENDER),
    ("returned", "550 no such user", BOUNCE),
    ("returned", "550 5.0.0 Unknown recipient", BOUNCE),
    ("returned", "550 5.0.0 The account <ada@example.org> does not exist", BOUNCE),
    ("returned", "550 sender unknown", UNCLEAR),
    ("returned", "550-Verification failed for <papers@example.org> 550-No Such User Here", UNCLEAR),
    ("returned", "550 Sender address does not exist", UNCLEAR),
    ("returned", "554 Mail from your IP address refused: reverse DNS not found", UNCLEAR),
    ("returned", "550 5.7.1 unknown user", UNCLEAR),
    ("end of message", "550 5.7.0 hourly message quota reached", LIMIT),
]
CASES = [*(("RCPT", reply, verdict) for reply, verdict in RCPT.items()), *OTHERS]


@pytest.mark.parametrize(("command", "reply", "verdict"), CASES)
def test_each_refusal_has_its_verdict(command: str, reply: str, verdict: Verdict) -> None:
    assert judge(command, int(reply[:3]), reply[4:]) is verdict


def test_verdict_on_a_long_reply_takes_linear_time() -> None:
    """A quadratic pattern would take a minute, in which nothing else is sent."""
    for text in ("x" * 60_000, "5.1.1 " + "x/" * 30_000, "no such " * 8_000, "user " * 12_000):
        judge("RCPT", 550, text)
        judge("returned", 550, text)
