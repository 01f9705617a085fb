-- Number orders that came to nothing, which invoices of later months look for.
CREATE INDEX number_orders_undone ON number_orders (account_id, id) WHERE status IN ('failed', 'cancelled');
