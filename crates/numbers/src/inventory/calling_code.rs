//! Country calling codes (ITU E.164): one to three digits, and no code is the prefix of another.

/// Codes of one digit, each shared by several countries.
const ONE_DIGIT: [&str; 2] = ["1", "7"];
const TWO_DIGITS: [&str; 44] = [
    "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48", "49", "51",
    "52", "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81", "82", "84", "86", "90",
    "91", "92", "93", "94", "95", "98",
];

/// The digits after the country calling code; empty if there are none.
pub fn national_part(digits: &str) -> &str {
    let length = match digits {
        digits if ONE_DIGIT.iter().any(|code| digits.starts_with(code)) => 1,
        digits if TWO_DIGITS.iter().any(|code| digits.starts_with(code)) => 2,
        _ => 3,
    };
    digits.get(length..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_national_part_follows_the_calling_code() {
        for (digits, area) in [
            ("3120", "20"),
            ("31800", "800"),
            ("1212", "212"),
            ("7495", "495"),
            ("442071", "2071"),
            ("35321", "21"),
            ("97150", "50"),
            ("31", ""),
            ("3", ""),
            ("", ""),
        ] {
            assert_eq!(national_part(digits), area, "{digits}");
        }
    }
}
