-- The users that the demo made: a sign-in page lists them, and nobody who came later.
CREATE TABLE demo_users (
    user_id UUID PRIMARY KEY NOT NULL REFERENCES users (id)
);
INSERT INTO demo_users (user_id)
    SELECT id FROM users WHERE email LIKE '%.example' AND EXISTS (SELECT 1 FROM installation WHERE is_demo);

-- Whether they sign in with the password that everyone knows.
ALTER TABLE installation ADD COLUMN has_demo_password BOOLEAN NOT NULL DEFAULT FALSE;

-- How far the job is that fills the database with demo data.
CREATE TABLE demo_data (
    id         BIGINT PRIMARY KEY NOT NULL CONSTRAINT demo_data_is_one CHECK (id = 1),
    status     TEXT NOT NULL,
    -- In thousandths.
    progress   BIGINT NOT NULL,
    message    TEXT,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT
);
