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

-- name: needed_after, reads
SELECT e.vector_key, EXISTS (SELECT FROM chunks c WHERE c.vector_key = e.vector_key)
FROM embeddings e
WHERE e.vector_key > %(after)s
ORDER BY e.vector_key, e.fingerprint
LIMIT %(limit)s
