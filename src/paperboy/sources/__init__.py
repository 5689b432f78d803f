"""Where papers come from."""
