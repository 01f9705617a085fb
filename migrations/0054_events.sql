-- What happened to accounts, for programs. An event is written in the transaction of what it tells of, and gets its
-- position in the order of all events after the commit.
CREATE TABLE events (
    id         UUID PRIMARY KEY NOT NULL,
    account_id UUID NOT NULL REFERENCES accounts (id),
    kind       TEXT NOT NULL,
    -- JSON; its fields depend on the kind.
    data       TEXT NOT NULL,
    -- Whether lists and streams show it.
    is_listed  BOOLEAN NOT NULL,
    -- The order in which they were written.
    ordinal    BIGINT NOT NULL,
    position   BIGINT,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_position ON events (position);
CREATE INDEX events_unpublished ON events (ordinal, id) WHERE position IS NULL;
CREATE INDEX events_account ON events (account_id, position);
CREATE INDEX events_age ON events (created_at);

-- The last position, and when ended calls were last put into events.
CREATE TABLE event_head (
    id            BIGINT PRIMARY KEY NOT NULL CONSTRAINT event_head_is_one CHECK (id = 1),
    position      BIGINT NOT NULL,
    -- When the last sweep over the accounts with ended calls began, and the last account that it is done with; NULL
    -- when it has ended.
    batched_at    BIGINT NOT NULL,
    swept_through UUID
);
INSERT INTO event_head (id, position, batched_at) VALUES (1, 0, 0);

-- Ended calls of accounts whose webhook endpoints ask for them, and the event that tells of each.
CREATE TABLE ended_calls (
    cdr_id     UUID PRIMARY KEY NOT NULL,
    account_id UUID NOT NULL,
    started_at BIGINT NOT NULL,
    event_id   UUID,
    created_at BIGINT NOT NULL
);
CREATE INDEX ended_calls_waiting ON ended_calls (account_id, created_at, cdr_id) WHERE event_id IS NULL;
CREATE INDEX ended_calls_event ON ended_calls (event_id, started_at, cdr_id);
CREATE INDEX ended_calls_age ON ended_calls (created_at);
