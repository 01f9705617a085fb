//! The tables of invoices, credit notes, their numbers, and the months that are closed.

use std::ops::Range;

use uuid::Uuid;

use super::document::Facts;
use super::month::Month;
use super::rules::InvoiceStatus;
use super::types::InvoiceId;
use db::{Conn, DbError, params, row, sql};
use platform::outside::files::ContentHash;
use values::{AccountId, Currency, Date, Money, Time, text_enum};

text_enum! {
    /// What numbers are given out for.
    pub enum Series {
        Invoice = "invoice",
        CreditNote = "credit_note",
    }
}

row! {
    #[derive(Clone)]
    pub struct InvoiceRow {
        pub id: InvoiceId,
        pub account_id: AccountId,
        pub currency: Currency,
        pub month: Month,
        pub number: String,
        pub status: InvoiceStatus,
        pub issue_date: Date,
        pub supply_date: Date,
        pub due_date: Date,
        pub subtotal: i64,
        pub vat: i64,
        pub owed: i64,
        pub paid_in_before: i64,
        pub paid_at: Option<Time>,
        pub reason: Option<String>,
        pub facts: Facts,
        pub content_hash: Option<ContentHash>,
        pub created_at: Time,
    }
}

impl InvoiceRow {
    pub fn money(&self, nanos: i64) -> Money {
        Money::from_nanos(nanos, self.currency)
    }

    /// Neither part exceeds two billion units, so this cannot leave 64 bits.
    pub fn total(&self) -> Money {
        self.money(self.subtotal.saturating_add(self.vat))
    }
}

row! {
    #[derive(Clone)]
    pub struct CreditNoteRow {
        pub invoice_id: InvoiceId,
        pub number: String,
        pub issue_date: Date,
        pub facts: Facts,
        pub content_hash: Option<ContentHash>,
        pub created_at: Time,
    }
}

/// The next number of a series and year. The row stays locked until the transaction ends, and without a commit the
/// number was never taken.
pub async fn next_number(conn: &mut Conn, series: Series, issued: Date) -> Result<String, DbError> {
    let year = i64::from(issued.civil().year());
    let (last,): (i64,) = conn
        .one(
            sql!(
                "INSERT INTO invoice_numbers (series, year, last) VALUES ($1, $2, 1)
                 ON CONFLICT (series, year) DO UPDATE SET last = invoice_numbers.last + 1 RETURNING last"
            ),
            params![series, year],
        )
        .await?;
    let mark = match series {
        Series::Invoice => "",
        Series::CreditNote => "CN-",
    };
    Ok(format!("{mark}{year}-{last:06}"))
}

/// False when the month is invoiced already.
pub async fn insert(conn: &mut Conn, invoice: &InvoiceRow) -> Result<bool, DbError> {
    let inserted = conn
        .exec(
            sql!(
                "INSERT INTO invoices (id, account_id, currency, month, number, status, issue_date, supply_date, due_date,
                                       subtotal, vat, owed, paid_in_before, paid_at, facts, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
                 ON CONFLICT (account_id, currency, month) DO NOTHING"
            ),
            params![
                invoice.id,
                invoice.account_id,
                invoice.currency,
                invoice.month,
                invoice.number,
                invoice.status,
                invoice.issue_date,
                invoice.supply_date,
                invoice.due_date,
                invoice.subtotal,
                invoice.vat,
                invoice.owed,
                invoice.paid_in_before,
                invoice.paid_at,
                invoice.facts,
                invoice.created_at
            ],
        )
        .await?;
    Ok(inserted == 1)
}

pub async fn insert_credit_note(conn: &mut Conn, note: &CreditNoteRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO credit_notes (invoice_id, number, issue_date, facts, created_at) VALUES ($1, $2, $3, $4, $5)"
        ),
        params![note.invoice_id, note.number, note.issue_date, note.facts, note.created_at],
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, id: InvoiceId) -> Result<Option<InvoiceRow>, DbError> {
    conn.opt(sql!("SELECT ", InvoiceRow::COLS, " FROM invoices WHERE id = $1"), params![id]).await
}

/// The invoice, held until the transaction ends.
pub async fn find_to_change(conn: &mut Conn, id: InvoiceId) -> Result<Option<InvoiceRow>, DbError> {
    conn.opt(sql!("SELECT ", InvoiceRow::COLS, " FROM invoices WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await
}

pub async fn find_month(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    month: Month,
) -> Result<Option<(InvoiceId,)>, DbError> {
    conn.opt(
        sql!("SELECT id FROM invoices WHERE account_id = $1 AND currency = $2 AND month = $3"),
        params![account, currency, month],
    )
    .await
}

pub async fn find_credit_note(conn: &mut Conn, invoice: InvoiceId) -> Result<Option<CreditNoteRow>, DbError> {
    conn.opt(sql!("SELECT ", CreditNoteRow::COLS, " FROM credit_notes WHERE invoice_id = $1"), params![invoice]).await
}

/// Which invoices are listed: an account's or everybody's, in any state or one.
#[derive(Default)]
pub struct Wanted {
    pub account: Option<AccountId>,
    pub status: Option<InvoiceStatus>,
}

/// Invoices, newest first.
pub async fn list(
    conn: &mut Conn,
    wanted: &Wanted,
    after: (Time, InvoiceId),
    limit: i64,
) -> Result<Vec<InvoiceRow>, DbError> {
    let (at, id) = after;
    match wanted.account {
        Some(account) => {
            conn.all(
                sql!(
                    "SELECT ",
                    InvoiceRow::COLS,
                    " FROM invoices
                     WHERE account_id = $1 AND (status = $2 OR $2 IS NULL) AND (created_at, id) < ($3, $4)
                     ORDER BY created_at DESC, id DESC LIMIT $5"
                ),
                params![account, wanted.status, at, id, limit],
            )
            .await
        }
        None => {
            conn.all(
                sql!(
                    "SELECT ",
                    InvoiceRow::COLS,
                    " FROM invoices WHERE (status = $1 OR $1 IS NULL) AND (created_at, id) < ($2, $3)
                     ORDER BY created_at DESC, id DESC LIMIT $4"
                ),
                params![wanted.status, at, id, limit],
            )
            .await
        }
    }
}

/// Ends an invoice that its caller holds.
pub async fn end(conn: &mut Conn, id: InvoiceId, status: InvoiceStatus, reason: &str) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE invoices SET status = $2, reason = $3 WHERE id = $1"), params![id, status, reason]).await?;
    Ok(())
}

/// Writes what the document of a void invoice says; the one from before is shown no more.
pub async fn say_void(conn: &mut Conn, id: InvoiceId, facts: &Facts) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE invoices SET facts = $2, content_hash = NULL WHERE id = $1"), params![id, *facts]).await?;
    Ok(())
}

