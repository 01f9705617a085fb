//! Sums by which files, CDRs and rollups are compared.

use crate::cdrs::row::CdrRow;
use db::row;

row! {
    /// Sums of CDRs; amounts in nanos.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Totals {
        pub calls: i64,
        pub seconds: i64,
        pub charge: i64,
        pub cost: i64,
    }
}

impl Totals {
    pub fn add(&mut self, cdr: &CdrRow) {
        self.add_all(Totals {
            calls: 1,
            seconds: cdr.result.duration_seconds,
            charge: cdr.result.charge,
            cost: cdr.result.cost,
        });
    }

    pub fn add_all(&mut self, other: Totals) {
        self.calls += other.calls;
        self.seconds += other.seconds;
        self.charge += other.charge;
        self.cost += other.cost;
    }
}
