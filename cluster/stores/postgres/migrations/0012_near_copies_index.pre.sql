-- Made while others write. Without a list of pending entries, which every look-up would read.
DROP INDEX CONCURRENTLY IF EXISTS chunks_by_band;
CREATE INDEX CONCURRENTLY chunks_by_band ON chunks USING gin (bands) WITH (fastupdate = off)
    WHERE bands IS NOT NULL;
