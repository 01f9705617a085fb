//! Writes CDRs: stores, counts and charges them in one transaction.
//!
//! Every finished call comes this way: its end was reported, its events stopped, or it was imported. All charges of an
//! account in a batch are one ledger transaction, which each of their CDRs names, so that ledger and CDRs can be
//! compared to the nano.
//!
//! - `end`: the CDR that follows from the end of a call · `batch`: charges and rollups, account by account · `known`:
//!   which imported calls have a CDR or are live

mod batch;
mod end;
mod known;
mod store;

pub use end::{
    CallEnd, CallUpdate, KnownCall, MAX_CALL_SECONDS, MAX_CLOCK_SKEW_MILLIS, answer_time, earliest, end_call,
    seconds_between, status_from_sip_code,
};
pub use known::{DifferingLine, SeenCalls};
pub use store::{exists, find, find_marked};

use std::collections::BTreeMap;

use uuid::Uuid;

use super::archive;
use super::ended;
use super::rollups::ChargeDelta;
use super::row::CdrRow;
use super::terms::HungUpBy;
use super::usage;
use crate::concurrency::{CallSpan, queue_recount};
use batch::Unsettled;
use db::{Conn, DbError, Entropy};
use platform::ledger::LedgerError;
use values::{AccountId, Time};

/// A live call that is over: its CDR, and what was reserved and held for it.
#[derive(Clone, Debug)]
pub struct EndedCall {
    pub cdr: CdrRow,
    pub reserved: i64,
    pub held: i64,
    pub hung_up_by: Option<HungUpBy>,
}

/// A CDR before and after late events. Neither charge nor duration decreases.
#[derive(Clone, Debug)]
pub struct Amendment {
    pub before: CdrRow,
    pub after: CdrRow,
}

impl Amendment {
    pub fn is_change(&self) -> bool {
        let compared = |cdr: &CdrRow| {
            let result = &cdr.result;
            (
                (result.answered_at, result.ended_at, result.status, result.upstream_id),
                (result.charge, result.cost, result.review),
            )
        };
        compared(&self.before) != compared(&self.after)
    }

    /// What is charged in addition.
    fn charge(&self) -> i64 {
        self.after.result.charge - self.before.result.charge
    }

    /// Names the ledger transaction: a CDR that was already charged keeps its own, and its amendment names the new one.
    fn set_ledger_id(&mut self, ledger_id: Option<Uuid>) {
        let (before, after) = (&self.before.result, &mut self.after.result);
        if before.charge > 0 {
            (after.ledger_id, after.recorded_at) = (before.ledger_id, before.recorded_at);
        } else {
            after.ledger_id = ledger_id;
        }
    }
}

/// Writes the CDRs of live calls that are over, and amended CDRs. The rows of the live calls are deleted already. The
/// caller settles them; what is left then is the last thing that the transaction writes, with
/// [`add_routes`](crate::cdrs::add_routes).
pub async fn write_cdrs(
    conn: &mut Conn,
    ended: &mut [EndedCall],
    amendments: &mut [Amendment],
) -> Result<Unsettled, DbError> {
    let now = conn.now();
    let mut ledger_ids = assign_ledger_ids(ended.iter_mut().map(|call| &mut call.cdr), now);
    store::insert(conn, ended, |call| store::values(&call.cdr)).await?;
    ended::queue(conn, &ended.iter().map(|call| &call.cdr).collect::<Vec<_>>()).await?;
    for call in ended.iter() {
        if let Some(by) = call.hung_up_by {
            store::mark_hung_up(conn, &call.cdr, by).await?;
        }
    }
    conn.count(|metrics| metrics.calls.cdrs.of("switch"), ended.len() as u64);
    let mut unsettled = Unsettled::new(ended.iter().map(|call| &call.cdr));
    for amendment in amendments {
        let account = amendment.after.terms.account_id;
        let ledger_id =
            (amendment.charge() > 0).then(|| *ledger_ids.entry(account).or_insert_with(|| Entropy.uuid(now)));
        amendment.set_ledger_id(ledger_id);
        store::update(conn, &amendment.after).await?;
        let added = ChargeDelta::between(&amendment.before, &amendment.after);
        if amendment.before.result.charge > 0 && added != ChargeDelta::default() {
            store::insert_amendment(conn, Entropy.uuid(now), &amendment.after, added, ledger_id).await?;
        }
        unsettled.of(account).add_amendment(amendment, ledger_id);
    }
    for call in ended.iter() {
        unsettled.of(call.cdr.terms.account_id).release(call);
    }
    Ok(unsettled)
}

/// Imported CDRs with the numbers of their lines, sorted in the order in which every import inserts them, so that two
/// imports of the same calls wait for each other in one direction only.
#[derive(Default)]
pub struct ImportBatch(Vec<(usize, CdrRow)>);

/// How an import inserts CDRs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// All at once. Fails if another import inserts one of the calls at the same time.
    Copy,
    /// Slower; skips calls that another import has inserted.
    SkipConflicts,
}

/// What an import has written.
#[derive(Default)]
pub struct Written {
    /// CDRs of the batch that are done: from the first, and all unless others waited for the transaction to end.
    pub done: usize,
    pub new: usize,
    pub differs: Vec<DifferingLine>,
}

