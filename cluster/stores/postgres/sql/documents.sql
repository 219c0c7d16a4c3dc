-- name: digests, reads
SELECT DISTINCT ON (r.origin) r.origin, r.item_digest
FROM unnest(%(origins)s::text[]) AS asked(origin)
JOIN revisions r
  ON r.tenant = %(tenant)s
 AND hashtextextended(r.origin, 0) = hashtextextended(asked.origin, 0)
 AND r.origin = asked.origin
 AND r.state IN ('pending', 'visible')
ORDER BY r.origin, r.put_order DESC

-- name: add_documents
INSERT INTO documents (document_id, tenant, owner)
SELECT n.document_id, n.tenant, n.owner
FROM unnest(%(ids)s::text[], %(tenants)s::text[], %(owners)s::text[])
     AS n(document_id, tenant, owner)
ORDER BY n.document_id
ON CONFLICT (document_id) DO NOTHING

-- name: lock_documents
SELECT d.document_id, d.tenant, d.owner
FROM documents d
WHERE d.document_id = ANY(%(ids)s::text[])
ORDER BY d.document_id
FOR UPDATE

-- name: lock_documents_to_publish
-- Those of the pending revisions, and those that have a live revision at the same place.
WITH asked AS (
    SELECT r.document_id, r.tenant, r.owner, r.origin, r.edition
    FROM revisions r
    WHERE r.revision_id = ANY(%(ids)s::text[]) AND r.state = 'pending'
), involved AS (
    SELECT asked.document_id FROM asked
    UNION
    SELECT r.document_id
    FROM asked
    JOIN revisions r
      ON r.tenant = asked.tenant
     AND hashtextextended(r.origin, 0) = hashtextextended(asked.origin, 0)
     AND r.origin = asked.origin
     AND r.state IN ('pending', 'visible')
    WHERE r.edition = asked.edition AND r.owner IS NOT DISTINCT FROM asked.owner
)
SELECT d.document_id
FROM documents d
WHERE d.document_id IN (SELECT involved.document_id FROM involved)
ORDER BY d.document_id
FOR UPDATE OF d

-- name: lock_documents_in_scope
SELECT d.document_id
FROM documents d
WHERE d.document_id = ANY(%(ids)s::text[])
  AND d.tenant = %(tenant)s AND (d.owner IS NULL OR d.owner = %(owner)s)
ORDER BY d.document_id
FOR UPDATE

-- name: reassign_document
UPDATE documents SET tenant = %(tenant)s, owner = %(owner)s WHERE document_id = %(id)s

-- name: live, reads
SELECT r.revision_id, r.document_id, r.tenant, r.owner, r.origin, r.edition, r.edition_key,
       r.state, r.put_order, r.newest_edition
FROM revisions r
WHERE r.document_id = ANY(%(ids)s::text[]) AND r.state IN ('pending', 'visible')

-- name: next_put_orders
SELECT nextval('put_orders') FROM generate_series(1, %(count)s)

-- name: touch
UPDATE revisions r
SET put_order = n.put_order, origin = n.origin, item_digest = n.item_digest
FROM unnest(%(ids)s::text[], %(orders)s::bigint[], %(origins)s::text[], %(digests)s::text[])
     AS n(revision_id, put_order, origin, item_digest)
WHERE r.revision_id = n.revision_id

-- name: lock_vectors
SELECT e.vector_key, e.fingerprint
FROM embeddings e
JOIN (SELECT DISTINCT * FROM unnest(%(keys)s::text[], %(fingerprints)s::text[])
      AS k(vector_key, fingerprint)) AS needed
  ON e.vector_key = needed.vector_key AND e.fingerprint = needed.fingerprint
ORDER BY e.vector_key, e.fingerprint
FOR KEY SHARE OF e

