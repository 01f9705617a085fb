-- The VAT id for which the team decided reverse charge. Another id, or none, needs another decision.
ALTER TABLE vat_profiles ADD COLUMN treatment_vat_id TEXT;
UPDATE vat_profiles SET treatment_vat_id = (SELECT vat_id FROM accounts WHERE accounts.id = vat_profiles.account_id)
    WHERE treatment = 'reverse_charge';

DROP VIEW customers;
CREATE VIEW customers AS
    SELECT o.account_id AS id, a.company_name, a.contact_email, o.onboarding_status, o.suspended_from,
           o.suspension_reason, a.account_manager_id, a.vat_status,
           CASE WHEN v.treatment = 'reverse_charge' AND (a.vat_id IS NULL OR a.vat_id <> COALESCE(v.treatment_vat_id, ''))
                THEN NULL ELSE v.treatment END AS vat_treatment,
           COALESCE(v.is_reseller, FALSE) AS telecom_reseller, COALESCE(b.balance, 0) AS balance, a.created_at
    FROM onboardings o
    JOIN accounts a ON a.id = o.account_id
    LEFT JOIN vat_profiles v ON v.account_id = o.account_id
    LEFT JOIN ledger_balances b ON b.account_id = o.account_id AND b.currency = 'EUR'
    WHERE NOT o.is_carrier;

-- Who had the switch end the call: `team`, or nobody.
ALTER TABLE cdrs ADD COLUMN hung_up_by TEXT;
