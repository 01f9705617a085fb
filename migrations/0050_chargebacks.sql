-- Payments that a card's bank disputes. While one is open its amount is out of the customer's balance; the provider's
-- id names it once, however often and in whatever order its events come.
CREATE TABLE chargebacks (
    id                  UUID PRIMARY KEY NOT NULL,
    account_id          UUID NOT NULL REFERENCES accounts (id),
    payment_id          UUID NOT NULL REFERENCES payments (id),
    provider            TEXT NOT NULL,
    provider_dispute_id TEXT NOT NULL,
    status              TEXT NOT NULL,
    amount              BIGINT NOT NULL CONSTRAINT chargebacks_are_positive CHECK (amount > 0),
    currency            TEXT NOT NULL,
    created_at          BIGINT NOT NULL,
    decided_at          BIGINT,
    UNIQUE (provider, provider_dispute_id),
    CONSTRAINT chargebacks_decided_or_open CHECK ((status = 'open') = (decided_at IS NULL))
);
CREATE INDEX chargebacks_by_time ON chargebacks (created_at, id);
CREATE INDEX chargebacks_by_status ON chargebacks (status, created_at, id);
CREATE INDEX chargebacks_by_account ON chargebacks (account_id, created_at, id);
CREATE INDEX chargebacks_by_payment ON chargebacks (payment_id);

-- The sandbox's disputes, one for an order.
CREATE TABLE sandbox_disputes (
    id         TEXT PRIMARY KEY NOT NULL,
    order_id   TEXT NOT NULL REFERENCES sandbox_orders (id),
    amount     BIGINT NOT NULL,
    currency   TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (order_id)
);
CREATE INDEX sandbox_disputes_by_time ON sandbox_disputes (created_at);
