//! Price notices: what customers are told when their prices change, and proof that they were.
//!
//! Whatever changes prices calls [`announce`] in its transaction: an imported deck, the markup or status of an upstream, a
//! version of a rate plan, an assignment. Exchange rates do not: they move every day. A job compares the prices of both
//! times (`compare`), once for all customers with the same plans and notice, and stores the changes as files. A customer
//! with any change gets one notice: the notification `rates.changed`, a mail with the files, and what the change means for
//! its calls of the last 30 days (`impact`). Customers whose prices stay the same get nothing.
//!
//! - `jobs`: the job · `compare`, `files`, `impact`: what a notice says · `admin`: `/admin/price-notices`

mod admin;
mod compare;
mod files;
mod impact;
mod jobs;
mod store;
mod types;

pub use admin::list_all;
pub use jobs::{ANNOUNCE, DeckChange, announce_job};
pub use store::{names_file, purge, purge_comparisons};
pub use types::{ChangeCause, check_waiver};

use futures_util::StreamExt;
use hyper::header::HeaderValue;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use api::answer::{Attachment, Json, SheetFile};
use api::context::ReadCtx;
use api::input::{Path, Query};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use platform::outside::download::content_disposition;
use types::{FileQuery, NoticeFormat, PriceNotice, PriceNoticeDetails, PriceNoticeId};
use values::{AccountId, Date, RatePlanId, Time};

pub const CSV_TYPE: &str = "text/csv; charset=utf-8";
pub const XLSX_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// Whose prices may have changed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    Everyone,
    /// The customers that have a plan or are to have it.
    Plan(RatePlanId),
    Customer(AccountId),
}

/// The period of a change that takes effect at one moment.
pub fn moment(at: Time) -> (Time, Time) {
    (Time::from_millis(at.millis() - 1), at)
}

/// Enqueues the notices of a new deck, whose increases count when the notice of each customer ends, if it has one. The
/// period is from the last moment of the old rates until all new ones are in force.
pub async fn announce_deck(conn: &mut Conn, deck: DeckChange, period: (Time, Time)) -> Result<(), DbError> {
    enqueue(conn, ChangeCause::Deck, Audience::Everyone, period, Some(deck)).await
}

/// Enqueues the notices of a change. The period is from the last moment of the old prices until all new ones are in force.
pub async fn announce(
    conn: &mut Conn,
    cause: ChangeCause,
    audience: Audience,
    period: (Time, Time),
) -> Result<(), DbError> {
    enqueue(conn, cause, audience, period, None).await
}

async fn enqueue(
    conn: &mut Conn,
    cause: ChangeCause,
    audience: Audience,
    (from, to): (Time, Time),
    deck: Option<DeckChange>,
) -> Result<(), DbError> {
    let change_id: Uuid = conn.new_id();
    let change = jobs::Change { change_id, cause, audience, from: from.millis(), to: to.millis(), deck, after: None };
    change.enqueue(conn).await
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<PriceNoticeId>>,
) -> Result<Page<PriceNotice>, Problem> {
    let account = ctx.principal()?.account_id;
    let rows = store::list_of(&mut ctx, account, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), |row| PriceNotice::from(&row))
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<PriceNoticeId>) -> Result<Json<PriceNoticeDetails>, Problem> {
    let account = ctx.principal()?.account_id;
    let row = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(row.into()))
}

pub async fn file(
    mut ctx: ReadCtx,
    Path(id): Path<PriceNoticeId>,
    Query(query): Query<FileQuery>,
) -> Result<SheetFile, Problem> {
    let account = ctx.principal()?.account_id;
    let row = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    let ReadCtx { conn, request } = ctx;
    // The connection is not needed while the file streams.
    drop(conn);
    let format = query.format.unwrap_or(NoticeFormat::Csv);
    let (hash, content_type) = match format {
        NoticeFormat::Csv => (row.csv_hash, CSV_TYPE),
        NoticeFormat::Xlsx => (row.xlsx_hash, XLSX_TYPE),
    };
    let hash = hash.ok_or_else(|| {
        Problem::state_conflict(
            "The notice has no file: more than 100,000 prices change. List them with GET /rates/diff.",
        )
    })?;
    let (length, content) = request.app.files.open_read(&hash).await?.ok_or_else(Problem::not_found)?;
    let name = file_name(row.created_at, format);
    Ok(SheetFile(Attachment {
        content_type: HeaderValue::from_static(content_type),
        disposition: HeaderValue::from_str(&content_disposition(&name)).map_err(Problem::internal)?,
        length: Some(length),
        body: content.boxed(),
    }))
}

/// The name of the file of a notice.
fn file_name(notified_at: Time, format: NoticeFormat) -> String {
    format!("price-changes-{}.{format}", Date::from(notified_at))
}
