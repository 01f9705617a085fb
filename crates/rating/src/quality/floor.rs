//! The floor: a route whose quality falls below it is demoted until it recovers.
//!
//! A demoted route gets one of [`PROBE_EVERY`] calls in its usual place, so that a recovery can be seen. It recovers when
//! its last [`PROBES_TO_RECOVER`] attempts are above the floor; what was counted before is then forgiven. Without calls it
//! recovers when it has not been below the floor for a whole window.

use super::window::{Counts, MINUTE_MILLIS, WINDOW_MINUTES, minute_of};
use crate::UnixMillis;

/// A demoted route is tried in its usual place by one of so many calls.
pub const PROBE_EVERY: u32 = 20;
/// Attempts after which a demoted route is judged anew.
pub const PROBES_TO_RECOVER: i64 = 5;

/// The quality that a route must have. Absent limits demand nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Floor {
    pub min_asr_percent: Option<i64>,
    pub min_acd_seconds: Option<i64>,
    pub max_pdd_millis: Option<i64>,
    /// Attempts in the window below which nothing is concluded.
    pub min_attempts: i64,
}

/// What a route is short of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shortfall {
    Asr,
    Acd,
    Pdd,
}

impl Floor {
    pub fn is_set(&self) -> bool {
        self.min_asr_percent.is_some() || self.min_acd_seconds.is_some() || self.max_pdd_millis.is_some()
    }

    /// What these counts are short of, if there are enough of them.
    pub fn shortfall(&self, counts: &Counts) -> Option<Shortfall> {
        (counts.attempts >= self.min_attempts.max(1)).then(|| self.judge(counts)).flatten()
    }

    fn judge(&self, counts: &Counts) -> Option<Shortfall> {
        let asr = self.min_asr_percent.zip(counts.asr_permille()).filter(|(min, asr)| *asr < min.saturating_mul(10));
        let acd = self.min_acd_seconds.zip(counts.acd_seconds()).filter(|(min, acd)| acd < min);
        let pdd = self.max_pdd_millis.zip(counts.pdd_millis()).filter(|(max, pdd)| pdd > max);
        asr.map(|_| Shortfall::Asr).or(acd.map(|_| Shortfall::Acd)).or(pdd.map(|_| Shortfall::Pdd))
    }
}

/// Whether a route is demoted, and what leads out of it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Demotion {
    reason: Option<Shortfall>,
    /// When the window was last below the floor.
    below_at: UnixMillis,
    /// Counts before this minute are forgiven.
    since: i64,
    /// Attempts since the demotion, or since they were last judged.
    fresh: Counts,
    /// Calls that asked since the demotion.
    turn: u32,
}

impl Demotion {
    pub fn reason(&self) -> Option<Shortfall> {
        self.reason
    }

    /// The first minute that counts.
    pub fn since(&self) -> i64 {
        self.since
    }

    /// Adds what happened to a call of the route.
    pub fn record(&mut self, more: &Counts) {
        if self.reason.is_some() {
            self.fresh.add(more);
        }
    }

    /// Forgives everything up to this minute: the reason of the failures is over.
    pub fn forgive(&mut self, now: UnixMillis) {
        *self = Demotion { since: minute_of(now) + 1, ..Demotion::default() };
    }

    /// Demotes the route or lets it recover, by the counts of the window from [`Demotion::since`] on.
    pub fn judge(&mut self, counts: &Counts, floor: &Floor, now: UnixMillis) {
        let shortfall = floor.shortfall(counts);
        if self.reason.is_none() {
            if shortfall.is_some() {
                *self = Demotion { reason: shortfall, below_at: now, since: self.since, ..Demotion::default() };
            }
            return;
        }
        if !floor.is_set() {
            *self = Demotion { since: self.since, ..Demotion::default() };
            return;
        }
        if self.fresh.attempts >= PROBES_TO_RECOVER {
            if floor.judge(&self.fresh).is_none() {
                self.forgive(now);
                return;
            }
            self.fresh = Counts::default();
        }
        if shortfall.is_some() {
            (self.reason, self.below_at) = (shortfall, now);
        } else if now - self.below_at >= WINDOW_MINUTES * MINUTE_MILLIS {
            *self = Demotion { since: self.since, ..Demotion::default() };
        }
    }

    /// Whether the next call tries the route in its usual place although it is demoted.
    pub fn take_probe(&mut self) -> bool {
        self.turn = (self.turn + 1) % PROBE_EVERY;
        self.turn == 0
    }
}
