-- When the user of a session last proved its identity: at sign-in, or again before a sensitive change. A token has the
-- time of its session. Sessions from before count as not recent.
ALTER TABLE sessions ADD COLUMN authenticated_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE access_tokens ADD COLUMN authenticated_at BIGINT NOT NULL DEFAULT 0;

-- Guesses of a user's second factor, or of its password in the middle of a session, wherever they came from.
CREATE TABLE second_factor_guesses (
    user_id    UUID PRIMARY KEY NOT NULL REFERENCES users (id),
    guesses    BIGINT NOT NULL,
    -- No guess is accepted before.
    wait_until BIGINT NOT NULL,
    guessed_at BIGINT NOT NULL
);
CREATE INDEX second_factor_guesses_age ON second_factor_guesses (guessed_at);
