"""From frozen digests to receipts."""
