-- A card shown to the payment provider, so that the carrier knows there is one.
CREATE TABLE card_verifications (
    id                UUID PRIMARY KEY NOT NULL,
    account_id        UUID NOT NULL REFERENCES accounts (id),
    status            TEXT NOT NULL,
    provider          TEXT NOT NULL,
    -- The caller's key, while the verification is open: a retry finds what it began.
    request_key       UUID,
    -- Absent until the provider has answered.
    provider_order_id TEXT,
    checkout_url      TEXT,
    brand             TEXT,
    last4             TEXT,
    exp_month         BIGINT,
    exp_year          BIGINT,
    -- When to ask the provider again; absent once it is settled.
    poll_at           BIGINT,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);
CREATE UNIQUE INDEX card_verifications_order_key ON card_verifications (provider, provider_order_id);
CREATE UNIQUE INDEX card_verifications_request_key ON card_verifications (account_id, request_key);
CREATE INDEX card_verifications_account ON card_verifications (account_id, created_at, id);
CREATE INDEX card_verifications_open ON card_verifications (poll_at, id) WHERE poll_at IS NOT NULL;

-- What payment providers told us. They repeat themselves; each thing counts once.
CREATE TABLE payment_callbacks (
    provider    TEXT NOT NULL,
    order_id    TEXT NOT NULL,
    event       TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (provider, order_id, event)
);
CREATE INDEX payment_callbacks_received ON payment_callbacks (received_at);

-- The sandbox provider's own books; nobody else reads them.
CREATE TABLE sandbox_orders (
    id             TEXT PRIMARY KEY NOT NULL,
    -- What the merchant calls it: a second order under the same name is the first one.
    reference      TEXT NOT NULL,
    customer_name  TEXT NOT NULL,
    customer_email TEXT NOT NULL,
    return_url     TEXT NOT NULL,
    state          TEXT NOT NULL,
    brand          TEXT,
    last4          TEXT,
    exp_month      BIGINT,
    exp_year       BIGINT,
    -- Whether the card will refuse what the merchant charges later by itself.
    declines_later BOOLEAN NOT NULL,
    expires_at     BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    UNIQUE (reference)
);
