"""A home of each released version, as text: `database.sql`, and the files of its operator."""
