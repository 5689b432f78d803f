"""What the DNS says of a sender's domain: where its mail goes, and who may send for it."""

from paperboy.dns.records import Address, Dns, DnsError
from paperboy.dns.spf import Judgement, Verdict, judge, spf_records

__all__ = ["Address", "Dns", "DnsError", "Judgement", "Verdict", "judge", "spf_records"]
