"""A connection between a partner and a process that can lose answers: what the partner says goes through, what it is told does not."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def deaf_wire(port: int) -> AsyncGenerator[str]:
    """Yields an address. When the process behind it goes, the connection goes too, and not a byte of an answer has arrived."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection("127.0.0.1", port)
        speaking = asyncio.create_task(_copy(reader, asks))
        with suppress(ConnectionError):
            while await answers.read(4096):
                pass
        speaking.cancel()
        asks.close()
        writer.close()

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(4096):
        writer.write(piece)
        await writer.drain()
