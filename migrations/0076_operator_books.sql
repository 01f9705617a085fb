-- The sums of the operator's books say what a customer's balance moved by, so that has no rows of its own. The new name
-- stops nodes of older versions, which would go on writing those rows, and reading only them.
DELETE FROM ledger_days WHERE book = 'customer';
ALTER TABLE ledger_days RENAME TO ledger_book_days;
