-- Why an account is suspended, in the words that its owner was told.
ALTER TABLE onboardings ADD COLUMN suspension_reason TEXT;

DROP VIEW customers;
CREATE VIEW customers AS
    SELECT o.account_id AS id, a.company_name, a.contact_email, o.onboarding_status, o.suspended_from,
           o.suspension_reason, a.account_manager_id, a.vat_status, v.treatment AS vat_treatment,
           COALESCE(v.is_reseller, FALSE) AS telecom_reseller, COALESCE(b.balance, 0) AS balance, a.created_at
    FROM onboardings o
    JOIN accounts a ON a.id = o.account_id
    LEFT JOIN vat_profiles v ON v.account_id = o.account_id
    LEFT JOIN ledger_balances b ON b.account_id = o.account_id AND b.currency = 'EUR'
    WHERE NOT o.is_carrier;

-- A suspension verifies nobody's business: who was suspended before it was approved is still to be.
DROP INDEX onboardings_unapproved;
CREATE INDEX onboardings_unapproved ON onboardings (account_id)
    WHERE NOT is_carrier AND COALESCE(suspended_from, onboarding_status) <> 'approved';
