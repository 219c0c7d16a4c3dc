-- name: start
INSERT INTO runs (run_id, tenant, arguments, state, started_at, finished_at, counts, error)
VALUES (%(run_id)s, %(tenant)s, %(arguments)s::jsonb, %(state)s, %(started_at)s,
        %(finished_at)s, %(counts)s::jsonb, %(error)s)
ON CONFLICT (run_id) DO UPDATE SET
    tenant = EXCLUDED.tenant, arguments = EXCLUDED.arguments, state = EXCLUDED.state,
    started_at = EXCLUDED.started_at, finished_at = EXCLUDED.finished_at,
    counts = EXCLUDED.counts, error = EXCLUDED.error

-- name: update
UPDATE runs SET
    state = %(state)s, counts = counts || %(counts)s::jsonb, error = %(error)s,
    finished_at = %(finished_at)s
WHERE run_id = %(run_id)s

-- name: interrupt
UPDATE runs SET state = 'interrupted', error = %(error)s, finished_at = %(now)s
WHERE run_id = %(run_id)s AND state = 'running'

-- name: add_problems
INSERT INTO run_problems (run_id, item_key, origin, stage, outcome, kind, reason)
SELECT %(run_id)s, n.item_key, n.origin, n.stage, n.outcome, n.kind, n.reason
FROM json_to_recordset(%(rows)s::json)
     AS n(item_key text, origin text, stage text, outcome text, kind text, reason text)
ON CONFLICT (run_id, item_key) DO UPDATE SET
    outcome = EXCLUDED.outcome, kind = EXCLUDED.kind, reason = EXCLUDED.reason

-- name: get, reads
SELECT run_id, tenant, arguments, state, started_at, finished_at, counts, error
FROM runs WHERE run_id = %(run_id)s AND tenant = %(tenant)s

-- name: problems, reads
SELECT origin, stage, outcome, kind, reason
FROM run_problems WHERE run_id = %(run_id)s ORDER BY problem_id

-- name: latest, reads
SELECT run_id, tenant, arguments, state, started_at, finished_at, counts, error
FROM runs WHERE tenant = %(tenant)s
ORDER BY started_at DESC, run_id DESC
LIMIT %(limit)s

-- name: put_upload
INSERT INTO uploads (run_id, tenant, name, media_type, content, arguments)
VALUES (%(run_id)s, %(tenant)s, %(name)s, %(media_type)s, %(content)b, %(arguments)s::jsonb)
ON CONFLICT (run_id) DO UPDATE SET
    tenant = EXCLUDED.tenant, name = EXCLUDED.name, media_type = EXCLUDED.media_type,
    content = EXCLUDED.content, arguments = EXCLUDED.arguments

-- name: get_upload, reads
SELECT tenant, name, media_type, content, arguments FROM uploads WHERE run_id = %(run_id)s

-- name: waiting_uploads, reads
SELECT run_id FROM uploads ORDER BY upload_id

-- name: delete_upload
DELETE FROM uploads WHERE run_id = %(run_id)s

-- name: notify
SELECT pg_notify('palimpsest_work', '')
