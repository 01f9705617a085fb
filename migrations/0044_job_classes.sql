-- Each class of jobs has slots of its own; see crates/platform/src/jobs/class.rs.
ALTER TABLE jobs ADD COLUMN class TEXT NOT NULL DEFAULT 'bulk';
-- At most one live job of a kind has this key.
ALTER TABLE jobs ADD COLUMN unique_key TEXT;

UPDATE jobs SET class = 'money' WHERE kind IN (
    'ledger.moved', 'recharge.attempt', 'payment.charged', 'payment.poll', 'payment.follow_up', 'card.poll',
    'sandbox.call_back', 'invoice.settle', 'housekeeping.expire_holds', 'calls.close_vanished', 'number.renew');
UPDATE jobs SET class = 'mail' WHERE kind IN ('letter.send', 'password.forgot', 'calls.alarm');
UPDATE jobs SET class = 'outside' WHERE kind IN (
    'fx.fetch', 'decks.pull_due', 'number.provision', 'number.hand_back', 'compliance.decided',
    'invoice.issue');

DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (class, run_at, id) WHERE dead_at IS NULL;
CREATE UNIQUE INDEX jobs_unique_key ON jobs (kind, unique_key);
