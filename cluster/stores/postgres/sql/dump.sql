-- name: exists, reads
SELECT to_regclass('schema_migrations') IS NOT NULL

-- name: migrations, reads
SELECT m.name FROM schema_migrations m ORDER BY m.applied_at, m.name

-- name: tables, reads
-- Columns that the database computes are left out.
SELECT c.relname, array_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '')
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
GROUP BY c.relname
ORDER BY c.relname

-- name: references, reads
SELECT DISTINCT child.relname, parent.relname
FROM pg_constraint f
JOIN pg_class child ON child.oid = f.conrelid
JOIN pg_class parent ON parent.oid = f.confrelid
WHERE f.contype = 'f' AND f.conrelid <> f.confrelid
  AND f.connamespace = current_schema()::regnamespace

-- name: sequences, reads
SELECT s.sequencename, s.last_value
FROM pg_sequences s
WHERE s.schemaname = current_schema() AND s.last_value IS NOT NULL
ORDER BY s.sequencename

-- name: keys, reads
SELECT row_to_json(k)::text FROM api_keys k

-- name: keep_key
INSERT INTO api_keys
SELECT * FROM json_populate_record(NULL::api_keys, %(key)s::json)
ON CONFLICT DO NOTHING

-- name: set_sequence
SELECT setval(%(name)s::regclass, %(value)s)

-- name: lock
SELECT pg_advisory_xact_lock(%(key)s)

-- name: make_applied
CREATE TABLE schema_migrations (
    version integer NOT NULL,
    name text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)

-- name: note_applied
INSERT INTO schema_migrations (version, name) VALUES (%(version)s, %(name)s)
