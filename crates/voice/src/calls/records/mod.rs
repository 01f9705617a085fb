//! Records of calls: kept, counted and charged in one transaction.
//!
//! Every call that is over comes this way, whether a switch told of its end, nobody did, or it is a line of another
//! switch's file. All charges of an account in one batch are one transaction of the ledger, whose id stands in each of
//! their records, so that the two can be held against each other to the nano.

mod store;

pub use store::{Record, find};

use std::collections::BTreeMap;

use uuid::Uuid;

use super::live::LiveCall;
use super::load::{self, Day};
use super::peaks;
use super::types::CallStatus;
use super::{day_of, hour_of};
use db::Conn;
use identity::balance::CURRENCY;
use platform::entropy::Entropy;
use platform::ledger::{self, Book, Entry, Kind, LedgerError, TransactionId};
use values::{AccountId, Money, Time, TrunkId};

/// How many calls there were, and what they came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub attempts: i64,
    pub answered: i64,
    pub seconds: i64,
    pub charge: i64,
    pub cost: i64,
}

impl Tally {
    fn add(&mut self, record: &Record) {
        self.attempts += 1;
        self.answered += i64::from(record.status == CallStatus::Answered);
        self.seconds += record.duration_seconds;
        self.charge += record.charge;
        self.cost += record.cost;
    }

    fn join(&mut self, other: Tally) {
        self.attempts += other.attempts;
        self.answered += other.answered;
        self.seconds += other.seconds;
        self.charge += other.charge;
        self.cost += other.cost;
    }
}

/// What calls to one destination were charged for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    pub calls: i64,
    pub billed_seconds: i64,
    pub charge: i64,
}

impl Charged {
    fn add(&mut self, record: &Record) {
        self.calls += 1;
        self.billed_seconds += record.billed_seconds;
        self.charge += record.charge;
    }

    fn join(&mut self, other: Charged) {
        self.calls += other.calls;
        self.billed_seconds += other.billed_seconds;
        self.charge += other.charge;
    }
}

/// A record that is made anew by what was told late. Nothing in it becomes less.
#[derive(Clone, Debug)]
pub struct Amended {
    pub before: Record,
    pub after: Record,
}

impl Amended {
    /// Whether there is any difference.
    pub fn is_news(&self) -> bool {
        let told = |record: &Record| {
            let Record { answered_at, ended_at, status, upstream_id, charge, cost, review, .. } = *record;
            (answered_at, ended_at, status, upstream_id, charge, cost, review)
        };
        told(&self.before) != told(&self.after)
    }

    /// What is charged beyond what was charged before.
    fn charge(&self) -> i64 {
        self.after.charge - self.before.charge
    }

    /// Gives the charge its place: a record that had none names the transaction itself.
    fn name(&mut self, ledger_id: Option<Uuid>) {
        if self.before.charge > 0 {
            (self.after.ledger_id, self.after.recorded_at) = (self.before.ledger_id, self.before.recorded_at);
        } else {
            self.after.ledger_id = ledger_id;
        }
    }

    fn tally(&self) -> Tally {
        let is_answered = |record: &Record| i64::from(record.status == CallStatus::Answered);
        let Amended { before, after } = self;
        Tally {
            attempts: 0,
            answered: is_answered(after) - is_answered(before),
            seconds: after.duration_seconds - before.duration_seconds,
            charge: self.charge(),
            cost: after.cost - before.cost,
        }
    }

    fn charged(&self) -> Charged {
        let Amended { before, after } = self;
        if before.charge == 0 {
            return Charged { calls: 1, billed_seconds: after.billed_seconds, charge: after.charge };
        }
        Charged { calls: 0, billed_seconds: after.billed_seconds - before.billed_seconds, charge: self.charge() }
    }
}

/// What a batch means for one account.
#[derive(Default)]
struct Share {
    charge: i64,
    ledger_id: Option<TransactionId>,
    /// By the day on which calls began: what they cost, and what was set aside for them.
    days: BTreeMap<i64, (i64, i64)>,
    trunks: BTreeMap<TrunkId, i64>,
    zones: BTreeMap<String, i64>,
    holds: Vec<String>,
    destinations: BTreeMap<(i64, String, String), Tally>,
    /// By country and destination, whenever the calls began.
    charges: BTreeMap<(String, String), Charged>,
    hours: BTreeMap<(i64, TrunkId), Tally>,
}

impl Share {
    fn amend(&mut self, amended: &Amended, ledger_id: Option<Uuid>) {
        let Record { started_at, trunk_id, country, destination_name, charge, .. } = &amended.after;
        let (country, name) = (country.clone().unwrap_or_default(), destination_name.clone().unwrap_or_default());
        self.charge += amended.charge();
        self.ledger_id = self.ledger_id.or(ledger_id.map(TransactionId::new));
        self.days.entry(day_of(*started_at)).or_default().0 += amended.charge();
        if *charge > 0 {
            self.charges.entry((country.clone(), name.clone())).or_default().join(amended.charged());
        }
        self.destinations.entry((day_of(*started_at), country, name)).or_default().join(amended.tally());
        self.hours.entry((hour_of(*started_at), *trunk_id)).or_default().join(amended.tally());
    }
}

