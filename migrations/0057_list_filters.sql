-- Every filter of a list reads along an index in the order of the list.
CREATE INDEX cdrs_by_call_id ON cdrs (call_id, started_at, id);
CREATE INDEX live_calls_of_upstream ON live_calls (upstream_id, started_at, token) WHERE upstream_id IS NOT NULL;

-- By time, of one kind or of all.
CREATE INDEX ledger_transactions_by_time ON ledger_transactions (account_id, currency, created_at, number);
CREATE INDEX ledger_transactions_by_kind ON ledger_transactions (account_id, currency, kind, created_at, number);

CREATE INDEX payments_account_by_status ON payments (account_id, status, created_at, id) WHERE amount IS NOT NULL;
-- The status as the team sees it: an expired payment has failed, and one that went back in full is refunded.
CREATE INDEX payments_by_shown_status ON payments
    ((CASE WHEN status = 'expired' THEN 'failed'
           WHEN status = 'completed' AND refunded = amount THEN 'refunded' ELSE status END), created_at, id)
    WHERE amount IS NOT NULL;
CREATE INDEX payments_account_by_shown_status ON payments
    (account_id, (CASE WHEN status = 'expired' THEN 'failed'
                       WHEN status = 'completed' AND refunded = amount THEN 'refunded' ELSE status END), created_at, id)
    WHERE amount IS NOT NULL;

CREATE INDEX invoices_of_account_by_status ON invoices (account_id, status, created_at, id);
CREATE INDEX number_orders_by_status ON number_orders (account_id, status, created_at, id);

CREATE INDEX numbers_of_country ON numbers (account_id, country, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_of_trunk_in_country ON numbers (trunk_id, country, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_of_account_by_number ON numbers (account_id, e164 /*pg COLLATE "C" */) WHERE released_at IS NULL;

-- Exports of the team, and what a file has beside its range.
ALTER TABLE cdr_exports ADD COLUMN is_team BOOLEAN NOT NULL DEFAULT FALSE;
-- The filters of the request, as JSON.
ALTER TABLE cdr_exports ADD COLUMN filters TEXT;
-- The zone of the times in the file; UTC if absent.
ALTER TABLE cdr_exports ADD COLUMN time_zone TEXT;
CREATE INDEX cdr_exports_of_team ON cdr_exports (requested_at, id) WHERE is_team;
