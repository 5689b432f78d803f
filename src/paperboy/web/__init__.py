"""The readers' room: pages where they leave a list, read a digest again, vote and sign up."""
