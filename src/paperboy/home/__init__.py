"""An operator's files and settings, read and checked."""
