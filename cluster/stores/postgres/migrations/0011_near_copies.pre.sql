-- The bands of a chunk's sketch; chunks that share one may be copies of one another. NULL: too short,
-- a turn, or written before there were sketches.
ALTER TABLE chunks ADD COLUMN bands bigint[];
