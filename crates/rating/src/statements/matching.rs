//! Pairs the lines of a statement with our calls.
//!
//! A line and a call can be a pair if the called number is the same and their starts are within the tolerance. Of all
//! possible pairs the best one is taken, then the best of what is left, and so on: pairs with the same call id first,
//! then those whose durations are within the tolerance, then by the distance of their starts, then of their durations.
//! So one call too many in the statement does not shift the pairs after it.
//!
//! Both sides come in the order of their starts. Calls and lines to one number of which none is further from the next
//! than the tolerance form a group; it is paired as soon as no more can join it. A number that is called without a
//! pause would never be paired, so of a group of [`MAX_GROUP`] the older half is settled before more join it.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use super::lines::StatementLine;
use super::read::Charges;
use crate::{Rate, UnixMillis};

/// Lines and calls that are paired together.
const MAX_GROUP: usize = 1024;
const MAX_DECIMALS: usize = 9;

/// An answered call that the upstream carried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OurCall {
    /// The id of its CDR.
    pub id: u128,
    /// The digits of the called number; 0 if it is not known any more.
    pub number: u64,
    pub started_at: UnixMillis,
    pub duration_seconds: u32,
    /// In the upstream's currency.
    pub cost_nanos: i64,
    /// The upstream's rate for the call, if it had one.
    pub rate: Option<Rate>,
    pub call_id: Option<Box<str>>,
}

/// How far two views of the same call may be apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tolerances {
    pub start_millis: i64,
    pub duration_seconds: u32,
}

/// A line and its call, or one of them alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pairing {
    pub line: Option<StatementLine>,
    pub call: Option<OurCall>,
}

/// What became of a line or a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LineKind {
    OnlyOurs,
    OnlyTheirs,
    DurationDiffers,
    RateDiffers,
    Matched,
}

impl Pairing {
    /// The kind of a pairing, by what the amounts of the statement are and how many decimals it shows of them.
    pub fn kind(&self, tolerances: Tolerances, charges: Charges, decimals: usize) -> LineKind {
        match (&self.line, &self.call) {
            (Some(line), Some(call)) => {
                if line.duration_seconds.abs_diff(call.duration_seconds) > tolerances.duration_seconds {
                    LineKind::DurationDiffers
                } else if is_charged_alike(line, call, charges, decimals) {
                    LineKind::Matched
                } else {
                    LineKind::RateDiffers
                }
            }
            (Some(_), None) => LineKind::OnlyTheirs,
            (None, _) => LineKind::OnlyOurs,
        }
    }

    /// What the statement charges for the call, in nanos; 0 if it does not have it. A statement of rates does not say how
    /// seconds are billed: as our rate does, or by the second without one.
    pub fn their_cost(&self, charges: Charges) -> i64 {
        let Some(line) = &self.line else { return 0 };
        if charges == Charges::Cost {
            return line.nanos;
        }
        let ours = self.call.as_ref().and_then(|call| call.rate).unwrap_or(Rate::FREE);
        let (increment, minimum) = (ours.increment_seconds(), ours.minimum_seconds());
        let rate = Rate::new(line.nanos, ours.connect_fee_nanos(), increment, minimum).unwrap_or(Rate::FREE);
        rate.price(line.duration_seconds).unwrap_or(i64::MAX)
    }
}

/// Whether the amount of a line is ours, as far as the statement shows it. The cost of either duration is ours.
fn is_charged_alike(line: &StatementLine, call: &OurCall, charges: Charges, decimals: usize) -> bool {
    let is_shown = |nanos: i64| rounded(nanos, decimals) == line.nanos;
    let priced = |seconds: u32| call.rate.and_then(|rate| rate.price(seconds).ok());
    match charges {
        Charges::Cost => {
            let differs = line.duration_seconds != call.duration_seconds;
            is_shown(call.cost_nanos)
                || (differs
                    && priced(call.duration_seconds) == Some(call.cost_nanos)
                    && priced(line.duration_seconds).is_some_and(is_shown))
        }
        Charges::Rate => is_shown(call.rate.map_or(0, |rate| rate.nanos_per_minute())),
    }
}

