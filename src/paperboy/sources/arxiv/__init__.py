"""arXiv: its API and feed, its calendar, its categories."""
