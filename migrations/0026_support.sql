CREATE TABLE tickets (
    id         UUID PRIMARY KEY NOT NULL,
    account_id UUID NOT NULL REFERENCES accounts (id),
    -- Who wrote it first, and hears of answers.
    author_id  UUID NOT NULL REFERENCES users (id),
    subject    TEXT NOT NULL,
    status     TEXT NOT NULL,
    priority   TEXT NOT NULL,
    -- What it is about: a request of ours that failed, and calls.
    request_id TEXT,
    -- A list, as JSON.
    cdr_ids    TEXT NOT NULL,
    -- How many messages it has.
    messages   BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX tickets_of_account ON tickets (account_id, created_at, id);
CREATE INDEX tickets_open ON tickets (account_id) WHERE status <> 'closed';
CREATE INDEX tickets_in_order ON tickets (created_at, id);
CREATE INDEX tickets_by_status ON tickets (status, created_at, id);
CREATE INDEX tickets_by_priority ON tickets (priority, created_at, id);

CREATE TABLE ticket_messages (
    ticket_id   UUID NOT NULL REFERENCES tickets (id),
    -- Its place in the ticket, from 1.
    number      BIGINT NOT NULL,
    id          UUID NOT NULL,
    author_id   UUID NOT NULL REFERENCES users (id),
    author_kind TEXT NOT NULL,
    body        TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (ticket_id, number)
);

-- Announcements to everybody, while they are in force.
CREATE TABLE notices (
    id         UUID PRIMARY KEY NOT NULL,
    severity   TEXT NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    starts_at  BIGINT NOT NULL,
    ends_at    BIGINT CONSTRAINT notice_ends_after_it_starts CHECK (ends_at > starts_at),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX notices_in_order ON notices (starts_at, id);
