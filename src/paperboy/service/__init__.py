"""The daemon, its parts, and what it tells systemd."""
