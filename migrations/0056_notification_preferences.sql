-- Mails of notifications that a user does not want; without a row it gets them.
CREATE TABLE notification_preferences (
    user_id    UUID NOT NULL REFERENCES users (id),
    code       TEXT NOT NULL,
    is_mailed  BOOLEAN NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, code)
);
