//! A batch of CDRs: what each account is charged and what its calls release.
//!
//! The rows of all accounts are locked table by table, as [`calls`](crate::calls) says. Each table takes a round trip or
//! two. The rollups of all accounts come last in a transaction: every other one waits for them.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{Amendment, EndedCall};
use crate::cdrs::rollups::{self, ChargeDelta, DestinationCharges, DestinationDays, RollupDelta, TrunkHours};
use crate::cdrs::row::CdrRow;
use crate::cdrs::usage::{self, DestinationHours, RouteHours};
use crate::concurrency::{self, ALL_ZONES, Leaving, day_of, hour_of};
use db::{Conn, Statement};
use identity::balance::CURRENCY;
use platform::ledger::{self, Book, Capture, Entry, Kind, LedgerError, TransactionId};
use values::{AccountId, Money, Time, TrunkId, UpstreamId};

/// What a batch means for one account.
#[derive(Default)]
pub struct AccountBatch {
    charge: i64,
    ledger_id: Option<TransactionId>,
    /// By the day on which calls began: their charges, and what was reserved for them.
    days: BTreeMap<i64, (i64, i64)>,
    /// Live calls that ended, by trunk and by zone.
    trunks: BTreeMap<TrunkId, i64>,
    zones: BTreeMap<String, i64>,
    /// What was held for them.
    held: i64,
    destinations: DestinationDays,
    /// Whenever the calls began.
    charges: DestinationCharges,
    hours: TrunkHours,
    destination_hours: DestinationHours,
    routes: RouteHours,
}

impl AccountBatch {
    fn add(&mut self, cdr: &CdrRow, charge: i64, ledger_id: Option<Uuid>, rollup: RollupDelta, charged: ChargeDelta) {
        let (day, hour) = (day_of(cdr.terms.started_at), hour_of(cdr.terms.started_at));
        let (country, name) = cdr.destination();
        self.charge += charge;
        self.ledger_id = self.ledger_id.or(ledger_id.map(TransactionId::new));
        self.days.entry(day).or_default().0 += charge;
        if cdr.result.charge > 0 {
            self.charges.entry((country.clone(), name.clone())).or_default().add(charged);
        }
        self.destination_hours.entry((hour, country.clone(), name.clone())).or_default().add(rollup);
        self.destinations.entry((day, country, name)).or_default().add(rollup);
        self.hours.entry((hour, cdr.terms.trunk_id)).or_default().add(rollup);
    }

    fn add_route(&mut self, cdr: &CdrRow, rollup: RollupDelta) {
        let (country, name) = cdr.destination();
        let upstream = cdr.result.upstream_id.map_or(Uuid::nil(), UpstreamId::uuid);
        self.routes.entry((hour_of(cdr.terms.started_at), country, name, upstream)).or_default().add(rollup);
    }

    pub fn add_cdr(&mut self, cdr: &CdrRow) {
        self.add_route(cdr, RollupDelta::of(cdr));
        self.add(cdr, cdr.result.charge, cdr.result.ledger_id, RollupDelta::of(cdr), ChargeDelta::of(cdr));
    }

    pub fn add_amendment(&mut self, amendment: &Amendment, ledger_id: Option<Uuid>) {
        let Amendment { before, after } = amendment;
        let (rollup, charged) = (RollupDelta::between(before, after), ChargeDelta::between(before, after));
        // A late event may name another upstream.
        self.add_route(before, RollupDelta::without(before));
        self.add_route(after, RollupDelta::of(after));
        self.add(after, amendment.charge(), ledger_id, rollup, charged);
    }

    /// Releases what a live call occupied.
    pub fn release(&mut self, EndedCall { cdr, reserved, held, .. }: &EndedCall) {
        self.days.entry(day_of(cdr.terms.started_at)).or_default().1 += reserved;
        *self.trunks.entry(cdr.terms.trunk_id).or_default() += 1;
        for zone in [ALL_ZONES.to_owned(), cdr.terms.zone.clone()] {
            *self.zones.entry(zone).or_default() += 1;
        }
        self.held += held;
    }

    /// What adds the charges to the days on which calls began, and releases what was reserved for them.
    fn spend(&self, account: AccountId) -> impl Iterator<Item = Statement> {
        let moved = self.days.iter().filter(|(_, sums)| **sums != (0, 0));
        moved.map(move |(&day, &(charged, released))| concurrency::settle_spend(account, day, charged, released))
    }