-- name: put_revisions
INSERT INTO revisions (
    revision_id, document_id, tenant, owner, agent, kind, source, path, edition, edition_key,
    origin, item_digest, media_type, content_sha256, text, text_sha256, title, author, language,
    source_type, source_url, published_at, updated_at, product, product_version, api_version,
    authority, license, quote_policy, tags, provenance, conversation, session, turn_ordinal,
    speaker, said_at, fingerprint, run_id, chunk_count, first_chunk_id, state, newest_edition,
    put_order, recorded_at)
SELECT
    revision_id, document_id, tenant, owner, agent, kind, source, path, edition, edition_key,
    origin, item_digest, media_type, content_sha256, text, text_sha256, title, author, language,
    source_type, source_url, published_at, updated_at, product, product_version, api_version,
    authority, license, quote_policy, tags, provenance, conversation, session, turn_ordinal,
    speaker, said_at, fingerprint, run_id, chunk_count, first_chunk_id, 'pending', newest_edition,
    put_order, recorded_at
FROM json_to_recordset(%(rows)s::json) AS n(
    revision_id text, document_id text, tenant text, owner text, agent text, kind text,
    source text, path text, edition text, edition_key text, origin text, item_digest text,
    media_type text, content_sha256 text, text text, text_sha256 text, title text, author text,
    language text, source_type text, source_url text, published_at timestamptz,
    updated_at timestamptz, product text, product_version text, api_version text,
    authority double precision, license text, quote_policy text, tags text[], provenance jsonb,
    conversation text, session text, turn_ordinal integer, speaker text, said_at timestamptz,
    fingerprint text, run_id text, chunk_count integer, first_chunk_id text,
    newest_edition boolean, put_order bigint, recorded_at timestamptz)
ON CONFLICT (revision_id) DO UPDATE SET
    document_id = EXCLUDED.document_id, tenant = EXCLUDED.tenant, owner = EXCLUDED.owner,
    agent = EXCLUDED.agent, kind = EXCLUDED.kind, source = EXCLUDED.source, path = EXCLUDED.path,
    edition = EXCLUDED.edition, edition_key = EXCLUDED.edition_key, origin = EXCLUDED.origin,
    item_digest = EXCLUDED.item_digest, media_type = EXCLUDED.media_type,
    content_sha256 = EXCLUDED.content_sha256, text = EXCLUDED.text,
    text_sha256 = EXCLUDED.text_sha256, title = EXCLUDED.title, author = EXCLUDED.author,
    language = EXCLUDED.language, source_type = EXCLUDED.source_type,
    source_url = EXCLUDED.source_url, published_at = EXCLUDED.published_at,
    updated_at = EXCLUDED.updated_at, product = EXCLUDED.product,
    product_version = EXCLUDED.product_version, api_version = EXCLUDED.api_version,
    authority = EXCLUDED.authority, license = EXCLUDED.license,
    quote_policy = EXCLUDED.quote_policy, tags = EXCLUDED.tags, provenance = EXCLUDED.provenance,
    conversation = EXCLUDED.conversation, session = EXCLUDED.session,
    turn_ordinal = EXCLUDED.turn_ordinal, speaker = EXCLUDED.speaker, said_at = EXCLUDED.said_at,
    fingerprint = EXCLUDED.fingerprint, run_id = EXCLUDED.run_id,
    chunk_count = EXCLUDED.chunk_count, first_chunk_id = EXCLUDED.first_chunk_id,
    state = 'pending', newest_edition = EXCLUDED.newest_edition, put_order = EXCLUDED.put_order,
    recorded_at = EXCLUDED.recorded_at, ended_at = NULL

