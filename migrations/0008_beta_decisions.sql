-- When a prospect was let in and when it was turned down are two dates: one who is let in after all was still turned
-- down once, and one who has gone live was still let in.
ALTER TABLE onboardings ADD COLUMN beta_approved_at BIGINT;
ALTER TABLE onboardings ADD COLUMN beta_declined_at BIGINT;
UPDATE onboardings SET beta_declined_at = beta_decided_at WHERE beta_status = 'beta_declined';
UPDATE onboardings SET beta_approved_at = beta_decided_at WHERE beta_status <> 'beta_declined';
DROP INDEX onboardings_decided;
ALTER TABLE onboardings DROP COLUMN beta_decided_at;
CREATE INDEX onboardings_approved ON onboardings (beta_approved_at) WHERE beta_approved_at IS NOT NULL;
CREATE INDEX onboardings_declined ON onboardings (beta_declined_at) WHERE beta_declined_at IS NOT NULL;
