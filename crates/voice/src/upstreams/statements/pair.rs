//! From the lines of a statement and our calls to what is stored: lines with their kinds, and totals.

use std::iter;

use rating::{Charges, Lines, OurCall, Pairing, Tolerances, reconcile};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::lines::NewLine;
use super::types::StatementLineKind;
use crate::cdrs::ANONYMISED;
use values::{CallId, Time};

/// Lines that are stored in one transaction.
const BATCH: usize = 2000;

/// A statement that was read, and how it is compared.
pub struct Comparison {
    pub lines: Lines,
    pub charges: Charges,
    pub decimals: usize,
    pub tolerances: Tolerances,
    pub from: Time,
    /// Exclusive.
    pub to: Time,
}

/// Count and sums of lines; amounts in nanos.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    pub count: i64,
    pub our_seconds: i64,
    pub their_seconds: i64,
    pub our_cost: i64,
    pub their_cost: i64,
}

/// The sums of each kind, in the order of kinds.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Totals([Sums; 5]);

/// Why a comparison did not come to its end.
#[derive(Debug)]
pub enum Stopped {
    /// Nobody receives the lines any more.
    Abandoned,
    TooLarge,
}

impl Comparison {
    /// The period with what lies within the tolerance of it.
    pub fn range(&self) -> (Time, Time) {
        let tolerance = self.tolerances.start_millis;
        let at = Time::from_millis;
        (at(self.from.millis().saturating_sub(tolerance)), at(self.to.millis().saturating_add(tolerance)))
    }

    /// Lines that begin outside the period.
    pub fn outside(&self) -> usize {
        self.lines.len() - self.lines.count_between(self.from.millis(), self.to.millis())
    }

    /// Pairs all lines with the calls that arrive, and sends what is to be stored. Blocks.
    pub fn run(
        &self,
        mut calls: mpsc::Receiver<Vec<OurCall>>,
        sink: &mpsc::Sender<Vec<NewLine>>,
    ) -> Result<Totals, Stopped> {
        let (from, to) = self.range();
        let lines = self.lines.between(from.millis(), to.millis());
        let calls = iter::from_fn(|| calls.blocking_recv()).flatten().map(Ok);
        let (mut totals, mut batch, mut number) = (Totals::default(), Vec::with_capacity(BATCH), 0);
        reconcile(lines, calls, self.tolerances, |pairing| {
            if !self.is_inside(&pairing) {
                return Ok(());
            }
            number += 1;
            let line = self.line(number, pairing);
            totals.add(&line).ok_or(Stopped::TooLarge)?;
            batch.push(line);
            if batch.len() == BATCH {
                let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                sink.blocking_send(full).map_err(|_| Stopped::Abandoned)?;
            }
            Ok(())
        })?;
        if !batch.is_empty() {
            sink.blocking_send(batch).map_err(|_| Stopped::Abandoned)?;
        }
        Ok(totals)
    }

    /// Whether the line or the call began in the period. What lies around it is there only to be paired.
    fn is_inside(&self, pairing: &Pairing) -> bool {
        let starts = [pairing.line.as_ref().map(|it| it.started_at), pairing.call.as_ref().map(|it| it.started_at)];
        starts.into_iter().flatten().any(|start| (self.from.millis()..self.to.millis()).contains(&start))
    }

    fn line(&self, number: i64, pairing: Pairing) -> NewLine {
        let kind = pairing.kind(self.tolerances, self.charges, self.decimals);
        let their_cost = pairing.their_cost(self.charges);
        let Pairing { line, call } = pairing;
        let digits = line.as_ref().map_or_else(|| call.as_ref().map_or(0, |call| call.number), |line| line.number);
        let started_at = line.as_ref().map(|it| it.started_at).or(call.as_ref().map(|it| it.started_at));
        NewLine {
            kind: StatementLineKind::from(kind),
            number,
            started_at: Time::from_millis(started_at.unwrap_or_default()),
            called: if digits == 0 { ANONYMISED.to_owned() } else { format!("+{digits}") },
            line: line.as_ref().map(|it| it.line.into()),
            their_seconds: line.as_ref().map(|it| it.duration_seconds.into()),
            their_cost: line.as_ref().map(|_| their_cost),
            their_rate: line.as_ref().filter(|_| self.charges == Charges::Rate).map(|it| it.nanos),
            their_call_id: line.and_then(|it| it.call_id).map(String::from),
            cdr_id: call.as_ref().map(|it| CallId::new(Uuid::from_u128(it.id))),
            our_started_at: call.as_ref().map(|it| Time::from_millis(it.started_at)),
            our_seconds: call.as_ref().map(|it| it.duration_seconds.into()),
            our_cost: call.as_ref().map(|it| it.cost_nanos),
            our_rate: call.and_then(|it| it.rate).map(|rate| rate.nanos_per_minute()),
        }
    }
}

impl Totals {
    pub fn of(&self, kind: StatementLineKind) -> Sums {
        let index = usize::try_from(kind.rank() - 1).unwrap_or_default();
        self.0.get(index).copied().unwrap_or_default()
    }

    /// The sums of all kinds; they fit, since [`Totals::add`] counts them too.
    pub fn all(&self) -> Sums {
        self.0.iter().fold(Sums::default(), |sums, more| sums.plus(more).unwrap_or(sums))
    }

    /// Adds a line. `None` if a sum becomes too large, also that of all kinds.
    fn add(&mut self, line: &NewLine) -> Option<()> {
        let more = Sums {
            count: 1,
            our_seconds: line.our_seconds.unwrap_or_default(),
            their_seconds: line.their_seconds.unwrap_or_default(),
            our_cost: line.our_cost.unwrap_or_default(),
            their_cost: line.their_cost.unwrap_or_default(),
        };
        let index = usize::try_from(line.kind.rank() - 1).ok()?;
        let sums = self.0.get_mut(index)?;
        *sums = sums.plus(&more)?;
        self.0.iter().try_fold(Sums::default(), |sums, more| sums.plus(more)).map(drop)
    }
}

impl Sums {
    fn plus(self, more: &Sums) -> Option<Sums> {
        Some(Sums {
            count: self.count.checked_add(more.count)?,
            our_seconds: self.our_seconds.checked_add(more.our_seconds)?,
            their_seconds: self.their_seconds.checked_add(more.their_seconds)?,
            our_cost: self.our_cost.checked_add(more.our_cost)?,
            their_cost: self.their_cost.checked_add(more.their_cost)?,
        })
    }
}
