-- name: lock_tenant
SELECT pg_advisory_xact_lock(%(space)s, hashtext(%(tenant)s))

-- name: share_tenants
-- Every put holds it, forgetting waits for them and they for it.
SELECT pg_advisory_xact_lock_shared(%(space)s, asked.key)
FROM (SELECT DISTINCT hashtext(t) AS key FROM unnest(%(tenants)s::text[]) AS t ORDER BY 1) AS asked

-- name: share_free_tenants
-- The same without waiting: the tenants in which nothing is just being forgotten.
SELECT asked.tenant
FROM (SELECT DISTINCT t AS tenant FROM unnest(%(tenants)s::text[]) AS t) AS asked
WHERE pg_try_advisory_xact_lock_shared(%(space)s, hashtext(asked.tenant))

-- name: matching_item, reads
SELECT DISTINCT r.document_id
FROM revisions r
WHERE r.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR r.owner = %(owner)s)
  AND (r.document_id = %(value)s OR r.origin = %(value)s OR r.revision_id IN (
       SELECT c.revision_id FROM chunks c WHERE c.chunk_id = %(value)s))
ORDER BY 1

-- name: matching_document, reads
SELECT DISTINCT r.document_id
FROM revisions r
WHERE r.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR r.owner = %(owner)s)
  AND r.document_id = %(value)s

-- name: matching_source, reads
SELECT DISTINCT r.document_id
FROM revisions r
WHERE r.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR r.owner = %(owner)s)
  AND r.source = %(value)s
ORDER BY 1

-- name: matching_owner, reads
SELECT DISTINCT r.document_id
FROM revisions r
WHERE r.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR r.owner = %(owner)s)
  AND r.owner = %(value)s
ORDER BY 1

-- name: matching_session, reads
SELECT DISTINCT r.document_id
FROM revisions r
WHERE r.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR r.owner = %(owner)s)
  AND r.kind = 'turn' AND r.session = %(value)s
ORDER BY 1

-- name: matching_conversation, reads
SELECT DISTINCT r.document_id
FROM revisions r
WHERE r.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR r.owner = %(owner)s)
  AND r.kind = 'turn' AND r.conversation = %(value)s
ORDER BY 1

-- name: holdings, reads
SELECT r.revision_id, r.document_id, r.owner, r.source, r.path, r.origin, r.title, r.state,
       r.run_id, r.text, r.conversation, r.session, r.turn_ordinal, r.speaker, r.said_at,
       COALESCE(held.chunks, ARRAY[r.first_chunk_id]), COALESCE(held.vectors, '{}')
FROM revisions r
LEFT JOIN LATERAL (
    SELECT array_agg(c.chunk_id ORDER BY c.ordinal) AS chunks,
           array_agg(c.vector_key ORDER BY c.ordinal) AS vectors
    FROM chunks c WHERE c.revision_id = r.revision_id) AS held ON true
WHERE r.tenant = %(tenant)s AND r.document_id = ANY(%(ids)s::text[])
ORDER BY r.revision_id

-- name: derived, reads
SELECT DISTINCT l.document_id
FROM (SELECT unnest(%(ids)s::text[]) AS support
      UNION
      SELECT s.origin FROM revisions s
      WHERE s.tenant = %(tenant)s AND s.document_id = ANY(%(ids)s::text[])) AS asked
JOIN lineage l
  ON l.tenant = %(tenant)s
 AND hashtextextended(l.support, 0) = hashtextextended(asked.support, 0)
 AND l.support = asked.support
JOIN revisions r ON r.revision_id = l.revision_id AND r.state <> 'deleted'
 AND (%(owner)s::text IS NULL OR r.owner = %(owner)s)
ORDER BY 1

-- name: supports, reads
SELECT l.document_id, l.support, COALESCE(array_agg(DISTINCT s.document_id)
       FILTER (WHERE s.document_id IS NOT NULL), '{}')
FROM lineage l
LEFT JOIN revisions s
  ON s.tenant = l.tenant AND s.state IN ('pending', 'visible')
 AND (s.document_id = l.support
      OR (hashtextextended(s.origin, 0) = hashtextextended(l.support, 0) AND s.origin = l.support))
WHERE l.tenant = %(tenant)s AND l.document_id = ANY(%(ids)s::text[])
GROUP BY l.document_id, l.support
ORDER BY l.document_id, l.support

-- name: lock_documents
SELECT d.document_id FROM documents d
WHERE d.tenant = %(tenant)s AND d.document_id = ANY(%(ids)s::text[])
ORDER BY d.document_id
FOR UPDATE

