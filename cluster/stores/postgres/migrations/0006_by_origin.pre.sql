-- No statement looks for a source any more. As long as a table has no statistics, the planner took
-- this index for one by origin, and read all revisions of a tenant for each one to publish.
DROP INDEX IF EXISTS revisions_by_source;
