-- Packed token vectors beside the vector of the same text by the same encoder; NULL: none were made.
-- They are noise to a compressor, so none is tried.
ALTER TABLE embeddings ADD COLUMN tokens bytea;
ALTER TABLE embeddings ALTER COLUMN tokens SET STORAGE EXTERNAL;
