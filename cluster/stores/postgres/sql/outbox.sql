-- name: take, reads
-- A lane for each tenant, found by jumping through the index, and one for what is owed to
-- single generations; the first of each lane comes before the second of any.
WITH RECURSIVE lanes AS (
    (SELECT o.tenant FROM outbox o ORDER BY o.tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT o.tenant FROM outbox o WHERE o.tenant > lanes.tenant ORDER BY o.tenant LIMIT 1)
    FROM lanes WHERE lanes.tenant IS NOT NULL
), share AS (
    SELECT least(%(limit)s::bigint, %(limit)s::bigint * 4 / greatest(count(*), 1) + 1) AS rows
    FROM lanes
), taken AS (
    SELECT one.*, row_number() OVER (PARTITION BY lanes.tenant ORDER BY one.entry_id) AS turn
    FROM lanes CROSS JOIN LATERAL (
        SELECT o.entry_id, o.chunk_id, o.version, o.operation, '' AS target,
               CASE WHEN o.tried_version = o.version THEN o.attempts ELSE 0 END AS attempts
        FROM outbox o
        WHERE o.tenant = lanes.tenant
          AND (%(slots)s::integer[] IS NULL
               OR (hashtextextended(o.chunk_id, 0) & 15)::integer = ANY(%(slots)s::integer[]))
          AND (o.tried_version IS DISTINCT FROM o.version
               OR (o.set_aside_at IS NULL
                   AND (%(now)s::timestamptz IS NULL OR o.not_before <= %(now)s)))
        ORDER BY o.entry_id
        LIMIT (SELECT share.rows FROM share)
    ) AS one
    UNION ALL
    SELECT one.*, row_number() OVER (ORDER BY one.entry_id) AS turn
    FROM (
        SELECT o.entry_id, o.chunk_id, o.version, 'upsert', o.target,
               CASE WHEN o.tried_version = o.version THEN o.attempts ELSE 0 END AS attempts
        FROM outbox_of_generation o
        WHERE (%(targets)s::text[] IS NULL OR o.target = ANY(%(targets)s::text[]))
          AND (%(slots)s::integer[] IS NULL
               OR (hashtextextended(o.chunk_id, 0) & 15)::integer = ANY(%(slots)s::integer[]))
          AND (o.tried_version IS DISTINCT FROM o.version
               OR (o.set_aside_at IS NULL
                   AND (%(now)s::timestamptz IS NULL OR o.not_before <= %(now)s)))
        ORDER BY o.entry_id
        LIMIT %(limit)s
    ) AS one
)
SELECT taken.entry_id, taken.chunk_id, taken.version, taken.operation, taken.target,
       taken.attempts
FROM taken
ORDER BY taken.turn, taken.entry_id
LIMIT %(limit)s

-- name: state_of_target
-- It stays so until the transaction ends: retiring waits, and then drops what is owed.
SELECT g.state FROM generations g WHERE g.fingerprint = %(target)s FOR KEY SHARE

-- name: owe
INSERT INTO outbox_of_generation (chunk_id, target, version)
SELECT asked.chunk_id, %(target)s, nextval('row_versions')
FROM (SELECT DISTINCT a.chunk_id FROM unnest(%(ids)s::text[]) AS a(chunk_id)
      ORDER BY a.chunk_id) AS asked
ON CONFLICT (chunk_id, target) DO UPDATE SET version = EXCLUDED.version

-- name: drop_target
DELETE FROM outbox_of_generation WHERE target = %(target)s

-- name: notify
SELECT pg_notify('palimpsest_work', '')

-- name: work, reads
SELECT asked.chunk_id, c.row_version, c.text, c.context, held.fingerprints, held.vectors,
       r.revision_id, r.tenant, r.owner, r.agent, r.kind, r.document_id, r.source, r.path,
       r.source_type, r.source_url, r.language, r.author, r.product, r.product_version,
       r.edition_key, r.api_version, r.license, r.quote_policy, r.tags, r.conversation,
       r.session, r.speaker, r.authority, r.published_at, r.updated_at, r.said_at,
       r.newest_edition
FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS asked(chunk_id, position)
LEFT JOIN (chunks c JOIN revisions r
             ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible'))
       ON c.chunk_id = asked.chunk_id
LEFT JOIN LATERAL (
    SELECT array_agg(e.fingerprint ORDER BY e.fingerprint) AS fingerprints,
           array_agg(e.vector ORDER BY e.fingerprint) AS vectors
    FROM embeddings e
    WHERE e.vector_key = c.vector_key
      AND (%(fingerprints)s::text[] IS NULL OR e.fingerprint = ANY(%(fingerprints)s::text[]))
) AS held ON true
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

-- name: done_of_generation
WITH finished AS (
    SELECT o.chunk_id, o.target
    FROM outbox_of_generation o
    JOIN unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS taken(entry_id, version)
      ON o.entry_id = taken.entry_id AND o.version = taken.version
    ORDER BY o.chunk_id, o.target
    FOR UPDATE OF o
)
DELETE FROM outbox_of_generation o USING finished
WHERE o.chunk_id = finished.chunk_id AND o.target = finished.target

-- name: failed
UPDATE outbox o
SET attempts = CASE WHEN o.tried_version = o.version THEN o.attempts ELSE 0 END + 1,
    tried_version = o.version, last_error = n.reason, not_before = n.not_before,
    set_aside_at = CASE WHEN n.not_before IS NULL THEN %(now)s::timestamptz END
FROM unnest(%(ids)s::bigint[], %(versions)s::bigint[], %(reasons)s::text[],
            %(rests)s::timestamptz[]) AS n(entry_id, version, reason, not_before)
WHERE o.entry_id = n.entry_id AND o.version = n.version

-- name: failed_of_generation
UPDATE outbox_of_generation o
SET attempts = CASE WHEN o.tried_version = o.version THEN o.attempts ELSE 0 END + 1,
    tried_version = o.version, last_error = n.reason, not_before = n.not_before,
    set_aside_at = CASE WHEN n.not_before IS NULL THEN %(now)s::timestamptz END
FROM unnest(%(ids)s::bigint[], %(versions)s::bigint[], %(reasons)s::text[],
            %(rests)s::timestamptz[]) AS n(entry_id, version, reason, not_before)
WHERE o.entry_id = n.entry_id AND o.version = n.version

-- name: set_aside, reads
WITH aside AS (
    SELECT o.entry_id, o.chunk_id, '' AS target, o.tenant, o.revision_id, o.attempts,
           o.last_error, o.set_aside_at
    FROM outbox o
    WHERE o.set_aside_at IS NOT NULL AND o.tried_version = o.version
    UNION ALL
    SELECT o.entry_id, o.chunk_id, o.target, r.tenant, c.revision_id, o.attempts,
           o.last_error, o.set_aside_at
    FROM outbox_of_generation o
    LEFT JOIN chunks c ON c.chunk_id = o.chunk_id
    LEFT JOIN revisions r ON r.revision_id = c.revision_id
    WHERE o.set_aside_at IS NOT NULL AND o.tried_version = o.version
)
SELECT aside.chunk_id, aside.target, COALESCE(aside.tenant, ''), aside.attempts,
       aside.last_error, aside.set_aside_at, r.document_id, aside.revision_id, r.path, r.state
FROM aside LEFT JOIN revisions r ON r.revision_id = aside.revision_id
WHERE %(tenant)s::text IS NULL OR aside.tenant = %(tenant)s
ORDER BY aside.set_aside_at, aside.entry_id
LIMIT %(limit)s

-- name: aside, reads
SELECT (SELECT count(*) FROM outbox o
        WHERE o.set_aside_at IS NOT NULL AND o.tried_version = o.version
          AND (%(tenant)s::text IS NULL OR o.tenant = %(tenant)s))
     + (SELECT count(*)
        FROM outbox_of_generation o
        LEFT JOIN chunks c ON c.chunk_id = o.chunk_id
        LEFT JOIN revisions r ON r.revision_id = c.revision_id
        WHERE o.set_aside_at IS NOT NULL AND o.tried_version = o.version
          AND (%(tenant)s::text IS NULL OR r.tenant = %(tenant)s))

-- name: retry
UPDATE outbox o
SET tried_version = NULL, attempts = 0, last_error = NULL, not_before = NULL,
    set_aside_at = NULL
WHERE o.set_aside_at IS NOT NULL
  AND (%(ids)s::text[] IS NULL OR o.chunk_id = ANY(%(ids)s::text[]))
  AND (%(tenant)s::text IS NULL OR o.tenant = %(tenant)s)

-- name: retry_of_generation
UPDATE outbox_of_generation o
SET tried_version = NULL, attempts = 0, last_error = NULL, not_before = NULL,
    set_aside_at = NULL
WHERE o.set_aside_at IS NOT NULL
  AND (%(ids)s::text[] IS NULL OR o.chunk_id = ANY(%(ids)s::text[]))
  AND (%(tenant)s::text IS NULL
       OR EXISTS (SELECT FROM chunks c JOIN revisions r ON r.revision_id = c.revision_id
                  WHERE c.chunk_id = o.chunk_id AND r.tenant = %(tenant)s))

-- name: done_total, reads
-- The server counts deleted rows anyway.
SELECT COALESCE(sum(s.n_tup_del), 0)::bigint
FROM pg_stat_user_tables s
WHERE s.relid IN ('outbox'::regclass, 'outbox_of_generation'::regclass)

-- name: lag, reads
WITH open AS (
    SELECT count(*) AS entries, min(o.created_at) AS since
    FROM outbox o
    WHERE o.set_aside_at IS NULL OR o.tried_version <> o.version
    UNION ALL
    SELECT count(*), min(o.created_at)
    FROM outbox_of_generation o
    WHERE o.set_aside_at IS NULL OR o.tried_version <> o.version
)
SELECT sum(open.entries)::bigint, clock_timestamp() - min(open.since) FROM open
