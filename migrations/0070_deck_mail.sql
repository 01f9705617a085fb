-- Which mail brings rate decks of an upstream.
CREATE TABLE deck_mail_policies (
    upstream_id        UUID PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    -- Addresses, and formats of files, as JSON lists.
    senders            TEXT NOT NULL,
    file_types         TEXT NOT NULL,
    subject_contains   TEXT,
    file_name_contains TEXT,
    mode               TEXT NOT NULL,
    trust_senders      BOOLEAN NOT NULL,
    updated_at         BIGINT NOT NULL
);

-- The mails that were read from the deck mailbox.
CREATE TABLE deck_mails (
    id              UUID PRIMARY KEY NOT NULL,
    -- SHA-256 of sender and Message-ID, or of the whole message.
    message_key     BYTEA NOT NULL,
    message_id      TEXT,
    sender          TEXT,
    subject         TEXT NOT NULL,
    size_bytes      BIGINT NOT NULL,
    upstream_id     UUID REFERENCES upstreams (id),
    outcome         TEXT NOT NULL,
    reason          TEXT,
    sender_verified BOOLEAN NOT NULL,
    created_at      BIGINT NOT NULL,
    CONSTRAINT deck_mails_once UNIQUE (message_key)
);
CREATE INDEX deck_mails_created ON deck_mails (created_at, id);
CREATE INDEX deck_mails_upstream ON deck_mails (upstream_id, created_at, id);

-- Their decks. A file of a message is imported once.
CREATE TABLE deck_mail_files (
    message_key  BYTEA NOT NULL,
    content_hash BYTEA NOT NULL,
    deck_mail_id UUID NOT NULL REFERENCES deck_mails (id),
    import_id    UUID NOT NULL,
    file_name    TEXT NOT NULL,
    size_bytes   BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (message_key, content_hash)
);
CREATE INDEX deck_mail_files_mail ON deck_mail_files (deck_mail_id, created_at);

-- When the mailbox was last read, and since when and why it cannot be.
CREATE TABLE deck_mailbox (
    id           BIGINT PRIMARY KEY NOT NULL,
    polled_at    BIGINT NOT NULL,
    failed_since BIGINT,
    failure      TEXT
);
INSERT INTO deck_mailbox (id, polled_at) VALUES (1, 0);

-- Whether nobody knows that the file is from its sender.
ALTER TABLE deck_imports ADD COLUMN unverified_sender BOOLEAN NOT NULL DEFAULT FALSE;
