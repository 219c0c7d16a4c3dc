"""Which blocks does a later page show? What no page before it has shown, as if it were the first.

Merging neighbours makes the beginning of a list depend on its length, so pages are taken one
after another: the first is what an answer without pages has, and no chunk stands on two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rerank.dedup import Block

Shown = Callable[[Sequence[Block]], list[Block]]
"""Blocks of single chunks, best first -> one page of them."""


def page_of(blocks: Sequence[Block], *, page: int, shown: Shown) -> list[Block]:
    """`page` counts from 1. Copies of what a former page shows are not shown again."""
    for _ in range(page - 1):
        gone = {chunk_id for block in shown(blocks) for chunk_id in _all_chunks(block)}
        if not gone:
            return []
        blocks = [block for block in blocks if gone.isdisjoint(block.chunk_ids)]
    return shown(blocks)


def _all_chunks(block: Block) -> tuple[str, ...]:
    return (*block.chunk_ids, *(copy.passage.chunk.chunk_id for copy in block.also_in))
