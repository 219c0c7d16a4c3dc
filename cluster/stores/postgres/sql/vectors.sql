-- name: get, reads
SELECT e.vector_key, e.vector
FROM embeddings e
WHERE e.vector_key = ANY(%(keys)s::text[]) AND e.fingerprint = %(fingerprint)s

-- name: known, reads
SELECT e.vector_key
FROM embeddings e
WHERE e.vector_key = ANY(%(keys)s::text[]) AND e.fingerprint = %(fingerprint)s

-- name: put
INSERT INTO embeddings (vector_key, fingerprint, vector)
SELECT n.vector_key, %(fingerprint)s, n.vector
FROM unnest(%(keys)s::text[], %(vectors)b::bytea[]) AS n(vector_key, vector)
ORDER BY n.vector_key
ON CONFLICT (vector_key, fingerprint) DO NOTHING

-- name: put_with_tokens
INSERT INTO embeddings AS e (vector_key, fingerprint, vector, tokens)
SELECT n.vector_key, %(fingerprint)s, n.vector, n.tokens
FROM unnest(%(keys)s::text[], %(vectors)b::bytea[], %(tokens)b::bytea[])
     AS n(vector_key, vector, tokens)
ORDER BY n.vector_key
ON CONFLICT (vector_key, fingerprint) DO UPDATE SET tokens = excluded.tokens
WHERE excluded.tokens IS NOT NULL AND e.tokens IS DISTINCT FROM excluded.tokens

-- name: tokens_of, reads
-- Step by step from the ids on, as for `visible`.
WITH asked AS MATERIALIZED (
    SELECT c.chunk_id, c.revision_id, c.vector_key
    FROM chunks c
    WHERE c.chunk_id = ANY(%(ids)s::text[])
)
SELECT c.chunk_id, e.tokens
FROM asked c
CROSS JOIN LATERAL (
    SELECT v.state, v.tenant, v.owner FROM revisions v
    WHERE v.revision_id = c.revision_id OFFSET 0
) AS r
CROSS JOIN LATERAL (
    SELECT v.tokens FROM embeddings v
    WHERE v.vector_key = c.vector_key AND v.fingerprint = %(fingerprint)s OFFSET 0
) AS e
WHERE r.state = 'visible' AND e.tokens IS NOT NULL
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)

-- name: needed_after, reads
SELECT e.vector_key, EXISTS (SELECT FROM chunks c WHERE c.vector_key = e.vector_key)
FROM embeddings e
WHERE e.vector_key > %(after)s
ORDER BY e.vector_key, e.fingerprint
LIMIT %(limit)s
