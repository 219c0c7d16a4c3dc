-- Look-ups by headings, titles, tags and sessions, made while others write. Dropped first: what a
-- try that was broken off left behind is not valid.
DROP INDEX CONCURRENTLY IF EXISTS chunks_by_heading;
CREATE INDEX CONCURRENTLY chunks_by_heading ON chunks
    (folded_name(heading_path[cardinality(heading_path)]) COLLATE "C")
    WHERE cardinality(heading_path) > 0;
DROP INDEX CONCURRENTLY IF EXISTS revisions_by_title;
CREATE INDEX CONCURRENTLY revisions_by_title ON revisions
    (tenant, folded_name(title) COLLATE "C")
    WHERE state = 'visible' AND title <> '';
DROP INDEX CONCURRENTLY IF EXISTS revisions_by_tag;
CREATE INDEX CONCURRENTLY revisions_by_tag ON revisions USING gin (tags)
    WHERE state = 'visible' AND tags <> '{}';
DROP INDEX CONCURRENTLY IF EXISTS revisions_by_turn;
CREATE INDEX CONCURRENTLY revisions_by_turn ON revisions (tenant, hashtextextended(session, 0))
    WHERE state = 'visible' AND kind = 'turn';
