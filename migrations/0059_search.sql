-- What the team searches by its beginning, in the order of the bytes.
CREATE INDEX users_by_email ON users (email /*pg COLLATE "C" */);
CREATE INDEX numbers_by_number ON numbers (e164 /*pg COLLATE "C" */) WHERE released_at IS NULL;
CREATE INDEX invoices_by_number ON invoices (number /*pg COLLATE "C" */);
CREATE INDEX tickets_by_subject ON tickets ((lower(subject)) /*pg COLLATE "C" */, id);

-- What the team is to look at.
CREATE INDEX intakes_other_by_status ON intakes (status) WHERE purpose <> 'kyb';
CREATE INDEX upstreams_down ON upstreams (id) WHERE health = 'down';
CREATE INDEX number_imports_of_upstream ON number_imports (upstream_id, created_at, id);
