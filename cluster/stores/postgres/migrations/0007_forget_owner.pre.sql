-- Whose key asked to forget, as a keyed hash: that owner may see the job and its receipt. NULL: it
-- was asked without an owner, or by code before this column, and only administrators see it.
ALTER TABLE forget_jobs ADD COLUMN asked_by text COLLATE "C";
