-- Owed index work: whose it is, how often it failed, and what is owed to one generation alone.
-- Code that knows only schema 1 goes on: it names its columns, and of a chunk `outbox` still
-- has one entry.

-- `tried_version` says which version of the entry the columns after it tell of: once the entry
-- is owed anew its version is another one, and former failures no longer count.
ALTER TABLE outbox
    ADD COLUMN tenant        text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN tried_version bigint,
    ADD COLUMN attempts      integer NOT NULL DEFAULT 0,
    ADD COLUMN last_error    text COLLATE "C",
    ADD COLUMN not_before    timestamptz,
    ADD COLUMN set_aside_at  timestamptz;
CREATE INDEX outbox_by_tenant ON outbox (tenant, entry_id);

-- Beside `outbox`, which is owed to all indexes: chunks owed to the vector index of one encoder
-- generation. Entry numbers come from one sequence, so that an entry has the same name in both.
CREATE TABLE outbox_of_generation (
    entry_id      bigint NOT NULL UNIQUE
                  DEFAULT nextval(pg_get_serial_sequence('outbox', 'entry_id')::regclass),
    chunk_id      text COLLATE "C" NOT NULL,
    target        text COLLATE "C" NOT NULL,
    version       bigint NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    tried_version bigint,
    attempts      integer NOT NULL DEFAULT 0,
    last_error    text COLLATE "C",
    not_before    timestamptz,
    set_aside_at  timestamptz,
    PRIMARY KEY (chunk_id, target)
);
