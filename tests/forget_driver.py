"""A process that forgets one document to the end and may be killed on its way:
`… HOME POSTGRES MILVUS DOCUMENT`. Prints the receipt."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from forgetting import real_house


async def run(home: str, postgres_url: str, milvus_uri: str, document: str) -> None:
    async with real_house(Path(home), postgres_url=postgres_url, milvus_uri=milvus_uri) as house:
        job = await house.forget("document", document)
        sys.stdout.write(await house.receipt(job))


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
