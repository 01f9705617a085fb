//! What CDRs add to the rollups.

use crate::cdrs::row::CdrRow;

/// What CDRs add to the rollups per day and per hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RollupDelta {
    pub attempts: i64,
    pub answered: i64,
    pub seconds: i64,
    pub charge: i64,
    pub cost: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

impl RollupDelta {
    /// What a new CDR adds.
    pub fn of(cdr: &CdrRow) -> RollupDelta {
        RollupDelta {
            attempts: 1,
            answered: i64::from(cdr.is_answered()),
            seconds: cdr.result.duration_seconds,
            charge: cdr.result.charge,
            cost: cdr.result.cost,
        }
    }

    /// What an amended CDR adds.
    pub fn between(before: &CdrRow, after: &CdrRow) -> RollupDelta {
        let (old, new) = (RollupDelta::of(before), RollupDelta::of(after));
        RollupDelta {
            attempts: 0,
            answered: new.answered - old.answered,
            seconds: new.seconds - old.seconds,
            charge: new.charge - old.charge,
            cost: new.cost - old.cost,
        }
    }

    /// What takes a CDR out again.
    pub fn without(cdr: &CdrRow) -> RollupDelta {
        RollupDelta::of(cdr).signed(Sign::Minus)
    }

    /// The same, or what takes it out again.
    pub fn signed(self, sign: Sign) -> RollupDelta {
        if sign == Sign::Plus {
            return self;
        }
        let RollupDelta { attempts, answered, seconds, charge, cost } = self;
        RollupDelta { attempts: -attempts, answered: -answered, seconds: -seconds, charge: -charge, cost: -cost }
    }

    pub fn add(&mut self, other: RollupDelta) {
        self.attempts += other.attempts;
        self.answered += other.answered;
        self.seconds += other.seconds;
        self.charge += other.charge;
        self.cost += other.cost;
    }
}

/// What CDRs add to the charges of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChargeDelta {
    pub calls: i64,
    pub billed_seconds: i64,
    pub charge: i64,
}

impl ChargeDelta {
    /// What a new CDR with a charge adds.
    pub fn of(cdr: &CdrRow) -> ChargeDelta {
        ChargeDelta { calls: 1, billed_seconds: cdr.result.billed_seconds, charge: cdr.result.charge }
    }

    /// What an amended CDR adds. One without a charge before counts as a new call.
    pub fn between(before: &CdrRow, after: &CdrRow) -> ChargeDelta {
        if before.result.charge == 0 {
            return ChargeDelta::of(after);
        }
        let (old, new) = (&before.result, &after.result);
        let billed_seconds = new.billed_seconds - old.billed_seconds;
        ChargeDelta { calls: 0, billed_seconds, charge: new.charge - old.charge }
    }

    pub fn add(&mut self, other: ChargeDelta) {
        self.calls += other.calls;
        self.billed_seconds += other.billed_seconds;
        self.charge += other.charge;
    }
}
