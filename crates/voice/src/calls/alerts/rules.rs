//! When to alert.

/// Hours that an hour is compared with: those of a week, including hours without calls.
pub const TRAILING_HOURS: i64 = 7 * 24;

/// Average spend of those hours.
pub fn average(trailing: i64) -> i64 {
    trailing / TRAILING_HOURS
}

/// Whether the spend of an hour exceeds `factor` times the average of the hours before. Without spend before, any spend
/// does.
pub fn is_jump(spend: i64, trailing: i64, factor: i64) -> bool {
    i128::from(spend) * i128::from(TRAILING_HOURS) > i128::from(trailing) * i128::from(factor)
}

/// Answer-seizure ratio, to four decimal places.
pub fn asr(answered: i64, attempts: i64) -> f64 {
    let ten_thousandths = answered.saturating_mul(10_000).checked_div(attempts).unwrap_or(0);
    f64::from(i32::try_from(ten_thousandths).unwrap_or(10_000)) / 10_000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_hour_jumps_only_above_the_factor_times_the_average() {
        assert!(!is_jump(100, 168 * 10, 10));
        assert!(is_jump(101, 168 * 10, 10));
        assert!(is_jump(1, 0, 10));
        assert!(!is_jump(0, 0, 10));
    }

    proptest! {
        #[test]
        fn any_two_amounts_can_be_compared(spend in 0..=i64::MAX, trailing in 0..=i64::MAX, factor in 2i64..=1000) {
            let jumps = is_jump(spend, trailing, factor);
            prop_assert!(!jumps || spend > average(trailing));
        }

        #[test]
        fn asr_is_between_zero_and_one(attempts in 0i64..=1_000_000, part in 0.0..=1.0f64) {
            let answered = (attempts as f64 * part) as i64;
            prop_assert!((0.0..=1.0).contains(&asr(answered, attempts)));
        }
    }
}
