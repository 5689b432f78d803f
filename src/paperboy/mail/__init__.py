"""A digest as mail: rendered, serialised, and handed to a mail server or to the outbox."""
