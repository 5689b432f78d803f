"""A morning: from papers to frozen digests."""
