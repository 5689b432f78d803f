"""Stub."""


def to_marked(text: str) -> str:
    return text