-- name: put_chunks
WITH written AS (
    INSERT INTO chunks (chunk_id, revision_id, ordinal, start_at, end_at, text, context,
                        heading_path, token_count, page, vector_key, bands, row_version)
    SELECT chunk_id, revision_id, ordinal, start_at, end_at, text, context,
           heading_path, token_count, page, vector_key, bands, nextval('row_versions')
    FROM json_to_recordset(%(rows)s::json) AS n(
        chunk_id text, revision_id text, ordinal integer, start_at integer, end_at integer,
        text text, context text, heading_path text[], token_count integer, page integer,
        vector_key text, bands bigint[])
    ORDER BY chunk_id
    ON CONFLICT (chunk_id) DO UPDATE SET
        row_version = EXCLUDED.row_version, bands = COALESCE(EXCLUDED.bands, chunks.bands)
    RETURNING chunk_id, revision_id, row_version
)
INSERT INTO outbox (chunk_id, revision_id, tenant, version, operation)
SELECT w.chunk_id, w.revision_id, r.tenant, w.row_version, 'upsert'
FROM written w JOIN revisions r ON r.revision_id = w.revision_id
ORDER BY w.chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET
    revision_id = EXCLUDED.revision_id, tenant = EXCLUDED.tenant, version = EXCLUDED.version,
    operation = EXCLUDED.operation

-- name: put_lineage
INSERT INTO lineage (revision_id, document_id, tenant, support)
SELECT DISTINCT n.revision_id, n.document_id, n.tenant, n.support
FROM json_to_recordset(%(rows)s::json)
     AS n(revision_id text, document_id text, tenant text, support text)
ON CONFLICT DO NOTHING

-- name: queue_revisions
-- Whoever owes rows anew takes them in the order of ids: two at once would be stuck otherwise.
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
SELECT b.chunk_id, b.revision_id, r.tenant, b.row_version, %(operation)s
FROM bumped b JOIN revisions r ON r.revision_id = b.revision_id
ORDER BY b.chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET
    revision_id = EXCLUDED.revision_id, tenant = EXCLUDED.tenant, version = EXCLUDED.version,
    operation = EXCLUDED.operation

-- name: queue_chunks
WITH asked AS (
    SELECT DISTINCT a.chunk_id FROM unnest(%(ids)s::text[]) AS a(chunk_id)
), held AS MATERIALIZED (
    SELECT c.chunk_id FROM chunks c WHERE c.chunk_id = ANY(%(ids)s::text[])
    ORDER BY c.chunk_id
    FOR NO KEY UPDATE
), bumped AS (
    UPDATE chunks c SET row_version = nextval('row_versions')
    FROM held WHERE c.chunk_id = held.chunk_id
    RETURNING c.chunk_id, c.revision_id, c.row_version
)
INSERT INTO outbox (chunk_id, revision_id, tenant, version, operation)
SELECT asked.chunk_id, bumped.revision_id, COALESCE(r.tenant, ''),
       COALESCE(bumped.row_version, nextval('row_versions')),
       CASE WHEN r.state IN ('pending', 'visible') THEN 'upsert' ELSE 'delete' END
FROM asked
LEFT JOIN bumped ON bumped.chunk_id = asked.chunk_id
LEFT JOIN revisions r ON r.revision_id = bumped.revision_id
ORDER BY asked.chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET
    revision_id = EXCLUDED.revision_id, tenant = EXCLUDED.tenant, version = EXCLUDED.version,
    operation = EXCLUDED.operation

-- name: notify
SELECT pg_notify('palimpsest_work', '')

-- name: publishable, reads
WITH ready AS (
    SELECT r.revision_id, r.put_order, r.chunk_count
    FROM revisions r
    WHERE r.state = 'pending'
      AND NOT EXISTS (SELECT FROM outbox o WHERE o.revision_id = r.revision_id)
      AND (%(slots)s::integer[] IS NULL
           OR (hashtextextended(r.revision_id, 0) & 15)::integer = ANY(%(slots)s::integer[]))
    ORDER BY r.put_order
    LIMIT %(limit)s
), counted AS (
    SELECT ready.revision_id, ready.put_order,
           sum(ready.chunk_count) OVER (ORDER BY ready.put_order) - ready.chunk_count AS before
    FROM ready
)
SELECT ready.revision_id, c.chunk_id, c.row_version
FROM counted ready JOIN chunks c ON c.revision_id = ready.revision_id
WHERE ready.before < %(chunks)s
ORDER BY ready.put_order, c.ordinal

