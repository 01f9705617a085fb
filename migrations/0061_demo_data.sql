-- The users that the demo made: a sign-in page lists them, and nobody who came later.
CREATE TABLE demo_users (
    user_id UUID PRIMARY KEY NOT NULL REFERENCES users (id)
);
INSERT INTO demo_users (user_id)
    SELECT id FROM users WHERE email LIKE '%.example' AND EXISTS (SELECT 1 FROM installation WHERE is_demo);

-- Whether they sign in with the password that everyone knows.
ALTER TABLE installation ADD COLUMN has_demo_password BOOLEAN NOT NULL DEFAULT FALSE;
