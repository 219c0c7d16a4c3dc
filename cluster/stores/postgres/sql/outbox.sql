-- name: take, reads
SELECT o.entry_id, o.chunk_id, o.version, o.operation
FROM outbox o
ORDER BY o.entry_id
LIMIT %(limit)s

-- name: work, reads
SELECT asked.chunk_id, c.row_version, c.text, c.context, e.vector,
       r.revision_id, r.tenant, r.owner, r.agent, r.kind, r.document_id, r.source, r.path,
       r.source_type, r.source_url, r.language, r.author, r.product, r.product_version,
       r.edition_key, r.api_version, r.license, r.quote_policy, r.tags, r.conversation,
       r.session, r.speaker, r.authority, r.published_at, r.updated_at, r.said_at,
       r.newest_edition
FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS asked(chunk_id, position)
LEFT JOIN (chunks c JOIN revisions r
             ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible'))
       ON c.chunk_id = asked.chunk_id
LEFT JOIN embeddings e ON e.vector_key = c.vector_key AND e.fingerprint = r.fingerprint
ORDER BY asked.position

-- name: done
WITH finished AS (
    SELECT o.chunk_id
    FROM outbox o
    JOIN unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS taken(entry_id, version)
      ON o.entry_id = taken.entry_id AND o.version = taken.version
    ORDER BY o.chunk_id
    FOR UPDATE OF o
)
DELETE FROM outbox o USING finished WHERE o.chunk_id = finished.chunk_id

-- name: lag, reads
SELECT (SELECT count(*) FROM outbox),
       (SELECT clock_timestamp() - o.created_at FROM outbox o ORDER BY o.entry_id LIMIT 1)
