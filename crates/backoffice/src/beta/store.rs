//! The team's list of beta signups. Read-only.

use billing::card_check::CardStatus;
use db::{Conn, DbError, params, row, sql};
use identity::compliance::IntakeStatus;
use identity::onboarding::AccountStatus;
use values::{AccountId, Country, Email, Time};

row! {
    /// A signup with the status of its KYB, card and traffic profile.
    pub struct SignupRow {
        pub id: AccountId,
        pub legal_name: String,
        pub trading_name: Option<String>,
        pub country: Country,
        pub contact_email: Email,
        pub status: AccountStatus,
        pub waitlist_position: Option<i64>,
        pub kyb_status: Option<IntakeStatus>,
        pub card_status: Option<CardStatus>,
        pub traffic_profile_present: bool,
        pub created_at: Time,
    }
}

/// Signups, newest first, in one statement. KYB intake and card are chosen as in the customer's own view.
pub async fn list(
    conn: &mut Conn,
    status: Option<AccountStatus>,
    after: (Time, AccountId),
    limit: i64,
) -> Result<Vec<SignupRow>, DbError> {
    let (at, id) = after;
    let Some(status) = status else {
        return conn
            .all(
                sql!(
                    "SELECT o.account_id, a.company_name, a.trading_name, a.country, a.contact_email, o.beta_status,
                         CASE WHEN o.waitlist_ticket IS NOT NULL THEN
                             (SELECT COUNT(*) FROM onboardings w WHERE w.waitlist_ticket <= o.waitlist_ticket) END,
                         (SELECT i.status FROM intakes i WHERE i.account_id = o.account_id AND i.purpose = 'kyb'
                          ORDER BY CASE WHEN i.status = 'rejected' THEN 1 ELSE 0 END, i.created_at DESC, i.id DESC LIMIT 1),
                         (SELECT c.status FROM card_verifications c WHERE c.account_id = o.account_id
                          ORDER BY CASE WHEN c.status = 'verified' THEN 0 ELSE 1 END, c.created_at DESC, c.id DESC LIMIT 1),
                         EXISTS (SELECT 1 FROM traffic_profiles p WHERE p.account_id = o.account_id),
                         o.created_at
                     FROM onboardings o JOIN accounts a ON a.id = o.account_id
                     WHERE NOT o.is_carrier AND (o.created_at, o.account_id) < ($1, $2)
                     ORDER BY o.created_at DESC, o.account_id DESC LIMIT $3"
                ),
                params![at, id, limit],
            )
            .await;
    };
    conn.all(
        sql!(
            "SELECT o.account_id, a.company_name, a.trading_name, a.country, a.contact_email, o.beta_status,
                 CASE WHEN o.waitlist_ticket IS NOT NULL THEN
                     (SELECT COUNT(*) FROM onboardings w WHERE w.waitlist_ticket <= o.waitlist_ticket) END,
                 (SELECT i.status FROM intakes i WHERE i.account_id = o.account_id AND i.purpose = 'kyb'
                  ORDER BY CASE WHEN i.status = 'rejected' THEN 1 ELSE 0 END, i.created_at DESC, i.id DESC LIMIT 1),
                 (SELECT c.status FROM card_verifications c WHERE c.account_id = o.account_id
                  ORDER BY CASE WHEN c.status = 'verified' THEN 0 ELSE 1 END, c.created_at DESC, c.id DESC LIMIT 1),
                 EXISTS (SELECT 1 FROM traffic_profiles p WHERE p.account_id = o.account_id),
                 o.created_at
             FROM onboardings o JOIN accounts a ON a.id = o.account_id
             WHERE NOT o.is_carrier AND o.beta_status = $1 AND (o.created_at, o.account_id) < ($2, $3)
             ORDER BY o.created_at DESC, o.account_id DESC LIMIT $4"
        ),
        params![status, at, id, limit],
    )
    .await
}

/// Signups with a word in each of these ranges, newest first. The first range should be the narrowest; of the accounts
/// in it the first thousand count.
pub async fn with_words(
    conn: &mut Conn,
    ranges: &[(String, String); 3],
    status: Option<AccountStatus>,
    (at, id): (Time, AccountId),
    limit: i64,
) -> Result<Vec<SignupRow>, DbError> {
    let [first, second, third] = ranges;
    conn.all(
        sql!(
            "SELECT o.account_id, a.company_name, a.trading_name, a.country, a.contact_email, o.beta_status,
                 CASE WHEN o.waitlist_ticket IS NOT NULL THEN
                     (SELECT COUNT(*) FROM onboardings w WHERE w.waitlist_ticket <= o.waitlist_ticket) END,
                 (SELECT i.status FROM intakes i WHERE i.account_id = o.account_id AND i.purpose = 'kyb'
                  ORDER BY CASE WHEN i.status = 'rejected' THEN 1 ELSE 0 END, i.created_at DESC, i.id DESC LIMIT 1),
                 (SELECT c.status FROM card_verifications c WHERE c.account_id = o.account_id
                  ORDER BY CASE WHEN c.status = 'verified' THEN 0 ELSE 1 END, c.created_at DESC, c.id DESC LIMIT 1),
                 EXISTS (SELECT 1 FROM traffic_profiles p WHERE p.account_id = o.account_id),
                 o.created_at
             FROM onboardings o JOIN accounts a ON a.id = o.account_id
             WHERE o.account_id IN (SELECT account_id FROM account_words WHERE word >= $1 AND word < $2
                                    ORDER BY word, account_id LIMIT 1000)
             AND EXISTS (SELECT 1 FROM account_words w WHERE w.account_id = a.id AND w.word >= $3 AND w.word < $4)
             AND EXISTS (SELECT 1 FROM account_words w WHERE w.account_id = a.id AND w.word >= $5 AND w.word < $6)
             AND NOT o.is_carrier AND (o.beta_status = $7 OR $7 IS NULL) AND (o.created_at, o.account_id) < ($8, $9)
             ORDER BY o.created_at DESC, o.account_id DESC LIMIT $10"
        ),
        params![first.0, first.1, second.0, second.1, third.0, third.1, status, at, id, limit],
    )
    .await
}

pub async fn user_emails(conn: &mut Conn, account: AccountId) -> Result<Vec<(Email,)>, DbError> {
    conn.all(sql!("SELECT email FROM users WHERE account_id = $1 AND deleted_at IS NULL AND invited_email IS NULL ORDER BY id LIMIT 100"), params![account]).await
}
