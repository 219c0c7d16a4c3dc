-- name: hold
-- Who counts waits for nobody: what is just being published or erased is passed over. Who erases
-- locks the documents first and waits for this, so that what is written here is seen there. What is
-- read afterwards, by another statement, is as of now.
SELECT d.document_id
FROM documents d
WHERE d.document_id = ANY(ARRAY(
    SELECT DISTINCT r.document_id
    FROM (SELECT c.revision_id FROM chunks c WHERE c.chunk_id = ANY(%(ids)s::text[]) OFFSET 0) AS c
    CROSS JOIN LATERAL (
        SELECT v.document_id, v.tenant FROM revisions v WHERE v.revision_id = c.revision_id OFFSET 0
    ) AS r
    WHERE r.tenant = ANY(%(tenants)s::text[])))
FOR KEY SHARE SKIP LOCKED

-- name: hold_in_turn
-- Who reports waits for whoever publishes or erases, in the order of ids, as all lock documents.
SELECT d.document_id
FROM documents d
WHERE d.document_id = ANY(ARRAY(
    SELECT DISTINCT r.document_id
    FROM (SELECT c.revision_id FROM chunks c WHERE c.chunk_id = ANY(%(ids)s::text[]) OFFSET 0) AS c
    CROSS JOIN LATERAL (
        SELECT v.document_id, v.tenant FROM revisions v WHERE v.revision_id = c.revision_id OFFSET 0
    ) AS r
    WHERE r.tenant = ANY(%(tenants)s::text[])))
ORDER BY d.document_id
FOR KEY SHARE

-- name: add_shown
WITH asked AS (
    SELECT n.chunk_id, n.tenant, n.owner, sum(n.times) AS times
    FROM unnest(%(chunks)s::text[], %(tenants)s::text[], %(owners)s::text[], %(times)s::bigint[])
         AS n(chunk_id, tenant, owner, times)
    GROUP BY n.chunk_id, n.tenant, n.owner
), kept AS MATERIALIZED (
    SELECT c.chunk_id, r.document_id, r.tenant
    FROM (SELECT x.chunk_id, x.revision_id FROM chunks x
          WHERE x.chunk_id = ANY(%(chunks)s::text[]) OFFSET 0) AS c
    CROSS JOIN LATERAL (
        SELECT v.document_id, v.tenant, v.state FROM revisions v
        WHERE v.revision_id = c.revision_id OFFSET 0
    ) AS r
    WHERE r.state IN ('visible', 'superseded') AND r.document_id = ANY(%(held)s::text[])
)
INSERT INTO usage_counts (chunk_id, owner, document_id, tenant, shown)
SELECT asked.chunk_id, asked.owner, kept.document_id, kept.tenant, asked.times
FROM asked JOIN kept ON kept.chunk_id = asked.chunk_id AND kept.tenant = asked.tenant
ORDER BY asked.chunk_id, asked.owner
ON CONFLICT (chunk_id, owner) DO UPDATE SET shown = usage_counts.shown + EXCLUDED.shown

-- name: held, reads
SELECT c.chunk_id, r.document_id
FROM (SELECT x.chunk_id, x.revision_id FROM chunks x
      WHERE x.chunk_id = ANY(%(ids)s::text[]) OFFSET 0) AS c
CROSS JOIN LATERAL (
    SELECT v.document_id, v.tenant, v.owner, v.state FROM revisions v
    WHERE v.revision_id = c.revision_id OFFSET 0
) AS r
WHERE r.document_id = ANY(%(held)s::text[])
  AND r.state IN ('visible', 'superseded')
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)

-- name: report
INSERT INTO usage_events (event_id, tenant, owner, search_id, chunk_id, document_id, kind,
                          artifact, reported_at)
SELECT n.event_id, %(tenant)s, %(owner)s, %(search_id)s, n.chunk_id, n.document_id, n.kind,
       n.artifact, %(now)s
FROM unnest(%(events)s::text[], %(chunks)s::text[], %(documents)s::text[], %(kinds)s::text[],
            %(artifacts)s::text[]) AS n(event_id, chunk_id, document_id, kind, artifact)
ORDER BY n.event_id
ON CONFLICT (event_id) DO UPDATE SET kind = EXCLUDED.kind, reported_at = EXCLUDED.reported_at
WHERE usage_events.kind <> EXCLUDED.kind

