"""The server of the site: waitress, on loopback behind a TLS proxy.

The proxy waits for slow clients. waitress bounds the size of headers and bodies, and closes idle
connections.
"""

import logging

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import BaseWSGIServer, MultiSocketServer, create_server

from paperboy.web.site import Site


class _Parser(HTTPRequestParser):
    """Parser that refuses requests with two framings; waitress itself would use the chunks."""

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        if "CONTENT_LENGTH" in self.headers and (
            self.chunked or "TRANSFER_ENCODING" in self.headers
        ):
            # RFC 9112, section 6.1: an attempt to smuggle a request
            raise ParsingError("Content-Length with Transfer-Encoding")


def server(site: Site, host: str, port: int) -> BaseWSGIServer | MultiSocketServer:
    """Return a listening server. Raises OSError.

    Its main loop reads requests and writes answers, so a slow client takes up a connection, but no
    thread.
    """
    HTTPChannel.parser_class = _Parser
    # It would log a line for each request that has to wait.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    return create_server(
        site,
        host=host,
        port=port,
        threads=4,
        ident="",
        connection_limit=800,  # with its files, below the usual 1024 descriptors of a process
        channel_timeout=30,
        max_request_header_size=16_384,
        max_request_body_size=16_384,
        asyncore_use_poll=True,
    )
