//! The check digits of each member state, as its tax office defines them.
//!
//! Every function gets a number in one of its state's formats. Where ids of private persons have rules of their own,
//! only the format is checked: the aim is to find typing errors in company ids.

/// The value of each digit; letters count as zero.
fn digits(number: &str) -> Vec<u32> {
    number.chars().map(|c| c.to_digit(10).unwrap_or(0)).collect()
}

/// The sum of the digits times their weights; digits without a weight are left out.
fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

fn last(digits: &[u32]) -> u32 {
    digits.last().copied().unwrap_or(0)
}

fn value(number: &str) -> u64 {
    number.parse().unwrap_or(0)
}

/// The sum of all digits, every second one from the end doubled and its own digits summed.
fn luhn_sum(digits: &[u32]) -> u32 {
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    digits.iter().rev().enumerate().map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit }).sum()
}

fn luhn(digits: &[u32]) -> bool {
    luhn_sum(digits).is_multiple_of(10)
}

/// ISO 7064, MOD 11,10.
fn mod_11_10(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else { return false };
    let rest = body.iter().fold(10, |product, digit| {
        let sum = (digit + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (rest + check) % 10 == 1
}

pub(super) fn austria(number: &str) -> bool {
    let digits = digits(&number[1..]);
    let cross = |digit: u32| digit / 5 + digit * 2 % 10;
    let sum: u32 = digits[..7].iter().enumerate().map(|(at, d)| if at % 2 == 1 { cross(*d) } else { *d }).sum();
    (96 - sum) % 10 == digits[7]
}

pub(super) fn belgium(number: &str) -> bool {
    number.starts_with(['0', '1']) && 97 - value(&number[..8]) % 97 == value(&number[8..])
}

pub(super) fn bulgaria(number: &str) -> bool {
    let digits = digits(number);
    if digits.len() != 9 {
        return true;
    }
    let check = match weighted(&digits, &[1, 2, 3, 4, 5, 6, 7, 8]) % 11 {
        10 => weighted(&digits, &[3, 4, 5, 6, 7, 8, 9, 10]) % 11 % 10,
        check => check,
    };
    check == digits[8]
}

pub(super) fn cyprus(number: &str) -> bool {
    const ODD: [u32; 10] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21];
    let digits = digits(&number[..8]);
    let sum: u32 =
        digits.iter().enumerate().map(|(at, digit)| if at % 2 == 0 { ODD[*digit as usize] } else { *digit }).sum();
    let letter = char::from_digit(sum % 26 + 10, 36).map(|c| c.to_ascii_uppercase());
    !number.starts_with("12") && number.chars().next_back() == letter
}

pub(super) fn czechia(number: &str) -> bool {
    let digits = digits(number);
    if digits.len() != 8 {
        return true;
    }
    let check = match weighted(&digits, &[8, 7, 6, 5, 4, 3, 2]) % 11 {
        0 => 1,
        rest => (11 - rest) % 10,
    };
    digits[0] != 9 && check == digits[7]
}

pub(super) fn germany(number: &str) -> bool {
    !number.starts_with('0') && mod_11_10(&digits(number))
}

pub(super) fn denmark(number: &str) -> bool {
    weighted(&digits(number), &[2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

pub(super) fn estonia(number: &str) -> bool {
    weighted(&digits(number), &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
}

pub(super) fn greece(number: &str) -> bool {
    let digits = digits(number);
    weighted(&digits, &[256, 128, 64, 32, 16, 8, 4, 2]) % 11 % 10 == last(&digits)
}

/// Persons have a check letter; companies a Luhn digit, which some kinds write as a letter.
pub(super) fn spain(number: &str) -> bool {
    const PERSON: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    const COMPANY: &[u8; 10] = b"JABCDEFGHI";
    let bytes = number.as_bytes();
    let (first, body, check) = (bytes[0], &number[1..8], bytes[8]);
    let person = |number: u64| PERSON[(number % 23) as usize] == check;
    match first {
        b'0'..=b'9' => person(value(&number[..8])),
        b'X' | b'Y' | b'Z' => person(u64::from(first - b'X') * 10_000_000 + value(body)),
        b'K' | b'L' | b'M' => person(value(body)),
        _ => {
            let mut with_check = digits(body);
            with_check.push(0);
            let digit = (10 - luhn_sum(&with_check) % 10) % 10;
            let as_digit = check == b'0' + digit as u8;
            let as_letter = check == COMPANY[digit as usize];
            match first {
                b'A' | b'B' | b'E' | b'H' => as_digit,
                b'N' | b'P' | b'Q' | b'R' | b'S' | b'W' => as_letter,
                _ => as_digit || as_letter,
            }
        }
    }
}

pub(super) fn finland(number: &str) -> bool {
    weighted(&digits(number), &[7, 9, 10, 5, 8, 4, 2, 1]).is_multiple_of(11)
}

/// The key is two check digits of the company's number; newer keys with letters have no published rule.
pub(super) fn france(number: &str) -> bool {
    let (key, company) = number.split_at(2);
    let old_style = key.bytes().all(|byte| byte.is_ascii_digit());
    !old_style || (value(company) * 100 + 12) % 97 == value(key)
}

pub(super) fn croatia(number: &str) -> bool {
    mod_11_10(&digits(number))
}

pub(super) fn hungary(number: &str) -> bool {
    weighted(&digits(number), &[9, 7, 3, 1, 9, 7, 3, 1]).is_multiple_of(10)
}

/// Before 2013 the second character could be a letter or a sign, which counts as zero.
pub(super) fn ireland(number: &str) -> bool {
    const LETTERS: &[u8; 23] = b"WABCDEFGHIJKLMNOPQRSTUV";
    let bytes = number.as_bytes();
    let (body, check, second) = if bytes[1].is_ascii_digit() {
        (number[..7].to_owned(), bytes[7], bytes.get(8).copied())
    } else {
        (format!("0{}{}", &number[2..7], &number[..1]), bytes[7], None)
    };
    let second = second.and_then(|letter| LETTERS.iter().position(|known| *known == letter)).unwrap_or(0);
    let sum = weighted(&digits(&body), &[8, 7, 6, 5, 4, 3, 2]) as usize + second * 9;
    LETTERS[sum % 23] == check
}

pub(super) fn italy(number: &str) -> bool {
    luhn(&digits(number))
}

pub(super) fn lithuania(number: &str) -> bool {
    let digits = digits(number);
    let body = digits.len() - 1;
    let sum = |from: usize| -> u32 {
        digits[..body].iter().enumerate().map(|(at, digit)| digit * (1 + ((at + from) % 9) as u32)).sum()
    };
    let check = match sum(0) % 11 {
        10 => sum(2) % 11 % 10,
        check => check,
    };
    check == last(&digits)
}

pub(super) fn luxembourg(number: &str) -> bool {
    value(&number[..6]) % 89 == value(&number[6..])
}

pub(super) fn latvia(number: &str) -> bool {
    let digits = digits(number);
    digits[0] <= 3 || weighted(&digits, &[9, 1, 4, 8, 3, 10, 2, 5, 7, 6, 1]) % 11 == 3
}

pub(super) fn malta(number: &str) -> bool {
    weighted(&digits(number), &[3, 4, 6, 7, 8, 9, 10, 1]).is_multiple_of(37)
}

/// Companies use the old rule for nine digits; sole traders have had ids with a rule for the whole id since 2020.
pub(super) fn netherlands(number: &str) -> bool {
    let digits = digits(&number[..9]);
    let older = (weighted(&digits, &[9, 8, 7, 6, 5, 4, 3, 2]) + 10 * digits[8]).is_multiple_of(11);
    let newer = format!("NL{number}").chars().fold(0, |rest, c| {
        let place = c.to_digit(36).unwrap_or(0);
        (if place > 9 { rest * 100 + place } else { rest * 10 + place }) % 97
    });
    older || newer == 1
}

pub(super) fn poland(number: &str) -> bool {
    let digits = digits(number);
    weighted(&digits, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == last(&digits)
}

pub(super) fn portugal(number: &str) -> bool {
    let digits = digits(number);
    (11 - weighted(&digits, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 11 % 10 == last(&digits)
}

pub(super) fn romania(number: &str) -> bool {
    let digits = digits(&format!("{number:0>10}"));
    !number.starts_with('0') && weighted(&digits, &[7, 5, 3, 2, 1, 7, 5, 3, 2]) * 10 % 11 % 10 == last(&digits)
}

pub(super) fn sweden(number: &str) -> bool {
    luhn(&digits(&number[..10])) && (1..=94).contains(&value(&number[10..]))
}

pub(super) fn slovenia(number: &str) -> bool {
    let digits = digits(number);
    let check = 11 - weighted(&digits, &[8, 7, 6, 5, 4, 3, 2]) % 11;
    digits[0] > 0 && (if check == 10 { 0 } else { check }) == digits[7]
}

pub(super) fn slovakia(number: &str) -> bool {
    let third = digits(number)[2];
    !number.starts_with('0') && matches!(third, 2 | 3 | 4 | 7 | 8 | 9) && value(number).is_multiple_of(11)
}
