//! Table `accounts`, and the search index `account_words`.

use uuid::Uuid;

use super::search_words::search_words;
use super::types::{Address, OnboardingStatus, VatStatus};
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Country, E164, Email, Locale, Text, Time};

row! {
    #[derive(Clone)]
    pub struct AccountRow {
        pub id: AccountId,
        pub company_name: Text<1, 200>,
        pub locale: Locale,
        pub postal_address: Option<Address>,
        pub invoice_address: Option<Address>,
        pub vat_id: Option<Text<1, 20>>,
        pub vat_status: VatStatus,
        pub onboarding_status: OnboardingStatus,
        pub manager_id: Option<Uuid>,
        pub manager_name: Option<String>,
        pub manager_email: Option<String>,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

impl AccountRow {
    /// Its columns, of an account `a` with what is joined.
    pub const SELECTED: &str =
        "a.id, a.company_name, a.locale, a.postal_address, a.invoice_address, a.vat_id, a.vat_status,
                                o.onboarding_status, m.id, m.name, m.email, a.created_at, a.updated_at";
    /// What an account `a` is joined with.
    pub const JOINED: &str = " JOIN onboardings o ON o.account_id = a.id
                               LEFT JOIN account_managers m ON m.id = a.account_manager_id AND m.is_active ";
}

pub struct NewAccount {
    pub id: AccountId,
    pub company_name: Text<1, 200>,
    pub trading_name: Option<String>,
    pub country: Country,
    pub contact_name: String,
    pub contact_email: Email,
    pub contact_phone: Option<E164>,
}

pub async fn insert(conn: &mut Conn, account: &NewAccount) -> Result<(), DbError> {
    insert!(
        conn,
        accounts {
            id: account.id,
            company_name: account.company_name,
            trading_name: account.trading_name,
            country: account.country,
            locale: Locale::default(),
            vat_status: VatStatus::NotVerified,
            contact_name: account.contact_name,
            contact_email: account.contact_email,
            contact_phone: account.contact_phone,
            created_at: conn.now(),
            updated_at: conn.now()
        }
    )
    .await?;
    index_search_words(conn, account.id).await
}

/// Replaces the search words of an account.
pub async fn index_search_words(conn: &mut Conn, id: AccountId) -> Result<(), DbError> {
    let (company, trading, contact, email): (String, Option<String>, String, String) = conn
        .one(
            sql!("SELECT company_name, trading_name, contact_name, contact_email FROM accounts WHERE id = $1"),
            params![id],
        )
        .await?;
    delete_search_words(conn, id).await?;
    for word in search_words([company.as_str(), trading.as_deref().unwrap_or_default(), &contact, &email]) {
        insert!(conn, account_words { word, account_id: id }).await?;
    }
    Ok(())
}

async fn delete_search_words(conn: &mut Conn, id: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM account_words WHERE account_id = $1"), params![id]).await?;
    Ok(())
}

/// Assigns an account manager, or none.
pub async fn assign_manager(conn: &mut Conn, id: AccountId, manager: Option<Uuid>) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE accounts SET account_manager_id = $2, updated_at = $3 WHERE id = $1"),
        params![id, manager, conn.now()],
    )
    .await?;
    Ok(())
}

/// Where the contact of an erased account is: nowhere.
pub const NO_MAIL: &str = "erased@no-mail.invalid";

/// Whether [`erase`] was called before.
pub async fn is_erased(conn: &mut Conn, id: AccountId) -> Result<bool, DbError> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM accounts WHERE id = $1 AND contact_email = $2)");
    let (is_erased,) = conn.one(sql, params![id, NO_MAIL]).await?;
    Ok(is_erased)
}

/// Removes names, addresses and contact of an account. Its country stays: it decided about VAT.
pub async fn erase(conn: &mut Conn, id: AccountId) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE accounts SET company_name = 'Erased customer', trading_name = NULL, postal_address = NULL,
                 invoice_address = NULL, vat_id = NULL, contact_name = 'Erased contact', contact_email = $2,
                 contact_phone = NULL, updated_at = $3
             WHERE id = $1"
        ),
        params![id, NO_MAIL, conn.now()],
    )
    .await?;
    index_search_words(conn, id).await
}

/// Deletes an account in the transaction that inserted it.
pub async fn delete_new(conn: &mut Conn, id: AccountId) -> Result<(), DbError> {
    delete_search_words(conn, id).await?;
    conn.exec(sql!("DELETE FROM accounts WHERE id = $1"), params![id]).await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, id: AccountId) -> Result<Option<AccountRow>, DbError> {
    conn.opt(
        sql!("SELECT ", AccountRow::SELECTED, " FROM accounts a", AccountRow::JOINED, "WHERE a.id = $1"),
        params![id],
    )
    .await
}