/// CDRs after which an import looks whether others wait, where statements run in-process. A batch of no more is written
/// whole.
pub const CDRS_PER_LOOK: usize = 20;

impl ImportBatch {
    pub fn new(cdrs: Vec<(usize, CdrRow)>, now: Time) -> ImportBatch {
        let size = cdrs.len();
        ImportBatch::split(cdrs, now, size).pop().unwrap_or_default()
    }

    /// Batches of at most `size` CDRs, for a transaction each. The calls of a trunk are next to each other.
    pub fn split(mut cdrs: Vec<(usize, CdrRow)>, now: Time, size: usize) -> Vec<ImportBatch> {
        let key = |cdr: &CdrRow| (cdr.terms.trunk_id, cdr.terms.leg.as_str(), cdr.terms.started_at);
        cdrs.sort_unstable_by(|(_, one), (_, other)| {
            key(one).cmp(&key(other)).then_with(|| one.terms.call_id.cmp(&other.terms.call_id))
        });
        let mut batches = Vec::new();
        while !cdrs.is_empty() {
            let rest = cdrs.split_off(size.min(cdrs.len()));
            assign_ledger_ids(cdrs.iter_mut().map(|(_, cdr)| cdr), now);
            batches.push(ImportBatch(std::mem::replace(&mut cdrs, rest)));
        }
        batches
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The CDRs after those that are done.
    pub fn rest(&self, done: usize, now: Time) -> ImportBatch {
        let mut rest = self.0.get(done..).unwrap_or_default().to_vec();
        assign_ledger_ids(rest.iter_mut().map(|(_, cdr)| cdr), now);
        ImportBatch(rest)
    }

    /// Writes the CDRs of calls that are not known yet. It may be done before the last one if others wait.
    pub async fn write(&self, conn: &mut Conn, mode: ImportMode) -> Result<Written, LedgerError> {
        let mut written = Written::default();
        if self.0.is_empty() {
            return Ok(written);
        }
        // Nothing may be added to a day that is being archived. The lines were checked; only a day that was archived
        // since gets here.
        let hot_from = archive::hold_hot_from(conn).await?;
        if self.0.iter().any(|(_, cdr)| hot_from.is_some_and(|hot_from| cdr.terms.started_at < hot_from)) {
            return Err(DbError::Unavailable("calls of these lines are being archived".to_owned()).into());
        }
        let mut new = Vec::with_capacity(self.len());
        for part in self.0.chunks(if conn.is_in_process() { CDRS_PER_LOOK } else { self.len() }) {
            written.differs.extend(insert_part(conn, part, mode, &mut new).await?);
            written.done += part.len();
            if conn.do_others_wait() {
                break;
            }
        }
        written.new = new.len();
        settle_import(conn, &new).await?;
        Ok(written)
    }
}

/// Inserts the CDRs of calls that are not known yet, and adds them to `new`. Returns the lines of known calls that differ.
async fn insert_part<'r>(
    conn: &mut Conn,
    part: &'r [(usize, CdrRow)],
    mode: ImportMode,
    new: &mut Vec<&'r CdrRow>,
) -> Result<Vec<DifferingLine>, DbError> {
    let known = known::find(conn, part).await?;
    let unknown: Vec<&CdrRow> =
        part.iter().enumerate().filter(|(at, _)| !known.contains_key(at)).map(|(_, (_, cdr))| cdr).collect();
    match mode {
        ImportMode::Copy => {
            store::insert(conn, &unknown, |cdr| store::values(cdr)).await?;
            new.extend(unknown);
        }
        ImportMode::SkipConflicts => {
            let inserted = store::insert_new(conn, conn.new_id(), &unknown).await?;
            new.extend(unknown.into_iter().filter(|cdr| inserted.contains(&cdr.id)));
        }
    }
    let differs = known.iter().filter_map(|(at, duration)| {
        let (line, cdr) = part.get(*at)?;
        let (ours, theirs) = ((*duration)?, cdr.result.duration_seconds);
        (ours != theirs).then_some(DifferingLine { line: *line, ours, theirs })
    });
    Ok(differs.collect())
}

/// Charges and counts new CDRs.
async fn settle_import(conn: &mut Conn, new: &[&CdrRow]) -> Result<(), LedgerError> {
    conn.count(|metrics| metrics.calls.cdrs.of("import"), new.len() as u64);
    let routes = Unsettled::new(new.iter().copied()).settle(conn).await?;
    let spans = new.iter().map(|cdr| CallSpan {
        account: cdr.terms.account_id,
        started_at: cdr.terms.started_at,
        ended_at: cdr.result.ended_at.unwrap_or(cdr.terms.started_at),
    });
    queue_recount(conn, spans).await?;
    ended::queue(conn, new).await?;
    usage::add_routes(conn, &routes).await?;
    Ok(())
}

/// Gives the CDRs with a charge the id of their ledger transaction, one for each account, and returns the ids.
fn assign_ledger_ids<'r>(cdrs: impl Iterator<Item = &'r mut CdrRow>, now: Time) -> BTreeMap<AccountId, Uuid> {
    let mut ids: BTreeMap<AccountId, Uuid> = BTreeMap::new();
    for cdr in cdrs.filter(|cdr| cdr.result.charge > 0) {
        cdr.result.ledger_id = Some(*ids.entry(cdr.terms.account_id).or_insert_with(|| Entropy.uuid(now)));
    }
    ids
}
