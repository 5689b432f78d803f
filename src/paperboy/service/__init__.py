"""The façade `App`, the daemon and its tasks, `check`, and what commands and systemd print."""
