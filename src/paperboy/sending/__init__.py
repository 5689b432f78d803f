"""Sending: from frozen messages to receipts."""
