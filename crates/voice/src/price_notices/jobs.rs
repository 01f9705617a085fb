//! The job that notifies the customers of a price change, in batches.
//!
//! What a batch needs is computed before its transaction, which then stores the notices with their notifications and
//! mails, enqueues the next batch and ends the job. After a crash the batch is repeated: comparisons are stored by then,
//! and a customer has at most one notice of a change.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use rating::Notice;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::compare::{self, Comparison, MAX_ROWS, Period};
use super::impact::Impact;
use super::store::{self, ComparisonKey, ComparisonRow, NoticeRow};
use super::types::{ChangeCause, NoticeFormat, PriceNoticeId};
use super::{Audience, CSV_TYPE, XLSX_TYPE, file_name, files};
use crate::cdrs::{Days, calls_of};
use db::{Conn, DbError, Entropy};
use identity::balance::CURRENCY;
use identity::notifications::{self, NotificationPayload, RatesChanged};
use identity::onboarding;
use platform::app::App;
use platform::jobs::{self, JobContext, JobError, Kind};
use platform::mail::{self, Attachment, MAX_ATTACHED_BYTES, PriceLine, ReadableTime};
use platform::outside::files::StoredFile;
use platform::routing::plans::{self, InForce, PlanTimeline, Plans};
use platform::routing::tariff::PastTime;
use values::{AccountId, List, Money, RatePlanVersionId, Rfc3339, Time};

pub const ANNOUNCE: Kind = Kind::new("price_notices.announce");

/// Customers in one transaction.
const BATCH: i64 = 100;
/// Destinations that a mail names.
const MAILED_DESTINATIONS: usize = 10;
/// Far above the size of any table of [`MAX_ROWS`] rows.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// A price change, and the last customer that was notified of it. Times in milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    pub change_id: Uuid,
    pub cause: ChangeCause,
    pub audience: Audience,
    pub from: i64,
    pub to: i64,
    /// The deck that changes the prices, if one does.
    #[serde(default)]
    pub deck: Option<DeckChange>,
    pub after: Option<AccountId>,
}

/// A deck that came into force.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DeckChange {
    /// In milliseconds.
    pub at: i64,
    /// Its increases need no notice.
    pub is_waived: bool,
}

/// What a customer is notified of.
struct Prepared {
    account: AccountId,
    /// When all new prices are in force for the customer.
    to: Time,
    comparison: Arc<ComparisonRow>,
    impact: Impact,
}

/// A batch of customers; `last` unless there are no more.
struct Batch {
    notices: Vec<Prepared>,
    last: Option<AccountId>,
}

impl Change {
    /// Enqueues the job that notifies the next batch.
    pub async fn enqueue(&self, conn: &mut Conn) -> Result<(), DbError> {
        let payload = serde_json::to_value(self).map_err(DbError::other)?;
        jobs::enqueue(conn, ANNOUNCE, payload).await.map(drop)
    }

    fn period(&self) -> (Time, Time) {
        (Time::from_millis(self.from), Time::from_millis(self.to))
    }

    /// The deck that changes the prices, if one does, for customers with this notice. To others it is like any change.
    fn deck_for(&self, notice: &Notice) -> Option<DeckChange> {
        self.deck.filter(|_| notice.is_any())
    }

    /// When increases count at the earliest for customers with this notice.
    fn increases_since(&self, notice: &Notice) -> Time {
        let bound = self.deck_for(notice).filter(|deck| !deck.is_waived).map(|deck| notice.end(deck.at));
        Time::from_millis(bound.unwrap_or(self.from + 1))
    }

    async fn customers(&self, conn: &mut Conn) -> Result<Vec<AccountId>, DbError> {
        let customers = match self.audience {
            Audience::Everyone => onboarding::approved_customers(conn, self.after, BATCH).await?,
            Audience::Plan(plan) => plans::customers_after(conn, plan, self.after, BATCH).await?,
            Audience::Customer(customer) => vec![(customer,)],
        };
        Ok(customers.into_iter().map(|(customer,)| customer).collect())
    }

    /// Which comparison a customer shares with others.
    async fn key(&self, conn: &mut Conn, cached: &Plans, customer: AccountId) -> Result<ComparisonKey, DbError> {
        let (from, to) = self.period();
        let timeline = PlanTimeline::of_account(conn, customer).await?;
        let version = |found: Option<InForce>| found.map_or(Uuid::nil(), |in_force| in_force.version_id.uuid());
        let notice = |found: Option<InForce>| cached.notice(customer, found.map(|in_force| in_force.rate_plan_id));
        let after = timeline.at(customer, PastTime::known_now(to));
        // Another plan is announced on its own.
        let before = match self.deck_for(&notice(after)) {
            Some(_) => after,
            None => timeline.at(customer, PastTime::known_now(from)),
        };
        // What the plan says since longer ago is not new.
        let first = Time::from_millis(self.from + 1);
        Ok(ComparisonKey {
            change_id: self.change_id,
            notices: (notice(before), notice(after)),
            from_version: version(before),
            to_version: version(after),
            since: after.map_or(first, |in_force| in_force.since.max(first)),
        })
    }
}

