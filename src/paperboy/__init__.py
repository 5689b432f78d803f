"""Paperboy mails the new arXiv papers each morning, scored for what each list wants to read."""

__version__ = "0.1.0"
