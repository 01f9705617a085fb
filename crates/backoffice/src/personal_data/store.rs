//! What is stored about a customer, read for its export, and what keeps it from being erased.
//!
//! Passwords, tokens and other secrets are left out. A column whose name ends in `_at` is a time, one that begins with
//! `is_` a truth value, one that ends in `_nanos` an amount in billionths of its currency.

use billing::invoices;
use db::{Conn, DbError, NamedRow, params, sql};
use platform::outside::files::ContentHash;
use uuid::Uuid;
use values::AccountId;

/// The files of an export and the statements that fill them, each for one account.
pub const TABLES: [(&str, &str); 31] = [
    (
        "account",
        sql!(
            "SELECT id, company_name, trading_name, country, locale, postal_address, invoice_address, vat_id, vat_status,
                    contact_name, contact_email, contact_phone, created_at, updated_at
             FROM accounts WHERE id = $1"
        ),
    ),
    (
        "users",
        sql!(
            "SELECT id, email, name, roles, account_role, is_active, is_invited, invited_email, email_verified_at,
                    last_sign_in_at, created_at, deleted_at
             FROM users WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "sessions",
        sql!(
            "SELECT s.id, s.user_id, s.ip, s.user_agent, s.created_at, s.last_used_at, s.expires_at, s.ended_at
             FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.account_id = $1 ORDER BY s.id"
        ),
    ),
    (
        "passkeys",
        sql!(
            "SELECT p.id, p.user_id, p.name, p.created_at, p.last_used_at
             FROM passkeys p JOIN users u ON u.id = p.user_id WHERE u.account_id = $1 ORDER BY p.id"
        ),
    ),
    (
        "api_keys",
        sql!(
            "SELECT id, created_by, name, scopes, allowed_cidrs, created_at, last_used_at, last_used_ip, expires_at,
                    revoked_at
             FROM api_keys WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "onboarding",
        sql!(
            "SELECT beta_status, onboarding_status, expected_volume, reviewer_note, suspension_reason, created_at,
                    topped_up_at
             FROM onboardings WHERE account_id = $1"
        ),
    ),
    (
        "traffic_profile",
        sql!(
            "SELECT estimated_minutes_per_month, target_countries, traffic_types, notes, created_at
             FROM traffic_profiles WHERE account_id = $1"
        ),
    ),
    (
        "intakes",
        sql!(
            "SELECT id, purpose, status, reviewer_note, created_at, submitted_at, reviewed_at
             FROM intakes WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "intake_documents",
        sql!(
            "SELECT d.id, d.intake_id, d.kind, d.file_name, d.content_type, d.size_bytes, d.status, d.reject_reason,
                    d.uploaded_at
             FROM intake_documents d JOIN intakes i ON i.id = d.intake_id WHERE i.account_id = $1 ORDER BY d.id"
        ),
    ),
    (
        "vat_checks",
        sql!(
            "SELECT id, vat_id, is_valid, name, address, checked_at FROM vat_checks WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "vat_evidence",
        sql!(
            "SELECT id, file_name, content_type, size_bytes, uploaded_at FROM vat_proofs WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "card_checks",
        sql!(
            "SELECT id, status, brand, last4, exp_month, exp_year, created_at
             FROM card_verifications WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "cards",
        sql!(
            "SELECT id, brand, last4, exp_month, exp_year, is_default, created_at
             FROM payment_methods WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "payments",
        sql!(
            "SELECT id, purpose, status, amount AS amount_nanos, refunded AS refunded_nanos, currency, created_at,
                    completed_at
             FROM payments WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "invoices",
        sql!(
            "SELECT id, number, month, status, issue_date, due_date, currency, facts, created_at, paid_at
             FROM invoices WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "credit_notes",
        sql!(
            "SELECT n.invoice_id, n.number, n.issue_date, n.facts, n.created_at
             FROM credit_notes n JOIN invoices i ON i.id = n.invoice_id WHERE i.account_id = $1 ORDER BY n.invoice_id"
        ),
    ),
    (
        "ledger",
        sql!(
            "SELECT t.id, t.number, t.kind, t.currency, t.amount AS amount_nanos, t.balance_after AS balance_after_nanos,
                    t.note, t.created_at
             FROM ledger_transactions t
             WHERE t.account_id = $1 ORDER BY t.currency, t.created_at, t.number"
        ),
    ),
    (
        "trunks",
        sql!(
            "SELECT id, name, zone, channel_cap, cps_limit, inbound_uri, is_default, created_at
             FROM trunks WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "allow_lists",
        sql!(
            "SELECT id, trunk_id, cidr, note, verified_at, created_at
             FROM ip_allow_entries WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "number_orders",
        sql!("SELECT id, e164, status, created_at FROM number_orders WHERE account_id = $1 ORDER BY id"),
    ),
    (
        "numbers",
        sql!(
            "SELECT id, e164, country, kind, since AS rented_at, released_at, release_reason
             FROM numbers WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "live_calls",
        sql!(
            "SELECT token, trunk_id, leg, calling, called, started_at, answered_at
             FROM live_calls WHERE account_id = $1 ORDER BY started_at, token"
        ),
    ),
    (
        "tickets",
        sql!(
            "SELECT id, author_id, subject, status, priority, created_at
             FROM tickets WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "ticket_messages",
        sql!(
            "SELECT m.ticket_id, m.number, m.author_id, m.author_kind, m.body, m.created_at
             FROM ticket_messages m JOIN tickets t ON t.id = m.ticket_id
             WHERE t.account_id = $1 ORDER BY m.ticket_id, m.number"
        ),
    ),
    (
        "call_disputes",
        sql!(
            "SELECT id, cdr_id, opened_by, reason, called, status, note, started_at, created_at, resolved_at
             FROM call_disputes WHERE account_id = $1 ORDER BY id"
        ),
    ),
    (
        "notifications",
        sql!(
            "SELECT id, code, payload, created_at, read_at FROM notifications WHERE account_id = $1 ORDER BY id"
        ),
    ),
    ("events", sql!("SELECT id, kind, data, created_at FROM events WHERE account_id = $1 ORDER BY id")),
    (
        "webhook_endpoints",
        sql!(
            "SELECT id, url, description, event_types, created_at, deleted_at
             FROM webhook_endpoints WHERE account_id = $1 ORDER BY id"
        ),
    ),
    ("notes", sql!("SELECT id, body, created_at FROM admin_notes WHERE account_id = $1 ORDER BY id")),
    (
        "price_notices",
        sql!("SELECT id, cause, mailed_to, created_at FROM price_notices WHERE account_id = $1 ORDER BY id"),
    ),
    (
        "audit_log",
        sql!(
            "SELECT seq, ts AS happened_at, action, user_id, actor, ip, user_agent, outcome, reason, meta
             FROM audit_log WHERE account_id = $1 ORDER BY seq"
        ),
    ),
];

/// CDRs of an account behind this one, oldest first.
pub async fn cdrs_after(
    conn: &mut Conn,
    account: AccountId,
    (started_at, id): (i64, Uuid),
    limit: i64,
) -> Result<Vec<NamedRow>, DbError> {
    conn.all(
        sql!(
            "SELECT id, started_at, answered_at, ended_at, trunk_id, call_id, leg, calling, called, country,
                    destination_name, duration_seconds, billed_seconds, status, currency, charge AS charge_nanos
             FROM cdrs
             WHERE account_id = $1 AND started_at >= $2 AND (started_at > $2 OR id > $3)
             ORDER BY started_at, id LIMIT $4"
        ),
        params![account, started_at, id, limit],
    )
    .await
}

/// The files of an account, each with a name for people.
pub async fn files(conn: &mut Conn, account: AccountId) -> Result<Vec<(ContentHash, String)>, DbError> {
    conn.all(
        sql!(
            "SELECT d.content_hash, d.file_name FROM intake_documents d JOIN intakes i ON i.id = d.intake_id
             WHERE i.account_id = $1
             UNION ALL SELECT content_hash, file_name FROM vat_proofs WHERE account_id = $1
             UNION ALL SELECT content_hash, number || '.pdf' FROM invoices
                 WHERE account_id = $1 AND content_hash IS NOT NULL
             UNION ALL SELECT n.content_hash, n.number || '.pdf' FROM credit_notes n
                 JOIN invoices i ON i.id = n.invoice_id
                 WHERE i.account_id = $1 AND n.content_hash IS NOT NULL"
        ),
        params![account],
    )
    .await
}

/// Whether this is an account beside the operator's.
pub async fn is_customer(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM onboardings WHERE account_id = $1 AND NOT is_carrier)");
    let (found,) = conn.one(sql, params![account]).await?;
    Ok(found)
}

/// What a customer may have that must come to an end first.
const OPEN_MATTERS: [(&str, &str); 9] = [
    (
        "a balance or held money",
        sql!("SELECT EXISTS (SELECT 1 FROM ledger_balances WHERE account_id = $1 AND (balance <> 0 OR held <> 0))"),
    ),
    ("unpaid invoices", sql!("SELECT EXISTS (SELECT 1 FROM invoices WHERE account_id = $1 AND status = 'issued')")),
    (
        "payments that are not settled",
        sql!("SELECT EXISTS (SELECT 1 FROM payments WHERE account_id = $1 AND poll_at IS NOT NULL)"),
    ),
    ("open chargebacks", sql!("SELECT EXISTS (SELECT 1 FROM chargebacks WHERE account_id = $1 AND status = 'open')")),
    (
        "open call disputes",
        sql!("SELECT EXISTS (SELECT 1 FROM call_disputes WHERE account_id = $1 AND status = 'open')"),
    ),
    ("live calls", sql!("SELECT EXISTS (SELECT 1 FROM live_calls WHERE account_id = $1)")),
    ("active numbers", sql!("SELECT EXISTS (SELECT 1 FROM numbers WHERE account_id = $1 AND released_at IS NULL)")),
    (
        "open number orders",
        sql!(
            "SELECT EXISTS (SELECT 1 FROM number_orders
                            WHERE account_id = $1 AND status IN ('pending_documents', 'provisioning'))"
        ),
    ),
    ("trunks", sql!("SELECT EXISTS (SELECT 1 FROM trunks WHERE account_id = $1)")),
];

pub async fn open_matters(conn: &mut Conn, account: AccountId) -> Result<Vec<&'static str>, DbError> {
    let mut open = Vec::new();
    for (matter, sql) in OPEN_MATTERS {
        let (is_open,): (bool,) = conn.one(sql, params![account]).await?;
        if is_open {
            open.push(matter);
        }
    }
    // The invoice of a month needs the name, the address and the VAT id.
    if invoices::has_uninvoiced_usage(conn, account).await? {
        open.push("usage that is not invoiced yet");
    }
    Ok(open)
}