pub async fn announce_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let change: Change = serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let batch = prepare(&context, &change).await?;
    let notified = context.db.tx((context.clone(), change, batch), |conn, (context, change, batch)| {
        Box::pin(notify_batch(conn, context, change, batch))
    });
    notified.await
}

async fn prepare(context: &JobContext<App>, change: &Change) -> Result<Batch, JobError> {
    let cached = context.app.plans.current(&context.db).await?;
    let keyed = context.db.report((change.clone(), cached), |conn, (change, cached)| {
        Box::pin(async move {
            let mut keyed = Vec::new();
            for customer in change.customers(conn).await? {
                keyed.push((customer, change.key(conn, cached, customer).await?));
            }
            Ok::<_, DbError>(keyed)
        })
    });
    let keyed = keyed.await?;
    let is_full = keyed.len() as i64 == BATCH;
    let last = keyed.last().filter(|_| is_full).map(|(customer, _)| *customer);
    let (mut comparisons, mut notices) = (HashMap::new(), Vec::new());
    let days = Days::before(context.clock.now());
    for (account, key) in keyed {
        let comparison = match comparisons.get(&key) {
            Some(known) => Arc::clone(known),
            None => {
                let new = comparison(context, change, &key).await?;
                Arc::clone(comparisons.entry(key.clone()).or_insert(new))
            }
        };
        if comparison.is_empty() {
            continue;
        }
        let (_, mut to) = change.period();
        if comparison.increased > 0 {
            to = to.max(change.increases_since(&key.notices.1));
        }
        let calls = calls_of(&mut *context.db.read().await?, account, days).await?;
        let impact = Impact::of(calls, days, &comparison.destinations.0);
        notices.push(Prepared { account, to, comparison, impact });
    }
    Ok(Batch { notices, last })
}

/// The stored comparison, or a new one.
async fn comparison(
    context: &JobContext<App>,
    change: &Change,
    key: &ComparisonKey,
) -> Result<Arc<ComparisonRow>, JobError> {
    if let Some(known) = store::find_comparison(&mut *context.db.read().await?, key).await? {
        return Ok(Arc::new(known));
    }
    let new = compute(context, change, key).await?;
    let stored = context.db.tx((new, key.clone()), |conn, (new, key)| {
        Box::pin(async move {
            store::insert_comparison(conn, new).await?;
            store::find_comparison(conn, key).await
        })
    });
    let stored: Option<ComparisonRow> = stored.await?;
    Ok(Arc::new(stored.ok_or_else(|| JobError::Failed("the comparison was not stored".into()))?))
}

async fn compute(context: &JobContext<App>, change: &Change, key: &ComparisonKey) -> Result<ComparisonRow, JobError> {
    let app = &context.app;
    let (from, to) = change.period();
    let cached = app.plans.current(&app.db).await?;
    let plans = (compiled(app, &cached, key.from_version).await?, compiled(app, &cached, key.to_version).await?);
    let increases_since = change.increases_since(&key.notices.1);
    let period = Period {
        from,
        to: to.max(increases_since),
        plans,
        since: key.since,
        notices: key.notices.clone(),
        deck_at: change.deck_for(&key.notices.1).map(|deck| Time::from_millis(deck.at)),
        increases_since,
    };
    let comparison = compare::compare(app, period).await?;
    let (counts, destinations) = (comparison.counts, List(comparison.destinations()));
    let files = store_files(app, comparison).await?;
    let (csv, xlsx) = files.unzip();
    let size = |file: Option<StoredFile>| file.map(|file| i64::try_from(file.size_bytes).unwrap_or(i64::MAX));
    let now = context.clock.now();
    Ok(ComparisonRow {
        id: Entropy.uuid(now),
        change_id: key.stored_change(),
        from_version: key.from_version,
        to_version: key.to_version,
        since: key.since,
        added: counts.added,
        removed: counts.removed,
        increased: counts.increased,
        decreased: counts.decreased,
        csv_hash: csv.map(|file| file.hash),
        csv_bytes: size(csv),
        xlsx_hash: xlsx.map(|file| file.hash),
        xlsx_bytes: size(xlsx),
        destinations,
        created_at: now,
    })
}

/// The version of a plan; none for the list price.
async fn compiled(app: &App, cached: &Plans, version: Uuid) -> Result<Option<Arc<rating::Plan>>, DbError> {
    if version.is_nil() {
        return Ok(None);
    }
    cached.compiled(&mut *app.db.read().await?, RatePlanVersionId::new(version)).await.map(Some)
}

