-- Cards that a customer has left with the payment provider, for us to charge.
CREATE TABLE payment_methods (
    id                UUID PRIMARY KEY NOT NULL,
    account_id        UUID NOT NULL REFERENCES accounts (id),
    provider          TEXT NOT NULL,
    -- What the provider calls the card and its holder.
    provider_customer TEXT,
    token             TEXT NOT NULL,
    brand             TEXT NOT NULL,
    last4             TEXT NOT NULL,
    exp_month         BIGINT NOT NULL,
    exp_year          BIGINT NOT NULL,
    is_default        BOOLEAN NOT NULL,
    created_at        BIGINT NOT NULL
);
CREATE UNIQUE INDEX payment_methods_token_key ON payment_methods (account_id, provider, token);
CREATE UNIQUE INDEX payment_methods_default_key ON payment_methods (account_id) WHERE is_default;
CREATE INDEX payment_methods_account ON payment_methods (account_id, created_at, id);

-- What we asked the payment provider for: a top-up at a checkout, a charge of a saved card, or a card to be saved.
CREATE TABLE payments (
    id                UUID PRIMARY KEY NOT NULL,
    account_id        UUID NOT NULL REFERENCES accounts (id),
    purpose           TEXT NOT NULL,
    status            TEXT NOT NULL,
    provider          TEXT NOT NULL,
    -- Absent until the provider has answered.
    provider_order_id TEXT,
    -- The saved card that is charged.
    method_id         UUID,
    -- Nanos. A card that is only saved costs nothing.
    amount            BIGINT,
    currency          TEXT,
    -- What went back, or is on its way.
    refunded          BIGINT NOT NULL,
    -- The balance that its ledger entry left.
    balance_after     BIGINT,
    -- Why the provider refused.
    decline           TEXT,
    -- Who asked, in words of its own: a retry finds what it began.
    request_key       UUID,
    request_digest    BYTEA,
    -- When to ask the provider again; absent once there is nothing left to hear.
    poll_at           BIGINT,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    completed_at      BIGINT,
    CONSTRAINT payments_amount_known CHECK ((purpose = 'card') = (amount IS NULL) AND (amount IS NULL) = (currency IS NULL)),
    CONSTRAINT payments_refunded_in_range CHECK (refunded >= 0 AND refunded <= COALESCE(amount, 0))
);
CREATE UNIQUE INDEX payments_order_key ON payments (provider, provider_order_id);
CREATE UNIQUE INDEX payments_request_key ON payments (account_id, purpose, request_key);
CREATE INDEX payments_account ON payments (account_id, created_at, id);
CREATE INDEX payments_all ON payments (created_at, id) WHERE amount IS NOT NULL;
CREATE INDEX payments_charges ON payments (method_id) WHERE method_id IS NOT NULL;
CREATE INDEX payments_open ON payments (poll_at, id) WHERE poll_at IS NOT NULL;

-- Payments on their way back. A row is claimed, with its money held, before the provider hears of it.
CREATE TABLE refunds (
    id             UUID PRIMARY KEY NOT NULL,
    payment_id     UUID NOT NULL REFERENCES payments (id),
    status         TEXT NOT NULL,
    amount         BIGINT NOT NULL CONSTRAINT refunds_amount_positive CHECK (amount > 0),
    reason         TEXT NOT NULL,
    requested_by   UUID NOT NULL REFERENCES users (id),
    request_key    UUID NOT NULL,
    request_digest BYTEA NOT NULL,
    poll_at        BIGINT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX refunds_request_key ON refunds (payment_id, requested_by, request_key);
CREATE INDEX refunds_open ON refunds (poll_at, id) WHERE poll_at IS NOT NULL;

-- The sandbox's orders have amounts, and may be refused for a reason.
ALTER TABLE sandbox_orders ADD COLUMN amount BIGINT;
ALTER TABLE sandbox_orders ADD COLUMN currency TEXT;
ALTER TABLE sandbox_orders ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sandbox_orders ADD COLUMN save_card BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE sandbox_orders ADD COLUMN customer TEXT NOT NULL DEFAULT '';
ALTER TABLE sandbox_orders ADD COLUMN card_token TEXT;
ALTER TABLE sandbox_orders ADD COLUMN decline TEXT;

CREATE TABLE sandbox_cards (
    token          TEXT PRIMARY KEY NOT NULL,
    customer       TEXT NOT NULL,
    exp_month      BIGINT NOT NULL,
    exp_year       BIGINT NOT NULL,
    declines_later BOOLEAN NOT NULL,
    created_at     BIGINT NOT NULL
);

CREATE TABLE sandbox_refunds (
    id         TEXT PRIMARY KEY NOT NULL,
    order_id   TEXT NOT NULL REFERENCES sandbox_orders (id),
    reference  TEXT NOT NULL,
    amount     BIGINT NOT NULL,
    state      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (reference)
);
