-- Whether `trunkline demo` made this database. Its users, numbers and money are not real.
ALTER TABLE installation ADD COLUMN is_demo BOOLEAN NOT NULL DEFAULT FALSE;
