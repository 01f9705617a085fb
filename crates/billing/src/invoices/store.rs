//! SQL of invoices, credit notes, number series and closed months.

use std::ops::Range;

use uuid::Uuid;

use super::document::Facts;
use super::month::Month;
use super::rules::InvoiceStatus;
use super::types::InvoiceId;
use db::{Conn, DbError, insert, params, row, sql};
use platform::outside::files::ContentHash;
use values::{AccountId, Currency, Date, Money, Time, text_enum};

text_enum! {
    /// A series of document numbers.
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

    /// Neither part exceeds two billion units, so the sum fits 64 bits.
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

/// The next number of a series and year. The row is locked until the transaction ends, and a rollback gives the number
/// back, so there are no gaps.
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

/// Inserts an invoice; false when the month has one already.
pub async fn insert(conn: &mut Conn, invoice: &InvoiceRow) -> Result<bool, DbError> {
    let inserted = insert!(
        conn,
        invoices {
            id: invoice.id,
            account_id: invoice.account_id,
            currency: invoice.currency,
            month: invoice.month,
            number: invoice.number,
            status: invoice.status,
            issue_date: invoice.issue_date,
            supply_date: invoice.supply_date,
            due_date: invoice.due_date,
            subtotal: invoice.subtotal,
            vat: invoice.vat,
            owed: invoice.owed,
            paid_in_before: invoice.paid_in_before,
            paid_at: invoice.paid_at,
            facts: invoice.facts,
            created_at: invoice.created_at
        },
        "ON CONFLICT (account_id, currency, month) DO NOTHING"
    )
    .await?;
    Ok(inserted == 1)
}

pub async fn insert_credit_note(conn: &mut Conn, note: &CreditNoteRow) -> Result<(), DbError> {
    insert!(
        conn,
        credit_notes {
            invoice_id: note.invoice_id,
            number: note.number,
            issue_date: note.issue_date,
            facts: note.facts,
            created_at: note.created_at
        }
    )
    .await?;
    Ok(())
}

pub async fn find(conn: &mut Conn, id: InvoiceId) -> Result<Option<InvoiceRow>, DbError> {
    conn.opt(sql!("SELECT ", InvoiceRow::COLS, " FROM invoices WHERE id = $1"), params![id]).await
}

/// The invoice, locked until the transaction ends.
pub async fn lock(conn: &mut Conn, id: InvoiceId) -> Result<Option<InvoiceRow>, DbError> {
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

/// Filter of an invoice list; `None` means any.
pub struct InvoiceFilter {
    pub account: Option<AccountId>,
    pub status: Option<InvoiceStatus>,
    pub from: Time,
}

/// Invoices, newest first. Each text reads along its own index.
pub async fn list(
    conn: &mut Conn,
    filter: &InvoiceFilter,
    (at, id): (Time, InvoiceId),
    limit: i64,
) -> Result<Vec<InvoiceRow>, DbError> {
    let from = filter.from;
    match (filter.account, filter.status) {
        (Some(account), None) => {
            let sql = sql!(
                "SELECT ",
                InvoiceRow::COLS,
                " FROM invoices WHERE account_id = $1 AND created_at >= $2 AND (created_at, id) < ($3, $4)
                 ORDER BY created_at DESC, id DESC LIMIT $5"
            );
            conn.all(sql, params![account, from, at, id, limit]).await
        }
        (Some(account), Some(status)) => {
            let sql = sql!(
                "SELECT ",
                InvoiceRow::COLS,
                " FROM invoices
                 WHERE account_id = $1 AND status = $2 AND created_at >= $3 AND (created_at, id) < ($4, $5)
                 ORDER BY created_at DESC, id DESC LIMIT $6"
            );
            conn.all(sql, params![account, status, from, at, id, limit]).await
        }
        (None, Some(status)) => {
            let sql = sql!(
                "SELECT ",
                InvoiceRow::COLS,
                " FROM invoices WHERE status = $1 AND created_at >= $2 AND (created_at, id) < ($3, $4)
                 ORDER BY created_at DESC, id DESC LIMIT $5"
            );
            conn.all(sql, params![status, from, at, id, limit]).await
        }
        (None, None) => {
            let sql = sql!(
                "SELECT ",
                InvoiceRow::COLS,
                " FROM invoices WHERE created_at >= $1 AND (created_at, id) < ($2, $3)
                 ORDER BY created_at DESC, id DESC LIMIT $4"
            );
            conn.all(sql, params![from, at, id, limit]).await
        }
    }
}

/// Sets the status of a locked invoice, with the reason.
pub async fn set_status(conn: &mut Conn, id: InvoiceId, status: InvoiceStatus, reason: &str) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE invoices SET status = $2, reason = $3 WHERE id = $1"), params![id, status, reason]).await?;
    Ok(())
}

/// Replaces the content of a void invoice's document; the PDF rendered before is dropped.
pub async fn set_void_facts(conn: &mut Conn, id: InvoiceId, facts: &Facts) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE invoices SET facts = $2, content_hash = NULL WHERE id = $1"), params![id, *facts]).await?;
    Ok(())
}

