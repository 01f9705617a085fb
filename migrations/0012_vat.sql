-- What the carrier knows of a customer's VAT beside the id and its status, which are the account's own.
CREATE TABLE vat_profiles (
    account_id    UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    -- Decided by the team in place of the rules.
    treatment     TEXT,
    -- Sells telecommunication on, and so owes the VAT itself at home too.
    is_reseller   BOOLEAN NOT NULL,
    -- The id that was last looked at, and when.
    checked_id    TEXT,
    checked_at    BIGINT,
    -- When to look next; absent while there is no need.
    next_check_at BIGINT,
    -- How often nobody answered since somebody did.
    failures      BIGINT NOT NULL
);
CREATE INDEX vat_profiles_due ON vat_profiles (next_check_at) WHERE next_check_at IS NOT NULL;

-- Every answer about an id, kept as proof that somebody was asked. Rows are added, never changed.
CREATE TABLE vat_checks (
    id                 UUID PRIMARY KEY NOT NULL,
    account_id         UUID NOT NULL REFERENCES accounts (id),
    vat_id             TEXT NOT NULL,
    is_valid           BOOLEAN NOT NULL,
    request_identifier TEXT,
    name               TEXT,
    address            TEXT,
    checked_at         BIGINT NOT NULL
);
CREATE INDEX vat_checks_of_account ON vat_checks (account_id, checked_at);

CREATE TABLE vat_proofs (
    id           UUID PRIMARY KEY NOT NULL,
    account_id   UUID NOT NULL REFERENCES accounts (id),
    file_name    TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size_bytes   BIGINT NOT NULL,
    content_hash BYTEA NOT NULL,
    uploaded_at  BIGINT NOT NULL
);
CREATE INDEX vat_proofs_of_account ON vat_proofs (account_id, uploaded_at, id);
CREATE INDEX vat_proofs_content ON vat_proofs (content_hash);
