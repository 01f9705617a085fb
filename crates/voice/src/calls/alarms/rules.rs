//! When something about calls is remarkable.

/// The hours that an hour is held against: those of a week, quiet ones too.
pub const TRAILING_HOURS: i64 = 7 * 24;

/// What one of those hours cost on average.
pub fn average(trailing: i64) -> i64 {
    trailing / TRAILING_HOURS
}

/// Whether an hour costs more than so many times the average of those before. Whoever never spent anything has an
/// average of nothing, so its first dear hour is one.
pub fn is_jump(spend: i64, trailing: i64, factor: i64) -> bool {
    i128::from(spend) * i128::from(TRAILING_HOURS) > i128::from(trailing) * i128::from(factor)
}

/// The share of calls that were answered, to four places.
pub fn answered_share(answered: i64, attempts: i64) -> f64 {
    let ten_thousandths = answered.saturating_mul(10_000).checked_div(attempts).unwrap_or(0);
    f64::from(i32::try_from(ten_thousandths).unwrap_or(10_000)) / 10_000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_hour_jumps_only_beyond_so_many_averages() {
        assert!(!is_jump(100, 168 * 10, 10));
        assert!(is_jump(101, 168 * 10, 10));
        assert!(is_jump(1, 0, 10));
        assert!(!is_jump(0, 0, 10));
    }

    proptest! {
        #[test]
        fn no_amount_is_too_large_to_compare(spend in 0..=i64::MAX, trailing in 0..=i64::MAX, factor in 2i64..=1000) {
            let jumps = is_jump(spend, trailing, factor);
            prop_assert!(!jumps || spend > average(trailing));
        }

        #[test]
        fn a_share_lies_between_none_and_all(attempts in 0i64..=1_000_000, part in 0.0..=1.0f64) {
            let answered = (attempts as f64 * part) as i64;
            prop_assert!((0.0..=1.0).contains(&answered_share(answered, attempts)));
        }
    }
}