-- name: passages_of_document, reads
-- From its passages on: by their ids only rows of this owner, and of those without one, are read.
WITH passages AS MATERIALIZED (
    SELECT c.chunk_id
    FROM revisions r JOIN chunks c ON c.revision_id = r.revision_id
    WHERE r.document_id = %(document)s AND r.state IN ('visible', 'superseded')
      AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)
), counted AS MATERIALIZED (
    SELECT p.chunk_id, (
        SELECT COALESCE(sum(u.shown), 0)::bigint FROM usage_counts u
        WHERE u.chunk_id = p.chunk_id AND u.owner IN ('', COALESCE(%(owner)s, ''))
    ) AS shown
    FROM passages p
)
SELECT n.chunk_id, n.shown FROM counted n
WHERE n.shown > 0 OR EXISTS (
    SELECT FROM usage_events e
    WHERE e.chunk_id = n.chunk_id AND (e.owner IS NULL OR e.owner = %(owner)s))
ORDER BY n.shown DESC, n.chunk_id
LIMIT %(limit)s

-- name: kinds, reads
SELECT e.chunk_id, e.kind, count(*), count(DISTINCT e.search_id)
FROM usage_events e
WHERE e.chunk_id = ANY(%(ids)s::text[])
  AND e.tenant = %(tenant)s AND (e.owner IS NULL OR e.owner = %(owner)s)
GROUP BY e.chunk_id, e.kind

-- name: used_in, reads
SELECT asked.chunk_id, latest.artifact
FROM (SELECT DISTINCT n.chunk_id FROM unnest(%(ids)s::text[]) AS n(chunk_id)) AS asked
CROSS JOIN LATERAL (
    SELECT e.artifact, max(e.reported_at) AS at
    FROM usage_events e
    WHERE e.chunk_id = asked.chunk_id AND e.kind = 'used' AND e.artifact <> ''
      AND e.tenant = %(tenant)s AND (e.owner IS NULL OR e.owner = %(owner)s)
    GROUP BY e.artifact
    ORDER BY at DESC, e.artifact
    LIMIT %(limit)s
) AS latest
ORDER BY asked.chunk_id, latest.at DESC, latest.artifact

-- name: tells_of, reads
SELECT EXISTS (SELECT FROM usage_counts u WHERE u.tenant = %(tenant)s AND u.owner = %(owner)s)
    OR EXISTS (SELECT FROM usage_events e WHERE e.tenant = %(tenant)s AND e.owner = %(owner)s)

-- name: erase_counts
-- Of these revisions' documents: what tells of chunks that are no more.
DELETE FROM usage_counts u
USING (SELECT DISTINCT r.document_id FROM revisions r WHERE r.revision_id = ANY(%(ids)s::text[])) AS d
WHERE u.document_id = d.document_id
  AND NOT EXISTS (SELECT FROM chunks c WHERE c.chunk_id = u.chunk_id)

-- name: erase_events
DELETE FROM usage_events u
USING (SELECT DISTINCT r.document_id FROM revisions r WHERE r.revision_id = ANY(%(ids)s::text[])) AS d
WHERE u.document_id = d.document_id
  AND NOT EXISTS (SELECT FROM chunks c WHERE c.chunk_id = u.chunk_id)

-- name: erase_counts_of_owner
DELETE FROM usage_counts WHERE tenant = %(tenant)s AND owner = %(owner)s

-- name: erase_events_of_owner
DELETE FROM usage_events WHERE tenant = %(tenant)s AND owner = %(owner)s

-- name: erase_counts_named
DELETE FROM usage_counts WHERE tenant = %(tenant)s AND document_id = ANY(%(ids)s::text[])

-- name: erase_events_named
DELETE FROM usage_events WHERE tenant = %(tenant)s AND document_id = ANY(%(ids)s::text[])

-- name: scrub_artifacts
UPDATE usage_events SET artifact = ''
WHERE tenant = %(tenant)s AND artifact <> ''
  AND (artifact = ANY(%(names)s::text[]) OR artifact LIKE ANY(%(patterns)s::text[]))

-- name: standing, reads
SELECT (SELECT COALESCE(sum(w.writes), 0)::bigint FROM tenant_writes w WHERE w.tenant = %(tenant)s),
       NOT EXISTS (SELECT FROM outbox o
                   WHERE o.tenant = %(tenant)s
                     AND (o.set_aside_at IS NULL OR o.tried_version IS DISTINCT FROM o.version)),
       EXISTS (SELECT FROM usage_events e WHERE e.tenant = %(tenant)s)

-- name: counts, reads
SELECT w.tenant, sum(w.writes)::bigint
FROM tenant_writes w
WHERE w.tenant = ANY(%(tenants)s::text[])
GROUP BY w.tenant

-- name: note_writes
SELECT note_writes(%(tenants)s::text[])

-- name: note_writes_of_chunks
SELECT note_writes(ARRAY(
    SELECT DISTINCT r.tenant
    FROM chunks c JOIN revisions r ON r.revision_id = c.revision_id
    WHERE c.chunk_id = ANY(%(ids)s::text[]) AND r.state = 'visible'))
