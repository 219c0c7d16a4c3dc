"""The seams to storage: what a store must do, in types and in words.

Common to all: every call either returns what it says, or raises `StoreUnavailable` (call
again) or `StoreRejected` (a retry would fail again). Nothing turns an error into an empty
answer. An empty sequence of the ids or rows that a call is about raises `InvalidRequest`, unless
the call says otherwise. `close` may be called twice.
"""

from cluster.stores.protocols.documents import Documents, DocumentSummary, Prepared, VectorCache
from cluster.stores.protocols.forgetting import (
    Finding,
    ForgetJob,
    ForgetJobs,
    Forgetting,
    Holding,
    Needles,
    Selector,
    Support,
    Tombstone,
)
from cluster.stores.protocols.generations import (
    Backlog,
    Collections,
    Generations,
    GenerationState,
    HeldGeneration,
    Progress,
    UnencodedText,
)
from cluster.stores.protocols.indexes import TextIndex, TextRow, VectorIndex, VectorRow
from cluster.stores.protocols.ledger import Lease, Ledger, Transaction
from cluster.stores.protocols.lookups import Beside, Lookups, Named
from cluster.stores.protocols.operations import Keys, Runs, Uploads
from cluster.stores.protocols.outbox import (
    EVERYWHERE,
    Failure,
    IndexWork,
    Outbox,
    OutboxEntry,
    SetAside,
)
from cluster.stores.protocols.reconciling import (
    Comparable,
    CountsCopies,
    Rebuild,
    Rebuilds,
    Reconciling,
)
from cluster.stores.protocols.usage import (
    PassageUsage,
    Shown,
    Standing,
    Usage,
    UsageReport,
    Verdict,
    Writes,
)

__all__ = [
    "EVERYWHERE",
    "Backlog",
    "Beside",
    "Collections",
    "Comparable",
    "CountsCopies",
    "DocumentSummary",
    "Documents",
    "Failure",
    "Finding",
    "ForgetJob",
    "ForgetJobs",
    "Forgetting",
    "GenerationState",
    "Generations",
    "HeldGeneration",
    "Holding",
    "IndexWork",
    "Keys",
    "Lease",
    "Ledger",
    "Lookups",
    "Named",
    "Needles",
    "Outbox",
    "OutboxEntry",
    "PassageUsage",
    "Prepared",
    "Progress",
    "Rebuild",
    "Rebuilds",
    "Reconciling",
    "Runs",
    "Selector",
    "SetAside",
    "Shown",
    "Standing",
    "Support",
    "TextIndex",
    "TextRow",
    "Tombstone",
    "Transaction",
    "UnencodedText",
    "Uploads",
    "Usage",
    "UsageReport",
    "VectorCache",
    "VectorIndex",
    "VectorRow",
    "Verdict",
    "Writes",
]
