-- What the reconciliations found, and how far a rebuild of the indexes is.

CREATE TABLE reconciliations (
    reconciliation_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    finished_at       timestamptz NOT NULL,
    report            jsonb NOT NULL
);

-- `owed_to` is the last chunk id whose work was queued; `refills` are stores that began empty.
CREATE TABLE rebuilds (
    rebuild_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    refills     text[] COLLATE "C" NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    owed_to     text COLLATE "C" NOT NULL,
    owed        bigint NOT NULL,
    total       bigint NOT NULL
);
CREATE UNIQUE INDEX rebuilds_one_open ON rebuilds ((finished_at IS NULL))
    WHERE finished_at IS NULL;
