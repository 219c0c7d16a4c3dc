-- name: headed, reads
-- From the names on, step by step; OFFSET 0 keeps the planner from turning the steps around.
WITH asked AS MATERIALIZED (
    SELECT DISTINCT folded_name(n.name) AS name, hashtextextended(first_word(n.name), 0) AS first
    FROM unnest(%(names)s::text[]) AS n(name)
), found AS MATERIALIZED (
    SELECT asked.name, h.heading, h.chunk_id, h.revision_id
    FROM asked
    CROSS JOIN LATERAL (
        SELECT c.chunk_id, c.revision_id,
               folded_name(c.heading_path[cardinality(c.heading_path)]) AS heading
        FROM chunks c
        WHERE cardinality(c.heading_path) > 0
          AND hashtextextended(first_word(c.heading_path[cardinality(c.heading_path)]), 0)
              = asked.first
        OFFSET 0
    ) AS h
    WHERE h.heading = asked.name
       OR (starts_with(h.heading, asked.name)
           AND position(substr(h.heading, length(asked.name) + 1, 1) IN %(breaks)s) > 0)
), best AS (
    SELECT DISTINCT ON (found.chunk_id) found.chunk_id, found.name,
           found.heading = found.name AS whole, r.newest_edition, r.authority
    FROM found
    CROSS JOIN LATERAL (
        SELECT * FROM revisions v WHERE v.revision_id = found.revision_id OFFSET 0
    ) AS r
    WHERE r.state = 'visible' /* where */
    ORDER BY found.chunk_id, (found.heading = found.name) DESC, found.name
)
SELECT best.chunk_id, best.name, best.whole FROM best
ORDER BY best.whole DESC, best.newest_edition DESC, best.authority DESC, best.chunk_id
LIMIT %(limit)s

-- name: titled, reads
WITH asked AS MATERIALIZED (
    SELECT DISTINCT folded_name(n.name) AS name, hashtextextended(first_word(n.name), 0) AS first
    FROM unnest(%(names)s::text[]) AS n(name)
), found AS (
    SELECT r.document_id, asked.name, folded_name(r.title) = asked.name AS whole
    FROM asked
    JOIN revisions r
      ON r.tenant = %(tenant)s AND hashtextextended(first_word(r.title), 0) = asked.first
    WHERE r.title <> '' AND r.state = 'visible'
      AND (folded_name(r.title) = asked.name
           OR (starts_with(folded_name(r.title), asked.name)
               AND position(substr(r.title, length(asked.name) + 1, 1) IN %(breaks)s) > 0))
      /* where */
    UNION ALL
    SELECT r.document_id, folded_name(tag.name), true
    FROM revisions r
    CROSS JOIN LATERAL unnest(r.tags) AS tag(name)
    WHERE r.tenant = %(tenant)s AND r.state = 'visible' AND r.tags <> '{}'
      AND r.tags && %(names)s::text[] AND tag.name = ANY(%(names)s::text[])
      /* where */
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
