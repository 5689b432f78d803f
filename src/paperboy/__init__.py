"""Paperboy mails the new arXiv papers each morning, scored for what each list wants to read."""

__version__ = "1.1.0"
