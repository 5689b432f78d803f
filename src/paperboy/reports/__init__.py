"""What is wrong, for people and programs."""
