"""DKIM: sign mail for a sender whose relay does not, and check the key that the sender's domain publishes."""

from paperboy.features.dkim.signer import Signer
from paperboy.service.feature import Feature, lazily

FEATURE = Feature(name="dkim", signer=Signer.of, check=lazily("dkim.record", "look"))
