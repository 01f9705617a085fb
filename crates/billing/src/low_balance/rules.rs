//! When a balance is low, exhausted or negative, and the mark below which it has to be checked again.

/// A balance and the amounts it is compared with, in nanos of one currency.
#[derive(Clone, Copy, Debug)]
pub struct BalanceState {
    pub balance: i64,
    /// The minimum of the account, which guarded charges must leave.
    pub minimum: i64,
    /// Spend of the last 30 days.
    pub spend: i64,
    /// Percentage of the spend below which the balance is low; none if alerts are off.
    pub low_pct: Option<i64>,
    /// Threshold of auto-recharge, if it is on.
    pub recharge_below: Option<i64>,
}

impl BalanceState {
    /// The amount below which the balance is low, rounded down.
    pub fn low_threshold(&self) -> Option<i64> {
        let share = |pct: i64| i128::from(self.usage()) * i128::from(pct) / 100;
        self.low_pct.map(|pct| i64::try_from(share(pct)).unwrap_or(i64::MAX))
    }

    pub fn is_low(&self) -> bool {
        let below = |pct: i64| i128::from(self.balance) * 100 < i128::from(self.usage()) * i128::from(pct);
        self.low_pct.is_some_and(below)
    }

    pub fn is_exhausted(&self) -> bool {
        self.balance <= self.minimum
    }

    pub fn is_negative(&self) -> bool {
        self.balance < 0
    }

    pub fn wants_recharge(&self) -> bool {
        self.recharge_below.is_some_and(|threshold| self.balance < threshold)
    }

    /// The highest balance below which one of these conditions may become true that is not true now.
    pub fn low_water(&self) -> Option<i64> {
        let lines = [
            self.low_pct.filter(|_| !self.is_low()).map(|pct| self.low_crossing(pct)),
            (!self.is_exhausted()).then_some(self.minimum.saturating_add(1)),
            (!self.is_negative()).then_some(0),
            self.recharge_below.filter(|_| !self.wants_recharge()),
        ];
        lines.into_iter().flatten().max()
    }

    /// The balance at which it becomes low if all it loses is spend, which raises the spend as well:
    /// B − x = pct (S + x). It is never too low: days that leave the window, and charges that are not spend, only make
    /// the balance low further down, and a balance that rises is checked anyway.
    fn low_crossing(&self, pct: i64) -> i64 {
        let (share, whole) = (i128::from(pct), i128::from(100 + pct));
        let both = i128::from(self.balance) + i128::from(self.usage());
        i64::try_from((both * share + whole - 1).div_euclid(whole)).unwrap_or(i64::MAX)
    }

    /// The spend, or zero when refunds exceed it.
    fn usage(&self) -> i64 {
        self.spend.max(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LARGE: i64 = 2_000_000_000_000_000_000;

    fn any_state() -> impl Strategy<Value = BalanceState> {
        let amount = || prop_oneof![-1000i64..1000, -LARGE..LARGE];
        (amount(), amount(), amount(), proptest::option::of(1i64..=100), proptest::option::of(amount())).prop_map(
            |(balance, minimum, spend, low_pct, recharge_below)| BalanceState {
                balance,
                minimum,
                spend,
                low_pct,
                recharge_below,
            },
        )
    }

    fn conditions(state: &BalanceState) -> [bool; 4] {
        [state.is_low(), state.is_exhausted(), state.is_negative(), state.wants_recharge()]
    }

    proptest! {
        #[test]
        fn no_condition_becomes_true_before_the_balance_is_below_the_mark(
            state in any_state(), lost in prop_oneof![0i64..2000, 0..LARGE], spent_pct in 0i64..=100,
        ) {
            // Part of the loss is spend; the rest is VAT, refunds and so on.
            let spent = i64::try_from(i128::from(lost) * i128::from(spent_pct) / 100).unwrap_or(lost);
            let later = BalanceState {
                balance: state.balance.saturating_sub(lost),
                spend: state.spend.saturating_add(spent),
                ..state
            };
            let notification = conditions(&state).iter().zip(conditions(&later)).any(|(was, is)| !was && is);
            if notification {
                prop_assert!(state.low_water().is_some_and(|mark| later.balance < mark), "{later:?}");
            }
        }

        #[test]
        fn the_mark_is_never_above_the_balance(state in any_state()) {
            prop_assert!(state.low_water().is_none_or(|mark| mark <= state.balance), "{state:?}");
        }

        #[test]
        fn a_low_balance_is_not_above_the_reported_threshold(state in any_state()) {
            if let Some(threshold) = state.low_threshold().filter(|_| state.is_low()) {
                prop_assert!(state.balance <= threshold);
            }
        }
    }

    #[test]
    fn a_balance_is_low_below_its_share_of_the_spend() {
        let at = |balance| BalanceState { balance, minimum: 0, spend: 500, low_pct: Some(20), recharge_below: None };
        assert!(!at(100).is_low());
        assert!(at(99).is_low());
        assert!(!BalanceState { low_pct: None, ..at(0) }.is_low());
        // Another 166.67 makes the spend 666.67 and its share 133.33, and so is the balance.
        assert_eq!(at(300).low_water(), Some(134));
    }
}
