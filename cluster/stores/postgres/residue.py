"""Is it still anywhere in the database? Every column of every table is searched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby

from psycopg import sql

from cluster.forget.naming import WHOSE
from cluster.stores.postgres.statements import STORE, Connection, translated
from cluster.stores.protocols.forgetting import Finding, Needles

KEPT = frozenset({"documents", "revisions", "chunks"})
"""What is left in these belongs to documents that stay, which may well say the same; there only
ids count."""

SPARED = frozenset({"schema_migrations", "api_keys", "forget_work", "receipts"})
"""Sealed, signed, or no business of documents: a key may well be an owner's who has no data."""

VECTORS = frozenset({("embeddings", "vector"), ("embeddings", "tokens")})
"""Numbers; in so many bytes a short word would stand by chance."""

OUR_WORDS = frozenset(
    {"tenant", "state", "kind", "stage", "outcome", "operation", "fingerprint", "target"}
    | {"vector_key", "mark", "selector", "asked_by", "key_id", "job_id", "receipt_id"}
    | {"owner"}
)
"""Columns with words or hashes of our own, and names of tenants and encoders: there only ids count,
as a page may be called "index" or as its tenant is. Of very many rows it is quick, too."""

_TEXT = frozenset({"text", "character varying", "character", "name"})
_JSON = frozenset({"json", "jsonb"})

_ARGUMENTS = """(({0} - %(whose)s::text[])::text LIKE ANY(%(json_patterns)s::text[])
OR EXISTS (SELECT FROM jsonb_each_text({0} - %(whose)s::text[]) AS said,
                       string_to_table(said.value, E'\\n') AS line
           WHERE line = ANY(%(values)s::text[])))"""

Column = tuple[str, str, str]
"""Table, column, type."""


async def find_residue(
    connection: Connection, columns: Iterable[Sequence[str]], tenant: str, needles: Needles
) -> list[Finding]:
    known = [(table, name, kind) for table, name, kind in columns]
    values = {
        "tenant": tenant,
        "ids": list(needles.ids),
        "whose": list(WHOSE),
        "values": [*needles.ids, *needles.names],
        "patterns": [_pattern(sample) for sample in needles.samples],
        "json_patterns": [_pattern(_in_json(sample)) for sample in needles.samples],
        "raw": [sample.encode() for sample in needles.samples],
    }
    found = []
    for table, of_table in groupby(sorted(known), key=lambda column: column[0]):
        group = list(of_table)
        for _, name, kind in group:
            condition = _condition(table, name, kind)
            if condition is None:
                continue
            query = sql.SQL("SELECT count(*) FROM {} AS t WHERE {} AND {}").format(
                sql.Identifier(table), condition, _inside({column[1] for column in group}, table)
            )
            with translated():
                cursor = await connection.execute(query, values)
                row = await cursor.fetchone()
            if row and row[0]:
                found.append(Finding(store=STORE, place=f"{table}.{name}", rows=int(row[0])))
    return found


def _condition(table: str, name: str, kind: str) -> sql.Composable | None:
    column = sql.SQL("t.{}").format(sql.Identifier(name))
    if table in SPARED or (table, name) in VECTORS:
        return None
    if table in KEPT and not (kind in _TEXT and name.endswith("_id")):
        return None
    if table in KEPT or name in OUR_WORDS:
        form = "({0} = ANY(%(ids)s::text[]))" if kind in _TEXT else None
    elif kind in _TEXT:
        form = "({0} = ANY(%(values)s::text[]) OR {0} LIKE ANY(%(patterns)s::text[]))"
    elif kind in _JSON and name == "arguments":
        form = _ARGUMENTS
    elif kind in _JSON:
        form = "({0}::text LIKE ANY(%(json_patterns)s::text[]))"
    elif kind == "ARRAY":
        form = "(array_to_string({0}, E'\\n') LIKE ANY(%(patterns)s::text[]))"
    elif kind == "bytea":
        form = "EXISTS (SELECT FROM unnest(%(raw)s::bytea[]) AS n WHERE position(n IN {0}) > 0)"
    else:
        form = None
    return sql.SQL(form).format(column) if form else None


def _inside(columns: set[str], table: str) -> sql.Composable:
    """Rows of other tenants are none of our business; ids are nobody else's anyway."""
    if table in KEPT:
        return sql.SQL("true")
    if "tenant" in columns:
        return sql.SQL("t.tenant = %(tenant)s")
    if "run_id" in columns:
        return sql.SQL("t.run_id IN (SELECT run_id FROM runs WHERE tenant = %(tenant)s)")
    return sql.SQL("true")


def _pattern(sample: str) -> str:
    escaped = sample.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _in_json(sample: str) -> str:
    return json.dumps(sample, ensure_ascii=False)[1:-1]