    fn release_channels(&self) -> impl Iterator<Item = Statement> {
        self.trunks.iter().map(|(trunk, calls)| concurrency::release_channels(*trunk, *calls))
    }

    /// What the balance pays and gets back.
    fn capture(&self, account: AccountId) -> Result<Option<Capture>, LedgerError> {
        let charge = self.ledger_id.map(|id| {
            let paid = [(Book::Calls, Money::from_nanos(self.charge, CURRENCY))];
            Entry::charge(account, Kind::Call, id.to_string(), &paid).map(|entry| entry.with_id(id))
        });
        let (charge, released) = (charge.transpose()?, self.held);
        let is_any = charge.is_some() || released > 0;
        Ok(is_any.then_some(Capture { account, currency: CURRENCY, released, charge }))
    }

    /// What adds to the rollups of the account.
    fn roll_up(&self, account: AccountId, now: Time) -> impl Iterator<Item = Statement> {
        rollups::add_to_days(account, &self.destinations)
            .chain(rollups::add_to_charges(account, day_of(now), &self.charges))
            .chain(rollups::add_to_hours(account, &self.hours))
            .chain(usage::add(account, &self.hours, &self.destination_hours))
    }
}

/// What CDRs that are written mean for their accounts.
#[derive(Default)]
pub struct Unsettled {
    accounts: BTreeMap<AccountId, AccountBatch>,
    /// Accounts and days of calls that go on.
    kept: BTreeSet<(AccountId, i64)>,
    /// How many calls those are.
    kept_calls: usize,
}

impl Unsettled {
    /// New CDRs.
    pub fn new<'r>(cdrs: impl Iterator<Item = &'r CdrRow>) -> Unsettled {
        let mut unsettled = Unsettled::default();
        for cdr in cdrs {
            unsettled.of(cdr.terms.account_id).add_cdr(cdr);
        }
        unsettled
    }

    pub(super) fn of(&mut self, account: AccountId) -> &mut AccountBatch {
        self.accounts.entry(account).or_default()
    }

    /// Locks the day and the balance of a call with the others', for a transaction that then changes its reservation.
    pub fn keep(&mut self, account: AccountId, started_at: Time) {
        self.kept.insert((account, day_of(started_at)));
        self.kept_calls += 1;
    }

    /// Settles all accounts, and returns what is left to add to the rollups of all accounts.
    pub async fn settle(self, conn: &mut Conn) -> Result<RouteHours, LedgerError> {
        let Unsettled { accounts, mut kept, kept_calls } = self;
        // A single call locks its day and then its balance by itself, in the same order.
        if accounts.is_empty() && kept_calls < 2 {
            kept.clear();
        }
        if !kept.is_empty() {
            let settled = accounts.iter().flat_map(|(account, batch)| batch.days.keys().map(|day| (*account, *day)));
            concurrency::lock_days(conn, &settled.chain(kept.iter().copied()).collect()).await?;
        }
        let spend = accounts.iter().flat_map(|(account, batch)| batch.spend(*account));
        let channels = accounts.values().flat_map(AccountBatch::release_channels);
        conn.exec_many(&spend.chain(channels).collect::<Vec<_>>()).await?;
        let zones = accounts.iter().flat_map(|(account, batch)| {
            batch.zones.iter().map(|(zone, calls)| Leaving { account: *account, zone, calls: *calls })
        });
        concurrency::leave_zones(conn, &zones.collect::<Vec<_>>()).await?;
        let mut captures = Vec::new();
        for (account, batch) in &accounts {
            captures.extend(batch.capture(*account)?);
        }
        let locked = kept.iter().map(|(account, _)| (*account, CURRENCY)).collect::<Vec<_>>();
        ledger::capture_each(conn, &captures, &locked).await?;
        let now = conn.now();
        let rollups = accounts.iter().flat_map(|(account, batch)| batch.roll_up(*account, now));
        conn.exec_many(&rollups.collect::<Vec<_>>()).await?;
        let mut routes = RouteHours::new();
        for (key, rollup) in accounts.into_values().flat_map(|batch| batch.routes) {
            routes.entry(key).or_default().add(rollup);
        }
        Ok(routes)
    }
}
