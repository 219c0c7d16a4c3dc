-- name: put
INSERT INTO api_keys (key_id, secret_sha256, tenant, role, name, owner, agent, created_at,
                      revoked_at)
VALUES (%(key_id)s, %(secret_sha256)s, %(tenant)s, %(role)s, %(name)s, %(owner)s, %(agent)s,
        %(created_at)s, %(revoked_at)s)
ON CONFLICT DO NOTHING

-- name: find, reads
SELECT key_id, tenant, role, name, owner, agent, created_at, revoked_at
FROM api_keys WHERE secret_sha256 = %(secret_sha256)s AND revoked_at IS NULL

-- name: all_of, reads
SELECT key_id, tenant, role, name, owner, agent, created_at, revoked_at
FROM api_keys
WHERE %(tenant)s::text IS NULL OR tenant = %(tenant)s
ORDER BY created_at, key_id

-- name: revoke
UPDATE api_keys SET revoked_at = COALESCE(revoked_at, %(now)s) WHERE key_id = %(key_id)s
