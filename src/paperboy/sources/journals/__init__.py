"""Journals and anything else that has an RSS or Atom feed."""
