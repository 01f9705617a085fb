-- A charge that takes the balance below this is worth a look. Absent until somebody has looked.
ALTER TABLE ledger_balances ADD COLUMN low_water BIGINT;

-- What the carrier sets for an account beside its minimum, which is the ledger's; without a row, the default.
CREATE TABLE balance_settings (
    account_id          UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    soft_warn_threshold BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL
);

-- When an account wants to hear of a low balance; without a row, the default.
CREATE TABLE low_balance_settings (
    account_id    UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    enabled       BOOLEAN NOT NULL,
    threshold_pct BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);

-- What was last seen of a balance, so that a fall is told of once.
CREATE TABLE balance_watches (
    account_id   UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    low_at       BIGINT,
    exhausted_at BIGINT
);
CREATE INDEX balance_watches_low ON balance_watches (account_id) WHERE low_at IS NOT NULL;

-- Whether and how a balance refills itself from a saved card. Amounts are nanos of the house currency.
CREATE TABLE auto_recharges (
    account_id        UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    enabled           BOOLEAN NOT NULL,
    threshold         BIGINT NOT NULL,
    recharge_amount   BIGINT NOT NULL,
    payment_method_id UUID,
    -- In a row, and when the last one was.
    declines          BIGINT NOT NULL,
    declined_at       BIGINT,
    updated_at        BIGINT NOT NULL
);

-- Every time a balance refilled itself, or tried to.
CREATE TABLE recharge_attempts (
    id                UUID PRIMARY KEY NOT NULL,
    account_id        UUID NOT NULL REFERENCES accounts (id),
    payment_method_id UUID NOT NULL,
    amount            BIGINT NOT NULL,
    status            TEXT NOT NULL,
    started_at        BIGINT NOT NULL,
    ended_at          BIGINT
);
-- One at a time.
CREATE UNIQUE INDEX recharge_attempts_open_key ON recharge_attempts (account_id) WHERE status = 'open';
CREATE INDEX recharge_attempts_account ON recharge_attempts (account_id, started_at);

-- Why the team should speak to a customer about money.
CREATE TABLE dunning_reasons (
    account_id UUID NOT NULL REFERENCES accounts (id),
    reason     TEXT NOT NULL,
    since      BIGINT NOT NULL,
    PRIMARY KEY (account_id, reason)
);
