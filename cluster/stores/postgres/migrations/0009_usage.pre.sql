-- What became of passages that were shown, and how far a tenant's data has moved on. Ids, counts
-- and names of artifacts; no question and no content.

-- In how many answers a passage was shown. `owner` is empty for those who asked without one.
CREATE TABLE usage_counts (
    chunk_id    text COLLATE "C" NOT NULL,
    owner       text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    tenant      text COLLATE "C" NOT NULL,
    shown       bigint NOT NULL,
    PRIMARY KEY (chunk_id, owner)
) WITH (fillfactor = 80);
CREATE INDEX usage_counts_by_document ON usage_counts (document_id);
CREATE INDEX usage_counts_by_owner ON usage_counts (tenant, owner) WHERE owner <> '';

-- `event_id` is a digest of what makes the event, so that the same report twice is one.
CREATE TABLE usage_events (
    event_id    text COLLATE "C" PRIMARY KEY,
    tenant      text COLLATE "C" NOT NULL,
    owner       text COLLATE "C",
    search_id   text COLLATE "C" NOT NULL,
    chunk_id    text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL CHECK (kind IN ('used', 'useful', 'wrong', 'outdated')),
    artifact    text COLLATE "C" NOT NULL,
    reported_at timestamptz NOT NULL
);
CREATE INDEX usage_events_by_document ON usage_events (document_id, chunk_id);
CREATE INDEX usage_events_by_chunk ON usage_events (chunk_id);
CREATE INDEX usage_events_by_tenant ON usage_events (tenant, owner);

-- A tenant's writes are the sum over its rows: who writes takes a row that nobody else holds, or
-- adds one, so that no writer waits for another, and each commit makes the sum larger.
CREATE TABLE tenant_writes (
    tenant text COLLATE "C" NOT NULL,
    slot   bigint GENERATED ALWAYS AS IDENTITY,
    writes bigint NOT NULL,
    PRIMARY KEY (tenant, slot)
) WITH (fillfactor = 50);

CREATE FUNCTION note_writes(changed text[]) RETURNS void LANGUAGE sql AS $$
WITH named AS (
    SELECT DISTINCT c.tenant FROM unnest(changed) AS c(tenant)
), free AS (
    SELECT one.tenant, one.slot
    FROM named n
    CROSS JOIN LATERAL (
        SELECT w.tenant, w.slot FROM tenant_writes w WHERE w.tenant = n.tenant
        ORDER BY w.slot LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS one
), counted AS (
    UPDATE tenant_writes w SET writes = w.writes + 1
    FROM free WHERE w.tenant = free.tenant AND w.slot = free.slot
    RETURNING w.tenant
)
INSERT INTO tenant_writes (tenant, writes)
SELECT n.tenant, 1 FROM named n
WHERE NOT EXISTS (SELECT FROM counted c WHERE c.tenant = n.tenant)
$$;

-- On the table itself: also code that does not know of it lets answers that are kept go.
CREATE FUNCTION note_changed_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_writes(ARRAY(SELECT DISTINCT c.tenant FROM changed c));
    RETURN NULL;
END
$$;
CREATE TRIGGER revisions_changed AFTER UPDATE ON revisions
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION note_changed_revisions();
CREATE TRIGGER revisions_removed AFTER DELETE ON revisions
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION note_changed_revisions();

-- The beginning of a heading or title, by which names are looked up; as in `cluster.stores.names`.
CREATE FUNCTION folded_name(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN left(lower(name COLLATE "C"), 200);