/// Stores the changes as CSV and XLSX, unless there are none or too many.
async fn store_files(app: &App, comparison: Comparison) -> Result<Option<(StoredFile, StoredFile)>, JobError> {
    let total = comparison.counts.total();
    if total == 0 || total > MAX_ROWS as i64 {
        return Ok(None);
    }
    let written = tokio::task::spawn_blocking(move || {
        files::xlsx(&comparison.rows).map(|xlsx| (files::csv(&comparison.rows), xlsx))
    });
    let (csv, xlsx) = written.await.map_err(failed)?.map_err(failed)?;
    Ok(Some((put(app, csv).await?, put(app, xlsx).await?)))
}

async fn put(app: &App, bytes: Vec<u8>) -> Result<StoredFile, JobError> {
    let content = stream::iter([Ok::<_, std::io::Error>(Bytes::from(bytes))]);
    app.files.put(content, MAX_FILE_BYTES).await.map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> JobError {
    JobError::Failed(error.to_string())
}

async fn notify_batch(
    conn: &mut Conn,
    context: &JobContext<App>,
    change: &Change,
    batch: &Batch,
) -> Result<(), JobError> {
    for notice in &batch.notices {
        notify(conn, &context.app, change, notice).await?;
    }
    if let Some(last) = batch.last {
        Change { after: Some(last), ..change.clone() }.enqueue(conn).await?;
    }
    context.finish_in(conn).await
}

/// Stores a notice, with its notification and its mails, unless the customer has one of this change.
async fn notify(conn: &mut Conn, app: &App, change: &Change, prepared: &Prepared) -> Result<(), DbError> {
    let Prepared { account, to, comparison, impact } = prepared;
    let ((from, _), to) = (change.period(), *to);
    let now = conn.now();
    let id: PriceNoticeId = conn.new_id();
    let notice = NoticeRow {
        id,
        account_id: *account,
        change_id: change.change_id,
        comparison_id: comparison.id,
        cause: change.cause,
        from_at: from,
        to_at: to,
        added: comparison.added,
        removed: comparison.removed,
        increased: comparison.increased,
        decreased: comparison.decreased,
        csv_hash: comparison.csv_hash,
        xlsx_hash: comparison.xlsx_hash,
        impact: impact.clone(),
        mailed_to: List(Vec::new()),
        created_at: now,
    };
    if !store::insert(conn, &notice).await? {
        return Ok(());
    }
    let notification = RatesChanged { from: Rfc3339(from), to: Rfc3339(to), price_notice_id: id.uuid() };
    notifications::notify(conn, *account, &notification).await?;
    let attachments = attachments(comparison, now);
    let mail = mail_of(&notice, &attachments);
    let code = RatesChanged::CODE;
    let mailed_to = notifications::send_mail_with(conn, app, *account, code, &mail, &attachments).await?;
    store::set_mailed_to(conn, id, &List(mailed_to)).await
}

/// The files that fit a mail, the smaller one first.
fn attachments(comparison: &ComparisonRow, now: Time) -> Vec<Attachment> {
    let ComparisonRow { csv_hash, csv_bytes, xlsx_hash, xlsx_bytes, .. } = comparison;
    let all =
        [(xlsx_hash, xlsx_bytes, NoticeFormat::Xlsx, XLSX_TYPE), (csv_hash, csv_bytes, NoticeFormat::Csv, CSV_TYPE)];
    let mut left = MAX_ATTACHED_BYTES;
    let fitting = all.into_iter().filter_map(|(hash, bytes, format, content_type)| {
        let (hash, bytes) = ((*hash)?, u64::try_from((*bytes)?).ok()?);
        left = left.checked_sub(bytes)?;
        Some(Attachment {
            hash: hash.to_string(),
            file_name: file_name(now, format),
            content_type: content_type.to_owned(),
        })
    });
    fitting.collect()
}

fn mail_of(notice: &NoticeRow, attachments: &[Attachment]) -> mail::RatesChanged {
    // To the cent, for people.
    let cents = |nanos: i64| {
        let exact = Money::from_nanos(nanos, CURRENCY);
        Money::from_minor(exact.minor(), CURRENCY).unwrap_or(exact)
    };
    let impact = &notice.impact;
    let lines = impact.destinations.iter().take(MAILED_DESTINATIONS).map(|one| PriceLine {
        destination: one.name.clone(),
        before: cents(one.before),
        after: one.after.map(cents),
    });
    mail::RatesChanged {
        from: ReadableTime(notice.from_at),
        to: ReadableTime(notice.to_at),
        increased: notice.increased,
        decreased: notice.decreased,
        added: notice.added,
        removed: notice.removed,
        calls: impact.calls,
        before: cents(impact.before),
        after: cents(impact.after),
        lines: lines.collect(),
        files: attachments.len(),
    }
}
