//! Checks of VAT ids at VIES.
//!
//! The request is made outside of any transaction; the result is stored if the account still has the same id. One job
//! at a time makes all checks that are due, some concurrently, so that however many are requested while VIES hangs, they
//! take one slot of the job runner.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::Instrument;

use super::rules;
use super::store::{self, NewCheck};
use db::{Conn, DbError, Entropy};
use identity::accounts::{self, TaxStanding, VatStatus};
use identity::notifications::{VatInvalid, VatValid, notify};
use platform::app::App;
use platform::audit::{self, Entry, Outcome};
use platform::jobs::{self, Class, JobContext, JobError, Kind};
use platform::outside::vies::Verdict;
use values::{AccountId, Time, VatId};

/// Starts a round if a check is due; enqueued every five minutes.
pub const CHECK: Kind = Kind::new("vat.check").attempts(3);
/// Makes all checks that are due.
pub const ROUND: Kind = Kind::new("vat.round").attempts(3).class(Class::Outside);

/// Ids read at once.
const BATCH: i64 = 100;
/// Requests to VIES at a time: it limits them.
const MAX_CONCURRENT: usize = 4;
/// How often to look for more checks while some run.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The key of the one round.
const ROUND_KEY: &str = "all";
/// A check that is younger than this is not repeated before an invoice.
const MAX_CHECK_AGE: Duration = Duration::from_secs(24 * 3600);

/// The verdict on the id that the account had when the check started.
struct CheckResult {
    app: App,
    account: AccountId,
    vat_id: String,
    verdict: Verdict,
    now: Time,
}

/// The job [`CHECK`].
pub async fn check_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    context.db.tx(context.clone(), |conn, context| Box::pin(end_round(conn, context))).await
}

/// The job [`ROUND`]: checks every id that is due: requested by its customer, not answered before, or valid for a month.
pub async fn round_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let mut round = Round::default();
    while round.start_due(&context.app).await? {
        round.wait().await?;
    }
    context.db.tx(context.clone(), |conn, context| Box::pin(end_round(conn, context))).await
}

/// Enqueues a round, unless one is waiting or running.
pub async fn request_round(conn: &mut Conn) -> Result<(), DbError> {
    jobs::enqueue_once(conn, ROUND, ROUND_KEY, json!({})).await
}

/// Ends the job, and enqueues a round if a check is due: after a round, one that was requested after it last looked.
async fn end_round(conn: &mut Conn, context: &JobContext<App>) -> Result<(), JobError> {
    context.finish_in(conn).await?;
    if !store::list_due(conn, 1).await?.is_empty() {
        request_round(conn).await?;
    }
    Ok(())
}

/// The checks that run.
#[derive(Default)]
struct Round {
    running: JoinSet<(AccountId, Result<(), DbError>)>,
    accounts: BTreeSet<AccountId>,
}

impl Round {
    /// Starts checks that are due while there is room. False if none is due and none runs.
    async fn start_due(&mut self, app: &App) -> Result<bool, DbError> {
        if self.running.len() < MAX_CONCURRENT {
            let due = store::list_due(&mut *app.db.read().await?, BATCH).await?;
            for (account,) in due {
                if self.running.len() < MAX_CONCURRENT && self.accounts.insert(account) {
                    let app = app.clone();
                    let check = async move { (account, check_account(&app, account, app.clock.now()).await) };
                    self.running.spawn(check.in_current_span());
                }
            }
        }
        Ok(!self.running.is_empty())
    }

    /// Waits for a check to end, or until it is time to look for more.
    async fn wait(&mut self) -> Result<(), JobError> {
        let Ok(Some(ended)) = timeout(LOOK_INTERVAL, self.running.join_next()).await else { return Ok(()) };
        let (account, checked) = ended.map_err(|error| JobError::Failed(error.to_string()))?;
        self.accounts.remove(&account);
        Ok(checked?)
    }
}

/// Checks the id of an account again if the last check is a day old; called before an invoice relies on it.
pub async fn refresh(app: &App, account: AccountId, now: Time) -> Result<(), DbError> {
    let mut reader = app.db.read().await?;
    let standing = accounts::tax_standing(&mut reader, account).await?;
    let profile = store::profile(&mut reader, account).await?;
    drop(reader);
    let counts = standing.is_some_and(|standing| matches!(standing.vat_status, VatStatus::Valid | VatStatus::Pending));
    let is_fresh = profile.checked_at.is_some_and(|at| now.since(at) < MAX_CHECK_AGE);
    if counts && !is_fresh { check_account(app, account, now).await } else { Ok(()) }
}

