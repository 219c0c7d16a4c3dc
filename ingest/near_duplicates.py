"""Sketches by which copies are found across sources, however many passages there are.

Each chunk of a document goes into the ledger with the bands of its MinHash; chunks that share a
band are looked at side by side when one of them is shown. Turns have none: what people say is an
event each time. Nothing is dropped at ingest: which of two copies is the primary one depends on
who asks and what else is there by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster.model import Chunk, Revision
from cluster.text.sketches import Bands, bands_of


def sketches(revision: Revision, chunks: Sequence[Chunk]) -> Mapping[str, Bands]:
    """Chunk id -> bands, of those chunks that are long enough."""
    if revision.turn is not None:
        return {}
    made = {
        chunk.chunk_id: bands_of(chunk.compared_text, inside=revision.tenant) for chunk in chunks
    }
    return {chunk_id: bands for chunk_id, bands in made.items() if bands}
