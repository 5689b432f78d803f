"""arXiv's API: papers of a window of days, whole or not at all."""

from paperboy.arxiv_feed.feed import ArxivFeed

__all__ = ["ArxivFeed"]
