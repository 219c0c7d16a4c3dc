"""A connection that leaves at once when asked to, whether or not its server still answers."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

Result = TypeVar("Result")


class PromptConnection(psycopg.AsyncConnection[TupleRow]):
    """The driver answers a cancellation by asking the server to end the statement, and waits for
    up to ten seconds for that; of a server that is out of reach a deadline would be missed by as
    much. Here the connection is given up instead: the server notices that
    (`client_connection_check_interval`), and the pool makes another one.

    A server that says nothing for `longest_wait_s` is given up likewise.
    """

    longest_wait_s = 60.0

    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ASYNC109  # the driver's parameter
    ) -> Result:
        within_s = self.longest_wait_s if timeout is None else None
        try:
            async with asyncio.timeout(within_s):
                return await waiting.wait_async(
                    gen, self.pgconn.socket, interval=interval, timeout=timeout
                )
        except TimeoutError as error:
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer within {within_s:g} s") from error
        except asyncio.CancelledError:
            self.pgconn.finish()
            raise
