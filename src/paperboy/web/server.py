"""The server of the web room: waitress, on loopback behind a proxy that speaks TLS.

The proxy waits for slow clients and refuses requests whose end could be read in two ways. waitress
bounds the size of headers and bodies, and closes connections that are idle.
"""

import logging

from waitress.server import BaseWSGIServer, MultiSocketServer, create_server

from paperboy.web.room import Room
from paperboy.web.visit import MOST_BYTES


def server(room: Room, host: str, port: int) -> BaseWSGIServer | MultiSocketServer:
    """Return a server that listens. Raises OSError.

    Its main loop reads requests and writes answers, so that a slow client costs a connection and no
    thread.
    """
    logging.getLogger("waitress.queue").setLevel(
        logging.ERROR
    )  # it has a line for each request that has to wait
    return create_server(
        room,
        host=host,
        port=port,
        threads=4,
        ident="",
        connection_limit=800,  # with its files, below the usual 1024 descriptors of a process
        channel_timeout=30,
        max_request_header_size=16_384,
        max_request_body_size=MOST_BYTES,
        asyncore_use_poll=True,
    )
