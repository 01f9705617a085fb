
-- Room on the page for the next version of rows that change with every call.
ALTER TABLE live_calls SET (fillfactor = 70);
