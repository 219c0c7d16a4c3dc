-- The ledger: documents, their revisions and chunks, vectors, owed index work, runs, keys.
-- Texts compare by code point everywhere, whatever the server's locale says.

-- Grows with every write of an indexed row; both indexes keep it beside the row.
CREATE SEQUENCE row_versions;

-- Grows with every put; of two revisions of one edition the later put wins.
CREATE SEQUENCE put_orders;

-- One logical page or one turn. Its row is the lock under which its revisions change.
CREATE TABLE documents (
    document_id text COLLATE "C" PRIMARY KEY,
    tenant      text COLLATE "C" NOT NULL,
    owner       text COLLATE "C"
);

-- Every filterable field stands here, so that a filter reads one table.
CREATE TABLE revisions (
    revision_id     text COLLATE "C" PRIMARY KEY,
    document_id     text COLLATE "C" NOT NULL REFERENCES documents,
    tenant          text COLLATE "C" NOT NULL,
    owner           text COLLATE "C",
    agent           text COLLATE "C",
    kind            text COLLATE "C" NOT NULL CHECK (kind IN ('document', 'turn')),
    source          text COLLATE "C" NOT NULL,
    path            text COLLATE "C" NOT NULL,
    edition         text COLLATE "C" NOT NULL,
    edition_key     text COLLATE "C" NOT NULL,
    origin          text COLLATE "C" NOT NULL,
    item_digest     text COLLATE "C" NOT NULL,
    media_type      text COLLATE "C" NOT NULL,
    content_sha256  text COLLATE "C" NOT NULL,
    text            text COLLATE "C" NOT NULL,
    text_sha256     text COLLATE "C" NOT NULL,
    title           text COLLATE "C" NOT NULL,
    author          text COLLATE "C",
    language        text COLLATE "C" NOT NULL,
    source_type     text COLLATE "C" NOT NULL,
    source_url      text COLLATE "C",
    published_at    timestamptz,
    updated_at      timestamptz,
    product         text COLLATE "C",
    product_version text COLLATE "C",
    api_version     text COLLATE "C",
    authority       double precision NOT NULL,
    license         text COLLATE "C",
    quote_policy    text COLLATE "C" NOT NULL,
    tags            text[] COLLATE "C" NOT NULL,
    provenance      jsonb NOT NULL,
    conversation    text COLLATE "C",
    session         text COLLATE "C",
    turn_ordinal    integer,
    speaker         text COLLATE "C",
    said_at         timestamptz,
    fingerprint     text COLLATE "C" NOT NULL,
    run_id          text COLLATE "C" NOT NULL,
    chunk_count     integer NOT NULL CHECK (chunk_count > 0),
    first_chunk_id  text COLLATE "C" NOT NULL,
    state           text COLLATE "C" NOT NULL
                    CHECK (state IN ('pending', 'visible', 'superseded', 'deleted')),
    newest_edition  boolean NOT NULL,
    put_order       bigint NOT NULL,
    recorded_at     timestamptz NOT NULL,
    ended_at        timestamptz,
    moment          timestamptz GENERATED ALWAYS AS
                    (COALESCE(said_at, updated_at, published_at)) STORED
);

CREATE UNIQUE INDEX revisions_shown ON revisions (document_id, edition)
    WHERE state = 'visible';
CREATE INDEX revisions_of_document ON revisions (document_id);
CREATE INDEX revisions_in_order ON revisions (tenant, document_id, edition_key, edition)
    WHERE state = 'visible';
CREATE INDEX revisions_by_moment ON revisions (tenant, moment DESC, first_chunk_id)
    WHERE state = 'visible' AND moment IS NOT NULL;
CREATE INDEX revisions_pending ON revisions (put_order)
    WHERE state = 'pending';
-- Origins, sources and conversations may be longer than an index entry can be: hashed.
CREATE INDEX revisions_by_origin ON revisions (tenant, hashtextextended(origin, 0))
    WHERE state IN ('pending', 'visible');
CREATE INDEX revisions_by_source ON revisions (tenant, hashtextextended(source, 0))
    WHERE state IN ('pending', 'visible');
