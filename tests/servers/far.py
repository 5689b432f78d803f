"""A server that is far away: what it is sent, and what it sends, takes its time on the way.

`with far_from(port, 0.02) as distant:` listens on another port, from which a round trip to the server takes 20 ms.
Nothing but time is lost: there is no limit of bandwidth, and no slow start. It is a process of its own.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.servers.smtp_sink import free_port, until_it_listens

_PIECE = 1 << 18  # bytes that are read at once


@contextmanager
def far_from(port: int, round_trip: float) -> Iterator[int]:
    """Runs the way to a port of this machine; gives its other end."""
    end = free_port()
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.far", str(end), str(port), str(round_trip / 2)]
    )
    try:
        until_it_listens(end, program)
        yield end
    finally:
        program.kill()
        program.wait()


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float
) -> None:
    """Each piece leaves so many seconds after it came, and so does the end."""
    loop = asyncio.get_running_loop()
    with suppress(OSError):
        while piece := await reader.read(_PIECE):
            loop.call_later(seconds, writer.write, piece)
    await asyncio.sleep(seconds)
    with suppress(OSError, RuntimeError):
        writer.write_eof() if writer.can_write_eof() else writer.close()


async def _serve(end: int, port: int, seconds: float) -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_carry(reader, there[1], seconds), _carry(there[0], writer, seconds))
        for each in (writer, there[1]):
            each.close()

    async with await asyncio.start_server(meet, "127.0.0.1", end) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
