//! SQL of VAT profiles, VAT id checks and VAT evidence.

use uuid::Uuid;

use super::rules::VatTreatment;
use db::{Conn, DbError, insert, params, row, sql, table_row};
use platform::outside::files::ContentHash;
use values::{AccountId, Time};

/// Documents of VAT evidence per account.
pub const MAX_EVIDENCE_DOCUMENTS: usize = 20;

row! {
    #[derive(Clone, Default)]
    pub struct Profile {
        pub treatment: Option<VatTreatment>,
        /// The VAT id for which reverse charge was decided.
        pub treatment_vat_id: Option<String>,
        pub is_reseller: bool,
        pub checked_id: Option<String>,
        pub checked_at: Option<Time>,
        pub failures: i64,
    }
}

impl Profile {
    /// The team's decision for an account that has this VAT id. Reverse charge ends with the id it was decided for, as
    /// in the view `customers`.
    pub fn treatment_for(&self, vat_id: Option<&str>) -> Option<VatTreatment> {
        let is_of_this_id = vat_id.is_some() && self.treatment_vat_id.as_deref() == vat_id;
        self.treatment.filter(|treatment| *treatment != VatTreatment::ReverseCharge || is_of_this_id)
    }
}

/// The VAT profile of an account; the default if it has no row.
pub async fn profile(conn: &mut Conn, account: AccountId) -> Result<Profile, DbError> {
    let sql = sql!("SELECT ", Profile::COLS, " FROM vat_profiles WHERE account_id = $1");
    Ok(conn.opt(sql, params![account]).await?.unwrap_or_default())
}

/// Stores the team's decisions.
pub async fn set_terms(conn: &mut Conn, account: AccountId, terms: &Profile) -> Result<(), DbError> {
    insert!(
        conn,
        vat_profiles {
            account_id: account,
            treatment: terms.treatment,
            treatment_vat_id: terms.treatment_vat_id,
            is_reseller: terms.is_reseller,
            failures: 0i64
        },
        "ON CONFLICT (account_id) DO UPDATE SET treatment = excluded.treatment,
             treatment_vat_id = excluded.treatment_vat_id, is_reseller = excluded.is_reseller"
    )
    .await?;
    Ok(())
}

/// Schedules a check of the account's VAT id, at once.
pub async fn request_check(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    insert!(
        conn,
        vat_profiles { account_id: account, is_reseller: false, next_check_at: conn.now(), failures: 0i64 },
        "ON CONFLICT (account_id) DO UPDATE SET next_check_at = excluded.next_check_at, failures = 0"
    )
    .await?;
    Ok(())
}

/// The same unless a check is due, under way or waiting to be tried again. Says whether it was scheduled.
pub async fn request_check_again(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let scheduled = insert!(
        conn,
        vat_profiles { account_id: account, is_reseller: false, next_check_at: conn.now(), failures: 0i64 },
        "ON CONFLICT (account_id) DO UPDATE SET next_check_at = excluded.next_check_at, failures = 0
             WHERE vat_profiles.next_check_at IS NULL
                 OR (vat_profiles.next_check_at > excluded.next_check_at AND vat_profiles.failures = 0)"
    )
    .await?;
    Ok(scheduled == 1)
}

/// Accounts whose check is due, longest due first.
pub async fn list_due(conn: &mut Conn, limit: i64) -> Result<Vec<(AccountId,)>, DbError> {
    conn.all(
        sql!("SELECT account_id FROM vat_profiles WHERE next_check_at <= $1 ORDER BY next_check_at LIMIT $2"),
        params![conn.now(), limit],
    )
    .await
}

/// Stores that a check was answered.
pub async fn record_answer(
    conn: &mut Conn,
    account: AccountId,
    vat_id: &str,
    next: Option<Time>,
) -> Result<(), DbError> {
    insert!(conn, vat_profiles { account_id: account, is_reseller: false, checked_id: vat_id, checked_at: conn.now(), next_check_at: next, failures: 0i64 }, "ON CONFLICT (account_id) DO UPDATE SET checked_id = excluded.checked_id, checked_at = excluded.checked_at, next_check_at = excluded.next_check_at, failures = 0")
    .await?;
    Ok(())
}

/// Stores that a check was not answered, or that there was nothing to check.
pub async fn reschedule(conn: &mut Conn, account: AccountId, next: Option<Time>) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE vat_profiles SET next_check_at = $2, failures = failures + 1 WHERE account_id = $1"),
        params![account, next],
    )
    .await?;
    Ok(())
}

/// An answer of VIES about a VAT id.
pub struct NewCheck<'h> {
    pub id: Uuid,
    pub account: AccountId,
    pub vat_id: &'h str,
    pub is_valid: bool,
    pub request_identifier: Option<&'h str>,
    pub name: Option<&'h str>,
    pub address: Option<&'h str>,
}

pub async fn insert_check(conn: &mut Conn, check: &NewCheck<'_>) -> Result<(), DbError> {
    insert!(
        conn,
        vat_checks {
            id: check.id,
            account_id: check.account,
            vat_id: check.vat_id,
            is_valid: check.is_valid,
            request_identifier: check.request_identifier,
            name: check.name,
            address: check.address,
            checked_at: conn.now()
        }
    )
    .await?;
    Ok(())
}

table_row! {
    #[derive(Clone)]
    pub struct EvidenceRow in vat_proofs {
        pub id: Uuid,
        pub account_id: AccountId,
        pub file_name: String,
        pub content_type: String,
        pub size_bytes: i64,
        pub content_hash: ContentHash,
        pub uploaded_at: Time,
    }
}

/// The account's VAT evidence, oldest first.
pub async fn list_evidence(conn: &mut Conn, account: AccountId) -> Result<Vec<EvidenceRow>, DbError> {
    conn.all(
        sql!("SELECT ", EvidenceRow::COLS, " FROM vat_proofs WHERE account_id = $1 ORDER BY uploaded_at, id LIMIT 100"),
        params![account],
    )
    .await
}

pub async fn insert_evidence(conn: &mut Conn, document: &EvidenceRow) -> Result<(), DbError> {
    conn.insert(document).await?;
    Ok(())
}

/// Whether a document of VAT evidence has this content.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let (named,) =
        conn.one(sql!("SELECT EXISTS (SELECT 1 FROM vat_proofs WHERE content_hash = $1)"), params![*hash]).await?;
    Ok(named)
}
