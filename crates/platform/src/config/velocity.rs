//! How fast money may be paid in.

use super::SettingsReader;
use values::Money;

/// How many payments may be made in 24 hours, and of how much together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Velocity {
    pub per_day: i64,
    pub amount_per_day: Money,
}

const MAX_COUNT: usize = 10_000;
const MAX_EUROS: usize = 10_000_000;

impl SettingsReader {
    pub(super) fn topup_velocity(&mut self) -> Velocity {
        Velocity {
            per_day: self.within("TRUNKLINE_TOPUPS_PER_DAY", 1..=MAX_COUNT, 60) as i64,
            amount_per_day: self.euros("TRUNKLINE_TOPUP_EUR_PER_DAY", 1..=MAX_EUROS, 100_000),
        }
    }

    /// In a lab everybody pays with the same few test cards.
    pub(super) fn card_velocity(&mut self, is_lab: bool) -> Velocity {
        let (count, euros) = if is_lab { (MAX_COUNT, MAX_EUROS) } else { (20, 50_000) };
        Velocity {
            per_day: self.within("TRUNKLINE_CARD_TOPUPS_PER_DAY", 1..=MAX_COUNT, count) as i64,
            amount_per_day: self.euros("TRUNKLINE_CARD_EUR_PER_DAY", 1..=MAX_EUROS, euros),
        }
    }
}