-- name: owing, reads
SELECT DISTINCT o.revision_id FROM outbox o WHERE o.revision_id = ANY(%(ids)s::text[])

-- name: unshown, reads
SELECT count(*) OVER (), r.origin
FROM revisions r
WHERE r.state = 'pending' AND r.tenant = %(tenant)s AND r.run_id = %(run)s
ORDER BY r.put_order
LIMIT %(limit)s

-- name: supersede
UPDATE revisions SET state = 'superseded', ended_at = %(now)s
WHERE revision_id = ANY(%(ids)s::text[])

-- name: show
UPDATE revisions SET state = 'visible', recorded_at = %(now)s
WHERE revision_id = ANY(%(ids)s::text[])

-- name: set_flags
UPDATE revisions r SET newest_edition = n.flag
FROM unnest(%(ids)s::text[], %(flags)s::boolean[]) AS n(revision_id, flag)
WHERE r.revision_id = n.revision_id

-- name: visible, reads
-- Step by step from the ids on: without statistics (a table that has just grown) the planner
-- would rather read all of a tenant. OFFSET 0 keeps it from turning the steps around.
WITH asked AS MATERIALIZED (
    SELECT c.* FROM chunks c WHERE c.chunk_id = ANY(%(ids)s::text[])
)
SELECT c.chunk_id, c.revision_id, c.ordinal, c.start_at, c.end_at, c.text, c.context,
       c.heading_path, c.token_count, c.page,
       r.document_id, r.kind, r.source, r.path, r.edition, r.edition_key, r.newest_edition,
       r.content_sha256, r.owner, r.recorded_at,
       r.title, r.author, r.language, r.source_type, r.source_url, r.published_at,
       r.updated_at, r.product, r.product_version, r.api_version, r.authority, r.license,
       r.quote_policy, r.tags, r.provenance::text,
       r.conversation, r.session, r.turn_ordinal, r.speaker, r.said_at,
       editions.shown
FROM asked c
CROSS JOIN LATERAL (
    SELECT * FROM revisions v WHERE v.revision_id = c.revision_id OFFSET 0
) AS r
LEFT JOIN LATERAL (
    SELECT array_agg(e.edition ORDER BY e.edition_key DESC, e.edition DESC) AS shown
    FROM revisions e
    WHERE e.tenant = r.tenant AND e.document_id = r.document_id
      AND e.state = 'visible' AND e.edition <> ''
) AS editions ON r.kind = 'document'
WHERE r.state = 'visible'
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)

-- name: alike, reads
-- Step by step, as `visible`. Of a band that very many share only the first thousand rows are
-- looked at.
WITH asked AS MATERIALIZED (
    SELECT c.chunk_id, c.revision_id, c.bands FROM chunks c
    WHERE c.chunk_id = ANY(%(ids)s::text[]) AND c.bands IS NOT NULL
)
SELECT a.chunk_id, alike.chunk_id
FROM asked a
CROSS JOIN LATERAL (
    SELECT v.state, v.tenant, v.owner FROM revisions v
    WHERE v.revision_id = a.revision_id OFFSET 0
) AS own
CROSS JOIN LATERAL (
    SELECT near.chunk_id
    FROM (
        SELECT c.chunk_id, c.revision_id FROM chunks c
        WHERE c.bands IS NOT NULL AND c.bands && a.bands AND c.chunk_id <> a.chunk_id
        LIMIT 1000
    ) AS near
    CROSS JOIN LATERAL (
        SELECT v.state, v.tenant, v.owner FROM revisions v
        WHERE v.revision_id = near.revision_id OFFSET 0
    ) AS r
    WHERE r.state = 'visible'
      AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)
    ORDER BY near.chunk_id
    LIMIT %(limit)s
) AS alike
WHERE own.state = 'visible'
  AND own.tenant = %(tenant)s AND (own.owner IS NULL OR own.owner = %(owner)s)
