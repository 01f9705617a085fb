use num_rational::BigRational;
use proptest::prelude::*;
use rating::{Rate, RateError, TooLarge};

fn rate(minute: i64, connect: i64, increment: u16, minimum: u16) -> Rate {
    Rate::new(minute, connect, increment, minimum).unwrap()
}

#[test]
fn billed_seconds_are_whole_increments_from_the_minimum() {
    for (increment, minimum, answered, billed) in
        [(1, 0, 0, 0), (1, 1, 0, 1), (60, 0, 1, 60), (60, 60, 61, 120), (6, 30, 1, 30), (6, 30, 31, 36), (60, 1, 0, 60)]
    {
        assert_eq!(rate(1, 0, increment, minimum).billed_seconds(answered), billed);
    }
}

#[test]
fn half_a_nano_rounds_up() {
    assert_eq!(rate(1, 0, 1, 0).price(29), Ok(0));
    assert_eq!(rate(1, 0, 1, 0).price(30), Ok(1));
    assert_eq!(rate(12_500_000, 5_000_000, 6, 30).price(31), Ok(12_500_000 * 36 / 60 + 5_000_000));
}

#[test]
fn a_price_that_does_not_fit_is_an_error() {
    assert_eq!(rate(i64::MAX, 0, 1, 0).price(60), Ok(i64::MAX));
    assert_eq!(rate(i64::MAX, 0, 1, 0).price(61), Err(TooLarge));
    assert_eq!(rate(i64::MAX, 1, 1, 0).price(60), Err(TooLarge));
}

#[test]
fn a_rate_out_of_bounds_is_an_error() {
    assert_eq!(Rate::new(-1, 0, 1, 0), Err(RateError::Negative));
    assert_eq!(Rate::new(0, -1, 1, 0), Err(RateError::Negative));
    assert_eq!(Rate::new(0, 0, 0, 0), Err(RateError::Increment));
    assert_eq!(Rate::new(0, 0, 3601, 0), Err(RateError::Increment));
    assert_eq!(Rate::new(0, 0, 1, 3601), Err(RateError::Minimum));
}

/// Rounds half up.
pub fn rounded(exact: BigRational) -> Option<i64> {
    let half = BigRational::new(1.into(), 2.into());
    i64::try_from((exact + half).floor().to_integer()).ok()
}

pub fn ratio(numerator: impl Into<i128>, denominator: impl Into<i128>) -> BigRational {
    BigRational::new(numerator.into().into(), denominator.into().into())
}

proptest! {
    #[test]
    fn a_price_is_rounded_once(
        minute in prop_oneof![0_i64..=i64::MAX, 0_i64..1_000_000_000],
        connect in prop_oneof![Just(0), 0_i64..=i64::MAX],
        increment in 1_u16..=3600, minimum in 0_u16..=3600,
        answered in prop_oneof![0_u32..4_000_000_000, 0_u32..10_000],
    ) {
        let rate = rate(minute, connect, increment, minimum);
        let (increment, minimum) = (u64::from(increment), u64::from(minimum));
        let mut billed = u64::from(answered).max(minimum);
        billed += (increment - billed % increment) % increment;
        let exact = ratio(minute, 60) * ratio(billed, 1) + ratio(connect, 1);
        prop_assert_eq!(rate.price(answered).ok(), rounded(exact));
    }
}
