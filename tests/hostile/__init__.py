"""Hostile HTTP replies, and a TCP server that gives them."""