-- name: revisions_of, reads
SELECT r.revision_id, r.state FROM revisions r
WHERE r.tenant = %(tenant)s AND r.document_id = ANY(%(ids)s::text[])
ORDER BY r.revision_id

-- name: queue_removal
WITH held AS MATERIALIZED (
    SELECT c.chunk_id FROM chunks c WHERE c.revision_id = ANY(%(ids)s::text[])
    ORDER BY c.chunk_id
    FOR NO KEY UPDATE
), bumped AS (
    UPDATE chunks c SET row_version = nextval('row_versions')
    FROM held WHERE c.chunk_id = held.chunk_id
    RETURNING c.chunk_id, c.revision_id, c.row_version
)
INSERT INTO outbox (chunk_id, revision_id, tenant, version, operation)
SELECT b.chunk_id, b.revision_id, r.tenant, b.row_version, 'delete'
FROM bumped b JOIN revisions r ON r.revision_id = b.revision_id
ORDER BY b.chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET
    revision_id = EXCLUDED.revision_id, tenant = EXCLUDED.tenant, version = EXCLUDED.version,
    operation = EXCLUDED.operation

-- name: vector_keys_of, reads
SELECT DISTINCT c.vector_key FROM chunks c WHERE c.revision_id = ANY(%(ids)s::text[])

-- name: lock_vectors_by_key
SELECT e.vector_key FROM embeddings e
WHERE e.vector_key = ANY(%(keys)s::text[])
ORDER BY e.vector_key, e.fingerprint
FOR UPDATE

-- name: erase_unneeded_vectors
-- Whatever encoder made them: without a chunk that says the text nobody needs any.
DELETE FROM embeddings e
WHERE e.vector_key = ANY(%(keys)s::text[])
  AND NOT EXISTS (SELECT FROM chunks c WHERE c.vector_key = e.vector_key)

-- name: erase_chunks
DELETE FROM chunks WHERE revision_id = ANY(%(ids)s::text[])

-- name: erase_lineage
DELETE FROM lineage WHERE revision_id = ANY(%(ids)s::text[])

-- name: erase_revisions
DELETE FROM revisions WHERE revision_id = ANY(%(ids)s::text[])

-- name: erase_documents
DELETE FROM documents WHERE tenant = %(tenant)s AND document_id = ANY(%(ids)s::text[])

-- name: detach
DELETE FROM lineage l
USING unnest(%(supports)s::text[]) AS gone(support)
WHERE l.tenant = %(tenant)s
  AND hashtextextended(l.support, 0) = hashtextextended(gone.support, 0)
  AND l.support = gone.support
  AND NOT EXISTS (
      SELECT FROM revisions s
      WHERE s.tenant = l.tenant AND s.state IN ('pending', 'visible')
        AND hashtextextended(s.origin, 0) = hashtextextended(l.support, 0)
        AND s.origin = l.support)

-- name: runs_of_tenant, reads
SELECT run_id, arguments, error FROM runs
WHERE tenant = %(tenant)s AND run_id > %(after)s
ORDER BY run_id
LIMIT %(limit)s

-- name: rewrite_run
UPDATE runs SET arguments = %(arguments)s::jsonb, error = %(error)s WHERE run_id = %(run_id)s

-- name: runs_that_still_bring, reads
SELECT DISTINCT r.run_id FROM revisions r
WHERE r.tenant = %(tenant)s AND r.run_id = ANY(%(ids)s::text[])

-- name: problems_of_tenant, reads
SELECT p.problem_id, p.origin, p.reason
FROM run_problems p JOIN runs r ON r.run_id = p.run_id
WHERE r.tenant = %(tenant)s AND p.problem_id > %(after)s
ORDER BY p.problem_id
LIMIT %(limit)s

-- name: drop_problems
DELETE FROM run_problems WHERE problem_id = ANY(%(ids)s::bigint[])

-- name: uploads_of_tenant, reads
SELECT run_id, name, arguments FROM uploads WHERE tenant = %(tenant)s

-- name: drop_uploads
DELETE FROM uploads WHERE run_id = ANY(%(ids)s::text[])

-- name: end_runs
UPDATE runs SET state = 'failed', finished_at = clock_timestamp(),
    error = 'forgotten before it was ingested'
WHERE run_id = ANY(%(ids)s::text[]) AND state IN ('queued', 'running')

-- name: key_id, reads
SELECT key_id FROM forget_key

-- name: claim_key
INSERT INTO forget_key (key_id) VALUES (%(key_id)s) ON CONFLICT DO NOTHING

