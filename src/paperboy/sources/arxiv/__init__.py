"""The arXiv API: the papers of a window of days, whole or not at all."""

from paperboy.sources.arxiv.client import ArxivFeed

__all__ = ["ArxivFeed"]
