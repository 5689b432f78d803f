"""Digests rendered and serialised as mail; `sending` delivers them."""
