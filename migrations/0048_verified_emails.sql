-- When the user first proved to receive mail at its address. Until then its password, second factor and sessions may be
-- those of a stranger who signed up with the address.
ALTER TABLE users ADD COLUMN email_verified_at BIGINT;

-- Team members came in by an invitation or at the console.
UPDATE users SET email_verified_at = updated_at
    WHERE roles <> 'customer' AND (password_hash IS NOT NULL OR id IN (SELECT user_id FROM two_factor_seeds));

-- A used link proves the mailbox. Who never used one proves it with the next link.
UPDATE users SET email_verified_at = updated_at
    WHERE email_verified_at IS NULL AND id IN (
        SELECT user_id FROM audit_log
        WHERE action IN ('session.first_login', 'session.magic_link', 'password.reset') AND outcome = 'success'
            AND user_id IS NOT NULL
    );
