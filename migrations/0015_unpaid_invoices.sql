-- Whether an account owes an invoice, without reading all it ever had.
CREATE INDEX invoices_unpaid ON invoices (account_id) WHERE status = 'issued';
