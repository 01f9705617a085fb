-- People of the carrier who look after customers.
CREATE TABLE account_managers (
    id         UUID PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    email      TEXT NOT NULL,
    is_active  BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (email)
);
CREATE INDEX account_managers_in_order ON account_managers (created_at, id);

ALTER TABLE accounts ADD COLUMN account_manager_id UUID REFERENCES account_managers (id);
CREATE INDEX accounts_of_manager ON accounts (account_manager_id, id) WHERE account_manager_id IS NOT NULL;

CREATE INDEX onboardings_by_check ON onboardings (onboarding_status, account_id) WHERE NOT is_carrier;
CREATE INDEX onboardings_unapproved ON onboardings (account_id)
    WHERE NOT is_carrier AND onboarding_status <> 'approved' AND onboarding_status <> 'suspended';

-- What an account is found by: the words of its names and its address, in lower case. What a search begins with is a
-- range of them, so they stand in the order of their bytes.
CREATE TABLE account_words (
    word       TEXT /*pg COLLATE "C" */ NOT NULL,
    account_id UUID NOT NULL REFERENCES accounts (id),
    PRIMARY KEY (word, account_id)
);
CREATE INDEX account_words_of_account ON account_words (account_id, word);
-- Whoever was here before is found by how its name begins until it changes it.
INSERT INTO account_words (word, account_id) SELECT lower(company_name), id FROM accounts;
INSERT INTO account_words (word, account_id) SELECT lower(contact_email), id FROM accounts WHERE TRUE
    ON CONFLICT (word, account_id) DO NOTHING;

-- Customers as the team sees them: everybody but the carrier itself. Balances are in the house currency.
CREATE VIEW customers AS
    SELECT o.account_id AS id, a.company_name, a.contact_email, o.onboarding_status, o.suspended_from,
           a.account_manager_id, a.vat_status, v.treatment AS vat_treatment,
           COALESCE(v.is_reseller, FALSE) AS telecom_reseller, COALESCE(b.balance, 0) AS balance, a.created_at
    FROM onboardings o
    JOIN accounts a ON a.id = o.account_id
    LEFT JOIN vat_profiles v ON v.account_id = o.account_id
    LEFT JOIN ledger_balances b ON b.account_id = o.account_id AND b.currency = 'EUR'
    WHERE NOT o.is_carrier;

-- What the team writes down about a customer, for itself.
CREATE TABLE admin_notes (
    id         UUID PRIMARY KEY NOT NULL,
    account_id UUID NOT NULL REFERENCES accounts (id),
    author_id  UUID NOT NULL REFERENCES users (id),
    body       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX admin_notes_in_order ON admin_notes (account_id, created_at, id);
