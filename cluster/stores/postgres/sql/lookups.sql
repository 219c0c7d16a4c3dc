-- name: headed, reads
-- From the names on, step by step; OFFSET 0 keeps the planner from turning the steps around.
WITH asked AS MATERIALIZED (
    SELECT n.name, n.low, n.high
    FROM unnest(%(names)s::text[], %(lows)s::text[], %(highs)s::text[]) AS n(name, low, high)
), found AS MATERIALIZED (
    SELECT asked.name, asked.low = asked.name AS whole, h.chunk_id, h.revision_id
    FROM asked
    CROSS JOIN LATERAL (
        SELECT c.chunk_id, c.revision_id
        FROM chunks c
        WHERE cardinality(c.heading_path) > 0
          AND folded_name(c.heading_path[cardinality(c.heading_path)]) COLLATE "C" >= asked.low
          AND folded_name(c.heading_path[cardinality(c.heading_path)]) COLLATE "C" < asked.high
        OFFSET 0
    ) AS h
), best AS (
    SELECT DISTINCT ON (found.chunk_id) found.chunk_id, found.name, found.whole,
           r.newest_edition, r.authority
    FROM found
    CROSS JOIN LATERAL (
        SELECT * FROM revisions v WHERE v.revision_id = found.revision_id OFFSET 0
    ) AS r
    WHERE r.state = 'visible' /* where */
    ORDER BY found.chunk_id, found.whole DESC, found.name
)
SELECT best.chunk_id, best.name, best.whole FROM best
ORDER BY best.whole DESC, best.newest_edition DESC, best.authority DESC, best.chunk_id
LIMIT %(limit)s

-- name: titled, reads
WITH asked AS MATERIALIZED (
    SELECT n.name, n.low, n.high
    FROM unnest(%(names)s::text[], %(lows)s::text[], %(highs)s::text[]) AS n(name, low, high)
), found AS (
    SELECT r.document_id, asked.name, asked.low = asked.name AS whole
    FROM asked
    CROSS JOIN LATERAL (
        SELECT * FROM revisions v
        WHERE v.tenant = %(tenant)s AND v.state = 'visible' AND v.title <> ''
          AND folded_name(v.title) COLLATE "C" >= asked.low
          AND folded_name(v.title) COLLATE "C" < asked.high
        OFFSET 0
    ) AS r
    WHERE true /* where */
    UNION ALL
    SELECT r.document_id, folded_name(tag.name), true
    FROM (
        SELECT * FROM revisions v
        WHERE v.state = 'visible' AND v.tags <> '{}' AND v.tags && %(tags)s::text[]
        OFFSET 0
    ) AS r
    CROSS JOIN LATERAL unnest(r.tags) AS tag(name)
    WHERE tag.name = ANY(%(tags)s::text[]) /* where */
), best AS (
    SELECT DISTINCT ON (found.document_id) found.* FROM found
    ORDER BY found.document_id, found.whole DESC, found.name
)
SELECT best.document_id, best.name, best.whole FROM best
ORDER BY best.whole DESC, best.document_id
LIMIT %(limit)s

-- name: turns, reads
SELECT r.first_chunk_id
FROM revisions r
WHERE r.state = 'visible' AND r.kind = 'turn' AND r.tenant = %(tenant)s
  AND hashtextextended(r.session, 0) = hashtextextended(%(session)s, 0)
  AND r.session = %(session)s /* where */
ORDER BY r.moment DESC NULLS LAST, r.turn_ordinal DESC, r.document_id DESC
LIMIT %(limit)s

-- name: around, reads
WITH seeds AS MATERIALIZED (
    SELECT c.chunk_id, c.ordinal, s.*
    FROM chunks c
    CROSS JOIN LATERAL (
        SELECT v.revision_id, v.kind, v.source, v.conversation, v.session, v.turn_ordinal
        FROM revisions v
        WHERE v.revision_id = c.revision_id AND v.state = 'visible' AND v.tenant = %(tenant)s
        OFFSET 0
    ) AS s
    WHERE c.chunk_id = ANY(%(ids)s::text[])
)
SELECT s.chunk_id, c.chunk_id, c.ordinal - s.ordinal AS distance
FROM seeds s
JOIN chunks c
  ON c.revision_id = s.revision_id AND c.ordinal <> s.ordinal
 AND c.ordinal BETWEEN s.ordinal - %(before)s AND s.ordinal + %(after)s
JOIN revisions r ON r.revision_id = c.revision_id AND r.state = 'visible'
WHERE s.kind = 'document' /* where */
UNION ALL
SELECT s.chunk_id, c.chunk_id, r.turn_ordinal - s.turn_ordinal
FROM seeds s
JOIN revisions r
  ON r.state = 'visible' AND r.kind = 'turn' AND r.tenant = %(tenant)s
 AND hashtextextended(r.conversation, 0) = hashtextextended(s.conversation, 0)
 AND hashtextextended(r.session, 0) = hashtextextended(s.session, 0)
 AND r.turn_ordinal BETWEEN s.turn_ordinal - %(before)s AND s.turn_ordinal + %(after)s
 AND r.conversation = s.conversation AND r.session = s.session AND r.source = s.source
JOIN chunks c ON c.revision_id = r.revision_id AND c.chunk_id <> s.chunk_id
WHERE s.kind = 'turn' /* where */
ORDER BY 1, 3, 2
