-- Encoder generations have a life: building, active, in grace, gone.
-- `active` stays the pointer that every reader follows; code of schema 1 knows only that.
ALTER TABLE generations
    ADD COLUMN started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN activated_at timestamptz,
    ADD COLUMN retire_at    timestamptz,
    ADD COLUMN ended_at     timestamptz,
    ADD COLUMN progress     jsonb,
    ADD COLUMN state text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        CASE WHEN active THEN 'active'
             WHEN ended_at IS NOT NULL THEN 'gone'
             WHEN retire_at IS NOT NULL THEN 'grace'
             ELSE 'building' END) STORED;
CREATE UNIQUE INDEX generations_one_of_a_kind ON generations (state)
    WHERE state IN ('building', 'grace');
