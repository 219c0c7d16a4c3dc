-- name: active, reads
SELECT fingerprint, dim, recipe FROM generations WHERE active

-- name: activate
INSERT INTO generations (fingerprint, dim, recipe, active)
VALUES (%(fingerprint)s, %(dim)s, %(recipe)s::jsonb, true)
ON CONFLICT DO NOTHING

-- name: known, reads
SELECT fingerprint, dim, recipe, state, started_at, activated_at, retire_at, progress,
       ended_at
FROM generations
ORDER BY array_position(ARRAY['active', 'grace', 'building', 'gone'], state::text), fingerprint

-- name: lock_live
-- Waits for every put that is under way; puts that come later wait for this transaction.
SELECT fingerprint, state FROM generations WHERE state <> 'gone' ORDER BY fingerprint FOR UPDATE

-- name: lock_named
-- Taken by every put: none of them changes its state before the put has ended.
SELECT fingerprint, state FROM generations
WHERE fingerprint = ANY(%(fingerprints)s::text[])
ORDER BY fingerprint
FOR KEY SHARE

-- name: begin
INSERT INTO generations (fingerprint, dim, recipe, active, started_at)
VALUES (%(fingerprint)s, %(dim)s, %(recipe)s::jsonb, false, %(now)s)
ON CONFLICT (fingerprint) DO UPDATE SET
    dim = EXCLUDED.dim, recipe = EXCLUDED.recipe, started_at = EXCLUDED.started_at,
    activated_at = NULL, retire_at = NULL, ended_at = NULL, progress = NULL

-- name: note
UPDATE generations SET progress = %(progress)s::jsonb
WHERE fingerprint = %(fingerprint)s AND state <> 'gone'

-- name: missing, reads
SELECT DISTINCT ON (c.vector_key) c.vector_key, c.text, c.context, r.language
FROM chunks c
JOIN revisions r ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible')
WHERE c.vector_key > %(after)s
  AND NOT EXISTS (SELECT FROM embeddings e
                  WHERE e.vector_key = c.vector_key AND e.fingerprint = %(fingerprint)s)
ORDER BY c.vector_key
LIMIT %(limit)s

-- name: tokenless, reads
SELECT DISTINCT ON (e.vector_key) e.vector_key, c.text, c.context, r.language
FROM embeddings e
JOIN chunks c ON c.vector_key = e.vector_key
JOIN revisions r ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible')
WHERE e.vector_key > %(after)s AND e.fingerprint = %(fingerprint)s
  AND substr(e.tokens, 1, length(%(head)b::bytea)) IS DISTINCT FROM %(head)b::bytea
ORDER BY e.vector_key
LIMIT %(limit)s

-- name: encoded, reads
SELECT c.chunk_id
FROM chunks c
JOIN revisions r ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible')
WHERE c.chunk_id > %(after)s
  AND EXISTS (SELECT FROM embeddings e
              WHERE e.vector_key = c.vector_key AND e.fingerprint = %(fingerprint)s)
ORDER BY c.chunk_id
LIMIT %(limit)s

-- name: hold
-- What a delete is about to take is left out at once: waiting for each other, both could be stuck.
SELECT c.vector_key, c.chunk_id
FROM chunks c
JOIN revisions r ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible')
WHERE c.vector_key = ANY(%(keys)s::text[])
ORDER BY c.chunk_id
FOR KEY SHARE OF c SKIP LOCKED

-- name: sizes, reads
SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
    SELECT FROM embeddings e
    WHERE e.vector_key = texts.vector_key AND e.fingerprint = %(fingerprint)s))
FROM (
    SELECT DISTINCT c.vector_key
    FROM chunks c
    JOIN revisions r ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible')
) AS texts

-- name: backlog, reads
SELECT (SELECT count(DISTINCT c.vector_key)
        FROM chunks c
        JOIN revisions r ON r.revision_id = c.revision_id AND r.state IN ('pending', 'visible')
        WHERE NOT EXISTS (SELECT FROM embeddings e
                          WHERE e.vector_key = c.vector_key AND e.fingerprint = %(fingerprint)s)),
       (SELECT count(*) FROM outbox_of_generation o WHERE o.target = %(fingerprint)s)

-- name: leave_grace
-- First: at no moment may two be in grace, or two be active.
UPDATE generations SET retire_at = NULL WHERE fingerprint = %(fingerprint)s

-- name: step_down
UPDATE generations SET active = false, retire_at = %(retire_at)s WHERE active

-- name: step_up
UPDATE generations SET active = true, activated_at = %(now)s
WHERE fingerprint = %(fingerprint)s

-- name: retire
UPDATE generations SET ended_at = %(now)s
WHERE fingerprint = %(fingerprint)s AND state IN ('building', 'grace')

-- name: drop_owed
DELETE FROM outbox_of_generation WHERE target = %(fingerprint)s

-- name: erase_vectors
WITH next AS (
    SELECT e.vector_key FROM embeddings e
    WHERE e.vector_key > %(after)s AND e.fingerprint = %(fingerprint)s
    ORDER BY e.vector_key
    LIMIT %(limit)s
), erased AS (
    DELETE FROM embeddings e USING next
    WHERE e.vector_key = next.vector_key AND e.fingerprint = %(fingerprint)s
)
SELECT max(next.vector_key) FROM next

-- name: notify
SELECT pg_notify('palimpsest_work', '')