/// Signup details that the customer may complete later.
pub struct Details<'d> {
    pub trading_name: Option<&'d str>,
    pub country: Country,
    pub contact_name: &'d str,
    pub contact_phone: Option<E164>,
}

pub async fn set_details(conn: &mut Conn, id: AccountId, details: &Details<'_>) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE accounts SET trading_name = $2, country = $3, contact_name = $4, contact_phone = $5, updated_at = $6
             WHERE id = $1"
        ),
        params![id, details.trading_name, details.country, details.contact_name, details.contact_phone, conn.now()],
    )
    .await?;
    index_search_words(conn, id).await
}

row! {
    /// Contact person of an account, who gets the mail about it.
    pub struct Contact {
        pub contact_email: Email,
        pub contact_name: String,
    }
}

pub async fn contact(conn: &mut Conn, id: AccountId) -> Result<Option<Contact>, DbError> {
    conn.opt(sql!("SELECT ", Contact::COLS, " FROM accounts WHERE id = $1"), params![id]).await
}

pub async fn set_contact(conn: &mut Conn, id: AccountId, contact: &Contact) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE accounts SET contact_email = $2, contact_name = $3, updated_at = $4 WHERE id = $1"),
        params![id, contact.contact_email, contact.contact_name, conn.now()],
    )
    .await?;
    index_search_words(conn, id).await
}

/// Locks the account row, so that changes to what belongs to the account run one after the other.
pub async fn lock(conn: &mut Conn, id: AccountId) -> Result<(), DbError> {
    let _: Option<(AccountId,)> =
        conn.opt(sql!("SELECT id FROM accounts WHERE id = $1 /*pg FOR NO KEY UPDATE */"), params![id]).await?;
    Ok(())
}

/// The account, locked until the transaction ends, so that two updates of different fields do not overwrite each other.
pub async fn find_for_update(conn: &mut Conn, id: AccountId) -> Result<Option<AccountRow>, DbError> {
    // Not in one statement: whoever waited for the lock would see what is joined as it was before.
    lock(conn, id).await?;
    find(conn, id).await
}

/// Writes the fields that a customer may change.
pub async fn update(conn: &mut Conn, account: &AccountRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE accounts SET company_name = $2, locale = $3, postal_address = $4, invoice_address = $5, vat_id = $6,
                                 vat_status = $7, updated_at = $8
             WHERE id = $1"
        ),
        params![
            account.id,
            account.company_name,
            account.locale,
            account.postal_address,
            account.invoice_address,
            account.vat_id,
            account.vat_status,
            account.updated_at
        ],
    )
    .await?;
    Ok(())
}

row! {
    /// What decides about an account's VAT and is printed on its invoices.
    #[derive(Clone)]
    pub struct TaxStanding {
        pub company_name: String,
        pub country: Country,
        pub postal_address: Option<Address>,
        pub invoice_address: Option<Address>,
        pub vat_id: Option<String>,
        pub vat_status: VatStatus,
    }
}

/// Fixes the country of a company that never said where it is, as that of its address, and returns it: VAT depends on it,
/// and an address can be changed at any time.
pub async fn settle_country(conn: &mut Conn, id: AccountId) -> Result<Option<Country>, DbError> {
    let address = tax_standing(conn, id).await?.and_then(|standing| standing.postal_address);
    let Some(Address { country, .. }) = address else { return Ok(None) };
    let sql = sql!("UPDATE accounts SET country = $2, updated_at = $3 WHERE id = $1 AND country = $4");
    let settled = conn.exec(sql, params![id, country, conn.now(), Country::UNKNOWN]).await?;
    Ok((settled > 0).then_some(country))
}

pub async fn tax_standing(conn: &mut Conn, id: AccountId) -> Result<Option<TaxStanding>, DbError> {
    conn.opt(sql!("SELECT ", TaxStanding::COLS, " FROM accounts WHERE id = $1"), params![id]).await
}

/// Sets the VAT status, unless the VAT id or its status changed since `seen` was read.
pub async fn move_vat_status(
    conn: &mut Conn,
    id: AccountId,
    seen: &TaxStanding,
    to: VatStatus,
) -> Result<bool, DbError> {
    let now = conn.now();
    let moved = conn
        .exec(
            sql!(
                "UPDATE accounts SET vat_status = $4, updated_at = CASE WHEN vat_status = $4 THEN updated_at ELSE $5 END
                 WHERE id = $1 AND vat_status = $3 AND COALESCE(vat_id, '') = COALESCE($2, '')"
            ),
            params![id, seen.vat_id, seen.vat_status, to, now],
        )
        .await?;
    Ok(moved == 1)
}
