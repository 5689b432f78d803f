"""What comes from outside is bounded here: replies, files, text, templates, locks."""
