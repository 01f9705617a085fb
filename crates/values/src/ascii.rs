//! Numbers in decimal digits, without `format!`: a page of a list has hundreds of them.

/// Appends a number.
pub fn push_number(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_magnitude(out, number.unsigned_abs());
}

pub(crate) fn push_magnitude(out: &mut Vec<u8>, mut number: u64) {
    // u64::MAX has twenty digits.
    let mut digits = [b'0'; 20];
    let mut first = digits.len() - 1;
    put_last_digit(&mut digits[first], &mut number);
    while number > 0 {
        first -= 1;
        put_last_digit(&mut digits[first], &mut number);
    }
    out.extend_from_slice(&digits[first..]);
}

/// Fills `out` with the last digits of a number.
pub(crate) fn put_digits(out: &mut [u8], mut number: u64) {
    for digit in out.iter_mut().rev() {
        put_last_digit(digit, &mut number);
    }
}

fn put_last_digit(digit: &mut u8, number: &mut u64) {
    *digit = b'0' + (*number % 10) as u8;
    *number /= 10;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(number: i64) -> String {
        let mut out = Vec::new();
        push_number(&mut out, number);
        String::from_utf8_lossy(&out).into_owned()
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_format_does(number: i64) {
            prop_assert_eq!(written(number), number.to_string());
        }
    }

    #[test]
    fn the_ends_of_the_range_are_written() {
        for number in [0, 9, 10, i64::MIN, i64::MAX] {
            assert_eq!(written(number), number.to_string());
        }
    }
}
