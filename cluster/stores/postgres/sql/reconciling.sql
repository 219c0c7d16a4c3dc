-- name: page, reads
SELECT c.chunk_id, c.row_version
FROM chunks c
JOIN revisions r ON r.revision_id = c.revision_id
WHERE c.chunk_id > %(after)s AND r.state IN ('pending', 'visible')
ORDER BY c.chunk_id
LIMIT %(limit)s

-- name: states, reads
SELECT asked.chunk_id,
       CASE WHEN r.state IN ('pending', 'visible') THEN c.row_version END,
       EXISTS (SELECT FROM outbox o
               WHERE o.chunk_id = asked.chunk_id
                 AND (o.set_aside_at IS NULL OR o.tried_version IS DISTINCT FROM o.version))
       OR EXISTS (SELECT FROM outbox_of_generation o
                  WHERE o.chunk_id = asked.chunk_id AND o.target = %(target)s
                    AND (o.set_aside_at IS NULL OR o.tried_version IS DISTINCT FROM o.version)),
       GREATEST(r.recorded_at, r.ended_at)
FROM unnest(%(ids)s::text[]) AS asked(chunk_id)
LEFT JOIN chunks c ON c.chunk_id = asked.chunk_id
LEFT JOIN revisions r ON r.revision_id = c.revision_id

-- name: count, reads
SELECT COALESCE(sum(r.chunk_count), 0) FROM revisions r WHERE r.state IN ('pending', 'visible')

-- name: without_vector, reads
SELECT c.chunk_id
FROM chunks c
JOIN revisions r ON r.revision_id = c.revision_id
WHERE c.chunk_id > %(after)s AND r.state IN ('pending', 'visible')
  AND NOT EXISTS (
      SELECT FROM embeddings e
      WHERE e.vector_key = c.vector_key
        AND e.fingerprint = COALESCE(%(fingerprint)s::text, r.fingerprint))
ORDER BY c.chunk_id
LIMIT %(limit)s

-- name: newest_version, reads
SELECT last_value FROM row_versions

-- name: outgrow
-- A million above, so that numbers given at this moment are not given again.
SELECT setval('row_versions', %(version)s::bigint + 1000000)
FROM row_versions
WHERE last_value <= %(version)s::bigint

-- name: owed_until, reads
SELECT (SELECT count(*) FROM outbox o
        WHERE o.version <= %(version)s
          AND (o.set_aside_at IS NULL OR o.tried_version IS DISTINCT FROM o.version))
     + (SELECT count(*) FROM outbox_of_generation o
        WHERE o.version <= %(version)s
          AND (o.set_aside_at IS NULL OR o.tried_version IS DISTINCT FROM o.version))

-- name: record
INSERT INTO reconciliations (finished_at, report) VALUES (%(finished_at)s, %(report)s::jsonb)

-- name: forget_former
DELETE FROM reconciliations
WHERE reconciliation_id <= (SELECT max(reconciliation_id) FROM reconciliations) - 100

-- name: latest, reads
SELECT r.report::text FROM reconciliations r ORDER BY r.reconciliation_id DESC LIMIT 1

-- name: unfinished, reads
SELECT b.rebuild_id, b.refills, b.started_at, b.owed_to, b.owed, b.total
FROM rebuilds b
WHERE b.finished_at IS NULL

-- name: begin_rebuild
INSERT INTO rebuilds (refills, started_at, owed_to, owed, total)
VALUES (%(refills)s, %(now)s, '', 0, %(total)s)
ON CONFLICT ((finished_at IS NULL)) WHERE finished_at IS NULL DO UPDATE SET
    total = EXCLUDED.total,
    refills = ARRAY(SELECT DISTINCT one FROM unnest(rebuilds.refills || EXCLUDED.refills) AS one
                    ORDER BY one),
    owed_to = CASE WHEN EXCLUDED.refills = '{}' THEN rebuilds.owed_to ELSE '' END,
    owed = CASE WHEN EXCLUDED.refills = '{}' THEN rebuilds.owed ELSE 0 END

-- name: advance_rebuild
UPDATE rebuilds SET owed_to = %(owed_to)s, owed = %(owed)s WHERE rebuild_id = %(id)s

-- name: finish_rebuild
-- The place where it was is a chunk id, which may be forgotten one day.
UPDATE rebuilds SET finished_at = %(now)s, owed_to = '' WHERE rebuild_id = %(id)s AND finished_at IS NULL
