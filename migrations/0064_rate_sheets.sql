-- How the sheets of an upstream are laid out, as JSON.
CREATE TABLE sheet_mappings (
    upstream_id UUID PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    mapping     TEXT NOT NULL,
    updated_at  BIGINT NOT NULL
);

-- Which imports of an upstream wait for a decision. Absent percentages hold nothing.
CREATE TABLE hold_policies (
    upstream_id      UUID PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    changed_percent  BIGINT,
    increase_percent BIGINT,
    below_cost       BOOLEAN NOT NULL,
    updated_at       BIGINT NOT NULL
);

-- The mapping that came with the file, as JSON.
ALTER TABLE deck_imports ADD COLUMN mapping TEXT;
-- What it would change for the calls of the last 30 days, as JSON.
ALTER TABLE deck_imports ADD COLUMN impact TEXT;
-- Why it was held, as a JSON list.
ALTER TABLE deck_imports ADD COLUMN held_for TEXT;
-- When it was decided that it is applied after all.
ALTER TABLE deck_imports ADD COLUMN approved_at BIGINT;

CREATE INDEX deck_imports_held ON deck_imports (upstream_id) WHERE status = 'held';
DROP INDEX deck_imports_file;
CREATE INDEX deck_imports_file ON deck_imports (content_hash) WHERE status IN ('queued', 'running', 'held');