async fn check_account(app: &App, account: AccountId, now: Time) -> Result<(), DbError> {
    let standing = accounts::tax_standing(&mut *app.db.read().await?, account).await?;
    let Some((vat_id, status)) = standing.and_then(|standing| Some((standing.vat_id?, standing.vat_status))) else {
        return stop_checking(app, account).await;
    };
    if status == VatStatus::Exempt {
        return stop_checking(app, account).await;
    }
    let verdict = match vat_id.parse::<VatId>() {
        Ok(id) => app.vies.check(&id).await,
        Err(_) => Verdict::Invalid,
    };
    if let Verdict::Unknown(reason) = &verdict {
        tracing::warn!(%account, reason, "VAT id check got no answer, retrying");
    }
    let result = CheckResult { app: app.clone(), account, vat_id, verdict, now };
    app.db.tx(result, |conn, result| Box::pin(apply_result(conn, result))).await
}

/// The account has no id to check any more.
async fn stop_checking(app: &App, account: AccountId) -> Result<(), DbError> {
    app.db.tx(account, |conn, account| Box::pin(store::reschedule(conn, *account, None))).await
}

async fn apply_result(conn: &mut Conn, result: &CheckResult) -> Result<(), DbError> {
    let Some(standing) = accounts::tax_standing(conn, result.account).await? else { return Ok(()) };
    if standing.vat_id.as_deref() != Some(result.vat_id.as_str()) {
        // A check of the new id was requested meanwhile and is still due.
        if standing.vat_status == VatStatus::Pending {
            return Ok(());
        }
        return store::reschedule(conn, result.account, None).await;
    }
    let status = rules::after_verdict(standing.vat_status, &result.verdict);
    if !accounts::move_vat_status(conn, result.account, &standing, status).await? {
        return Err(conn.retry_conflict());
    }
    let failures = store::profile(conn, result.account).await?.failures;
    let next = rules::next_check(&result.verdict, failures, result.now);
    if let Verdict::Unknown(_) = result.verdict {
        return store::reschedule(conn, result.account, next).await;
    }
    store::record_answer(conn, result.account, &result.vat_id, next).await?;
    record_check(conn, result).await?;
    if status == standing.vat_status {
        return Ok(());
    }
    let vat_id = result.vat_id.clone();
    match status {
        VatStatus::Valid => notify(conn, result.account, &VatValid { vat_id }).await?,
        VatStatus::Invalid => notify(conn, result.account, &VatInvalid { vat_id }).await?,
        VatStatus::NotVerified | VatStatus::Pending | VatStatus::Exempt => {}
    }
    let entry = audit_entry(result, &standing, status);
    audit::append(conn, &result.app.keys, &entry).await
}

/// Stores the answer of VIES. `Plausible` is not an answer: VIES is off, and only the format was checked.
async fn record_check(conn: &mut Conn, result: &CheckResult) -> Result<(), DbError> {
    let answer = match &result.verdict {
        Verdict::Valid(answer) => Some(answer),
        Verdict::Invalid => None,
        Verdict::Plausible | Verdict::Unknown(_) => return Ok(()),
    };
    let check = NewCheck {
        id: Entropy.uuid(result.now),
        account: result.account,
        vat_id: &result.vat_id,
        is_valid: answer.is_some(),
        request_identifier: answer.and_then(|answer| answer.request_identifier.as_deref()),
        name: answer.and_then(|answer| answer.name.as_deref()),
        address: answer.and_then(|answer| answer.address.as_deref()),
    };
    store::insert_check(conn, &check).await
}

fn audit_entry(result: &CheckResult, before: &TaxStanding, status: VatStatus) -> Entry {
    let meta = [("vat_id", result.vat_id.as_str()), ("from", before.vat_status.as_str()), ("to", status.as_str())];
    Entry {
        outcome: if status == VatStatus::Invalid { Outcome::Failure } else { Outcome::Success },
        reason: (status == VatStatus::Invalid).then(|| status.as_str().to_owned()),
        ..Entry::by_system("vat.checked", Some(result.account), meta)
    }
}
