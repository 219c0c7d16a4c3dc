"""The seams to storage: what a store must do, in types and in words.

Common to all: every call either returns what it says, or raises `StoreUnavailable` (call
again) or `StoreRejected` (a retry would fail again). Nothing turns an error into an empty
answer. An empty sequence where ids or rows are expected raises `InvalidRequest`. `close`
may be called twice.
"""

from cluster.stores.protocols.documents import Documents, DocumentSummary, Prepared, VectorCache
from cluster.stores.protocols.indexes import TextIndex, TextRow, VectorIndex, VectorRow
from cluster.stores.protocols.ledger import Lease, Ledger, Transaction
from cluster.stores.protocols.operations import Generations, Keys, Runs, Uploads
from cluster.stores.protocols.outbox import IndexWork, Outbox, OutboxEntry

__all__ = [
    "DocumentSummary",
    "Documents",
    "Generations",
    "IndexWork",
    "Keys",
    "Lease",
    "Ledger",
    "Outbox",
    "OutboxEntry",
    "Prepared",
    "Runs",
    "TextIndex",
    "TextRow",
    "Transaction",
    "Uploads",
    "VectorCache",
    "VectorIndex",
    "VectorRow",
]