ORDER BY a.chunk_id, alike.chunk_id

-- name: place, reads
SELECT r.revision_id, c.ordinal, r.kind, r.document_id, r.source, r.conversation, r.session,
       r.turn_ordinal
FROM chunks c
JOIN revisions r ON r.revision_id = c.revision_id
WHERE c.chunk_id = %(id)s
  AND r.state = 'visible'
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)

-- name: around_in_revision, reads
(SELECT c.chunk_id, c.ordinal FROM chunks c
 WHERE c.revision_id = %(revision)s AND c.ordinal < %(ordinal)s
 ORDER BY c.ordinal DESC LIMIT %(before)s)
UNION ALL
(SELECT c.chunk_id, c.ordinal FROM chunks c
 WHERE c.revision_id = %(revision)s AND c.ordinal > %(ordinal)s
 ORDER BY c.ordinal LIMIT %(after)s)
ORDER BY 2

-- name: around_in_session, reads
WITH earlier AS (
    SELECT c.chunk_id, r.turn_ordinal, r.document_id, c.ordinal
    FROM revisions r JOIN chunks c ON c.revision_id = r.revision_id
    WHERE r.state = 'visible' AND r.kind = 'turn'
      AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)
      AND hashtextextended(r.conversation, 0) = hashtextextended(%(conversation)s, 0)
      AND hashtextextended(r.session, 0) = hashtextextended(%(session)s, 0)
      AND r.source = %(source)s
      AND r.conversation = %(conversation)s AND r.session = %(session)s
      AND r.turn_ordinal <= %(turn)s
      AND (r.turn_ordinal, r.document_id, c.ordinal) < (%(turn)s, %(document)s, %(ordinal)s)
    ORDER BY r.turn_ordinal DESC, r.document_id DESC, c.ordinal DESC
    LIMIT %(before)s
), later AS (
    SELECT c.chunk_id, r.turn_ordinal, r.document_id, c.ordinal
    FROM revisions r JOIN chunks c ON c.revision_id = r.revision_id
    WHERE r.state = 'visible' AND r.kind = 'turn'
      AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)
      AND hashtextextended(r.conversation, 0) = hashtextextended(%(conversation)s, 0)
      AND hashtextextended(r.session, 0) = hashtextextended(%(session)s, 0)
      AND r.source = %(source)s
      AND r.conversation = %(conversation)s AND r.session = %(session)s
      AND r.turn_ordinal >= %(turn)s
      AND (r.turn_ordinal, r.document_id, c.ordinal) > (%(turn)s, %(document)s, %(ordinal)s)
    ORDER BY r.turn_ordinal, r.document_id, c.ordinal
    LIMIT %(after)s
)
SELECT * FROM earlier UNION ALL SELECT * FROM later
ORDER BY turn_ordinal, document_id, ordinal

-- name: recent, reads
SELECT r.first_chunk_id, r.moment
FROM revisions r
WHERE r.state = 'visible' AND r.moment IS NOT NULL /* where */
ORDER BY r.moment DESC, r.first_chunk_id
LIMIT %(limit)s

-- name: page, reads
SELECT r.document_id, r.revision_id, r.kind, r.source, r.path, r.title, r.language,
       r.source_type, r.source_url, r.product, r.edition, r.newest_edition, r.published_at,
       r.updated_at, r.recorded_at, r.authority, r.quote_policy, r.chunk_count, r.text_sha256,
       r.edition_key
FROM revisions r
WHERE r.state = 'visible'
  AND (r.document_id, r.edition_key, r.edition)
      > (%(document)s::text, %(edition_key)s::text, %(edition)s::text) /* where */
ORDER BY r.document_id, r.edition_key, r.edition
LIMIT %(limit)s

-- name: editions, reads
SELECT r.document_id, r.revision_id, r.kind, r.source, r.path, r.title, r.language,
       r.source_type, r.source_url, r.product, r.edition, r.newest_edition, r.published_at,
       r.updated_at, r.recorded_at, r.authority, r.quote_policy, r.chunk_count, r.text_sha256
