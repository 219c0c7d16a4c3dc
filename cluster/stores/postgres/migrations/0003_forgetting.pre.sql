-- Exact forgetting: what was made of what, what must not come back, jobs and their receipts.
-- No table here holds a content or a name in the clear.

-- What an item was derived from; `support` is a document id or an origin. Not erased by itself:
-- it goes with its revision.
CREATE TABLE lineage (
    revision_id text COLLATE "C" NOT NULL REFERENCES revisions ON DELETE CASCADE,
    document_id text COLLATE "C" NOT NULL,
    tenant      text COLLATE "C" NOT NULL,
    support     text COLLATE "C" NOT NULL
);
-- Origins may be longer than an index entry can be: hashed.
CREATE INDEX lineage_by_support ON lineage (tenant, hashtextextended(support, 0));
CREATE INDEX lineage_by_document ON lineage (document_id);
CREATE UNIQUE INDEX lineage_once ON lineage (revision_id, hashtextextended(support, 0));

-- The key that all marks of this ledger are made with, by a fingerprint of it.
CREATE TABLE forget_key (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    key_id   text COLLATE "C" NOT NULL
);

CREATE TABLE forget_jobs (
    job_id      text COLLATE "C" PRIMARY KEY,
    receipt_id  text COLLATE "C" NOT NULL UNIQUE,
    tenant      text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    selector    text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL CHECK (state IN ('draining', 'scanning', 'finished')),
    counts      jsonb NOT NULL,
    waits_for   text COLLATE "C" NOT NULL DEFAULT '',
    asked_at    timestamptz NOT NULL,
    finished_at timestamptz,
    lifted_at   timestamptz
);
CREATE INDEX forget_jobs_open ON forget_jobs (asked_at) WHERE state <> 'finished';
CREATE INDEX forget_jobs_by_selector ON forget_jobs (tenant, selector, asked_at);

-- Ids, names and samples that the job has to look for; sealed, and gone when it is finished.
CREATE TABLE forget_work (
    job_id text COLLATE "C" NOT NULL REFERENCES forget_jobs ON DELETE CASCADE,
    part   integer NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (job_id, part)
);

-- Keyed hashes. With `before`, only what work that began earlier brings is kept away.
CREATE TABLE tombstones (
    mark       text COLLATE "C" NOT NULL,
    receipt_id text COLLATE "C" NOT NULL,
    tenant     text COLLATE "C" NOT NULL,
    buried_at  timestamptz NOT NULL,
    before     timestamptz,
    PRIMARY KEY (mark, receipt_id)
);
CREATE INDEX tombstones_of_tenant ON tombstones (tenant, receipt_id);

CREATE TABLE receipts (
    receipt_id text COLLATE "C" PRIMARY KEY,
    job_id     text COLLATE "C" NOT NULL UNIQUE,
    tenant     text COLLATE "C" NOT NULL,
    body       text COLLATE "C" NOT NULL,
    signed_at  timestamptz NOT NULL
);
