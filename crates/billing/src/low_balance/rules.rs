//! When a balance is low, and below what it has to be looked at again.

/// A balance and what is measured against it, in nanos of one currency.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    pub balance: i64,
    /// What guarded charges must leave.
    pub minimum: i64,
    /// What was used in the last 30 days.
    pub spend: i64,
    /// The share of the spend, in per cent, below which the account wants to hear of it.
    pub low_pct: Option<i64>,
    /// Below this the balance refills itself.
    pub recharge_below: Option<i64>,
}

impl Picture {
    /// What the balance must not fall below to count as low, rounded down.
    pub fn low_threshold(&self) -> Option<i64> {
        let share = |pct: i64| i128::from(self.used()) * i128::from(pct) / 100;
        self.low_pct.map(|pct| i64::try_from(share(pct)).unwrap_or(i64::MAX))
    }

    pub fn is_low(&self) -> bool {
        let below = |pct: i64| i128::from(self.balance) * 100 < i128::from(self.used()) * i128::from(pct);
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

    /// The highest balance below which something of this may become true that is not true now.
    pub fn low_water(&self) -> Option<i64> {
        let lines = [
            self.low_pct.filter(|_| !self.is_low()).map(|pct| self.low_line(pct)),
            (!self.is_exhausted()).then_some(self.minimum.saturating_add(1)),
            (!self.is_negative()).then_some(0),
            self.recharge_below.filter(|_| !self.wants_recharge()),
        ];
        lines.into_iter().flatten().max()
    }

    /// Where the balance would meet its share of the spend if whatever it loses is spent, which raises the spend as
    /// well: B − x = pct (S + x). It is never too low: days that leave the window, and charges that are no spend, only
    /// let them meet further down, and money that arrives is looked at anyway.
    fn low_line(&self, pct: i64) -> i64 {
        let (share, whole) = (i128::from(pct), i128::from(100 + pct));
        let both = i128::from(self.balance) + i128::from(self.used());
        i64::try_from((both * share + whole - 1).div_euclid(whole)).unwrap_or(i64::MAX)
    }

    /// Refunds may outweigh what was used.
    fn used(&self) -> i64 {
        self.spend.max(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LARGE: i64 = 2_000_000_000_000_000_000;

    fn any_picture() -> impl Strategy<Value = Picture> {
        let amount = || prop_oneof![-1000i64..1000, -LARGE..LARGE];
        (amount(), amount(), amount(), proptest::option::of(1i64..=100), proptest::option::of(amount())).prop_map(
            |(balance, minimum, spend, low_pct, recharge_below)| Picture {
                balance,
                minimum,
                spend,
                low_pct,
                recharge_below,
            },
        )
    }

    /// What a watch tells of.
    fn findings(picture: &Picture) -> [bool; 4] {
        [picture.is_low(), picture.is_exhausted(), picture.is_negative(), picture.wants_recharge()]
    }

    proptest! {
        #[test]
        fn nothing_becomes_true_before_the_balance_is_below_the_mark(
            picture in any_picture(), lost in prop_oneof![0i64..2000, 0..LARGE], spent_pct in 0i64..=100,
        ) {
            // Some of what is lost is spend, the rest is VAT, refunds and the like.
            let spent = i64::try_from(i128::from(lost) * i128::from(spent_pct) / 100).unwrap_or(lost);
            let later = Picture {
                balance: picture.balance.saturating_sub(lost),
                spend: picture.spend.saturating_add(spent),
                ..picture
            };
            let news = findings(&picture).iter().zip(findings(&later)).any(|(was, is)| !was && is);
            if news {
                prop_assert!(picture.low_water().is_some_and(|mark| later.balance < mark), "{later:?}");
            }
        }

        #[test]
        fn the_mark_is_never_above_the_balance_so_that_it_can_be_crossed(picture in any_picture()) {
            prop_assert!(picture.low_water().is_none_or(|mark| mark <= picture.balance), "{picture:?}");
        }

        #[test]
        fn the_threshold_that_is_told_is_the_one_that_counts(picture in any_picture()) {
            if let Some(threshold) = picture.low_threshold().filter(|_| picture.is_low()) {
                prop_assert!(picture.balance <= threshold);
            }
        }
    }

    #[test]
    fn a_balance_is_low_below_its_share_of_the_spend() {
        let at = |balance| Picture { balance, minimum: 0, spend: 500, low_pct: Some(20), recharge_below: None };
        assert!(!at(100).is_low());
        assert!(at(99).is_low());
        assert!(!Picture { low_pct: None, ..at(0) }.is_low());
        // Another 166.67 makes the spend 666.67 and its share 133.33, and so is the balance.
        assert_eq!(at(300).low_water(), Some(134));
    }
}
