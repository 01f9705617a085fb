//! How long a call may last for how much money.

use rating::Rate;

/// Seconds of a call, counted from its answer, and what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    pub seconds: u32,
    pub amount: i64,
}

/// The longest slice, up to this many seconds, that costs no more than this. It ends where a second more would cost
/// more, so a call of any length within it costs no more either; nothing if even the shortest call does.
pub fn afford(rate: &Rate, seconds: u32, funds: i64) -> Option<Slice> {
    let (first, step) = (rate.billed_seconds(1), u32::from(rate.increment_seconds()));
    let last = rate.billed_seconds(seconds.max(1));
    let within = |seconds| rate.price(seconds).ok().filter(|amount| *amount <= funds);
    if let Some(amount) = within(last) {
        return Some(Slice { seconds: last, amount });
    }
    within(first)?;
    // The first of these many steps is affordable and the last is not.
    let (mut affordable, mut beyond) = (0, (last - first) / step);
    while beyond - affordable > 1 {
        let middle = affordable + (beyond - affordable) / 2;
        if within(first + middle * step).is_some() {
            affordable = middle;
        } else {
            beyond = middle;
        }
    }
    let seconds = first + affordable * step;
    within(seconds).map(|amount| Slice { seconds, amount })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_slice_is_affordable_and_the_next_step_is_not(
            minute in 0i64..2_000_000_000, fee in 0i64..1_000_000_000, increment in 1u16..=3600, minimum in 0u16..=3600,
            seconds in 0u32..100_000, funds in -1i64..20_000_000_000
        ) {
            let rate = Rate::new(minute, fee, increment, minimum).unwrap();
            match afford(&rate, seconds, funds) {
                Some(slice) => {
                    prop_assert_eq!(rate.price(slice.seconds), Ok(slice.amount));
                    prop_assert!(slice.amount <= funds);
                    prop_assert!(slice.seconds <= rate.billed_seconds(seconds.max(1)));
                    let whole = slice.seconds == rate.billed_seconds(seconds.max(1));
                    prop_assert!(whole || rate.price(slice.seconds + 1).unwrap() > funds);
                    prop_assert!(rate.price(slice.seconds / 2).unwrap() <= slice.amount);
                }
                None => prop_assert!(rate.price(1).unwrap() > funds),
            }
        }
    }

    #[test]
    fn a_free_call_lasts_as_long_as_it_is_asked_for() {
        let free = Rate::new(0, 0, 1, 1).unwrap();
        assert_eq!(afford(&free, 300, 0), Some(Slice { seconds: 300, amount: 0 }));
    }

    #[test]
    fn what_no_money_can_pay_is_not_affordable() {
        let dear = Rate::new(i64::MAX, 0, 3600, 3600).unwrap();
        assert_eq!(afford(&dear, 300, i64::MAX), None);
    }
}