CREATE INDEX revisions_by_session
    ON revisions (tenant, hashtextextended(conversation, 0), hashtextextended(session, 0),
                  turn_ordinal, document_id)
    WHERE state = 'visible' AND kind = 'turn';

CREATE TABLE chunks (
    chunk_id     text COLLATE "C" PRIMARY KEY,
    revision_id  text COLLATE "C" NOT NULL REFERENCES revisions,
    ordinal      integer NOT NULL,
    start_at     integer NOT NULL,
    end_at       integer NOT NULL,
    text         text COLLATE "C" NOT NULL,
    context      text COLLATE "C" NOT NULL,
    heading_path text[] COLLATE "C" NOT NULL,
    token_count  integer NOT NULL,
    page         integer,
    vector_key   text COLLATE "C" NOT NULL,
    row_version  bigint NOT NULL,
    UNIQUE (revision_id, ordinal)
) WITH (fillfactor = 90);

CREATE INDEX chunks_by_vector ON chunks (vector_key);

-- float32, little endian, beside the encoder that made it.
CREATE TABLE embeddings (
    vector_key  text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    vector      bytea NOT NULL,
    PRIMARY KEY (vector_key, fingerprint)
);
ALTER TABLE embeddings ALTER COLUMN vector SET STORAGE EXTERNAL;

-- Index work that is owed, at most one entry a chunk: the newest.
CREATE TABLE outbox (
    entry_id    bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    chunk_id    text COLLATE "C" PRIMARY KEY,
    revision_id text COLLATE "C",
    version     bigint NOT NULL,
    operation   text COLLATE "C" NOT NULL CHECK (operation IN ('upsert', 'delete')),
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX outbox_by_revision ON outbox (revision_id);

CREATE TABLE runs (
    run_id      text COLLATE "C" PRIMARY KEY,
    tenant      text COLLATE "C" NOT NULL,
    arguments   jsonb NOT NULL,
    state       text COLLATE "C" NOT NULL
                CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'interrupted')),
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    counts      jsonb NOT NULL,
    error       text COLLATE "C"
);
CREATE INDEX runs_latest ON runs (tenant, started_at DESC, run_id DESC);

CREATE TABLE run_problems (
    problem_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id     text COLLATE "C" NOT NULL,
    item_key   text COLLATE "C" NOT NULL,
    origin     text COLLATE "C" NOT NULL,
    stage      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL CHECK (outcome IN ('skipped', 'failed')),
    kind       text COLLATE "C" NOT NULL,
    reason     text COLLATE "C" NOT NULL,
    UNIQUE (run_id, item_key)
);

CREATE TABLE uploads (
    upload_id  bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    run_id     text COLLATE "C" PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    media_type text COLLATE "C",
    content    bytea NOT NULL,
    arguments  jsonb NOT NULL
);

CREATE TABLE api_keys (
    key_id        text COLLATE "C" PRIMARY KEY,
    secret_sha256 text COLLATE "C" NOT NULL UNIQUE,
    tenant        text COLLATE "C" NOT NULL,
    role          text COLLATE "C" NOT NULL CHECK (role IN ('read', 'write', 'admin')),
    name          text COLLATE "C" NOT NULL,
    owner         text COLLATE "C",
    agent         text COLLATE "C",
    created_at    timestamptz NOT NULL,
    revoked_at    timestamptz
);

CREATE TABLE generations (
    fingerprint text COLLATE "C" PRIMARY KEY,
    dim         integer NOT NULL,
    recipe      jsonb NOT NULL,
    active      boolean NOT NULL
);
CREATE UNIQUE INDEX generations_one_active ON generations (active) WHERE active;

-- Packing long texts with pglz takes longer than storing them; lz4 where the server has it.
DO $$
BEGIN
    ALTER TABLE revisions ALTER COLUMN text SET COMPRESSION lz4;
    ALTER TABLE chunks ALTER COLUMN text SET COMPRESSION lz4;
EXCEPTION
    WHEN feature_not_supported THEN
        ALTER TABLE revisions ALTER COLUMN text SET STORAGE EXTERNAL;
END
$$;
