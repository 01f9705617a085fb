-- What an account is told of; a client finds the words by the code.
CREATE TABLE notifications (
    id         UUID PRIMARY KEY NOT NULL,
    account_id UUID NOT NULL REFERENCES accounts (id),
    code       TEXT NOT NULL,
    severity   TEXT NOT NULL,
    -- JSON; its fields depend on the code.
    payload    TEXT NOT NULL,
    read_at    BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX notifications_account ON notifications (account_id, created_at, id);
CREATE INDEX notifications_unread ON notifications (account_id, created_at, id) WHERE read_at IS NULL;
CREATE INDEX notifications_age ON notifications (created_at);