row! {
    /// An invoice that is not paid.
    pub struct UnpaidInvoice {
        pub id: InvoiceId,
        pub account_id: AccountId,
        pub currency: Currency,
        pub issue_date: Date,
        pub owed: i64,
        pub paid_in_before: i64,
    }
}

/// Unpaid invoices by id.
pub async fn list_unpaid(conn: &mut Conn, after: Option<InvoiceId>, limit: i64) -> Result<Vec<UnpaidInvoice>, DbError> {
    let after = after.unwrap_or(InvoiceId::new(Uuid::nil()));
    conn.all(
        sql!("SELECT ", UnpaidInvoice::COLS, " FROM invoices WHERE status = 'issued' AND id > $1 ORDER BY id LIMIT $2"),
        params![after, limit],
    )
    .await
}

row! {
    /// A number order that failed or was cancelled, or a credited call dispute.
    pub struct RefundedCharge {
        pub id: Uuid,
        pub charged_at: Time,
        pub refunded_at: Time,
    }
}

/// The account's failed and cancelled number orders, by when they were placed and ended, ordered by id.
pub async fn list_failed_orders(
    conn: &mut Conn,
    account: AccountId,
    ordered: Range<Time>,
    ended: Range<Time>,
    after: Uuid,
    limit: i64,
) -> Result<Vec<RefundedCharge>, DbError> {
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

/// The account's credited call disputes, by when the call was charged and the credit posted, ordered by id.
pub async fn list_credited_calls(
    conn: &mut Conn,
    account: AccountId,
    charged: Range<Time>,
    credited: Range<Time>,
    after: Uuid,
    limit: i64,
) -> Result<Vec<RefundedCharge>, DbError> {
    conn.all(
        sql!(
            "SELECT id, charged_at, resolved_at FROM call_disputes
             WHERE account_id = $1 AND charged_at >= $2 AND charged_at < $3 AND status = 'credited'
               AND resolved_at >= $4 AND resolved_at < $5 AND id > $6
             ORDER BY id LIMIT $7"
        ),
        params![account, charged.start, charged.end, credited.start, credited.end, after, limit],
    )
    .await
}

/// The invoice of a month, locked until the transaction ends.
pub async fn lock_month(
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

/// Whether the account has an unpaid invoice.
pub async fn has_unpaid(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let sql = sql!("SELECT EXISTS (SELECT 1 FROM invoices WHERE account_id = $1 AND status = 'issued')");
    let (found,) = conn.one(sql, params![account]).await?;
    Ok(found)
}

/// Marks a locked invoice paid.
pub async fn mark_paid(conn: &mut Conn, id: InvoiceId, status: InvoiceStatus) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE invoices SET status = $2, paid_at = $3 WHERE id = $1"), params![id, status, conn.now()])
        .await?;
    Ok(())
}

/// Stores the hash of a rendered PDF. Skipped if the invoice was voided meanwhile, since the PDF is then outdated.
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

/// Whether an invoice or credit note has this content.
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

/// The last closed month.
pub async fn last_closed_month(conn: &mut Conn) -> Result<Option<Month>, DbError> {
    let (month,) = conn.one(sql!("SELECT MAX(month) FROM invoice_months"), params![]).await?;
    Ok(month)
}

pub async fn close_month(conn: &mut Conn, month: Month) -> Result<(), DbError> {
    insert!(conn, invoice_months { month, closed_at: conn.now() }, "ON CONFLICT (month) DO NOTHING").await?;
    Ok(())
}
