"""The server of the web room: waitress, on loopback behind a TLS proxy.

The proxy waits for slow clients and refuses ambiguously framed requests. waitress bounds the size
of headers and bodies, and closes idle connections.
"""

import logging

from waitress.server import BaseWSGIServer, MultiSocketServer, create_server

from paperboy.web.room import Room


def server(room: Room, host: str, port: int) -> BaseWSGIServer | MultiSocketServer:
    """Return a listening server. Raises OSError.

    Its main loop reads requests and writes answers, so a slow client costs a connection, no thread.
    """
    # It would log a line for each request that has to wait.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    return create_server(
        room,
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
