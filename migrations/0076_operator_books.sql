-- The sums of the operator's books say what a customer's balance moved by, so that has no rows of its own.
DELETE FROM ledger_days WHERE book = 'customer';
