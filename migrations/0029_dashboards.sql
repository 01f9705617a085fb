-- How often something happened in a minute or an hour, all nodes together.
CREATE TABLE traffic (
    span  TEXT NOT NULL,
    what  TEXT NOT NULL,
    -- When the span began.
    at    BIGINT NOT NULL,
    name  TEXT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (span, what, at, name)
);
CREATE INDEX traffic_age ON traffic (span, at);

-- Up to which row of the audit log it was counted.
CREATE TABLE audit_counted (
    id  BIGINT PRIMARY KEY NOT NULL CONSTRAINT audit_counted_is_one CHECK (id = 1),
    seq BIGINT NOT NULL
);
INSERT INTO audit_counted (id, seq) VALUES (1, 0);

-- Whose sign-in it was that failed, if anybody's; and who has to wait now.
ALTER TABLE sign_in_failures ADD COLUMN user_id UUID;
CREATE INDEX sign_in_failures_locked ON sign_in_failures (locked_until) WHERE user_id IS NOT NULL;
