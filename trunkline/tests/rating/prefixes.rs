use proptest::prelude::*;
use rating::{Prefix, PrefixError};

use crate::samples::prefix;

#[test]
fn a_prefix_has_1_to_15_digits() {
    for bad in ["", "1234567890123456", "+31", "3 1", "٣١", "31a"] {
        assert_eq!(bad.parse::<Prefix>(), Err(PrefixError), "{bad}");
    }
    assert_eq!(prefix("123456789012345").digits(), 15);
    assert_eq!(format!("{:>4}|{:<4}|", prefix("31"), prefix("31")), "  31|31  |");
}

#[test]
fn of_number_takes_the_first_15_digits() {
    assert_eq!(Prefix::of_number("+31201234567"), Some(prefix("31201234567")));
    assert_eq!(Prefix::of_number("12345678901234567890"), Some(prefix("123456789012345")));
    for bad in ["", "+", "++31", "31x", "1234567890123456é"] {
        assert_eq!(Prefix::of_number(bad), None, "{bad}");
    }
}

#[test]
fn range_end_follows_everything_the_prefix_covers() {
    assert_eq!(prefix("31").range_end(), Some(prefix("32")));
    assert_eq!(prefix("3199").range_end(), Some(prefix("32")));
    assert_eq!(prefix("99").range_end(), None);
    assert_eq!(prefix("999999999999999").next(), None);
    assert_eq!(prefix("310").ancestors().collect::<Vec<_>>(), [prefix("31"), prefix("3")]);
}

proptest! {
    #[test]
    fn prefixes_sort_like_strings(one in "[0-9]{1,15}", other in "[0-9]{1,15}") {
        prop_assert_eq!(prefix(&one).cmp(&prefix(&other)), one.cmp(&other));
        prop_assert_eq!(prefix(&one).covers(prefix(&other)), other.starts_with(&one));
        prop_assert_eq!(prefix(&one).to_string(), one.clone());
        prop_assert_eq!(Prefix::from_code(prefix(&one).code()), Some(prefix(&one)));
        prop_assert!(i64::try_from(prefix(&one).code()).is_ok());
    }

    #[test]
    fn from_code_accepts_only_codes_of_prefixes(code in any::<u64>(), zeros in 0_u32..64) {
        let code = code << zeros;
        if let Some(prefix) = Prefix::from_code(code) {
            prop_assert_eq!(prefix.to_string().parse::<Prefix>().unwrap().code(), code);
        }
    }

    #[test]
    fn no_prefix_sorts_between_a_prefix_and_next(one in "[0-9]{1,15}", other in "[0-9]{1,15}") {
        let (one, other) = (prefix(&one), prefix(&other));
        if let Some(next) = one.next() {
            prop_assert!(next > one && (other <= one || other >= next));
        }
        if let Some(end) = one.range_end() {
            prop_assert_eq!(other >= one && other < end, one.covers(other));
        }
    }
}
