//! Looking at VAT ids: whoever knows is asked, outside of any transaction, and what was heard is written down.

use std::time::Duration;

use serde_json::{Map, Value};

use super::rules;
use super::store::{self, Heard};
use db::{Conn, DbError};
use identity::accounts::{self, TaxStanding, VatStatus};
use identity::notifications::{VatInvalid, VatValid, notify};
use platform::app::App;
use platform::audit::{self, Actor, Entry, Outcome};
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::vies::Verdict;
use values::{AccountId, Time, VatId};

/// The next tick makes up for one that failed.
pub const CHECK: Kind = Kind::new("vat.check").attempts(3);

/// Ids looked at in one run; the others are next.
const BATCH: i64 = 100;
/// A look that is younger is as good as another.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// What was heard about the id that an account had when the question was asked.
struct Word {
    app: App,
    account: AccountId,
    vat_id: String,
    verdict: Verdict,
    now: Time,
}

/// Looks at every id that is due: asked for by its customer, unanswered before, or valid for a month.
pub async fn check_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let (app, now) = (&context.app, context.clock.now());
    for (account,) in store::due(&mut *app.db.read().await?, now, BATCH).await? {
        look(app, account, now).await?;
    }
    Ok(())
}

/// Looks at an account's id once more if the last look is a day old. For who is about to rely on it.
pub async fn refresh(app: &App, account: AccountId, now: Time) -> Result<(), DbError> {
    let mut reader = app.db.read().await?;
    let standing = accounts::tax_standing(&mut reader, account).await?;
    let profile = store::profile(&mut reader, account).await?;
    drop(reader);
    let counts = standing.is_some_and(|standing| matches!(standing.vat_status, VatStatus::Valid | VatStatus::Pending));
    let is_fresh = profile.checked_at.is_some_and(|at| now.since(at) < FRESH);
    if counts && !is_fresh { look(app, account, now).await } else { Ok(()) }
}

async fn look(app: &App, account: AccountId, now: Time) -> Result<(), DbError> {
    let standing = accounts::tax_standing(&mut *app.db.read().await?, account).await?;
    let Some((vat_id, status)) = standing.and_then(|standing| Some((standing.vat_id?, standing.vat_status))) else {
        return forget(app, account).await;
    };
    if status == VatStatus::Exempt {
        return forget(app, account).await;
    }
    let verdict = match vat_id.parse::<VatId>() {
        Ok(id) => app.vies.check(&id).await,
        Err(_) => Verdict::Invalid,
    };
    if let Verdict::Unknown(reason) = &verdict {
        tracing::warn!(%account, reason, "nothing could be learnt about a VAT id");
    }
    let word = Word { app: app.clone(), account, vat_id, verdict, now };
    app.db.tx(word, |conn, word| Box::pin(take_word(conn, word))).await
}

/// There is no id to look at any more.
async fn forget(app: &App, account: AccountId) -> Result<(), DbError> {
    app.db.tx(account, |conn, account| Box::pin(store::look_later(conn, *account, None))).await
}

async fn take_word(conn: &mut Conn, word: &Word) -> Result<(), DbError> {
    let Some(standing) = accounts::tax_standing(conn, word.account).await? else { return Ok(()) };
    if standing.vat_id.as_deref() != Some(word.vat_id.as_str()) {
        return store::look_later(conn, word.account, None).await;
    }
    let status = rules::heard(standing.vat_status, &word.verdict);
    if !accounts::move_vat_status(conn, word.account, &standing, status, word.now).await? {
        return Err(conn.retry_conflict());
    }
    let failures = store::profile(conn, word.account).await?.failures;
    let next = rules::next_check(&word.verdict, failures, word.now);
    if let Verdict::Unknown(_) = word.verdict {
        return store::look_later(conn, word.account, next).await;
    }
    store::looked(conn, word.account, &word.vat_id, next, word.now).await?;
    keep(conn, word).await?;
    if status == standing.vat_status {
        return Ok(());
    }
    let (entropy, vat_id) = (word.app.entropy, word.vat_id.clone());
    match status {
        VatStatus::Valid => notify(conn, entropy, word.account, &VatValid { vat_id }, word.now).await?,
        VatStatus::Invalid => notify(conn, entropy, word.account, &VatInvalid { vat_id }, word.now).await?,
        VatStatus::NotVerified | VatStatus::Pending | VatStatus::Exempt => {}
    }
    let entry = audit_entry(word, &standing, status);
    audit::append(conn, &word.app.keys, word.app.entropy, word.now, &entry).await
}

/// Keeps what somebody said; that an id could be one is nobody's word.
async fn keep(conn: &mut Conn, word: &Word) -> Result<(), DbError> {
    let proof = match &word.verdict {
        Verdict::Valid(proof) => Some(proof),
        Verdict::Invalid => None,
        Verdict::Plausible | Verdict::Unknown(_) => return Ok(()),
    };
    let heard = Heard {
        id: word.app.entropy.uuid(word.now),
        account: word.account,
        vat_id: &word.vat_id,
        is_valid: proof.is_some(),
        request_identifier: proof.and_then(|proof| proof.request_identifier.as_deref()),
        name: proof.and_then(|proof| proof.name.as_deref()),
        address: proof.and_then(|proof| proof.address.as_deref()),
    };
    store::keep(conn, &heard, word.now).await
}

fn audit_entry(word: &Word, before: &TaxStanding, status: VatStatus) -> Entry {
    let meta = [("vat_id", word.vat_id.as_str()), ("from", before.vat_status.as_str()), ("to", status.as_str())];
    Entry {
        action: "vat.checked",
        account_id: Some(word.account),
        user_id: None,
        actor: Some(Actor::System),
        ip: None,
        user_agent: None,
        outcome: if status == VatStatus::Invalid { Outcome::Failure } else { Outcome::Success },
        reason: (status == VatStatus::Invalid).then(|| status.as_str().to_owned()),
        meta: Map::from_iter(meta.map(|(name, value)| (name.to_owned(), Value::from(value)))),
    }
}