row! {
    /// An invoice that waits for money.
    pub struct Open {
        pub id: InvoiceId,
        pub account_id: AccountId,
        pub currency: Currency,
        pub issue_date: Date,
        pub owed: i64,
        pub paid_in_before: i64,
    }
}

/// Invoices that wait for money, in the order of their ids.
pub async fn open(conn: &mut Conn, after: Option<InvoiceId>, limit: i64) -> Result<Vec<Open>, DbError> {
    let after = after.unwrap_or(InvoiceId::new(Uuid::nil()));
    conn.all(
        sql!("SELECT ", Open::COLS, " FROM invoices WHERE status = 'issued' AND id > $1 ORDER BY id LIMIT $2"),
        params![after, limit],
    )
    .await
}

row! {
    /// A number order that came to nothing.
    pub struct Undone {
        pub id: Uuid,
        pub ordered_at: Time,
        pub ended_at: Time,
    }
}

/// An account's number orders that came to nothing, by when they were placed and when they ended, in the order of ids.
pub async fn undone_orders(
    conn: &mut Conn,
    account: AccountId,
    ordered: Range<Time>,
    ended: Range<Time>,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Undone>, DbError> {
    conn.all(
        sql!(
            "SELECT id, created_at, updated_at FROM number_orders
             WHERE account_id = $1 AND created_at >= $2 AND created_at < $3 AND status IN ('failed', 'cancelled')
               AND updated_at >= $4 AND updated_at < $5 AND id > $6
             ORDER BY id LIMIT $7"
        ),
        params![account, ordered.start, ordered.end, ended.start, ended.end, after, limit],
    )
    .await
}

/// The invoice of a month, held until the transaction ends.
pub async fn find_month_to_change(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    month: Month,
) -> Result<Option<InvoiceRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            InvoiceRow::COLS,
            " FROM invoices WHERE account_id = $1 AND currency = $2 AND month = $3 /*pg FOR UPDATE */"
        ),
        params![account, currency, month],
    )
    .await
}

/// Whether the customer has an invoice to pay.
pub async fn has_unpaid(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM invoices WHERE account_id = $1 AND status = 'issued')");
    let (found,) = conn.one(sql, params![account]).await?;
    Ok(found)
}

/// Writes when an invoice that its caller holds was paid.
pub async fn pay(conn: &mut Conn, id: InvoiceId, status: InvoiceStatus, now: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE invoices SET status = $2, paid_at = $3 WHERE id = $1"), params![id, status, now]).await?;
    Ok(())
}

/// Writes down the document that was made from these facts. One of an invoice that became void meanwhile is not kept.
pub async fn set_content(
    conn: &mut Conn,
    series: Series,
    id: InvoiceId,
    facts: &Facts,
    hash: ContentHash,
) -> Result<(), DbError> {
    match series {
        Series::Invoice => {
            let sql = sql!("UPDATE invoices SET content_hash = $2 WHERE id = $1 AND (status = 'void') = $3");
            conn.exec(sql, params![id, hash, facts.is_void]).await?;
        }
        Series::CreditNote => {
            let sql = sql!("UPDATE credit_notes SET content_hash = $2 WHERE invoice_id = $1");
            conn.exec(sql, params![id, hash]).await?;
        }
    }
    Ok(())
}

/// Whether any document has this content.
pub async fn names_file(conn: &mut Conn, hash: &ContentHash) -> Result<bool, DbError> {
    let (named,) = conn
        .one(
            sql!(
                "SELECT EXISTS (SELECT 1 FROM invoices WHERE content_hash = $1)
                     OR EXISTS (SELECT 1 FROM credit_notes WHERE content_hash = $1)"
            ),
            params![*hash],
        )
        .await?;
    Ok(named)
}

/// The last month that was closed.
pub async fn last_closed(conn: &mut Conn) -> Result<Option<Month>, DbError> {
    let (month,) = conn.one(sql!("SELECT MAX(month) FROM invoice_months"), params![]).await?;
    Ok(month)
}

pub async fn close(conn: &mut Conn, month: Month, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("INSERT INTO invoice_months (month, closed_at) VALUES ($1, $2) ON CONFLICT (month) DO NOTHING"),
        params![month, now],
    )
    .await?;
    Ok(())
}