/// Nanos rounded half up to this many decimals.
fn rounded(nanos: i64, decimals: usize) -> i64 {
    let step = (decimals..MAX_DECIMALS).fold(1i64, |step, _| step * 10);
    nanos.saturating_add(step / 2) / step * step
}

/// Pairs lines and calls, both in the order of their starts, and hands every pairing to `settle`.
pub fn reconcile<E>(
    lines: impl IntoIterator<Item = StatementLine>,
    calls: impl IntoIterator<Item = Result<OurCall, E>>,
    tolerances: Tolerances,
    settle: impl FnMut(Pairing) -> Result<(), E>,
) -> Result<(), E> {
    let (mut lines, mut calls) = (lines.into_iter().peekable(), calls.into_iter().peekable());
    let mut matcher = Matcher { tolerances, groups: HashMap::default(), ends: VecDeque::new(), settle };
    loop {
        let is_call_next = match (lines.peek(), calls.peek()) {
            (Some(line), Some(Ok(call))) => call.started_at <= line.started_at,
            (_, Some(_)) => true,
            (_, None) => false,
        };
        if is_call_next {
            if let Some(call) = calls.next().transpose()? {
                matcher.add(call.number, call.started_at, |group| group.calls.push(call))?;
            }
        } else if let Some(line) = lines.next() {
            matcher.add(line.number, line.started_at, |group| group.lines.push(line))?;
        } else {
            return matcher.finish();
        }
    }
}

struct Matcher<S> {
    tolerances: Tolerances,
    /// By called number.
    groups: HashMap<u64, Group, RandomState>,
    /// The start and number of everything in the groups, in order: a group ends with its last one.
    ends: VecDeque<(UnixMillis, u64)>,
    settle: S,
}

/// Lines and calls to one number, each sorted by start.
#[derive(Default)]
struct Group {
    lines: Vec<StatementLine>,
    calls: Vec<OurCall>,
    last: UnixMillis,
}

impl<E, S: FnMut(Pairing) -> Result<(), E>> Matcher<S> {
    fn add(&mut self, number: u64, started_at: UnixMillis, push: impl FnOnce(&mut Group)) -> Result<(), E> {
        self.settle_before(started_at)?;
        let group = self.groups.entry(number).or_default();
        push(group);
        group.last = started_at;
        self.ends.push_back((started_at, number));
        if group.lines.len() + group.calls.len() >= MAX_GROUP {
            group.settle_older_half(self.tolerances, &mut self.settle)?;
        }
        Ok(())
    }

