"""Paperboy: each morning the new arXiv papers, scored and mailed to those who want to read them."""

__version__ = "0.1.0"
