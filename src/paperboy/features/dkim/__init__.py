"""DKIM: sign mail if the sender's relay does not, and check the key that the sender's domain
publishes.
"""

from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="dkim", signer=lazily("dkim.signer", "signer_of"), check=lazily("dkim.signer", "check")
)