    /// Settles the groups that nothing can join which begins at `now` or later.
    fn settle_before(&mut self, now: UnixMillis) -> Result<(), E> {
        let tolerance = self.tolerances.start_millis;
        let is_past = |last: UnixMillis| last.saturating_add(tolerance) < now;
        while let Some((_, number)) = self.ends.pop_front_if(|(start, _)| is_past(*start)) {
            if self.groups.get(&number).is_some_and(|group| is_past(group.last))
                && let Some(group) = self.groups.remove(&number)
            {
                group.settle(self.tolerances, &mut self.settle)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), E> {
        let mut last: Vec<(u64, Group)> = self.groups.drain().collect();
        last.sort_unstable_by_key(|(number, group)| (group.last, *number));
        for (_, group) in last {
            group.settle(self.tolerances, &mut self.settle)?;
        }
        Ok(())
    }
}

impl Group {
    fn settle<E>(self, tolerances: Tolerances, settle: &mut impl FnMut(Pairing) -> Result<(), E>) -> Result<(), E> {
        let pairs = self.pairs(tolerances);
        let mut calls: Vec<Option<OurCall>> = self.calls.into_iter().map(Some).collect();
        for (line, pair) in self.lines.into_iter().zip(pairs) {
            let call = pair.and_then(|index| calls.get_mut(index)).and_then(Option::take);
            settle(Pairing { line: Some(line), call })?;
        }
        for call in calls.into_iter().flatten() {
            settle(Pairing { line: None, call: Some(call) })?;
        }
        Ok(())
    }

    /// Settles what begins in the older half, with its partners, and keeps the rest. What may still get a partner is kept
    /// too, unless that is most of the group.
    fn settle_older_half<E>(
        &mut self,
        tolerances: Tolerances,
        settle: &mut impl FnMut(Pairing) -> Result<(), E>,
    ) -> Result<(), E> {
        let pairs = self.pairs(tolerances);
        let mut starts: Vec<UnixMillis> = self.lines.iter().map(|line| line.started_at).collect();
        starts.extend(self.calls.iter().map(|call| call.started_at));
        let complete = self.last.saturating_sub(tolerances.start_millis);
        let is_mostly_open = starts.iter().filter(|start| **start < complete).count() * 4 < starts.len();
        let middle = starts.len() / 2;
        let (_, cut, _) = starts.select_nth_unstable(middle);
        let cut = if is_mostly_open { *cut } else { complete.saturating_sub(1).min(*cut) };
        let mut calls: Vec<Option<OurCall>> = std::mem::take(&mut self.calls).into_iter().map(Some).collect();
        for (line, pair) in std::mem::take(&mut self.lines).into_iter().zip(pairs) {
            let partner_start = pair.and_then(|index| Some(calls.get(index)?.as_ref()?.started_at));
            if line.started_at <= cut || partner_start.is_some_and(|start| start <= cut) {
                let call = pair.and_then(|index| calls.get_mut(index)).and_then(Option::take);
                settle(Pairing { line: Some(line), call })?;
            } else {
                self.lines.push(line);
            }
        }
        for call in calls.into_iter().flatten() {
            if call.started_at <= cut {
                settle(Pairing { line: None, call: Some(call) })?;
            } else {
                self.calls.push(call);
            }
        }
        Ok(())
    }

    /// The call of each line, by its index.
    fn pairs(&self, tolerances: Tolerances) -> Vec<Option<usize>> {
        let mut pairs = vec![None; self.lines.len()];
        let is_near = |line: &StatementLine, call: &OurCall| {
            call.number != 0 && line.started_at.abs_diff(call.started_at) <= tolerances.start_millis.unsigned_abs()
        };
        // Nearly every group is one call.
        if let ([line], [call]) = (self.lines.as_slice(), self.calls.as_slice()) {
            return vec![is_near(line, call).then_some(0)];
        }
        let mut possible = Vec::new();
        for (line_index, line) in self.lines.iter().enumerate() {
            let first = line.started_at.saturating_sub(tolerances.start_millis);
            let begin = self.calls.partition_point(|call| call.started_at < first);
            let near = self.calls.iter().enumerate().skip(begin).take_while(|(_, call)| is_near(line, call));
            possible.extend(near.map(|(call_index, call)| {
                let is_same = line.call_id.is_some() && line.call_id == call.call_id;
                let duration = line.duration_seconds.abs_diff(call.duration_seconds);
                let is_beyond = duration > tolerances.duration_seconds;
                let start = line.started_at.abs_diff(call.started_at);
                (!is_same, is_beyond, start, duration, line_index, call_index)
            }));
        }
        possible.sort_unstable();
        let mut is_taken = vec![false; self.calls.len()];
        for (.., line_index, call_index) in possible {
            let (Some(pair), Some(taken)) = (pairs.get_mut(line_index), is_taken.get_mut(call_index)) else { continue };
            if pair.is_none() && !*taken {
                (*pair, *taken) = (Some(call_index), true);
            }
        }
        pairs
    }
}