/// Keeps calls of ours that are over; their live rows are gone by now. Those that were kept before are made anew.
pub async fn keep(
    conn: &mut Conn,
    entropy: Entropy,
    ended: &[LiveCall],
    records: &mut [Record],
    amended: &mut [Amended],
    now: Time,
) -> Result<(), LedgerError> {
    let mut names = name_charges(entropy, records, now);
    store::insert(conn, records).await?;
    conn.count(|metrics| metrics.calls.cdrs.of("switch"), records.len() as u64);
    let mut shares = shares(records.iter());
    for amended in amended {
        let account = amended.after.account_id;
        let ledger_id = (amended.charge() > 0).then(|| *names.entry(account).or_insert_with(|| entropy.uuid(now)));
        amended.name(ledger_id);
        store::replace(conn, &amended.after).await?;
        if amended.before.charge > 0 && amended.charged() != Charged::default() {
            store::note_amendment(conn, entropy.uuid(now), &amended.after, amended.charged(), ledger_id, now).await?;
        }
        shares.entry(account).or_default().amend(amended, ledger_id);
    }
    for call in ended {
        let share = shares.entry(call.account_id).or_default();
        share.days.entry(day_of(call.started_at)).or_default().1 += call.reserved;
        *share.trunks.entry(call.trunk_id).or_default() += 1;
        *share.zones.entry(call.zone.clone()).or_default() += 1;
        if call.reserved > 0 {
            share.holds.push(call.reference());
        }
    }
    settle(conn, entropy, shares, now).await
}

/// Lines of another switch, in the order in which everybody inserts them: two who bring the same lines wait for each
/// other in one direction only.
pub struct Lines(Vec<Record>);

impl Lines {
    pub fn new(entropy: Entropy, mut records: Vec<Record>, now: Time) -> Lines {
        let name = |record: &Record| (record.trunk_id, record.leg.as_str(), record.started_at);
        records
            .sort_unstable_by(|one, other| name(one).cmp(&name(other)).then_with(|| one.call_id.cmp(&other.call_id)));
        name_charges(entropy, &mut records, now);
        Lines(records)
    }

    /// Keeps those that were not kept before, and answers how many they are.
    pub async fn keep_new(&self, conn: &mut Conn, entropy: Entropy, now: Time) -> Result<usize, LedgerError> {
        let new = store::insert_new(conn, entropy.uuid(now), &self.0).await?;
        settle_lines(conn, entropy, self.0.iter().filter(|record| new.contains(&record.id)), now).await
    }

    /// Keeps all of them, or fails if one was kept before; which is faster, and mostly enough.
    pub async fn keep_all(&self, conn: &mut Conn, entropy: Entropy, now: Time) -> Result<usize, LedgerError> {
        store::insert(conn, &self.0).await?;
        settle_lines(conn, entropy, self.0.iter(), now).await
    }
}

async fn settle_lines<'r>(
    conn: &mut Conn,
    entropy: Entropy,
    new: impl Iterator<Item = &'r Record> + Clone,
    now: Time,
) -> Result<usize, LedgerError> {
    let number = new.clone().count();
    conn.count(|metrics| metrics.calls.cdrs.of("import"), number as u64);
    settle(conn, entropy, shares(new.clone()), now).await?;
    peaks::note(conn, new, now).await?;
    Ok(number)
}

/// Gives each account's charges the id of the transaction they will be, and answers these.
fn name_charges(entropy: Entropy, records: &mut [Record], now: Time) -> BTreeMap<AccountId, Uuid> {
    let mut names: BTreeMap<AccountId, Uuid> = BTreeMap::new();
    for record in records.iter_mut().filter(|record| record.charge > 0) {
        record.ledger_id = Some(*names.entry(record.account_id).or_insert_with(|| entropy.uuid(now)));
    }
    names
}

fn shares<'r>(records: impl Iterator<Item = &'r Record>) -> BTreeMap<AccountId, Share> {
    let mut shares: BTreeMap<AccountId, Share> = BTreeMap::new();
    for record in records {
        let share = shares.entry(record.account_id).or_default();
        share.charge += record.charge;
        share.ledger_id = share.ledger_id.or(record.ledger_id.map(TransactionId::new));
        share.days.entry(day_of(record.started_at)).or_default().0 += record.charge;
        let (country, name) = (record.country.clone(), record.destination_name.clone());
        let (country, name) = (country.unwrap_or_default(), name.unwrap_or_default());
        if record.charge > 0 {
            share.charges.entry((country.clone(), name.clone())).or_default().add(record);
        }
        share.destinations.entry((day_of(record.started_at), country, name)).or_default().add(record);
        share.hours.entry((hour_of(record.started_at), record.trunk_id)).or_default().add(record);
    }
    shares
}

/// Account by account, in the order of their ids.
async fn settle(
    conn: &mut Conn,
    entropy: Entropy,
    shares: BTreeMap<AccountId, Share>,
    now: Time,
) -> Result<(), LedgerError> {
    for (account, mut share) in shares {
        for (&day, &(charged, freed)) in share.days.iter().filter(|(_, sums)| **sums != (0, 0)) {
            Day { account, day, most: 0 }.settle(conn, charged, freed).await?;
        }
        for (trunk, calls) in share.trunks {
            load::end_on_trunk(conn, trunk, calls).await?;
        }
        let ended: i64 = share.zones.values().sum();
        for (zone, calls) in share.zones {
            load::end_in_zone(conn, account, &zone, calls, now).await?;
        }
        if ended > 0 {
            load::end_in_zone(conn, account, load::ACCOUNT_WIDE, ended, now).await?;
        }
        share.holds.sort_unstable();
        let charge = share.ledger_id.map(|id| {
            let paid = [(Book::Calls, Money::from_nanos(share.charge, CURRENCY))];
            Entry::charge(account, Kind::Call, id.to_string(), &paid).map(|entry| entry.with_id(id))
        });
        let charge = charge.transpose()?;
        let holds = (Kind::Call, share.holds.as_slice());
        ledger::capture_many(conn, entropy, (account, CURRENCY), holds, charge.as_ref(), now).await?;
        store::add_to_days(conn, account, &share.destinations).await?;
        store::add_to_charges(conn, account, day_of(now), &share.charges).await?;
        store::add_to_hours(conn, account, &share.hours).await?;
    }
    Ok(())
}
