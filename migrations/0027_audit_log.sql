-- Ways into the audit log, newest first. Of outcomes and actors only the rare ones are worth one.
CREATE INDEX audit_log_in_order ON audit_log (ts, seq);
CREATE INDEX audit_log_of_account ON audit_log (account_id, ts, seq);
CREATE INDEX audit_log_of_user ON audit_log (user_id, ts, seq);
CREATE INDEX audit_log_of_action ON audit_log (action, ts, seq);
CREATE INDEX audit_log_failures ON audit_log (ts, seq) WHERE outcome = 'failure';
CREATE INDEX audit_log_of_actor ON audit_log (actor, ts, seq) WHERE actor <> 'customer';