FROM revisions r
WHERE r.state = 'visible' AND r.document_id = %(id)s
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)
ORDER BY r.edition_key DESC, r.edition DESC

-- name: known_editions, reads
SELECT DISTINCT COALESCE(r.product, '') AS product, r.edition
FROM revisions r
WHERE r.state = 'visible' AND r.edition <> ''
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)
ORDER BY 1, 2

-- name: text, reads
SELECT r.text FROM revisions r
WHERE r.revision_id = %(id)s AND r.state = 'visible'
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)

-- name: texts, reads
SELECT r.revision_id, r.text FROM revisions r
WHERE r.revision_id = ANY(%(ids)s::text[]) AND r.state IN ('visible', 'superseded')
  AND r.tenant = %(tenant)s AND (r.owner IS NULL OR r.owner = %(owner)s)

-- name: replaced, reads
SELECT DISTINCT n.revision_id
FROM chunks c
JOIN revisions r ON r.revision_id = c.revision_id
JOIN revisions n ON n.document_id = r.document_id AND n.edition = r.edition
WHERE c.chunk_id = ANY(%(ids)s::text[])
  AND r.state = 'superseded' AND n.state = 'visible' AND n.recorded_at >= %(since)s
  AND n.tenant = %(tenant)s AND (n.owner IS NULL OR n.owner = %(owner)s)

-- name: revisions_of_documents, reads
SELECT r.revision_id, r.document_id, r.edition
FROM revisions r
WHERE r.document_id = ANY(%(ids)s::text[]) AND r.state <> 'deleted'

-- name: origins_of_tenant, reads
SELECT r.document_id, r.edition, r.origin
FROM revisions r
WHERE r.tenant = %(tenant)s AND r.state IN ('pending', 'visible')

-- name: erase_chunks
DELETE FROM chunks WHERE revision_id = ANY(%(ids)s::text[])
RETURNING vector_key

-- name: vectors_of_texts
-- Asked once the chunks are gone, and by every encoder: what re-embedding put for them just
-- before is among them.
SELECT e.vector_key, e.fingerprint
FROM embeddings e
WHERE e.vector_key = ANY(%(keys)s::text[])
ORDER BY e.vector_key, e.fingerprint
FOR UPDATE

-- name: erase_lineage
DELETE FROM lineage WHERE revision_id = ANY(%(ids)s::text[])

-- name: erase_vectors
DELETE FROM embeddings e
USING unnest(%(keys)s::text[], %(fingerprints)s::text[]) AS gone(vector_key, fingerprint)
WHERE e.vector_key = gone.vector_key AND e.fingerprint = gone.fingerprint
  AND NOT EXISTS (SELECT FROM chunks c WHERE c.vector_key = e.vector_key)

-- name: erase_revisions
-- Only what names the revision stays, so that it is known to have been deleted.
UPDATE revisions SET
    state = 'deleted', newest_edition = false, text = '', title = '', author = NULL,
    source_url = NULL, tags = '{}', provenance = '{}', speaker = NULL,
    ended_at = COALESCE(ended_at, clock_timestamp())
WHERE revision_id = ANY(%(ids)s::text[])

-- name: counts, reads
SELECT count(DISTINCT r.document_id) FILTER (WHERE r.state = 'visible' AND r.kind = 'document'),
       count(*) FILTER (WHERE r.state = 'visible' AND r.kind = 'document'),
       COALESCE(sum(r.chunk_count) FILTER (WHERE r.state = 'visible'), 0),
       count(*) FILTER (WHERE r.state = 'visible' AND r.kind = 'turn'),
       count(*) FILTER (WHERE r.state = 'pending')
FROM revisions r
WHERE r.state IN ('pending', 'visible')
  AND (%(tenant)s::text IS NULL OR r.tenant = %(tenant)s)
