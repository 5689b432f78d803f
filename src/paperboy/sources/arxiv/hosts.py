"""arXiv's servers."""

from urllib.parse import urlsplit

API = "https://export.arxiv.org/api/query"
FEED = "https://rss.arxiv.org/atom"


def is_arxiv(url: str) -> bool:
    """Check whether a URL is on one of arXiv's servers."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    return f".{host}".endswith(".arxiv.org")


def announcements(api_url: str, feed_url: str) -> str:
    """Return the URL of the announcement feed; empty if the API is not arXiv's and no other feed
    was set: then no request should go to arXiv.
    """
    return feed_url if feed_url != FEED or is_arxiv(api_url) else ""
