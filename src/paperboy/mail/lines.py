"""A message as SMTP wants it (RFC 5321, 4.5.2). Pure."""


def on_the_line(message: bytes) -> bytes:
    """The message with CRLF line ends, a dot before each that begins with one, and the final dot. The composer's own
    messages have no such line.
    """
    dotted = message.replace(b"\r\n.", b"\r\n..") if b"\r\n." in message else message
    return dotted + (b".\r\n" if dotted.endswith(b"\r\n") else b"\r\n.\r\n")