-- name: bury
INSERT INTO tombstones (mark, receipt_id, tenant, buried_at, before)
SELECT n.mark, %(receipt)s, %(tenant)s, %(now)s, n.before
FROM unnest(%(marks)s::text[], %(befores)s::timestamptz[]) AS n(mark, before)
ON CONFLICT (mark, receipt_id) DO NOTHING

-- name: lift
DELETE FROM tombstones WHERE tenant = %(tenant)s AND receipt_id = %(receipt)s

-- name: lifted
UPDATE forget_jobs SET lifted_at = COALESCE(lifted_at, %(now)s)
WHERE tenant = %(tenant)s AND receipt_id = %(receipt)s

-- name: tenants_with_tombstones, reads
SELECT DISTINCT t.tenant FROM tombstones t WHERE t.tenant = ANY(%(tenants)s::text[])

-- name: buried, reads
SELECT t.mark, t.receipt_id, t.buried_at, t.before
FROM tombstones t
WHERE t.mark = ANY(%(marks)s::text[]) AND t.tenant = ANY(%(tenants)s::text[])
ORDER BY t.buried_at DESC, t.receipt_id

-- name: starts, reads
SELECT run_id, started_at FROM runs WHERE run_id = ANY(%(ids)s::text[])

-- name: said_by_live, reads
SELECT DISTINCT r.document_id, r.text_sha256 FROM revisions r
WHERE r.document_id = ANY(%(ids)s::text[]) AND r.state IN ('pending', 'visible')

-- name: owed, reads
SELECT (SELECT count(*) FROM outbox WHERE chunk_id = ANY(%(ids)s::text[]))
     + (SELECT count(*) FROM outbox_of_generation WHERE chunk_id = ANY(%(ids)s::text[]))

-- name: add_job
INSERT INTO forget_jobs (job_id, receipt_id, tenant, kind, selector, state, counts, waits_for,
                         asked_at, asked_by)
VALUES (%(job_id)s, %(receipt_id)s, %(tenant)s, %(kind)s, %(selector)s, %(state)s,
        %(counts)s::jsonb, %(waits_for)s, %(asked_at)s, %(asked_by)s)

-- name: add_work
INSERT INTO forget_work (job_id, part, sealed)
SELECT %(job_id)s, n.part, n.sealed
FROM unnest(%(parts)s::integer[], %(sealed)b::bytea[]) AS n(part, sealed)

-- name: job, reads
SELECT job_id, receipt_id, tenant, kind, selector, state, counts, asked_at, waits_for,
       finished_at, lifted_at, asked_by
FROM forget_jobs WHERE tenant = %(tenant)s AND job_id = %(id)s

-- name: job_of_receipt, reads
SELECT job_id, receipt_id, tenant, kind, selector, state, counts, asked_at, waits_for,
       finished_at, lifted_at, asked_by
FROM forget_jobs WHERE tenant = %(tenant)s AND receipt_id = %(id)s

-- name: latest_job, reads
SELECT job_id, receipt_id, tenant, kind, selector, state, counts, asked_at, waits_for,
       finished_at, lifted_at, asked_by
FROM forget_jobs WHERE tenant = %(tenant)s AND selector = %(selector)s
ORDER BY asked_at DESC, job_id LIMIT 1

-- name: unfinished_jobs, reads
SELECT job_id, receipt_id, tenant, kind, selector, state, counts, asked_at, waits_for,
       finished_at, lifted_at, asked_by
FROM forget_jobs WHERE state <> 'finished'
ORDER BY asked_at, job_id

-- name: work, reads
SELECT sealed FROM forget_work WHERE job_id = %(id)s ORDER BY part

-- name: progress
UPDATE forget_jobs SET state = %(state)s, waits_for = %(waits_for)s
WHERE job_id = %(id)s AND state <> 'finished'

-- name: finish
UPDATE forget_jobs SET state = 'finished', waits_for = '', finished_at = %(now)s
WHERE job_id = %(id)s AND state <> 'finished'

-- name: keep_receipt
INSERT INTO receipts (receipt_id, job_id, tenant, body, signed_at)
SELECT j.receipt_id, j.job_id, j.tenant, %(body)s, %(now)s
FROM forget_jobs j WHERE j.job_id = %(id)s

-- name: drop_work
DELETE FROM forget_work WHERE job_id = %(id)s

-- name: receipt, reads
SELECT body FROM receipts WHERE tenant = %(tenant)s AND receipt_id = %(id)s

-- name: columns, reads
-- Every column of ours that can hold a text, so that a new table is searched, too.
SELECT c.table_name::text, c.column_name::text, c.data_type::text
FROM information_schema.columns c
JOIN information_schema.tables t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
ORDER BY 1, c.ordinal_position

-- name: notify
SELECT pg_notify('palimpsest_work', '')
